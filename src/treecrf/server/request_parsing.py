"""From a request's inputs to the sentences that are parsed."""

from collections.abc import Sequence

from treecrf.decoding.constraints import Constraints
from treecrf.parser import Parser
from treecrf.parser.formats import Style
from treecrf.server.errors import Refusal
from treecrf.server.limits import Limits
from treecrf.server.parse_batch import Item, Wish
from treecrf.server.schema import Bracket, Input, Known, Wanted
from treecrf.text import sentences


def read_wish(wanted: Wanted, models: Sequence[str], limits: Limits) -> Wish:
    """What a request wants of each sentence."""
    model = wanted.model if wanted.model is not None else models[0]
    if model not in models:
        raise Refusal(422, f"model: there is no {model!r:.80} here; expected one of {', '.join(models)}")
    if wanted.k > limits.k:
        raise Refusal(422, f"k: {wanted.k} alternatives; the limit of this server is {limits.k}")
    style = Style(format=wanted.format, probs=wanted.probabilities, kbest=wanted.k, is_text=True)
    return Wish(model=model, style=style, mbr=wanted.mbr, marginals=wanted.marginals)


def read_inputs(inputs: Sequence[Input], wanted: Wanted, parser: Parser, limits: Limits) -> list[list[Item]]:
    """The sentences of each input, within the limits."""
    found: list[list[Item]] = []
    count = 0
    for number, given in enumerate(inputs):
        place = f"inputs.{number}: " if len(inputs) > 1 else ""
        items = _read_text(given, parser, limits) if given.tokens is None else _read_tokens(given)
        count += len(items)
        if count > limits.sentences:
            raise Refusal(
                422, f"{place}more than {limits.sentences} sentences, the limit of this server; send several requests"
            )
        for sentence, item in enumerate(items):
            _check_item(item, f"{place}sentence {sentence}", parser, limits, has_marginals=wanted.marginals)
        found.append(_constrained(items, given.constraints, place))
    return found


def _read_tokens(given: Input) -> list[Item]:
    words = given.tokens or []
    offsets: list[tuple[int, int]] = []
    start = 0
    for word in words:
        offsets.append((start, start + len(word)))
        start += len(word) + 1
    return [Item(words, offsets, given.tags)] if words else []


def _read_text(given: Input, parser: Parser, limits: Limits) -> list[Item]:
    items: list[Item] = []
    for tokens in sentences(given.text or "", language=parser.language):
        items.append(Item(tokens, [(token.start, token.end) for token in tokens]))
        if len(items) > limits.sentences:
            break  # which is refused
    return items


def _check_item(item: Item, place: str, parser: Parser, limits: Limits, *, has_marginals: bool) -> None:
    words = len(item.words)
    if words > limits.words:
        raise Refusal(422, f"{place} has {words:,} words; the limit of this server is {limits.words:,}")
    if has_marginals and words > limits.marginal_words:
        raise Refusal(
            422, f"{place} has {words:,} words; the limit of this server for marginals is {limits.marginal_words:,}"
        )
    if item.tags is None and parser.model.config.tag_size:
        raise Refusal(422, f"{place} has no tags and the model reads them; expected tokens with tags")


def _constrained(items: list[Item], known: Known | list[Known | None] | None, place: str) -> list[Item]:
    if known is None:
        return items
    each = known if isinstance(known, list) else [known]
    if len(each) != len(items):
        raise Refusal(
            422,
            f"{place}constraints of {len(each)} sentences, but there are {len(items)}; "
            "expected a list with one, or null, for each sentence",
        )
    return [item._replace(constraints=_constraints(one)) for item, one in zip(items, each, strict=True)]


def _constraints(known: Known | None) -> Constraints | None:
    if known is None or not (known.require or known.forbid):
        return None
    return Constraints(require=list(map(_triple, known.require)), forbid=list(map(_triple, known.forbid)))


def _triple(bracket: Bracket) -> tuple[int, int, str | None]:
    return bracket.start, bracket.end, bracket.label
