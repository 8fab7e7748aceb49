"""Request parsing: from the bytes of a request's body to its options and sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import NamedTuple

from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.formats import Formatter
from treecrf.server import schema
from treecrf.server.errors import ApiError, validate
from treecrf.server.limits import CHECKED_SENTENCES, Limits, sentence_work
from treecrf.server.models import language_warnings
from treecrf.server.request_body import parse_json
from treecrf.text import Token


class SentenceInput(NamedTuple):
    """A sentence of a request."""

    words: Sequence[str] | Sequence[Token]
    offsets: Sequence[tuple[int, int]]
    tags: Sequence[str] | None = None
    constraints: Constraints | None = None

    @staticmethod
    def from_tokens(tokens: Sequence[Token]) -> "SentenceInput":
        return SentenceInput(tokens, [(token.start, token.end) for token in tokens])

    @property
    def word_texts(self) -> list[str]:
        """The words as they appear in the tree."""
        return [word.tree_word if isinstance(word, Token) else word for word in self.words]


@dataclass(frozen=True, kw_only=True)
class RequestOptions:
    """The options of a request, which hold for all of its sentences."""

    model: str
    formatter: Formatter
    mbr: bool = True
    marginals: bool = False

    def work(self, sentence: SentenceInput) -> float:
        return sentence_work(len(sentence.words), k=self.formatter.kbest, marginals=self.marginals)


@dataclass(frozen=True)
class ParsedRequest:
    """A request that is ready for the parser: its options, and the sentences and warnings of each input."""

    options: RequestOptions
    groups: list[list[SentenceInput]]
    warnings: list[list[str]]
    is_batch: bool


@dataclass(frozen=True)
class RequestReader:
    """Reads and checks the bodies of requests for these parsers, within the limits."""

    parsers: Mapping[str, Parser]
    limits: Limits

    def read(self, content: bytes, body_type: type[schema.ParseRequest] | type[schema.BatchRequest]) -> ParsedRequest:
        body: schema.ParseRequest | schema.BatchRequest = validate(body_type, parse_json(content))
        model = model_name(self.parsers, body.model)
        if body.k > self.limits.k:
            raise ApiError(422, f"k: {body.k} alternatives; this server's limit is {self.limits.k}")
        for component in ("functions", "empties"):
            if getattr(body, component) and component not in self.parsers[model].arrays:
                able = ", ".join(name for name, parser in self.parsers.items() if component in parser.arrays)
                problem = f"the model {model} predicts none; models that do: {able or 'none here'}"
                raise ApiError(422, f"{component}: {problem}")
        formatter = Formatter(
            format=body.format,
            probs=body.probabilities,
            kbest=body.k,
            functions=body.functions,
            empties=body.empties,
        )
        options = RequestOptions(model=model, formatter=formatter, mbr=body.mbr, marginals=body.marginals)
        inputs = body.inputs if isinstance(body, schema.BatchRequest) else [body]
        groups = self._read_inputs(inputs, options)
        warnings = [
            self._warnings(group, model, is_text=request_input.tokens is None)
            for request_input, group in zip(inputs, groups, strict=True)
        ]
        return ParsedRequest(options, groups, warnings, is_batch=isinstance(body, schema.BatchRequest))

    def split(self, content: bytes) -> schema.SplitResponse:
        """Reads a request to split a text, and splits the text."""
        body = validate(schema.SplitRequest, parse_json(content))
        model = model_name(self.parsers, body.model)
        group = self._split_text(body.text, model)
        if len(group) > self.limits.sentences:
            raise self._too_many_sentences()
        return schema.SplitResponse(
            model=model,
            sentences=[
                schema.SplitSentence(words=sentence.word_texts, offsets=list(sentence.offsets)) for sentence in group
            ],
            warnings=self._warnings(group, model, is_text=True),
        )

    def check(self, group: Sequence[SentenceInput], options: RequestOptions) -> None:
        """Checks the limits on the sentences of a request in another schema."""
        self._check_group(group, len(group), options)
        self._check_work([group], options)

    def _read_inputs(self, inputs: Sequence[schema.Input], options: RequestOptions) -> list[list[SentenceInput]]:
        """Splits each input into sentences, and checks the limits."""
        groups: list[list[SentenceInput]] = []
        count = 0
        for index, request_input in enumerate(inputs):
            prefix = input_prefix(index, len(inputs))
            if request_input.tokens is None:
                group = self._split_text(request_input.text or "", options.model)
            else:
                group = _read_tokens(request_input.tokens, request_input.tags)
            count += len(group)
            self._check_group(group, count, options, prefix)
            groups.append(_add_constraints(group, request_input.constraints, prefix))
        self._check_work(groups, options)
        return groups

    def _split_text(self, text: str, model: str) -> list[SentenceInput]:
        tokens = self.parsers[model].split_text(text)
        return list(map(SentenceInput.from_tokens, islice(tokens, self.limits.sentences + 1)))

    def _warnings(self, group: Sequence[SentenceInput], model: str, *, is_text: bool) -> list[str]:
        words = (sentence.word_texts for sentence in group[:CHECKED_SENTENCES])
        return language_warnings(words, model, self.parsers, is_text=is_text)

    def _check_group(
        self, group: Sequence[SentenceInput], count: int, options: RequestOptions, prefix: str = ""
    ) -> None:
        """Checks the sentences of an input; `count` is the number of sentences up to its end."""
        limits = self.limits
        if count > limits.sentences:
            raise self._too_many_sentences(prefix)
        for number, sentence in enumerate(group):
            name, words = f"{prefix}sentence {number}", len(sentence.words)
            if words > limits.words:
                raise ApiError(422, f"{name} has {words:,} words; this server's limit is {limits.words:,}")
            if options.marginals and words > limits.marginal_words:
                raise ApiError(
                    422, f"{name} has {words:,} words; this server's limit for marginals is {limits.marginal_words:,}"
                )
            if sentence.tags is None and self.parsers[options.model].model_config.tag_size:
                raise ApiError(422, f"{name} has no tags, and the model needs them; expected tokens with tags")

    def _too_many_sentences(self, prefix: str = "") -> ApiError:
        return ApiError(
            422, f"{prefix}more than {self.limits.sentences} sentences, this server's limit; send several requests"
        )

    def _check_work(self, groups: Sequence[Sequence[SentenceInput]], options: RequestOptions) -> None:
        work = sum(options.work(sentence) for group in groups for sentence in group)
        if work > self.limits.work:
            raise ApiError(
                422,
                f"the request has {work:,.0f} units of work; this server's limit is {self.limits.work:,}; "
                "send fewer or shorter sentences, or ask for fewer alternatives",
            )


def model_name(parsers: Mapping[str, Parser], name: str | None) -> str:
    """The name of a model, by default of the first one."""
    if name is not None and name not in parsers:
        raise ApiError(422, f"model: this server has no model {name!r:.80}; expected one of {', '.join(parsers)}")
    return next(iter(parsers)) if name is None else name


def input_prefix(index: int, inputs: int) -> str:
    """The beginning of error messages about an input, which is empty for a single input."""
    return f"inputs.{index}: " if inputs > 1 else ""


def _read_tokens(words: list[str], tags: list[str] | None) -> list[SentenceInput]:
    """The sentence of the words, if there are any. Offsets assume one space between words."""
    starts = accumulate((len(word) + 1 for word in words), initial=0)
    offsets = [(start, start + len(word)) for start, word in zip(starts, words, strict=False)]
    return [SentenceInput(words, offsets, tags)] if words else []


def _add_constraints(
    group: list[SentenceInput],
    constraints: schema.ConstraintsIn | list[schema.ConstraintsIn | None] | None,
    prefix: str,
) -> list[SentenceInput]:
    if constraints is None:
        return group
    group_constraints = constraints if isinstance(constraints, list) else [constraints]
    if len(group_constraints) != len(group):
        raise ApiError(
            422,
            f"{prefix}constraints for {len(group_constraints)} sentences, but the input has {len(group)}; "
            "expected a list with constraints or null for each sentence",
        )
    return [
        sentence._replace(constraints=_to_constraints(sentence_constraints))
        for sentence, sentence_constraints in zip(group, group_constraints, strict=True)
    ]


def _to_constraints(constraints: schema.ConstraintsIn | None) -> Constraints | None:
    if constraints is None:
        return None
    require, forbid = (
        [(span.start, span.end, span.label) for span in spans] for spans in (constraints.require, constraints.forbid)
    )
    return Constraints(require, forbid) or None
