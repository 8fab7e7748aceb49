from pathlib import Path

import pytest

from treecrf.trees.search import heads
from treecrf.trees.treebank import languages
from treecrf.trees.treebank.languages import CODES, LANGUAGES

SOURCE = Path(languages.__file__).parents[2]


def test_a_language_is_found_by_its_code_and_by_its_name():
    assert list(LANGUAGES) == sorted(LANGUAGES) == list(CODES.values())
    assert LANGUAGES["zh"].name == "Chinese" and CODES["Icelandic"] == "is"


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda language: str(language.code))
def test_every_part_of_a_language_exists(language):
    assert (SOURCE / "text" / f"{language.tokenizer}.py").is_file()
    assert (SOURCE / "trees" / "treebank" / "glossaries" / f"{language.glossary or language.code}.tsv").is_file()


def test_head_rules_are_found_by_language():
    assert heads.HEAD_RULES == {"en": heads.COLLINS, "zh": heads.CHINESE}
