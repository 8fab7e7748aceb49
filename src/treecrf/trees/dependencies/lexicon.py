"""Word lists for dependencies, such as auxiliaries, fixed expressions and parts of names, and tables of labels."""

from pathlib import Path
from typing import Any

from treecrf.config import tomllib

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_TABLES[name].split())


def _expressions(name: str) -> dict[tuple[str, ...], str]:
    return {tuple(words.split()): key for key, expressions in _TABLES[name].items() for words in expressions.split(",")}


def _by_label(table: dict[str, str]) -> dict[str, str]:
    return {label: value for value, labels in table.items() for label in labels.split()}


BE = _words("be")
GET = _words("get")
AUXILIARIES = BE | GET | _words("have") | _words("do")
# fixed expressions, and the tag that the whole expression has as one word; the first word is the head
FIXED = _expressions("fixed")
FIXED_INSIDE = _expressions("fixed_inside")  # the labels of the constituents in which these expressions are fixed
MONTHS = _words("months")
TEMPORAL_NOUNS = MONTHS | _words("temporal_nouns")
LOCATIVE_ADVERBS = _words("locative_adverbs")
QUESTION_PREDICATES = _words("question_predicates")
QUESTION_PREPOSITIONS = _words("question_prepositions")
LINKING_VERBS = _words("linking_verbs")
CONTROL_ADJECTIVES = _words("control_adjectives")
COMMENT_VERBS = _words("comment_verbs")
VERBS_OF_TIME = _words("verbs_of_time")
VERBS_OF_TELLING = _words("verbs_of_telling")
SUBORDINATORS_OF_COMPLEMENTS = _words("subordinators_of_complements")
TITLES = _words("titles")
NAME_SUFFIXES = _words("name_suffixes")
HEAD_INITIAL_NAMES = _words("head_initial_names")
INSTITUTION_NOUNS = _words("institution_nouns")
GIVEN_NAMES = _words("given_names")
UNIVERSAL_TAGS = _by_label(_TABLES["universal_tags"])
RELATIONS = {constituents: _by_label(table) for constituents, table in _TABLES["relations"].items()}
CLASSES = _by_label(_TABLES["classes"])
