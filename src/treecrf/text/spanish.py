"""Spanish rules, by the conventions of CESS-ESP: names, dates and fixed expressions are one token each."""

from treecrf.text.latin import LatinRules, phrases
from treecrf.text.word_lists import read_lists, word_sets
from treecrf.trees.treebank.escapes import PENN_ESCAPES

_WORDS = word_sets("es")
_MONTHS = "enero|febrero|marzo|abril|mayo|junio|julio|agosto|sep?tiembre|octubre|noviembre|diciembre"
_NUMBER = r"\d+(?:[.,]\d+)*"
_DATES = "|".join(
    (
        rf"\d{{1,2}}\s+de\s+(?:{_MONTHS})\b(?:\s+del?\s+\d{{4}}\b)?",
        rf"(?:{_MONTHS})\s+del?\s+\d{{4}}\b",
        r"año\s+\d{4}\b",
        rf"{_NUMBER}(?:\s+por\s+ciento\b|\s?%)",
    )
)
_EXPRESSIONS = phrases(read_lists("es")["expressions"])

RULES = LatinRules(
    abbreviations=_WORDS["abbreviations"],
    openers=_WORDS["openers"],
    connectors="-.'’&/",
    treebank_words={**PENN_ESCAPES, "—": "-", "–": "-", "…": "..."},
    expressions=f"{_DATES}|{_EXPRESSIONS}",
    name_links=r"(?:(?:del?|de\s+las?|de\s+los|da|do|von|van|di)\s+)?",
)
