"""CoreNLP's protocol: clients of Stanford's CoreNLP server, such as NLTK's and Stanza's, work with this one.

A request has the text as its body and a JSON object, `properties`, in its query. The annotators tokenize, ssplit, pos,
lemma and parse are there; a lemma is the word in lower case.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from treecrf.parser import Parser
from treecrf.parser.formats import Formatter
from treecrf.server.errors import ApiError, validate
from treecrf.server.limits import PROPERTY_CHARACTERS
from treecrf.server.request_body import body_charset, decode, parse_json, receive_body
from treecrf.server.request_parsing import RequestOptions, SentenceInput
from treecrf.server.routes import RequestRunner
from treecrf.server.search_pool import SearchPool
from treecrf.text import Token
from treecrf.trees.notation import penn_brackets
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.writer import penn_format

T = TypeVar("T")

# media types that clients give to text; requests of Python's urllib and requests libraries have the form type or none
_MEDIA_TYPES = ("text/plain", "application/x-www-form-urlencoded", "application/octet-stream", "")
_ANNOTATORS = ("tokenize", "ssplit", "cleanxml", "pos", "lemma", "parse")
_ROOT = "ROOT"
_PYTHON_CONSTANT = re.compile(r"\b(?:True|False)\b")


class Properties(BaseModel):
    """The properties of a request that this server uses. Properties of other annotators are ignored."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    annotators: str | list[str] = "tokenize,ssplit,pos,lemma,parse"
    output_format: Literal["json", "text"] = Field(default="json", alias="outputFormat")
    whitespace: bool = Field(default=False, alias="tokenize.whitespace")
    end_of_line_only: bool = Field(default=False, alias="ssplit.eolonly")
    one_sentence: bool = Field(default=False, alias="ssplit.isOneSentence")

    @property
    def annotator_names(self) -> list[str]:
        """The names of the annotators, without empty ones."""
        names = self.annotators.split(",") if isinstance(self.annotators, str) else self.annotators
        return [name.strip() for name in names if name.strip()]


@dataclass(frozen=True)
class Document:
    """The properties and the sentences of a request, and their trees if the properties ask for trees."""

    properties: Properties
    sentences: list[list[Token]]
    trees: Sequence[Tree] = ()

    def rows(self) -> Iterator[tuple[list[Token], Tree | None, Sequence[str | None]]]:
        trees: Sequence[Tree | None] = self.trees or [None] * len(self.sentences)
        for tokens, tree in zip(self.sentences, trees, strict=True):
            yield tokens, tree, tree.tags if tree is not None else [None] * len(tokens)


def read_properties(text: str) -> Properties:
    if len(text) > PROPERTY_CHARACTERS:
        raise ApiError(422, f"properties has {len(text):,} characters; expected at most {PROPERTY_CHARACTERS:,}")
    properties = validate(Properties, _parse_properties(text) if text.strip() else {})
    unknown = [name for name in properties.annotator_names if name not in _ANNOTATORS]
    if unknown:
        expected = f"expected some of {', '.join(_ANNOTATORS)}"
        raise ApiError(422, f"annotators: this server has no annotator {unknown[0]!r:.80}; {expected}")
    return properties


def _parse_properties(text: str) -> Any:
    """Parses JSON, or the dictionary of simple values in Python's notation that pycorenlp and Stanza's client send."""
    if text.lstrip().startswith("{'"):
        text = _PYTHON_CONSTANT.sub(lambda match: match[0].lower(), text.replace("'", '"'))
    try:
        return parse_json(text.encode("utf-8", "surrogatepass"))
    except ApiError as error:
        raise ApiError(error.status_code, str(error.detail).replace("the body", "properties", 1)) from None


def read_document(text: str, properties: Properties, parser: Parser) -> Document:
    """Splits a text into sentences and tokens, as the properties say."""
    return Document(properties, list(filter(None, _split(text, properties, parser))))


def _split(text: str, properties: Properties, parser: Parser) -> Iterator[list[Token]]:
    if not (properties.one_sentence or properties.end_of_line_only or properties.whitespace):
        yield from parser.split_text(text)
        return
    start = 0
    for line in [text] if properties.one_sentence else text.splitlines(keepends=True):
        tokens = _split_spaces(line) if properties.whitespace else parser.tokenize(line)
        yield [token._replace(start=token.start + start, end=token.end + start) for token in tokens]
        start += len(line)


