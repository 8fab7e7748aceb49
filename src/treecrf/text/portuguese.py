"""Portuguese rules, by the conventions of Floresta.

Contractions are two tokens ("do": "de", "o"). Pronouns after a hyphen are tokens ("trata-se": "trata-", "se"). Names
and fixed expressions are one token each. The treebank writes round brackets as braces, and colons as semicolons.
"""

import re
from collections.abc import Iterator

from treecrf.text.latin import LatinRules, phrases
from treecrf.text.word_lists import read_lists, word_sets

_WORDS = word_sets("pt")
_ARTICLES = "o a os as"
_DEMONSTRATIVES = "este esta estes estas esse essa esses essas aquele aquela aqueles aquelas isto isso aquilo"
_OTHERS = "um uma uns umas ele ela eles elas outro outra outros outras"


def _contractions() -> Iterator[tuple[str, tuple[tuple[int, str], ...]]]:
    """Each contraction with its tokens: their ends in the contraction, and the tokens."""
    for second in f"{_ARTICLES} {_DEMONSTRATIVES} {_OTHERS} aqui aí ali onde".split():
        yield f"d{second}", ((1, "de"), (1 + len(second), second))
    for second in f"{_ARTICLES} {_DEMONSTRATIVES} {_OTHERS}".split():
        yield f"n{second}", ((1, "em"), (1 + len(second), second))
    for second in _ARTICLES.split():
        yield f"pel{second}", ((3, "por"), (3 + len(second), second))
    for second in ("o", "os"):
        yield f"a{second}", ((1, "a"), (1 + len(second), second))
    yield "à", ((1, "a"), (1, "a"))
    for rest in ("s", "quele", "quela", "queles", "quelas", "quilo"):
        yield f"à{rest}", ((1, "a"), (1 + len(rest), f"a{rest}"))


_CONTRACTIONS = dict(_contractions())
# the start of a pronoun, or of the ending of a verb after its pronoun ("dir-lhe-ei")
_PART_START = re.compile(
    r"(?i)(?<=\w-)(?:(?:se|me|te|nos|vos|lhes?|[oa]s?|l[oa]s?|n[oa]s?)(?=-|\Z)|(?:ei|á|ás|ão|emos|ia|ias|iam|íamos)\Z)"
)


def split_word(word: str) -> tuple[tuple[int, str], ...]:
    """The tokens of a contraction or of a verb with pronouns after hyphens; other words are one token."""
    tokens = _CONTRACTIONS.get(word.lower())
    if tokens is not None:
        (first_end, first), *rest = tokens
        return (first_end, first.capitalize() if word[0].isupper() else first), *rest
    ends = [match.start() for match in _PART_START.finditer(word)] + [len(word)]
    starts = [0, *ends[:-1]]
    return tuple((end, word[start:end]) for start, end in zip(starts, ends, strict=True))


# the last word of an expression may be the first token of a contraction, as in "cerca dos"
_ENDINGS = {"de": r"d(?:e\b|(?=\w))", "a": r"(?:a(?=os?\b)|a\b|à(?=s?\b))"}
_EXPRESSIONS = phrases(read_lists("pt")["expressions"], _ENDINGS)

RULES = LatinRules(
    abbreviations=_WORDS["abbreviations"],
    openers=_WORDS["openers"],
    treebank_words={"(": "{", ")": "}", ":": ";", "—": "--", "–": "--", "…": "..."},
    split_word=split_word,
    expressions=_EXPRESSIONS,
    name_links=r"(?:(?:d[eoa]s?|del?\s+la|von|van|di)\s+)?",
)
