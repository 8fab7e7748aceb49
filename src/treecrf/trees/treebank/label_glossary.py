"""Explanations of constituent labels and part-of-speech tags.

English has the labels and tags of the Penn Treebank and of CRAFT, GENIA, MASC and GUM. The other languages have the
labels and tags of their treebanks. A glossary is a file of lines with a table, a symbol and its meaning, separated by
tabs; the tables `label` and `tag` have whole symbols. Other tables have features, for tags that are made of them.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from treecrf.trees.tree import Tree
from treecrf.trees.treebank.languages import LANGUAGES

_FOLDER = Path(__file__).parent / "glossaries"
_FUNCTION = re.compile(r"(?<=.)[-=|]")
_SINICA_FEATURES = re.compile(r"(.+)\[(.+)[\]}]")  # some tags of the Sinica Treebank end in } by mistake
_SPANISH_SUFFIX = re.compile(r"(?:\.(?:[mf]?[sp]|co|j|x|\d[cn]))+\Z|\*")
_PORTUGUESE_ERRORS = ("num", "prop", "prp", "N<")  # tags that start so and go on are annotation errors
_ICEPAHC_VERB = re.compile(r"(VB|BE|HV|DO|MD|RD|LB|V|B|H|D|M|R|L)(AN|AG|PI|PS|DI|DS|[INGP]|)")
_ICEPAHC_PART = re.compile(r"(.+?)([2-9])([1-9])")  # a word that is written as several words

Table = dict[str, str]
Glossary = dict[str, Table]


def explain(label: str, language: str = "en", *, is_tag: bool | None = None) -> str | None:
    """The meaning of a label or a tag; None if it is unknown. `is_tag` decides if a label and a tag have the same name.

    >>> explain("SBAR")
    'clause introduced by a subordinating conjunction or a relative word'
    >>> explain("NP-SBJ"), explain("VBZ"), explain("ZZ")
    ('noun phrase', 'verb, present tense, third person singular', None)
    >>> explain("vmip3s0", "es"), explain("no_et_nf", "is"), explain("«", "pt")
    ('verb, indicative, present, third person, singular', 'noun, singular, nominative', 'the punctuation mark «')
    """
    if language not in LANGUAGES:
        raise ValueError(f"no explanations for the language {language!r}; expected one of {', '.join(LANGUAGES)}")
    glossary = read_glossary(language)
    meaning = None if is_tag else _explain_with(_LABEL_RULES, glossary, "label", label, language)
    if meaning is not None or is_tag is False:
        return meaning
    return _explain_with(_TAG_RULES, glossary, "tag", label, language)


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


@cache
def read_glossary(language: str) -> Glossary:
    """The tables of a language's glossary."""
    glossary: Glossary = {}
    for line in (_FOLDER / f"{_glossary_name(language)}.tsv").read_text(encoding="utf-8").splitlines():
        table, symbol, meaning = line.split("\t")
        glossary.setdefault(table, {})[symbol] = meaning
    return glossary


def _glossary_name(language: str) -> str:
    return LANGUAGES[language].glossary or language


Rule = Callable[[str, Table, Glossary], str | None]


def _explain_with(rules: dict[str, Rule], glossary: Glossary, table: str, symbol: str, language: str) -> str | None:
    """The meaning of a symbol in a table, or else what the rule of the language says about its parts."""
    meanings, rule = glossary[table], rules.get(_glossary_name(language))
    if symbol in meanings or rule is None:
        return meanings.get(symbol)
    return rule(symbol, meanings, glossary)


def _without_function(label: str, meanings: Table, glossary: Glossary) -> str | None:
    """Ignores function tags: NP-SBJ."""
    return meanings.get(_FUNCTION.split(label)[0])


def _with_features(label: str, meanings: Table, glossary: Glossary) -> str | None:
    """Explains the features of the Sinica Treebank: VC2[+NEG]."""
    if match := _SINICA_FEATURES.fullmatch(label):
        parts = [meanings.get(match[1]), *map(glossary["feature"].get, match[2].split(","))]
        if None not in parts:
            return "; ".join(filter(None, parts))
    return _without_function(label, meanings, glossary)


def _without_suffixes(label: str, meanings: Table, glossary: Glossary) -> str | None:
    """Ignores the Spanish suffixes of agreement and coordination, such as `.ms` and `.1n`."""
    while label not in meanings and (match := _SPANISH_SUFFIX.search(label)):
        label = label[: match.start()] + label[match.end() :]
    return meanings.get(label)


def _letter_by_letter(tag: str, meanings: Table, glossary: Glossary) -> str | None:
    """Explains Spanish tags, which have a letter for each feature, in the order of EAGLES: ncms000.

    Some Catalan tags of punctuation marks and numbers start with a small letter by mistake.
    """
    if (whole := meanings.get(tag[:1].upper() + tag[1:])) is not None:
        return whole
    tables = [glossary.get(name, {}) for name in glossary["features"].get(tag[:1], "").split()]
    if not tables or tag[1:2] not in tables[0]:
        return None
    return ", ".join(filter(None, (table.get(letter) for table, letter in zip(tables, tag[1:], strict=False))))


def _portuguese_tag(tag: str, meanings: Table, glossary: Glossary) -> str | None:
    """Explains punctuation marks, whose tag is the mark."""
    if _is_punctuation(tag):
        return f"the punctuation mark {tag}"
    return "annotation error" if tag.startswith(_PORTUGUESE_ERRORS) else None


def _icelandic_tag(tag: str, meanings: Table, glossary: Glossary) -> str | None:
    """Explains tags of GreynirCorpus, made of abbreviations (no_et_nf_kk), and tags of IcePaHC."""
    word, *features = tag.split("_")
    parts = [glossary["greynir_tag"].get(word), *map(glossary["greynir_feature"].get, filter(None, features))]
    return _icepahc_tag(tag, meanings, glossary) if None in parts else ", ".join(filter(None, parts))


def _icepahc_tag(tag: str, meanings: Table, glossary: Glossary) -> str | None:
    """Explains tags in the style of the Penn historical corpora, with a case after a hyphen (NS-D)."""
    base, *suffixes = tag.split("-")
    if tag and (not base or _is_punctuation(base)):
        return f"the punctuation mark {base or tag}"
    words = [_icepahc_word(part, glossary) for part in base.split("+")]
    if None in words:
        return None
    cases = map(glossary["case"].get, suffixes)
    return ", ".join(filter(None, [" + ".join(filter(None, words)), *cases]))


def _icepahc_word(word: str, glossary: Glossary) -> str | None:
    if word in glossary["tag"]:
        return glossary["tag"][word]
    if match := _ICEPAHC_VERB.fullmatch(word):
        return f"{glossary['verb'][match[1]]}, {glossary['verb_form'][match[2]]}"
    if (match := _ICEPAHC_PART.fullmatch(word)) and (meaning := _icepahc_word(match[1], glossary)):
        return f"{meaning}, part {match[3]} of {match[2]}"
    return None


def _is_punctuation(tag: str) -> bool:
    return tag != "" and not any(character.isalnum() for character in tag)


# symbols that are not in the table of a language; in other languages they are unknown
_LABEL_RULES: dict[str, Rule] = {
    "en": _without_function,
    "es": _without_suffixes,
    "is": _icepahc_tag,
    "zh": _with_features,
}
_TAG_RULES: dict[str, Rule] = {
    "en": _without_function,
    "es": _letter_by_letter,
    "is": _icelandic_tag,
    "pt": _portuguese_tag,
    "zh": _with_features,
}
