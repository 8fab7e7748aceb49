"""Explanations of the labels and tags of IcePaHC and GreynirCorpus.

Tags of GreynirCorpus are Icelandic abbreviations with underscores between them: `no_et_nf_kk` is a noun, singular,
nominative, masculine. Tags of IcePaHC are in the style of the Penn historical corpora, with a case after a hyphen.
"""

import re

LABELS = {
    "TOP": "root of the tree",
    "ADJP": "adjective phrase",
    "ADJX": "part of an adjective phrase, in a coordination",
    "ADVP": "adverb phrase",
    "ADVX": "part of an adverb phrase, in a coordination",
    "C": "complementizer or conjunction",
    "CONJP": "conjunction with its conjunct",
    "CP": "clause with a complementizer, a relative or a question word",
    "ENGLISH": "words in English",
    "FOREIGN": "words in another language",
    "FRAG": "fragment of a clause",
    "FRENCH": "words in French",
    "FS": "false start",
    "INTJP": "interjection",
    "IP": "clause, with its subject and verb",
    "LATIN": "words in Latin",
    "LS": "list marker",
    "NP": "noun phrase",
    "NUMP": "number of several words",
    "NX": "part of a noun phrase, in a coordination",
    "P": "preposition",
    "PP": "prepositional phrase",
    "PX": "part of a prepositional phrase, in a coordination",
    "QP": "quantifier phrase",
    "QTP": "quotation",
    "QX": "part of a quantifier phrase, in a coordination",
    "REP": "repetition",
    "RRC": "reduced relative clause",
    "S": "sentence or clause",
    "TO": "infinitive marker 'að'",
    "TRANSLATION": "translation of foreign words",
    "VP": "verb phrase",
    "WADJP": "adjective phrase with a question word",
    "WADJX": "part of an adjective phrase with a question word, in a coordination",
    "WADVP": "adverb phrase with a question or relative word",
    "WNP": "noun phrase with a question or relative word",
    "WNX": "part of a noun phrase with a question word, in a coordination",
    "WPP": "prepositional phrase with a question or relative word",
    "WQP": "quantifier phrase with a question word",
    "XP": "phrase of an unknown kind",
}
_GREYNIR_WORDS = {
    "abbrev": "abbreviation",
    "abfn": "reflexive pronoun",
    "amount": "amount of money",
    "ao": "adverb",
    "dagsafs": "date without a year",
    "dagsföst": "date with a year",
    "entity": "name of an entity",
    "eo": "adverb that modifies an adjective or an adverb",
    "fn": "pronoun",
    "foreign": "foreign word",
    "fs": "preposition",
    "fyrirtæki": "name of a company or an organization",
    "gata": "name of a street",
    "gr": "article",
    "grm": "punctuation",
    "lo": "adjective",
    "lén": "domain name",
    "mælieining": "measurement",
    "nhm": "infinitive marker",
    "no": "noun",
    "person": "name of a person",
    "pfn": "personal pronoun",
    "prósenta": "percentage",
    "raðnr": "ordinal number in digits",
    "so": "verb",
    "st": "conjunction",
    "stt": "relative word",
    "símanúmer": "telephone number",
    "sérnafn": "proper noun",
    "tala": "number in digits",
    "to": "numeral with inflection",
    "tími": "time of day",
    "tímapunktur": "date and time",
    "tímapunkturafs": "date and time without a year",
    "töl": "numeral without inflection",
    "tölvupóstfang": "e-mail address",
    "uh": "interjection",
    "x": "other word",
    "ártal": "year",
}
_GREYNIR_FEATURES = {
    "": "",
    "0": "without objects",
    "1": "with one object",
    "2": "with two objects",
    "bh": "imperative",
    "ef": "genitive",
    "es": "without a subject",
    "esb": "superlative, strong",
    "est": "superlative",
    "et": "singular",
    "evb": "superlative, weak",
    "fh": "indicative",
    "fsb": "positive, strong",
    "fst": "positive",
    "ft": "plural",
    "fvb": "positive, weak",
    "gm": "active",
    "gr": "with the article",
    "hk": "neuter",
    "kk": "masculine",
    "kvk": "feminine",
    "lh": "participle",
    "lhnt": "present participle",
    "lhþt": "past participle",
    "mm": "middle voice",
    "mst": "comparative",
    "nf": "nominative",
    "nh": "infinitive",
    "nt": "present",
    "op": "impersonal",
    "p1": "first person",
    "p2": "second person",
    "p3": "third person",
    "sagnb": "supine",
    "sb": "strong",
    "sef": "with a genitive",
    "sn": "with the pronoun 'þú' at its end",
    "snf": "with a nominative",
    "subj": "with a subject in another case than the nominative",
    "sþf": "with an accusative",
    "sþgf": "with a dative",
    "vb": "weak",
    "vh": "subjunctive",
    "þf": "accusative",
    "þgf": "dative",
    "þt": "past",
}
_ICEPAHC_WORDS = {
    "ADJ": "adjective",
    "ADJP": "adjective phrase in place of a tag",
    "ADJR": "adjective, comparative",
    "ADJS": "adjective, superlative",
    "ADV": "adverb",
    "ADVP": "adverb phrase in place of a tag",
    "ADVR": "adverb, comparative",
    "ADVS": "adverb, superlative",
    "ALSO": "the words 'og', 'líka' and 'einnig' in the sense of 'also'",
    "C": "complementizer",
    "CONJ": "conjunction",
    "CONJP": "conjunction phrase in place of a tag",
    "D": "determiner or article",
    "ES": "expletive 'það'",
    "FP": "focus particle",
    "FW": "foreign word",
    "G": "part of a word",
    "INTJ": "interjection",
    "IP": "clause in place of a tag",
    "ITEM": "the word 'item'",
    "LS": "list marker",
    "MAN": "the indefinite pronoun 'maður'",
    "N": "noun, singular",
    "NEG": "negation",
    "NP": "noun phrase in place of a tag",
    "NPR": "proper noun, singular",
    "NPRS": "proper noun, plural",
    "NS": "noun, plural",
    "NUM": "numeral",
    "ONE": "the word 'einn'",
    "ONES": "the word 'einn', plural",
    "OTHER": "the word 'annar', singular",
    "OTHERS": "the word 'annar', plural",
    "P": "preposition",
    "PRO": "pronoun",
    "Q": "quantifier",
    "QR": "quantifier, comparative",
    "QS": "quantifier, superlative",
    "REP": "repetition",
    "RP": "adverbial particle",
    "RPX": "adverbial particle, part of a verb",
    "SUCH": "the word 'slíkur'",
    "TO": "infinitive marker 'að'",
    "WADJ": "question or relative adjective",
    "WADV": "question or relative adverb",
    "WADVP": "adverb phrase with a question word in place of a tag",
    "WD": "question determiner",
    "WNP": "noun phrase with a question word in place of a tag",
    "WPRO": "question or relative pronoun",
    "WQ": "the word 'hvort'",
    "X": "unknown",
    "XXX": "word that cannot be classified",
}
_VERBS = {
    **{"VB": "verb", "V": "verb", "BE": "the verb 'vera'", "B": "the verb 'vera'", "HV": "the verb 'hafa'"},
    **{"H": "the verb 'hafa'", "DO": "the verb 'gera'", "D": "the verb 'gera'", "MD": "modal verb", "M": "modal verb"},
    **{"RD": "the verb 'verða'", "R": "the verb 'verða'"},
}
_VERB_FORMS = {
    **{"": "infinitive", "I": "imperative", "PI": "present, indicative", "PS": "present, subjunctive"},
    **{"DI": "past, indicative", "DS": "past, subjunctive", "N": "supine", "AN": "passive participle"},
    **{"AG": "present participle", "G": "present participle", "P": "present"},
}
_CASES = {"N": "nominative", "A": "accusative", "D": "dative", "G": "genitive"}
_VERB = re.compile(r"(VB|BE|HV|DO|MD|RD|V|B|H|D|M|R)(AN|AG|PI|PS|DI|DS|[INGP]|)")
_ERRORS = {"BEBI", "HDDI", "RBN", "VDDI"}
_PARTS = re.compile(r"(.+?)([2-9])([1-9])")  # of a word that is written as several words


