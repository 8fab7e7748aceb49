"""Tokens of Indonesian, by the conventions of ICON, and of Portuguese, by the conventions of Floresta."""

import pytest

from text.split_words import joined_words
from treecrf.text import tokenize


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "id",
            "Harga Rp50.000.",
            "Harga Rp 50.000 .",
        ),
        (
            "id",
            '"Anak-anak hanya bertanya," katanya. Harganya US$ 6.500-9.000, kata Dr. Budi.',
            '" Anak - anak hanya bertanya , " kata nya . | Harga nya US$ 6.500 - 9.000 , kata Dr. Budi .',
        ),
        (
            "pt",
            "À volta dos anos, no entanto, trata-se do Banco do Brasil (cerca de 30). Voltei à rua.",
            "À_volta_de os anos , no_entanto , trata- se de o Banco_do_Brasil { cerca_de 30 } . | Voltei a a rua .",
        ),
        (
            "pt",
            "Dir-lhe-ei na segunda-feira.",
            "Dir- lhe- ei em a segunda-feira .",
        ),
    ],
)
def test_tokens_follow_the_treebank(language, text, expected):
    assert joined_words(text, language) == expected


def test_the_clitic_nya_is_a_token_unless_it_belongs_to_the_word():
    assert (
        joined_words("Rumahnya hanya terbentuknya misalnya punya", "id")
        == "Rumah nya hanya terbentuknya misalnya punya"
    )


def test_the_parts_of_a_contraction_have_their_own_offsets() -> None:
    tokens = tokenize("Voltei à do", language="pt")
    assert [token[:3] for token in tokens[1:]] == [("à", 7, 8), ("", 8, 8), ("d", 9, 10), ("o", 10, 11)]
    assert [token.tree_word for token in tokens] == ["Voltei", "a", "a", "de", "o"]
