"""Universal part-of-speech tags from Penn Treebank tags and relations."""

from treecrf.trees.dependencies.lexicon import UNIVERSAL_TAGS

_NEGATIONS = frozenset(("not", "n't", "n’t", "nt"))


def universal_tag(word: str, tag: str, relation: str) -> str:
    """The universal tag of a word; X for a tag that is not one of the Penn Treebank.

    >>> universal_tag("that", "IN", "mark"), universal_tag("that", "DT", "nsubj"), universal_tag("is", "VBZ", "cop")
    ('SCONJ', 'PRON', 'AUX')
    """
    text = word.lower()
    if relation in ("aux", "aux:pass", "cop") and tag[:2] in ("VB", "MD"):
        return "AUX"
    if tag == "IN" and relation == "mark":
        return "SCONJ"
    if tag == "TO" and relation == "case":
        return "ADP"
    if tag in ("DT", "WDT") and not relation.startswith("det"):
        return "PRON"
    if tag == "RB" and text in _NEGATIONS:
        return "PART"
    if text == "%":
        return "SYM"
    return UNIVERSAL_TAGS.get(tag, "X")