def explain_label(label: str) -> str | None:
    """The meaning of a label; some labels of IcePaHC are tags of coordinated words."""
    return LABELS.get(label) or _explain_icepahc(label)


def explain_tag(tag: str) -> str | None:
    """The meaning of a tag of either treebank.

    >>> explain_tag("no_et_nf_kk"), explain_tag("VBDI"), explain_tag("NS-D")
    ('noun, singular, nominative, masculine', 'verb, past, indicative', 'noun, plural, dative')
    """
    word, *features = tag.split("_")
    if word in _GREYNIR_WORDS and all(feature in _GREYNIR_FEATURES for feature in features):
        return ", ".join(filter(None, [_GREYNIR_WORDS[word], *map(_GREYNIR_FEATURES.__getitem__, features)]))
    return _explain_icepahc(tag)


def _explain_icepahc(tag: str) -> str | None:
    base, *suffixes = tag.split("-")
    if tag and not any(character.isalnum() for character in base):
        return f"the punctuation mark {base or tag}"
    if base in _ERRORS:
        return "annotation error"
    meanings = [_explain_word(part) for part in base.split("+")]
    if None in meanings:
        return None
    text = " + ".join(filter(None, meanings))
    return ", ".join([text, *(_CASES[suffix] for suffix in suffixes if suffix in _CASES)])


def _explain_word(word: str) -> str | None:
    if word in _ICEPAHC_WORDS:
        return _ICEPAHC_WORDS[word]
    if match := _VERB.fullmatch(word):
        return f"{_VERBS[match[1]]}, {_VERB_FORMS[match[2]]}"
    if (match := _PARTS.fullmatch(word)) and (meaning := _explain_word(match[1])):
        return f"{meaning}, part {match[3]} of {match[2]}"
    return None
