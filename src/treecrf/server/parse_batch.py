"""Sentences that are parsed together: what is wanted of them, and what came of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treecrf.decoding.constraints import Constraints
from treecrf.parser import Parser
from treecrf.parser.formats import Parsed, Style
from treecrf.text import Token

# words of a turn that a CPU parses at once: it gains more from sentences alike in length than from many
_ALIKE = 500


class Item(NamedTuple):
    """A sentence of a request."""

    words: Sequence[str] | Sequence[Token]
    offsets: Sequence[tuple[int, int]]
    tags: Sequence[str] | None = None
    constraints: Constraints | None = None


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a request wants of each of its sentences."""

    model: str
    style: Style
    mbr: bool = True
    marginals: bool = False


Answer = str | Exception  # a sentence as it is written in its style, or why it cannot be parsed


def parse_items(parsers: Mapping[str, Parser], wish: Wish, items: Sequence[Item]) -> list[Answer]:
    """The answers to sentences that have tags or none, constraints or none, all alike.

    Where one of them cannot be parsed, only that one gets an error: the others are parsed without it.
    """
    parser = parsers[wish.model]
    try:
        return [wish.style.sentence(parsed) for parsed in _parsed(parser, wish, items)]
    except Exception as error:
        if len(items) == 1:
            return [error]
    return [answer for item in items for answer in parse_items(parsers, wish, [item])]


def _parsed(parser: Parser, wish: Wish, items: Sequence[Item]) -> Iterator[Parsed]:
    words = [item.words for item in items]
    tags = [item.tags for item in items if item.tags is not None] or None
    constraints = [item.constraints for item in items] if items[0].constraints else None
    style = wish.style
    size = _ALIKE if parser.device.type == "cpu" else 5000
    if style.probs or style.kbest:
        found = parser.analyze_many(
            words, k=style.kbest, tags=tags, constraints=constraints, batch_words=size, mbr=wish.mbr
        )
        for item, analysis in zip(items, found, strict=True):
            yield Parsed(analysis.tree, item.offsets, analysis, _marginals(parser, item) if wish.marginals else None)
        return
    trees = parser.parse_many(words, tags=tags, constraints=constraints, batch_words=size, mbr=wish.mbr)
    for item, tree in zip(items, trees, strict=True):
        yield Parsed(tree, item.offsets, None, _marginals(parser, item) if wish.marginals else None)


def _marginals(parser: Parser, item: Item) -> list[list[float]]:
    crf = parser.crf(item.words, tags=item.tags, constraints=item.constraints)
    chart = crf.marginals[0].clamp(0.0, 1.0).tolist()
    return [row[start + 1 :] for start, row in enumerate(chart[:-1])]
