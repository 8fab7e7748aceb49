"""Universal part-of-speech tags from Penn Treebank tags and relations."""

_UPOS = {
    **dict.fromkeys(("NN", "NNS"), "NOUN"),
    **dict.fromkeys(("NNP", "NNPS", "ADD"), "PROPN"),
    **dict.fromkeys(("JJ", "JJR", "JJS"), "ADJ"),
    **dict.fromkeys(("RB", "RBR", "RBS", "WRB"), "ADV"),
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), "VERB"),
    **dict.fromkeys(("PRP", "PRP$", "WP", "WP$", "EX"), "PRON"),
    **dict.fromkeys(("SYM", "$", "#"), "SYM"),
    **dict.fromkeys(("FW", "LS", "GW", "AFX"), "X"),
    **dict.fromkeys((",", ".", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"), "PUNCT"),
    **dict.fromkeys(("-LSB-", "-RSB-", "-LCB-", "-RCB-"), "PUNCT"),
    "CC": "CCONJ",
    "CD": "NUM",
    "DT": "DET",
    "IN": "ADP",
    "MD": "AUX",
    "PDT": "DET",
    "POS": "PART",
    "RP": "ADP",
    "TO": "PART",
    "UH": "INTJ",
    "WDT": "DET",
}
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
    return _UPOS.get(tag, "X")
