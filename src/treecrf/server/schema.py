"""The JSON schema of requests and responses, and its OpenAPI document, which `/docs` shows without scripts.

responses.json has the schemas of answers that are written as text: parsed sentences, found nodes, CoNLL-U.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from fastapi import FastAPI
from jinja2 import Environment, FileSystemLoader
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import models_json_schema

from treecrf.server.limits import CONSTRAINT_SPANS, PATTERN_CHARACTERS

_FOLDER = Path(__file__).parent
_TEXT_OR_TOKENS: dict[str, Any] = {
    "oneOf": [
        {"required": [required], "properties": {required: {"not": {"type": "null"}}, absent: {"type": "null"}}}
        for required, absent in (("text", "tokens"), ("tokens", "text"))
    ]
}

T = TypeVar("T")
_List = Annotated[list[T], Field(fail_fast=True)]  # a body of a megabyte may have half a million invalid elements


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SpanIn(_Strict):
    """A constituent over words[start:end]; without a label, a constituent with any label."""

    start: int = Field(ge=0)
    end: int = Field(ge=1)
    label: str | None = Field(default=None, min_length=1)


class ConstraintsIn(_Strict):
    """Constituents that the tree of a sentence must have, and constituents that it must not have."""

    require: _List[SpanIn] = Field(default=[], max_length=CONSTRAINT_SPANS)
    forbid: _List[SpanIn] = Field(default=[], max_length=CONSTRAINT_SPANS)


class Input(_Strict):
    """Raw text with any number of sentences, or the words of one sentence with optional tags."""

    model_config = ConfigDict(json_schema_extra=_TEXT_OR_TOKENS)

    text: str | None = None
    tokens: _List[str] | None = None
    tags: _List[str] | None = Field(default=None, description="the tag of each token; the tree has these tags")
    constraints: ConstraintsIn | _List[ConstraintsIn | None] | None = Field(
        default=None, description="the constraints of the sentence, or a list with the constraints of each sentence"
    )

    @model_validator(mode="after")
    def _check_input(self) -> "Input":
        if (self.text is None) == (self.tokens is None):
            raise ValueError("expected either text or tokens")
        if self.tags is not None and len(self.tags) != len(self.tokens or ()):
            raise ValueError(f"{len(self.tags)} tags and {len(self.tokens or ())} tokens; expected one tag per token")
        return self


class OptionsIn(_Strict):
    """Options for all sentences of a request."""

    model: str | None = Field(default=None, description="a name from GET /models; the default is the first one")
    k: int = Field(default=0, ge=0, description="number of most probable trees to add as kbest")
    probabilities: bool = Field(default=False, description="add the probabilities of the tree and its constituents")
    marginals: bool = Field(default=False, description="add the probability of each span")
    mbr: bool = Field(
        default=True, description="true: the tree with the least expected error; false: the tree with the best score"
    )
    functions: bool = Field(default=False, description="add functions to labels, such as NP-SBJ, and to spans")
    empties: bool = Field(default=False, description="add empty elements, such as (-NONE- *T*-1), to trees")
    format: Literal["json", "brackets", "pretty"] = "json"

    @model_validator(mode="after")
    def _check_format(self) -> "OptionsIn":
        if self.format == "brackets" and (self.k or self.probabilities):
            raise ValueError(
                "format brackets has one tree and no numbers; expected format json or pretty for k and probabilities"
            )
        if self.format != "json" and self.marginals:
            raise ValueError(f"format {self.format} has no marginals; expected format json for marginals")
        return self


class ParseRequest(Input, OptionsIn):
    """The body of POST /parse: one text or sentence, and options."""


class BatchRequest(OptionsIn):
    """The body of POST /parse/batch: several texts or sentences, and options for all of them."""

    inputs: _List[Input]


class SplitRequest(_Strict):
    """The body of POST /sentences: a text to split into sentences and words."""

    text: str
    model: str | None = Field(default=None, description="a name from GET /models, whose language the text has")


class TreesRequest(_Strict):
    """Trees in brackets."""

    trees: _List[str]


class DependenciesRequest(TreesRequest):
    """The body of POST /dependencies: English trees in brackets, and the number of the first one."""

    first: int = 1


class SearchRequest(TreesRequest):
    """The body of POST /search: trees in brackets, and a Tregex pattern."""

    pattern: str = Field(min_length=1, max_length=PATTERN_CHARACTERS)


class LabelsResponse(BaseModel):
    """The meanings of labels and tags that are known."""

    labels: dict[str, str]
    tags: dict[str, str]


class Warnings(BaseModel):
    """Messages about an input that is parsed nonetheless."""

    warnings: list[str] = Field(description="for example, that the text has another language than the model")


class SplitSentence(BaseModel):
    """The words of a sentence, and the characters of each word in the text."""

    words: list[str]
    offsets: list[tuple[int, int]]


class SplitResponse(Warnings):
    """The response to POST /sentences."""

    model: str
    sentences: list[SplitSentence]


class ModelInfo(BaseModel):
    """A model of this server."""

    name: str
    description: str = Field(description="language, encoder, and from the model card size, F1 score and license")
    language: str
    root: str
    labels: list[str] = Field(description="constituent labels, which constraints may use")
    reads_tags: bool = Field(description="whether the model needs tokens with tags as input")
    has_tags: bool = Field(description="whether the model predicts tags; if not, the tag of a word is _")
    has_functions: bool = Field(description="whether the model predicts functions, such as SBJ")
    has_empties: bool = Field(description="whether the model predicts empty elements, such as *T*")


class ModelsResponse(BaseModel):
    """The models, the default model first, and the limits on requests."""

    models: list[ModelInfo]
    limits: dict[str, int | float]


class HealthResponse(BaseModel):
    """The response of a running server."""

    status: Literal["ok"] = "ok"


class ErrorResponse(BaseModel):
    """An error: what was wrong, what was expected, and what to do."""

    detail: str
    request_id: str


def json_content(name: str) -> dict[str, Any]:
    """The OpenAPI description of a JSON body, whose schema has this name in the document."""
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI descriptions of a route's error responses."""
    return {status: {"model": ErrorResponse, "description": _ERRORS[status]} for status in statuses}


