"""Explanations of constituent labels and part-of-speech tags.

English has the labels and tags of the Penn Treebank, with those that CRAFT, GENIA, MASC, GUM and others added. Other
languages have those of their treebanks, in a module for each language. The tags of some treebanks consist of features,
which are explained one by one.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from treecrf.trees.tree import Tree
from treecrf.trees.treebank import (
    icelandic_glossary,
    indonesian_glossary,
    portuguese_glossary,
    sinica_glossary,
    spanish_glossary,
)

_ENGLISH_LABELS = {
    "TOP": "root of the tree",
    "ROOT": "root of the tree",
    "ADJP": "adjective phrase",
    "ADVP": "adverb phrase",
    "CIT": "citation in a scientific article",
    "CONJP": "conjunction of several words, such as 'as well as'",
    "EDITED": "words that the speaker corrected",
    "FRAG": "fragment of a clause",
    "INTJ": "interjection",
    "LST": "list marker, with its punctuation",
    "NAC": "part of a noun phrase that is not a noun phrase of its own, such as a modifier after a noun",
    "NML": "nominal modifier: words of a noun phrase that belong together, before its head",
    "NP": "noun phrase",
    "NX": "head of a noun phrase, where several heads share a modifier",
    "PP": "prepositional phrase",
    "PRN": "parenthetical",
    "PRT": "particle of a phrasal verb",
    "QP": "quantity phrase: a number of several words, such as 'more than 20'",
    "RRC": "reduced relative clause, without a relative pronoun and a verb",
    "S": "declarative clause",
    "SBAR": "clause introduced by a subordinating conjunction or a relative word",
    "SBARQ": "question with a question word",
    "SINV": "clause whose subject follows the verb",
    "SQ": "yes-no question, or the part of a question after the question word",
    "UCP": "coordination of phrases of different kinds",
    "VP": "verb phrase",
    "WHADJP": "adjective phrase with a question word, such as 'how old'",
    "WHADVP": "adverb phrase with a question or relative word, such as 'why'",
    "WHNP": "noun phrase with a question or relative word, such as 'which book'",
    "WHPP": "prepositional phrase with a question or relative word, such as 'of which'",
    "X": "unknown or uncertain",
}

_ENGLISH_TAGS = {
    "#": "pound sign or number sign",
    "$": "currency sign",
    "''": "closing quotation mark",
    "``": "opening quotation mark",
    ",": "comma",
    "-LRB-": "opening bracket",
    "-RRB-": "closing bracket",
    "-LSB-": "opening square bracket",
    "-RSB-": "closing square bracket",
    ".": "punctuation at the end of a sentence",
    ":": "colon, semicolon, dash or ellipsis",
    "-NONE-": "empty element, which is not a word",
    "ADD": "e-mail or web address",
    "AFX": "affix that is a separate word",
    "CC": "coordinating conjunction",
    "CD": "cardinal number",
    "CODE": "markup, such as <p>",
    "DT": "determiner",
    "EX": "existential 'there'",
    "FW": "foreign word",
    "GW": "part of a word that was split by mistake",
    "HYPH": "hyphen or slash inside a split word",
    "IN": "preposition or subordinating conjunction",
    "JJ": "adjective",
    "JJR": "adjective, comparative",
    "JJS": "adjective, superlative",
    "LS": "list marker",
    "MD": "modal verb",
    "NFP": "superfluous punctuation, such as '...' between sentences",
    "NN": "noun, singular or mass",
    "NNP": "proper noun, singular",
    "NNPS": "proper noun, plural",
    "NNS": "noun, plural",
    "NNS-4": "annotation error in MASC: noun, plural",
    "PDT": "predeterminer, such as 'all' in 'all the'",
    "POS": "possessive ending",
    "PRP": "personal pronoun",
    "PRP$": "possessive pronoun",
    "RB": "adverb",
    "RBR": "adverb, comparative",
    "RBS": "adverb, superlative",
    "RP": "particle of a phrasal verb",
    "SU": "mark at the end of an utterance in transcribed speech",
    "SYM": "symbol",
    "TO": "the word 'to'",
    "UH": "interjection",
    "VB": "verb, base form",
    "VBD": "verb, past tense",
    "VBG": "verb, gerund or present participle",
    "VBN": "verb, past participle",
    "VBP": "verb, present tense, not third person singular",
    "VBZ": "verb, present tense, third person singular",
    "WDT": "question or relative determiner, such as 'which'",
    "WP": "question or relative pronoun, such as 'who'",
    "WP$": "possessive question or relative pronoun, 'whose'",
    "WRB": "question or relative adverb, such as 'where'",
    "XX": "word that cannot be understood or classified",
}

_FEATURES = re.compile(r"(.+)\[(.+)[\]}]")  # some tags of the Sinica Treebank end in } by mistake
_FUNCTION = re.compile(r"(?<=.)[-=|]")


def explain(label: str, language: str = "en", *, is_tag: bool | None = None) -> str | None:
    """The meaning of a label or a tag; None if it is unknown. `is_tag` decides if a label and a tag have the same name.

    >>> explain("SBAR")
    'clause introduced by a subordinating conjunction or a relative word'
    >>> explain("NP-SBJ"), explain("VBZ"), explain("ZZ")
    ('noun phrase', 'verb, present tense, third person singular', None)
    """
    if language not in _EXPLAINERS:
        raise ValueError(f"no explanations for the language {language!r}; expected one of {', '.join(_EXPLAINERS)}")
    explain_label, explain_tag = _EXPLAINERS[language]
    if is_tag is not None:
        return (explain_tag if is_tag else explain_label)(label)
    meaning = explain_label(label)
    return explain_tag(label) if meaning is None else meaning


def explain_tree(tree: Tree, language: str = "en") -> list[str]:
    """One line for each label and each tag of a tree, in the order of their first occurrence, labels first.

    >>> print("\\n".join(explain_tree(Tree.parse("(TOP (NP (DT the) (NN cat)))"))))
    TOP: root of the tree
    NP: noun phrase
    DT: determiner
    NN: noun, singular or mass
    """
    nodes = list(tree.walk())
    labels = dict.fromkeys(node.label for node in nodes if not node.is_leaf)
    tags = dict.fromkeys(node.label for node in nodes if node.is_leaf)
    return [*explain_all(labels, language, is_tag=False), *explain_all(tags, language, is_tag=True)]


def explain_all(labels: Iterable[str], language: str = "en", *, is_tag: bool) -> list[str]:
    """One line for each label or tag: its name and its meaning."""
    return [f"{label}: {explain(label, language, is_tag=is_tag) or 'unknown'}" for label in labels]


def _look_up(meanings: Mapping[str, str], label: str) -> str | None:
    """The meaning of a label; function tags (NP-SBJ) are ignored, and features (VC2[+NEG]) are explained."""
    if label in meanings:
        return meanings[label]
    if match := _FEATURES.fullmatch(label):
        base, features = meanings.get(match[1]), match[2].split(",")
        if base is not None and all(feature in sinica_glossary.FEATURES for feature in features):
            return "; ".join([base, *(sinica_glossary.FEATURES[feature] for feature in features)])
    return meanings.get(_FUNCTION.split(label)[0])


Explainer = Callable[[str], str | None]
# of labels and of tags, by language
_EXPLAINERS: dict[str, tuple[Explainer, Explainer]] = {
    "en": (partial(_look_up, _ENGLISH_LABELS), partial(_look_up, _ENGLISH_TAGS)),
    "es": (spanish_glossary.explain_label, spanish_glossary.explain_tag),
    "id": (indonesian_glossary.LABELS.get, indonesian_glossary.TAGS.get),
    "is": (icelandic_glossary.explain_label, icelandic_glossary.explain_tag),
    "pt": (portuguese_glossary.LABELS.get, portuguese_glossary.explain_tag),
    "zh": (partial(_look_up, sinica_glossary.LABELS), partial(_look_up, sinica_glossary.TAGS)),
}
LANGUAGES = tuple(_EXPLAINERS)  # those with explanations
