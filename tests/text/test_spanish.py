"""Spanish tokens, by the conventions of CESS-ESP."""

import pytest

from text.split_words import joined_words, words
from treecrf.text import tokenize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'El Sr. José María Aznar, sin embargo, crecía un 6,8 % el 15 de agosto de 1999 en EE.UU. "¿Qué?", dijo.',
            "El Sr._José_María_Aznar , sin_embargo , crecía un 6,8_% el 15_de_agosto_de_1999 en EE.UU. "
            '" ¿ Qué ? " , dijo .',
        ),
        (
            "Dijo, p. ej., que (aprox.) sí.",
            "Dijo , p. ej. , que -LRB- aprox. -RRB- sí .",
        ),
    ],
)
def test_tokens_follow_the_treebank(text, expected):
    assert joined_words(text, "es") == expected


def test_trees_have_the_quotation_marks_of_the_text_and_underscores_in_multiword_tokens() -> None:
    tokens = tokenize("“Sin\nembargo” (sí)", language="es")
    assert [token.tree_word for token in tokens] == ["“", "Sin_embargo", "”", "(", "sí", ")"]


def test_the_first_word_of_a_sentence_is_not_part_of_a_name_if_it_often_starts_sentences() -> None:
    assert words("El Gobierno Vasco habló. Juan López calló.", "es") == [
        ["El", "Gobierno_Vasco", "habló", "."],
        ["Juan_López", "calló", "."],
    ]


def test_words_of_a_headline_in_capital_letters_are_not_joined() -> None:
    assert words("EL GOBIERNO VASCO", "es") == [["EL", "GOBIERNO", "VASCO"]]
