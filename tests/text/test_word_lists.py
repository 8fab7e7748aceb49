from collections import Counter
from importlib import import_module

import pytest

from treecrf.text.word_lists import read_lists, word_sets

LANGUAGES = ("en", "es", "id", "is", "pt")


@pytest.mark.parametrize("language", [*LANGUAGES, "frequent"])
def test_no_list_has_an_entry_twice(language):
    for name, text in read_lists(language).items():
        entries = [entry.strip() for entry in text.split(",")] if "," in text else text.split()
        assert entries and [(name, entry) for entry, count in Counter(entries).items() if count > 1] == []


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_lists_of_latin_languages_are_in_lower_case(language):
    for words in word_sets(language).values():
        assert {word for word in words if word != word.lower()} == set()


def test_the_rules_of_a_language_use_its_lists():
    rules = import_module("treecrf.text.spanish").RULES
    assert rules.abbreviations == word_sets("es")["abbreviations"] and "sr" in rules.abbreviations
    assert "Dr" in word_sets("en")["before_names"]
