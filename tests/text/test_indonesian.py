"""Indonesian tokens, by the conventions of ICON."""

import pytest

from text.split_words import joined_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Harga Rp50.000.",
            "Harga Rp 50.000 .",
        ),
        (
            '"Anak-anak hanya bertanya," katanya. Harganya US$ 6.500-9.000, kata Dr. Budi.',
            '" Anak - anak hanya bertanya , " kata nya . | Harga nya US$ 6.500 - 9.000 , kata Dr. Budi .',
        ),
    ],
)
def test_tokens_follow_the_treebank(text, expected):
    assert joined_words(text, "id") == expected


def test_the_clitic_nya_is_a_token_unless_it_belongs_to_the_word():
    assert (
        joined_words("Rumahnya hanya terbentuknya misalnya punya", "id")
        == "Rumah nya hanya terbentuknya misalnya punya"
    )
