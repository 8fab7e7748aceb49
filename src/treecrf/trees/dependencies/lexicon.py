"""Word lists for dependencies, such as auxiliaries, fixed expressions and parts of names, and tables of labels."""

from treecrf.config import read_data

_TABLES = read_data(__file__)


def _expressions(name: str) -> dict[tuple[str, ...], str]:
    return {tuple(words.split()): key for key, expressions in _TABLES[name].items() for words in expressions.split(",")}


def _by_label(table: dict[str, str]) -> dict[str, str]:
    return {label: value for value, labels in table.items() for label in labels.split()}


WORDS = {name: frozenset(words.split()) for name, words in _TABLES.items() if isinstance(words, str)}
BE, GET = WORDS["be"], WORDS["get"]
AUXILIARIES = BE | GET | WORDS["have"] | WORDS["do"]
TEMPORAL_NOUNS = WORDS["months"] | WORDS["temporal_nouns"]
# fixed expressions, and the tag that the whole expression has as one word; the first word is the head
FIXED = _expressions("fixed")
FIXED_INSIDE = _expressions("fixed_inside")  # the labels of the constituents in which these expressions are fixed
UNIVERSAL_TAGS = _by_label(_TABLES["universal_tags"])
RELATIONS = {constituents: _by_label(table) for constituents, table in _TABLES["relations"].items()}
CLASSES = _by_label(_TABLES["classes"])
