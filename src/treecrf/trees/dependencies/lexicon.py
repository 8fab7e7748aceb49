"""Word lists for dependencies: auxiliaries, fixed expressions, parts of names, and classes of verbs."""

from pathlib import Path
from typing import Any

from treecrf.config import tomllib

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_TABLES[name].split())


BE = _words("be")
GET = _words("get")
AUXILIARIES = BE | GET | _words("have") | _words("do")
# fixed expressions, and the tag that the whole expression has as one word; the first word is the head
FIXED: dict[tuple[str, ...], str] = {
    tuple(words.split()): tag for tag, expressions in _TABLES["fixed"].items() for words in expressions.split(",")
}
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
