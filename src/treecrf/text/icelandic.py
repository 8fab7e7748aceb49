"""Icelandic rules, by the conventions of GreynirCorpus: names, dates, amounts and fixed expressions are one token."""

from treecrf.text.latin import LatinRules, phrases
from treecrf.text.word_lists import read_lists, word_sets

_WORDS = word_sets("is")
_MONTHS = "janúar|febrúar|mars|apríl|maí|júní|júlí|ágúst|september|október|nóvember|desember"
_NUMBER = r"\d+(?:[.,]\d+)*"
_SCALES = (
    r"(?:þúsund\w{0,2}|milljón\w{0,2}|milljarð\w{0,2}|milljörð\w{0,2}|prósent\w{0,3}|km|kílómetr\w{0,2}|metr\w{0,2})"
)
_CURRENCIES = r"(?:kr\.|krón\w{0,2}|evr\w{0,2}|doll?ar\w{0,2}|pund\w{0,2})"
_NUMBERS = "|".join(
    (
        rf"\d{{1,2}}\.\s+(?:{_MONTHS})\b(?:\s+\d{{4}}\b)?",
        rf"(?:{_MONTHS})\s+\d{{4}}\b",
        r"ár(?:ið|inu|sins)\s+\d{4}\b",
        r"klukkan\s+\d{1,2}(?:[.:]\d\d)?\b",
        rf"{_NUMBER}\s+(?:{_SCALES})(?:\s+(?:{_CURRENCIES}))?",
        rf"{_NUMBER}\s+(?:{_CURRENCIES})",
    )
)
_COMPOUNDS = r"\w+-\s+og\s+\w+"  # "mennta- og menningarmálaráðherra"
_EXPRESSIONS = phrases(read_lists("is")["expressions"])

RULES = LatinRules(
    abbreviations=_WORDS["abbreviations"],
    openers=_WORDS["openers"],
    word_ending=r"(?:-(?!\w)|%)?",
    expressions=f"{_NUMBERS}|{_COMPOUNDS}|{_EXPRESSIONS}",
    connectors="-.'’&/",
    # these words follow the names of institutions and are tokens of their own
    name_links=r"(?!(?:Íslands|Reykjavíkur|Bandaríkjanna|Sameinuðu)\b)(?:(?:de|van|von)\s+)?",
)
