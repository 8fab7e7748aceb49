"""Request parsing: from the bytes of a request's body to its options and sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import ValidationError

from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.formats import Formatter
from treecrf.server.errors import ApiError, validation_error
from treecrf.server.language import language_warnings
from treecrf.server.limits import Limits
from treecrf.server.parse_batch import ParseOptions, SentenceInput, word_texts
from treecrf.server.request_body import parse_json
from treecrf.server.schema import (
    BatchRequest,
    ConstraintsIn,
    Input,
    OptionsIn,
    ParseRequest,
    SpanIn,
    SplitRequest,
    SplitResponse,
    SplitSentence,
)
from treecrf.server.work import sentence_work
from treecrf.text import sentences

Body = TypeVar("Body", ParseRequest, BatchRequest)
AnyBody = TypeVar("AnyBody", ParseRequest, BatchRequest, SplitRequest)


@dataclass(frozen=True)
class ParsedRequest(Generic[Body]):
    """A request that is ready for the parser: its body, its options, and the sentences and warnings of each input."""

    body: Body
    options: ParseOptions
    groups: list[list[SentenceInput]]
    warnings: list[list[str]]


def read_request(
    content: bytes, model: type[Body], parsers: Mapping[str, Parser], limits: Limits
) -> ParsedRequest[Body]:
    """Reads the body of a request and checks it."""
    body = _read_body(content, model)
    options = read_options(body, list(parsers), limits)
    inputs = [body] if isinstance(body, ParseRequest) else body.inputs
    groups = read_inputs(inputs, options, parsers[options.model], limits)
    warnings = [
        language_warnings(group, options.model, parsers, is_text=request_input.tokens is None)
        for request_input, group in zip(inputs, groups, strict=True)
    ]
    return ParsedRequest(body, options, groups, warnings)


def read_split_request(content: bytes, parsers: Mapping[str, Parser], limits: Limits) -> SplitResponse:
    """Reads the body of a request to split a text, and splits the text."""
    body = _read_body(content, SplitRequest)
    model = _model_name(body.model, list(parsers))
    group = _split_text(body.text, parsers[model], limits)
    if len(group) > limits.sentences:
        raise _too_many_sentences(limits)
    return SplitResponse(
        model=model,
        sentences=[SplitSentence(words=word_texts(sentence), offsets=list(sentence.offsets)) for sentence in group],
        warnings=language_warnings(group, model, parsers, is_text=True),
    )


def _read_body(content: bytes, model: type[AnyBody]) -> AnyBody:
    try:
        return model.model_validate(parse_json(content))
    except ValidationError as error:
        raise validation_error(error) from None


def read_options(request: OptionsIn, models: Sequence[str], limits: Limits) -> ParseOptions:
    """Checks the options of a request."""
    model = _model_name(request.model, models)
    if request.k > limits.k:
        raise ApiError(422, f"k: {request.k} alternatives; this server's limit is {limits.k}")
    formatter = Formatter(format=request.format, probs=request.probabilities, kbest=request.k, is_text=True)
    return ParseOptions(model=model, formatter=formatter, mbr=request.mbr, marginals=request.marginals)


def _model_name(name: str | None, models: Sequence[str]) -> str:
    """The name of a model, by default of the first one."""
    if name is None:
        return models[0]
    if name not in models:
        raise ApiError(422, f"model: this server has no model {name!r:.80}; expected one of {', '.join(models)}")
    return name


def read_inputs(
    inputs: Sequence[Input], options: ParseOptions, parser: Parser, limits: Limits
) -> list[list[SentenceInput]]:
    """Splits each input into sentences, and checks the limits."""
    groups: list[list[SentenceInput]] = []
    count = 0
    for index, request_input in enumerate(inputs):
        prefix = input_prefix(index, len(inputs))
        if request_input.tokens is None:
            group = _split_text(request_input.text or "", parser, limits)
        else:
            group = _read_tokens(request_input.tokens, request_input.tags)
        count += len(group)
        if count > limits.sentences:
            raise _too_many_sentences(limits, prefix)
        for number, sentence in enumerate(group):
            _check_sentence(sentence, f"{prefix}sentence {number}", options, parser, limits)
        groups.append(_add_constraints(group, request_input.constraints, prefix))
    _check_work(groups, options, limits)
    return groups


def check_sentences(sentences: Sequence[SentenceInput], options: ParseOptions, parser: Parser, limits: Limits) -> None:
    """Checks the limits on the sentences of a request that is not in the schema of this server."""
    if len(sentences) > limits.sentences:
        raise _too_many_sentences(limits)
    for number, sentence in enumerate(sentences):
        _check_sentence(sentence, f"sentence {number}", options, parser, limits)
    _check_work([sentences], options, limits)


def _too_many_sentences(limits: Limits, prefix: str = "") -> ApiError:
    return ApiError(422, f"{prefix}more than {limits.sentences} sentences, this server's limit; send several requests")


def input_prefix(index: int, inputs: int) -> str:
    """The beginning of error messages about an input, which is empty for a single input."""
    return f"inputs.{index}: " if inputs > 1 else ""


def _read_tokens(words: list[str], tags: list[str] | None) -> list[SentenceInput]:
    """The sentence of the words, if there are any. Offsets assume one space between words."""
    offsets: list[tuple[int, int]] = []
    start = 0
    for word in words:
        offsets.append((start, start + len(word)))
        start += len(word) + 1
    return [SentenceInput(words, offsets, tags)] if words else []


def _split_text(text: str, parser: Parser, limits: Limits) -> list[SentenceInput]:
    group: list[SentenceInput] = []
    for tokens in sentences(text, language=parser.language):
        group.append(SentenceInput(tokens, [(token.start, token.end) for token in tokens]))
        if len(group) > limits.sentences:
            break  # the caller raises the error
    return group


def _check_sentence(sentence: SentenceInput, name: str, options: ParseOptions, parser: Parser, limits: Limits) -> None:
    words = len(sentence.words)
    if words > limits.words:
        raise ApiError(422, f"{name} has {words:,} words; this server's limit is {limits.words:,}")
    if options.marginals and words > limits.marginal_words:
        raise ApiError(
            422, f"{name} has {words:,} words; this server's limit for marginals is {limits.marginal_words:,}"
        )
    if sentence.tags is None and parser.model_config.tag_size:
        raise ApiError(422, f"{name} has no tags, and the model needs them; expected tokens with tags")


def _check_work(groups: Sequence[Sequence[SentenceInput]], options: ParseOptions, limits: Limits) -> None:
    k, marginals = options.formatter.kbest, options.marginals
    work = sum(sentence_work(len(one.words), k=k, marginals=marginals) for group in groups for one in group)
    if work > limits.work:
        raise ApiError(
            422,
            f"the request has {work:,.0f} units of work; this server's limit is {limits.work:,}; "
            "send fewer or shorter sentences, or ask for fewer alternatives",
        )


def _add_constraints(
    group: list[SentenceInput], constraints: ConstraintsIn | list[ConstraintsIn | None] | None, prefix: str
) -> list[SentenceInput]:
    if constraints is None:
        return group
    sentence_constraints = constraints if isinstance(constraints, list) else [constraints]
    if len(sentence_constraints) != len(group):
        raise ApiError(
            422,
            f"{prefix}constraints for {len(sentence_constraints)} sentences, but the input has {len(group)}; "
            "expected a list with constraints or null for each sentence",
        )
    return [
        sentence._replace(constraints=_to_constraints(one))
        for sentence, one in zip(group, sentence_constraints, strict=True)
    ]


def _to_constraints(constraints: ConstraintsIn | None) -> Constraints | None:
    if constraints is None or not (constraints.require or constraints.forbid):
        return None
    return Constraints(
        require=list(map(_to_triple, constraints.require)), forbid=list(map(_to_triple, constraints.forbid))
    )


def _to_triple(span: SpanIn) -> tuple[int, int, str | None]:
    return span.start, span.end, span.label
