"""Explanations of the labels and tags of CESS-ESP.

A tag has one letter for each feature, in the order of EAGLES: `ncms000` is a noun, common, masculine, singular.
"""

import re

LABELS = {
    "TOP": "root of the tree",
    "INC": "parenthetical clause or phrase",
    "S": "clause",
    "S.F.A": "adverbial clause with a finite verb",
    "S.F.AComp": "comparative clause with a finite verb",
    "S.F.AConc": "concessive clause with a finite verb",
    "S.F.ACond": "conditional clause with a finite verb",
    "S.F.ACons": "consecutive clause with a finite verb",
    "S.F.C": "complement clause with a finite verb",
    "S.F.R": "relative clause with a finite verb",
    "S.NF.A": "adverbial clause without a finite verb",
    "S.NF.C": "complement clause without a finite verb",
    "S.NF.P": "participle clause",
    "S.NF.PA": "absolute participle clause",
    "S.NF.R": "relative clause without a finite verb",
    "conj.subord": "subordinating conjunction",
    "coord": "coordinating conjunction",
    "data": "date",
    "espec": "specifier of a noun: determiners and numbers",
    "gerundi": "gerund, with its auxiliaries",
    "grup.a": "adjective group: the adjective with its complements",
    "grup.adv": "adverb group: the adverb with its complements",
    "grup.nom": "noun group: a noun phrase without its specifier",
    "grup.verb": "verb group: the finite verb with its auxiliaries",
    "infinitiu": "infinitive, with its auxiliaries",
    "interjeccio": "interjection",
    "morf.pron": "pronoun that belongs to the verb, such as reflexive 'se'",
    "morfema.verbal": "'se' of passive and impersonal clauses",
    "neg": "negation",
    "numero": "number",
    "participi": "participle",
    "prep": "preposition",
    "relatiu": "relative pronoun or adverb",
    "s.a": "adjective phrase that modifies a noun",
    "sa": "adjective phrase that is an argument or predicate",
    "sadv": "adverb phrase",
    "sn": "noun phrase",
    "sna": "noun phrase with the name of another thing, such as a work",
    "snd": "noun phrase with a date or time",
    "snl": "noun phrase with the name of a place",
    "snn": "noun phrase with a number",
    "sno": "noun phrase with the name of an organization",
    "snp": "noun phrase with the name of a person",
    "sp": "prepositional phrase",
}
_WHOLE_TAGS = {
    "Faa": "opening exclamation mark",
    "Fat": "closing exclamation mark",
    "Fc": "comma",
    "Fd": "colon",
    "Fe": "quotation mark",
    "Fg": "hyphen or dash",
    "Fh": "slash",
    "Fia": "opening question mark",
    "Fit": "closing question mark",
    "Fp": "period",
    "Fpa": "opening bracket",
    "Fpt": "closing bracket",
    "Fs": "ellipsis",
    "Fx": "semicolon",
    "Fz": "other punctuation",
    "I": "interjection",
    "i": "interjection",
    "W": "date or time",
    "X": "other word",
    "Y": "abbreviation",
    "Z": "number",
    "Zm": "amount of money",
    "Zp": "percentage",
    "Zu": "number with a unit",
    "cc": "coordinating conjunction",
    "cs": "subordinating conjunction",
    "rg": "adverb",
    "rn": "negative adverb",
    "sps00": "preposition",
    "spcms": "contraction of a preposition and an article, masculine, singular",
}
_GENDER = {"m": "masculine", "f": "feminine", "n": "neuter"}
_NUMBER = {"s": "singular", "p": "plural"}
_PERSON = {"1": "first person", "2": "second person", "3": "third person"}
_CASE = {"n": "nominative", "a": "accusative", "d": "dative", "o": "oblique"}
_OWNER = {"s": "one owner", "p": "several owners"}
_NAME = {"p": "person", "l": "place", "o": "organization", "a": "other name"}
# the meanings of the letters of each part of speech, by position
_POSITIONS: dict[str, tuple[dict[str, str], ...]] = {
    "a": (
        {"q": "adjective", "o": "ordinal adjective"},
        {"a": "augmentative", "d": "diminutive", "c": "comparative", "s": "superlative"},
        _GENDER,
        _NUMBER,
        {"p": "participle"},
    ),
    "d": (
        {
            **{"a": "article", "d": "demonstrative determiner", "e": "exclamative determiner"},
            **{"i": "indefinite determiner", "n": "numeral determiner", "p": "possessive determiner"},
            "t": "interrogative determiner",
        },
        _PERSON,
        _GENDER,
        _NUMBER,
        _OWNER,
    ),
    "n": ({"c": "noun", "p": "proper noun"}, _GENDER, _NUMBER, {}, {}, _NAME),
    "p": (
        {
            **{"0": "pronoun 'se', 'me' or 'te' of the verb", "d": "demonstrative pronoun", "e": "exclamative pronoun"},
            **{"i": "indefinite pronoun", "n": "numeral pronoun", "p": "personal pronoun", "r": "relative pronoun"},
            **{"t": "interrogative pronoun", "x": "possessive pronoun"},
        },
        _PERSON,
        _GENDER,
        _NUMBER,
        _CASE,
        _OWNER,
        {"p": "polite"},
    ),
    "v": (
        {"m": "verb", "a": "auxiliary verb", "s": "the verb 'ser'"},
        {
            **{"i": "indicative", "s": "subjunctive", "m": "imperative", "n": "infinitive", "g": "gerund"},
            "p": "participle",
        },
        {"p": "present", "i": "imperfect", "f": "future", "s": "past", "c": "conditional"},
        _PERSON,
        _NUMBER,
        _GENDER,
    ),
}
_LABEL_SUFFIX = re.compile(r"(?:\.(?:[mf]?[sp]|co|j|x|\d[cn]))+\Z|\*")


def explain_label(label: str) -> str | None:
    """The meaning of a label; suffixes of agreement and coordination, such as `.ms` and `.1n`, are ignored."""
    while label not in LABELS and (match := _LABEL_SUFFIX.search(label)):
        label = label[: match.start()] + label[match.end() :]
    return LABELS.get(label)


def explain_tag(tag: str) -> str | None:
    """The meaning of a tag: the part of speech and its features.

    >>> explain_tag("vmip3s0")
    'verb, indicative, present, third person, singular'
    """
    positions = _POSITIONS.get(tag[:1])
    if tag in _WHOLE_TAGS or positions is None or len(tag) < 2 or tag[1] not in positions[0]:
        return _WHOLE_TAGS.get(tag)
    features = [meanings.get(letter, "") for meanings, letter in zip(positions, tag[1:], strict=False)]
    return ", ".join(filter(None, features))
