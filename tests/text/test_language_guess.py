"""Guesses of languages: clear cases are named, and unclear ones are not."""

from pathlib import Path

import pytest

from treecrf.parser import models
from treecrf.text import guess_language, language_warning
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.languages import LANGUAGES

TREEBANKS = Path(__file__).parents[3] / "shared" / "treebanks"


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        ("我 喜欢 北京", "Chinese", "zh"),
        ("東京 に 行き ました", "Japanese", "ja"),
        ("나는 학교에 갔다", "Korean", None),
        ("Он пошёл домой .", "Cyrillic", None),
        ("ذهب إلى البيت", "Arabic", None),
        ("El perro que vive en la casa no es muy grande .", "Spanish", "es"),
        ("Le chien qui est dans la maison ne mange pas .", "French", None),
        ("Der Hund ist nicht im Haus , und die Katze auch nicht .", "German", None),
        ("The dog is not in the house , and the cat is not here .", "English", "en"),
    ],
)
def test_a_sentence_has_a_language(text, name, code):
    assert guess_language(text.split()) == (name, code)


@pytest.mark.parametrize(
    "text", ["", "42 %", "Hasta la vista , baby", "Goethe", "ok", "😀", "Москва Paris London Rome"]
)
def test_few_words_have_no_language_of_their_own(text):
    assert guess_language(text.split()) is None


def test_a_warning_names_the_fitting_model():
    assert (
        language_warning(["我", "喜欢", "北京"], "en")
        == "the text looks Chinese, and the model reads English; the model zh reads it (--model zh)"
    )
    spanish = "El gobierno dijo que las medidas son para los que no están en su casa ."
    assert (language_warning(spanish.split(), "en") or "").endswith("the model es reads it (--model es)")
    assert "no model of treecrf reads it" in (language_warning(["Он", "пошёл", "домой"], "en") or "")


def test_the_languages_with_models_are_those_of_the_models_that_exist():
    packages = [package.model for package in models.MODEL_PACKAGES]
    names = {*models.embedded_names(), *packages}
    assert {language.model for language in LANGUAGES.values() if language.model} == names & set(LANGUAGES)


def test_words_of_the_models_language_get_no_warning():
    assert (
        language_warning(
            ["The", "time", "for", "action", "is", "now", ",", "and", "you", "know", "that", "it", "is", "."], "en"
        )
        is None
    )
    assert language_warning(["我", "喜欢", "Python"], "zh") is None
    assert language_warning(["太宰", "治"], "ja") is None  # a Japanese name in Chinese characters alone
    assert language_warning(8 * ["太宰", "治"], "ja") is not None


@pytest.mark.skipif(not TREEBANKS.exists(), reason="the treebanks are not in ../shared/treebanks")
@pytest.mark.parametrize(
    ("treebank", "name", "least_share"),
    [
        ("masc", "English", 0.4),
        ("sinica", "Chinese", 0.4),
        ("cess_cat", "Catalan", 0.4),
        ("cess_esp", "Spanish", 0.4),
        ("farpahc", "Faroese", 0.4),
        ("icon", "Indonesian", 0.2),
        ("greynir", "Icelandic", 0.4),
        ("floresta", "Portuguese", 0.3),
    ],
)
def test_sentences_of_a_treebank_are_guessed_right(treebank, name, least_share):
    guesses = [guess_language(tree.words) for tree in read_trees(TREEBANKS / treebank / "dev.mrg.gz")]
    names = [guess.name for guess in guesses if guess]
    assert names.count(name) > 0.98 * len(names)
    assert len(names) > least_share * len(guesses)


def test_a_short_spanish_sentence_under_english_is_a_message():
    text = "Mi hermana compró tres libros nuevos en la librería del centro ayer tarde."
    assert "the text looks Spanish" in (language_warning(text.split(), "en") or "")
