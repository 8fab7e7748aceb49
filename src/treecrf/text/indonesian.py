"""Indonesian rules, by the conventions of ICON: hyphens and the clitic -nya are tokens of their own."""

import re

from treecrf.text.latin import LatinRules
from treecrf.text.word_lists import word_sets

_WORDS = word_sets("id")
_UNSPLIT = _WORDS["unsplit"]
_CLITIC = "nya"
_RUPIAH = re.compile(r"(?i)rp(?=\d)")
_VERB_PREFIXES = ("ter", "ber")  # nouns from verbs, such as "terbentuknya", are one token


def split_word(word: str) -> tuple[tuple[int, str], ...]:
    """The word and its clitic -nya, or the sign of a currency and its number; other words are one token."""
    if _RUPIAH.match(word):
        return (2, word[:2]), (len(word), word[2:])
    lower = word.lower()
    end = len(word) - len(_CLITIC)
    if not lower.endswith(_CLITIC) or end < 2 or lower in _UNSPLIT or lower.startswith(_VERB_PREFIXES):
        return ((len(word), word),)
    return (end, word[:end]), (len(word), word[end:])


RULES = LatinRules(
    abbreviations=_WORDS["abbreviations"],
    openers=_WORDS["openers"],
    connectors=".'’",
    split_word=split_word,
)
