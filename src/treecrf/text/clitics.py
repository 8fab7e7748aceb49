"""Tokens of words with clitics: contractions and pronouns of Portuguese, and -nya of Indonesian.

The functions return the tokens of a word: the end of each one in the word, and the token as the treebank writes it.
"""

import re
from functools import cache

from treecrf.text.word_lists import word_sets

WordTokens = tuple[tuple[int, str], ...]

_RUPIAH = re.compile(r"(?i)rp(?=\d)")
_VERB_PREFIXES = ("ter", "ber")  # nouns from verbs, such as "terbentuknya", are one token
# the start of a pronoun, or of the ending of a verb after its pronoun ("dir-lhe-ei")
_PART_START = re.compile(
    r"(?i)(?<=\w-)(?:(?:se|me|te|nos|vos|lhes?|[oa]s?|l[oa]s?|n[oa]s?)(?=-|\Z)|(?:ei|á|ás|ão|emos|ia|ias|iam|íamos)\Z)"
)


def split_indonesian(word: str) -> WordTokens:
    """Splits the clitic -nya from its word, and the sign of the currency from its number.

    >>> split_indonesian("rumahnya"), split_indonesian("hanya")
    (((5, 'rumah'), (8, 'nya')), ((5, 'hanya'),))
    """
    lower = word.lower()
    end = 2 if _RUPIAH.match(word) else len(word)
    is_one_token = lower in word_sets("id")["unsplit"] or lower.startswith(_VERB_PREFIXES)
    if end > 4 and lower.endswith("nya") and not is_one_token:
        end -= 3
    return ((end, word),) if end == len(word) else ((end, word[:end]), (len(word), word[end:]))


def split_portuguese(word: str) -> WordTokens:
    """Splits a contraction, or the pronouns after the hyphens of a verb.

    >>> split_portuguese("Do"), split_portuguese("trata-se")
    (((1, 'De'), (2, 'o')), ((6, 'trata-'), (8, 'se')))
    """
    if contraction := _contractions().get(word.lower()):
        end, first, second = contraction
        return (end, first.capitalize() if word[0].isupper() else first), (len(word), second)
    ends = [match.start() for match in _PART_START.finditer(word)] + [len(word)]
    return tuple((end, word[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True))


@cache
def _contractions() -> dict[str, tuple[int, str, str]]:
    """Each contraction, with the end of its first token and both tokens."""
    articles, determiners, adverbs = (word_sets("pt")[name] for name in ("articles", "determiners", "adverbs"))
    # the start and the ends of contractions, the first token, and the start of the second token before the same ends
    rows = (
        ("d", articles | determiners | adverbs, "de", ""),
        ("n", articles | determiners, "em", ""),
        ("pel", articles, "por", ""),
        ("a", ("o", "os"), "a", ""),
        ("à", ("", "s", "quele", "quela", "queles", "quelas", "quilo"), "a", "a"),
    )
    return {start + end: (len(start), first, second + end) for start, ends, first, second in rows for end in ends}
