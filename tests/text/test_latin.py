"""Sentences and tokens of Catalan, Spanish, Faroese, Indonesian, Icelandic and Portuguese."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gold_text import Counts, GoldText, rebuild
from printed_words import PRINTERS
from text.split_words import joined_words, words
from treecrf.text import sentences, tokenize
from treecrf.trees.treebank import read_trees

TREEBANKS = Path(__file__).parents[3] / "shared" / "treebanks"
LANGUAGES = ("ca", "es", "fo", "id", "is", "pt")
_PIECES = [
    "à",
    "Às",
    "do",
    "cerca",
    "dos",
    "trata-se-",
    "-",
    "--",
    "¿",
    "«",
    "»",
    "(",
    ")",
    "...",
    ".",
    "EE.UU.",
    "Sr.",
]
_PIECES += ["katanya", "nya", "27.", "júní", "30%", "US$", "José", "María", "de", "la", "sin", "embargo", '"', "’", "A"]
_PIECES += [
    "mennta-",
    "og",
    "http://a.b/c",
    "x@y.is",
    "👍🏽",
    "\xad",
    "\ud800",
    "İ",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\xa0",
    "_",
]


def assert_covers(text: str, language: str) -> None:
    """Checks that every character except white space is in one token, in order."""
    tokens = [token for sentence in sentences(text, language=language) for token in sentence]
    position = 0
    for token in tokens:
        assert not text[position : token.start].strip() and token.start >= position
        assert text[token.start : token.end] == token.text and token.word
        position = token.end
    assert not text[position:].strip()


@pytest.mark.parametrize("language", LANGUAGES)
@given(pieces=st.lists(st.sampled_from(_PIECES), max_size=30))
def test_tokens_cover_the_text_in_order(language: str, pieces: list[str]) -> None:
    assert_covers("".join(pieces), language)


@pytest.mark.parametrize("language", ["is", "pt"])
@pytest.mark.parametrize("text", ["word ", "José ", "a.)", "- ", "à", "mennta- og ", "(", "1.", "a, "])
def test_long_text_without_sentence_ends_is_covered(language: str, text: str) -> None:
    long = text * (40_000 // len(text))
    assert_covers(long, language)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "ca",
            "L'Audiència de Girona va dur-se'n, a través d'ell, el 15 d'agost de 1999 un 6,8 % d'acord amb l'Aran.",
            "L' Audiència_de_Girona va dur -se 'n , a_través_d' ell , el 15_d'agost_de_1999 un 6,8_% d'acord_amb "
            "l' Aran .",
        ),
        (
            "fo",
            'Tað var t.d. í gjár. Og hann segði: "Kom!"',
            'Tað var t.d. í gjár . | Og hann segði : " Kom ! "',
        ),
        (
            "es",
            'El Sr. José María Aznar, sin embargo, crecía un 6,8 % el 15 de agosto de 1999 en EE.UU. "¿Qué?", dijo.',
            "El Sr._José_María_Aznar , sin_embargo , crecía un 6,8_% el 15_de_agosto_de_1999 en EE.UU. "
            '" ¿ Qué ? " , dijo .',
        ),
        (
            "es",
            "Dijo, p. ej., que (aprox.) sí.",
            "Dijo , p. ej. , que -LRB- aprox. -RRB- sí .",
        ),
        (
            "is",
            "Hann fékk 5 kr. Þá fór hann.",
            "Hann fékk 5_kr . | Þá fór hann .",
        ),
        (
            "is",
            "Hervör L. Þorvaldsdóttir kom í gær, 27. maí. Mennta- og menningarmálaráðherra fékk 8,2 milljónir króna.",
            "Hervör_L._Þorvaldsdóttir kom í_gær , 27._maí . | Mennta-_og_menningarmálaráðherra fékk "
            "8,2_milljónir_króna .",
        ),
    ],
)
def test_tokens_follow_the_treebank(language, text, expected):
    assert joined_words(text, language) == expected


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


def test_amounts_dates_and_expressions_are_one_token():
    assert joined_words("Hún kom 3. júní 2020 í gær klukkan 12 með 40 prósent.", "is") == (
        "Hún kom 3._júní_2020 í_gær klukkan_12 með 40_prósent ."
    )


# F1 of sentence boundaries and of tokens on dev, in percent; docs/text.md has the figures
_LEAST_SCORES = {
    ("ca", "cess_cat"): (99.6, 97.5),
    ("es", "cess_esp"): (99.5, 98.1),
    ("id", "icon"): (99.7, 99.6),
    ("is", "greynir"): (99.6, 98.8),
    ("pt", "floresta"): (99.2, 97.4),
}


@pytest.mark.skipif(not TREEBANKS.exists(), reason="the treebanks are not in ../shared/treebanks")
@pytest.mark.parametrize(("language", "treebank"), _LEAST_SCORES)
def test_a_rebuilt_treebank_is_split_as_well_as_documented(language: str, treebank: str) -> None:
    gold = rebuild(read_trees(TREEBANKS / treebank / "dev.mrg.gz"), printer=PRINTERS[language])
    tokens = [[(token.start, token.end) for token in line] for line in sentences(gold.text, language=language)]
    split = GoldText(gold.text, tokens)
    scores = (Counts().plus(gold.ends, split.ends).f1, Counts().plus(gold.tokens, split.tokens).f1)
    assert all(100 * score >= least for score, least in zip(scores, _LEAST_SCORES[language, treebank], strict=True))


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
def test_clitics_and_contractions_are_tokens(language, text, expected):
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
