"""Conditions of training sentences, which the network reads: the annotation scheme, and tags of some or all words."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

_REPLACED_SENTENCES, _REPLACED_WORDS = 0.3, 0.15  # shares of the sentences with given tags, and of their words


class Told(NamedTuple):
    """A training sentence as the network reads it, with its conditions."""

    words: list[str]
    tags: list[str | None]
    scheme: int  # counted from 1; 0: none


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Draws the conditions of training sentences; a sentence without any is read as it is.

    A told sentence gets its scheme alone, the gold tags of all words, or of a random share of them, half of the tagged
    ones with the scheme. Some words whose tag is given are replaced by others, so that the network trusts the tag.
    """

    words: Sequence[list[str]]
    tags: Sequence[list[str]]  # for the first sentences; the others have no tags
    schemes: Sequence[int]  # by sentence
    share: float  # share of the sentences that are told anything
    has_tags: bool  # whether tags are conditions

    def known(self, index: int) -> Told:
        """A sentence with all that the network may be told of it."""
        words = self.words[index]
        return Told(words, [*self.tags[index]] if self._is_tagged(index) else [None] * len(words), self.schemes[index])

    def draw(self, index: int, chance: random.Random) -> Told:
        words, scheme = self.words[index], self.schemes[index]
        is_tagged = self._is_tagged(index)
        tags: list[str | None] = [None] * len(words)
        if chance.random() >= self.share or not (is_tagged or scheme):
            return Told(words, tags, 0)
        kinds = (["scheme"] if scheme else []) + (["all", "some"] if is_tagged else [])
        kind = chance.choice(kinds)
        if kind == "scheme":
            return Told(words, tags, scheme)
        share = 1.0 if kind == "all" else chance.random()
        tags = [tag if chance.random() < share else None for tag in self.tags[index]]
        if chance.random() < _REPLACED_SENTENCES:
            pairs = [(word, bool(tag) and word.isalpha()) for word, tag in zip(words, tags, strict=True)]
            words = [
                chance.choice(self._alphabetic) if may and chance.random() < _REPLACED_WORDS else word
                for word, may in pairs
            ]
        return Told(words, tags, scheme if chance.random() < 0.5 else 0)

    def _is_tagged(self, index: int) -> bool:
        return self.has_tags and index < len(self.tags)

    @cached_property
    def _alphabetic(self) -> list[str]:
        return [word for words in self.words for word in words if word.isalpha()] or [""]
