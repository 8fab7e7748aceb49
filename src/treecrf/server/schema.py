"""The JSON of requests and answers."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

_TEXT_OR_TOKENS: dict[str, Any] = {
    "oneOf": [
        {
            "required": [given],
            "properties": {given: {"not": {"type": "null"}}, other: {"type": "null"}},
        }
        for given, other in (("text", "tokens"), ("tokens", "text"))
    ]
}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Bracket(_Strict):
    """A constituent over words[start:end], whatever its label if there is none."""

    start: int = Field(ge=0)
    end: int = Field(ge=1)
    label: str | None = Field(default=None, min_length=1)


class Known(_Strict):
    """What is known of a sentence's tree: constituents that it has, and such that it has not."""

    require: list[Bracket] = Field(default=[], max_length=1000)
    forbid: list[Bracket] = Field(default=[], max_length=1000)


class Input(_Strict):
    """Raw text, of any number of sentences, or the words of one sentence, perhaps with their tags."""

    model_config = ConfigDict(json_schema_extra=_TEXT_OR_TOKENS)

    text: str | None = None
    tokens: list[str] | None = None
    tags: list[str] | None = Field(default=None, description="of the tokens, one each; they stand in the tree")
    constraints: Known | list[Known | None] | None = Field(
        default=None, description="of the sentence, or a list with those of each sentence"
    )

    @model_validator(mode="after")
    def _is_whole(self) -> "Input":
        if (self.text is None) == (self.tokens is None):
            raise ValueError("expected either text or tokens")
        if self.tags is not None and len(self.tags) != len(self.tokens or ()):
            raise ValueError(
                f"{len(self.tags)} tags and {len(self.tokens or ())} tokens; expected a tag for each of the tokens"
            )
        return self


class Wanted(_Strict):
    """What is wanted of each sentence."""

    model: str | None = Field(default=None, description="one of GET /models; the first of them")
    k: int = Field(default=0, ge=0, description="how many of the most probable trees to add as kbest")
    probabilities: bool = Field(default=False, description="add how probable the tree and its constituents are")
    marginals: bool = Field(default=False, description="add how probable each span is")
    mbr: bool = Field(default=True, description="the tree of least expected error, not the one that scores best")
    format: Literal["json", "brackets", "pretty"] = "json"

    @model_validator(mode="after")
    def _fits_format(self) -> "Wanted":
        if self.format == "brackets" and (self.k or self.probabilities):
            raise ValueError(
                "brackets hold one tree and no numbers; expected k and probabilities with format json or pretty"
            )
        if self.format != "json" and self.marginals:
            raise ValueError(f"marginals with format {self.format}; expected them with format json")
        return self


class ParseRequest(Input, Wanted):
    """One text or sentence, and what is wanted of it."""


class BatchRequest(Wanted):
    """Many texts or sentences, and what is wanted of them all."""

    inputs: list[Input]


class Span(BaseModel):
    """A constituent of a tree: words[start:end], and text[offsets[0]:offsets[1]]."""

    start: int
    end: int
    label: str
    offsets: tuple[int, int]
    probability: float | None = None


class Alternative(BaseModel):
    """One of the most probable trees."""

    tree: str
    log_prob: float
    spans: list[Span] | None = None


class Sentence(BaseModel):
    """A parsed sentence; what was not asked for is left out."""

    tree: str
    words: list[str]
    tags: list[str]
    offsets: list[tuple[int, int]]
    spans: list[Span]
    log_prob: float | None = None
    entropy: float | None = None
    kbest: list[Alternative] | None = None
    marginals: list[list[float]] | None = Field(default=None, description="row i: of words[i:j] for every j > i")


class Sentences(BaseModel):
    """The sentences of one input, in their order."""

    sentences: list[Sentence]


class ParseAnswer(Sentences):
    """The answer to POST /parse."""

    model: str


class BatchAnswer(BaseModel):
    """The answer to POST /parse/batch: a result for each input, in their order."""

    model: str
    results: list[Sentences]


class ModelAnswer(BaseModel):
    """A model that can be asked for."""

    name: str
    language: str
    root: str
    labels: list[str] = Field(description="of constituents, as constraints name them")
    reads_tags: bool = Field(description="whether it parses only tokens whose tags are given")
    has_tags: bool = Field(description="whether it predicts tags; those of others are _")


class ModelsAnswer(BaseModel):
    """The models, the one first that answers where none is named, and what a request may ask for."""

    models: list[ModelAnswer]
    limits: dict[str, int | float]


class HealthAnswer(BaseModel):
    """The server lives."""

    status: Literal["ok"] = "ok"


class Problem(BaseModel):
    """What was wrong, what was expected and what to do."""

    detail: str
    request_id: str


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route says about the statuses of its refusals."""
    return {status: {"model": Problem, "description": _PROBLEMS[status]} for status in statuses}


_PROBLEMS = {
    400: "The body is no JSON.",
    401: "The token is missing or wrong.",
    404: "There is no such page.",
    405: "The method is another one.",
    408: "The body came too slowly.",
    413: "The body is too long.",
    415: "The body is not application/json, or compressed.",
    421: "The Host header names another server.",
    422: "The request asks for what cannot be, or for too much.",
    503: "Too many requests wait; Retry-After says when to come back.",
}