def _split_spaces(line: str) -> list[Token]:
    return [Token(match[0], match.start(), match.end(), match[0]) for match in re.finditer(r"\S+", line)]


def to_json(document: Document) -> Iterator[dict[str, Any]]:
    names = document.properties.annotator_names
    for index, (tokens, tree, tags) in enumerate(document.rows()):
        fields: dict[str, Any] = {"index": index}
        if tree is not None and "parse" in names:
            fields["parse"] = penn_brackets(str(tree))
        fields["tokens"] = [
            {
                "index": number,
                "word": token.tree_word,
                "originalText": token.text,
                "characterOffsetBegin": token.start,
                "characterOffsetEnd": token.end,
                **({"lemma": token.tree_word.lower()} if "lemma" in names else {}),
                **({"pos": tag} if tag is not None and "pos" in names else {}),
            }
            for number, (token, tag) in enumerate(zip(tokens, tags, strict=True), 1)
        ]
        yield fields


def to_text(document: Document) -> str:
    """CoreNLP's text for people: the tokens and the tree of each sentence."""
    lines: list[str] = []
    for number, (tokens, tree, tags) in enumerate(document.rows(), 1):
        lines += [f"Sentence #{number} ({len(tokens)} tokens):", " ".join(token.tree_word for token in tokens), ""]
        for token, tag in zip(tokens, tags, strict=True):
            pos = f" PartOfSpeech={tag}" if tag else ""
            offsets = f"CharacterOffsetBegin={token.start} CharacterOffsetEnd={token.end}"
            lines.append(f"[Text={token.tree_word} {offsets}{pos}]")
        if tree is not None and "parse" in document.properties.annotator_names:
            lines += ["", "Constituency parse: ", penn_format(tree)]
        lines.append("")
    return "\n".join(lines)


def with_root(tree: Tree) -> Tree:
    return Tree(_ROOT, tree.children) if not tree.is_leaf else Tree(_ROOT, (tree,))


def _respond(document: Document) -> Response:
    if document.properties.output_format == "text":
        return Response(to_text(document), media_type="text/plain")
    # sentence by sentence: the encoder blocks all other threads
    fields = ", ".join(map(json.dumps, to_json(document)))
    return Response(f'{{"sentences": [{fields}]}}', media_type="application/json")


def corenlp_routes(runner: RequestRunner, pool: SearchPool) -> APIRouter:
    """The routes of CoreNLP's server. The first parser answers."""
    routes = APIRouter(include_in_schema=False)
    reader = runner.reader
    name, parser = next(iter(reader.parsers.items()))
    options = RequestOptions(model=name, formatter=Formatter(exact=True))

    def read(content: bytes, charset: str, properties: Properties) -> tuple[Document, list[SentenceInput]]:
        document = read_document(decode(content, charset), properties, parser)
        inputs = list(map(SentenceInput.from_tokens, document.sentences))
        reader.check(inputs, options)
        return document, inputs

    async def annotate(request: Request, properties: Properties, write: Callable[[Document], T]) -> T:
        """Reads a request, parses its sentences if the properties ask for trees, and writes the document."""
        content = await receive_body(request, reader.limits, media_types=_MEDIA_TYPES)
        document, inputs = await runner.run(
            request, len(content), partial(read, content, body_charset(request), properties)
        )
        needs_trees = not {"pos", "parse"}.isdisjoint(properties.annotator_names)
        brackets = (await runner.parse(request, options, [inputs]))[0] if needs_trees else []

        def write_document() -> T:
            return write(replace(document, trees=[with_root(Tree.parse(line)) for line in brackets]))

        return await runner.run(request, sum(map(len, document.sentences)), write_document)

    @routes.post("/")
    async def annotate_text(request: Request, properties: str = "") -> Response:
        return await annotate(request, read_properties(properties), _respond)

    @routes.post("/tregex")
    async def search(request: Request, pattern: str = "", properties: str = "") -> Response:
        settings = read_properties(properties).model_copy(update={"annotators": "tokenize,ssplit,pos,parse"})
        trees = await annotate(request, settings, lambda document: list(map(str, document.trees)))
        return await pool.respond(request, partial(pool.search, function="find_pattern", pattern=pattern, trees=trees))

    @routes.get("/ping")
    @routes.get("/ready")
    @routes.get("/live")
    async def status(request: Request) -> Response:
        word = request.scope["path"].strip("/")
        return Response("pong\n" if word == "ping" else f"{word}\n", media_type="text/plain")

    return routes
