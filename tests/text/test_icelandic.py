"""Icelandic tokens, by the conventions of GreynirCorpus."""

import pytest

from text.split_words import joined_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Hann fékk 5 kr. Þá fór hann.",
            "Hann fékk 5_kr . | Þá fór hann .",
        ),
        (
            "Hervör L. Þorvaldsdóttir kom í gær, 27. maí. Mennta- og menningarmálaráðherra fékk 8,2 milljónir króna.",
            "Hervör_L._Þorvaldsdóttir kom í_gær , 27._maí . | Mennta-_og_menningarmálaráðherra fékk "
            "8,2_milljónir_króna .",
        ),
    ],
)
def test_tokens_follow_the_treebank(text, expected):
    assert joined_words(text, "is") == expected


def test_amounts_dates_and_expressions_are_one_token():
    assert joined_words("Hún kom 3. júní 2020 í gær klukkan 12 með 40 prósent.", "is") == (
        "Hún kom 3._júní_2020 í_gær klukkan_12 með 40_prósent ."
    )
