import re
from collections import Counter

import pytest

from treecrf.text.latin import read_rules
from treecrf.text.word_lists import insert_parts, patterns, read_words, word_sets

LANGUAGES = ("en", "ca", "es", "fo", "id", "is", "pt")


@pytest.mark.parametrize("language", [*LANGUAGES, "frequent"])
def test_no_list_has_an_entry_twice(language):
    texts = {name: text for name, text in read_words(language).items() if isinstance(text, str)}
    for name, text in texts.items():
        entries = [entry.strip() for entry in text.split(",")] if "," in text else text.split()
        assert entries and [(name, entry) for entry, count in Counter(entries).items() if count > 1] == []


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_lists_of_latin_languages_are_in_lower_case(language):
    for words in word_sets(language).values():
        assert {word for word in words if word != word.lower()} == set()


def test_the_rules_of_a_language_use_its_lists():
    rules = read_rules("es")
    assert rules.abbreviations == word_sets("es")["abbreviations"] and "sr" in rules.abbreviations
    assert "Dr" in word_sets("en")["before_names"]


def test_patterns_have_the_parts_they_name():
    assert insert_parts("a<b>d", {"b": "<c>", "c": "C"}) == "aCd"
    for language in ("en", "shared"):
        for pattern in patterns(language).values():
            assert not re.search(r"(?<!\(\?P)<[a-z_]{2,}>", pattern.pattern)