def body_route(body: str, answer: str, *errors: int, content: dict[str, Any] | None = None) -> dict[str, Any]:
    """The OpenAPI description of a route that reads its body itself and answers in JSON or with other `content`."""
    responses = {200: {"content": json_content(answer) | (content or {})}, **error_responses(*errors)}
    body_content = {name: {**content, "example": _EXAMPLES[body]} for name, content in json_content(body).items()}
    return {"responses": responses, "openapi_extra": {"requestBody": {"content": body_content, "required": True}}}


_TREE = "(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .)))"
_EXAMPLES: dict[str, dict[str, Any]] = {
    "ParseRequest": {"text": "The old cat sees a garden.", "k": 2, "probabilities": True},
    "BatchRequest": {"inputs": [{"text": "We sing."}, {"tokens": ["She", "slept", "!"]}], "format": "brackets"},
    "SplitRequest": {"text": "Dr. Smith came. We sang."},
    "SearchRequest": {"pattern": "NP < DT", "trees": [_TREE]},
    "DependenciesRequest": {"trees": [_TREE]},
}


_ERRORS = {
    400: "The body is not valid JSON.",
    401: "The token is missing or wrong.",
    403: "The request is from a web page of another origin.",
    408: "The body took too long to arrive.",
    413: "The body is too long.",
    415: "The body is not application/json, or it is compressed.",
    421: "The Host header is not a name of this server.",
    422: "A field is invalid, the constraints cannot be met, or a limit is exceeded.",
    503: "Too many sentences are queued; Retry-After has the number of seconds to wait.",
}


class DocumentedApp(FastAPI):
    """An app whose OpenAPI document has the schemas of bodies that the routes read and write themselves."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            schemas = super().openapi()["components"]["schemas"]
            bodies = (ParseRequest, BatchRequest, SplitRequest, SearchRequest, DependenciesRequest)
            models: list[Any] = [(model, "validation") for model in bodies]
            models.append((SplitResponse, "serialization"))
            _, definitions = models_json_schema(models, ref_template="#/components/schemas/{model}")
            schemas |= json.loads((_FOLDER / "responses.json").read_bytes()) | definitions["$defs"]
        return super().openapi()


def docs_page(document: Mapping[str, Any]) -> str:
    """The HTML page that lists the routes of an OpenAPI document, with forms to try them, and the fields of schemas."""
    templates = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    templates.filters["json"] = partial(json.dumps, ensure_ascii=False)
    return templates.get_template("docs.html").render(document)
