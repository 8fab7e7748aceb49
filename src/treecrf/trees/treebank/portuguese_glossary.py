"""Explanations of the labels and tags of Floresta."""

LABELS = {
    "TOP": "root of the tree",
    "X": "unknown or uncertain",
    "acl": "averbal clause: a clause without a verb",
    "advp": "adverb phrase",
    "ap": "adjective phrase",
    "cu": "coordination",
    "fcl": "finite clause",
    "icl": "non-finite clause: its verb is an infinitive, a gerund or a participle",
    "np": "noun phrase",
    "pp": "prepositional phrase",
    "pron-det": "determiner",
    "sq": "sequence of utterances, such as a quotation and its speaker",
    "vp": "verb phrase: auxiliaries and the main verb",
}
TAGS = {
    "adj": "adjective",
    "adv": "adverb",
    "art": "article",
    "conj-c": "coordinating conjunction",
    "conj-s": "subordinating conjunction",
    "ec": "prefix that is a separate word",
    "in": "interjection",
    "n": "noun",
    "num": "number",
    "pp": "fixed expression that is a prepositional phrase",
    "pron-det": "determiner or pronoun with gender and number",
    "pron-indp": "pronoun without gender and number (que, isso, quem)",
    "pron-pers": "personal pronoun",
    "prop": "proper noun",
    "prp": "preposition",
    "v-fin": "verb, finite",
    "v-ger": "verb, gerund",
    "v-inf": "verb, infinitive",
    "v-pcp": "verb, participle",
    "vp": "fixed expression that is a verb phrase",
}
_ERRORS = ("num", "prop", "prp", "N<")  # tags that start so and go on are annotation errors


def explain_tag(tag: str) -> str | None:
    """The meaning of a tag; the tag of a punctuation mark is the mark.

    >>> explain_tag("v-fin"), explain_tag("«")
    ('verb, finite', 'the punctuation mark «')
    """
    if tag in TAGS:
        return TAGS[tag]
    if tag and not any(character.isalnum() for character in tag):
        return f"the punctuation mark {tag}"
    return "annotation error" if tag.startswith(_ERRORS) else None
