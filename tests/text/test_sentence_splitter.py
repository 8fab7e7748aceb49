"""Sentences and tokens: offsets cover the text, and English tokens follow the Penn Treebank."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gold_text import Counts, GoldText, read_cases, rebuild
from treecrf.text import Token, sentence_splitter, sentences, tokenize
from treecrf.trees.treebank import read_trees

TREEBANKS = Path(__file__).parents[3] / "shared" / "treebanks"


LANGUAGES = ("en", "zh")


_AWKWARD = [
    *("don't", "can't've", "cannot", "'tis", "U.S.", "Mr.", "Ms.", "me.", "No.", "Inc.", "...", "…", "?!", "--", "—"),
    *(
        "www.",
        "http://a(",
        "a@b.co",
        "#a",
        ":-)",
        "<b>",
        "&amp;",
        "$5",
        "1,5",
        "5%",
        "'",
        '"',
        "''",
        "``",
        "’",
        "“",
        "(",
    ),
    *(
        ")",
        "[",
        "]",
        ".",
        "!",
        "。",
        "！",
        "」",
        "书",
        "書",
        "א",
        "ش",
        "😀",
        "👨\u200d👩\u200d👧",
        "🇺🇸",
        "🇺",
        "1\ufe0f\u20e3",
    ),
    *(" ", "  ", "\n", "\r\n", "\n \n", "\r", "\t", "\x0b", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", "\x00", "\x7f"),
    *("\u200b", "\u200d", "\ufeff", "\u202e", "\xad", "e\u0301", "\ud800", "\udfff", "a", "B", "is", "The", "0"),
]


texts = st.one_of(st.text(st.characters()), st.lists(st.sampled_from(_AWKWARD), max_size=40).map("".join))


def assert_covers(text: str, split: list[list[Token]]) -> None:
    position = 0
    for token in (token for sentence in split for token in sentence):
        assert token.text == text[token.start : token.end]
        assert re.fullmatch(r"\S+", token.text)
        assert token.word
        assert not text[position : token.start].strip()
        position = token.end
    assert not text[position:].strip()


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=texts)
def test_every_character_except_white_space_is_in_one_token(text, language):
    split = list(sentences(text, language=language))
    assert all(split)
    assert_covers(text, split)
    assert tokenize(text, language=language) == [token for sentence in split for token in sentence]


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=texts)
def test_small_windows_cover_the_text(text, language):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_splitter, "_WINDOW", 8)
        split = list(sentences(text, language=language))
    assert all(split)
    assert_covers(text, split)


def test_small_windows_give_the_same_sentences(monkeypatch):
    text = ' "Dr. Who left the U.S. at 5 p.m. (No one knew.) Why?" asked Ms. Lee. It\'s a mystery...\n\nThe end' * 20
    expected = list(sentences(text))
    monkeypatch.setattr(sentence_splitter, "_WINDOW", 200)
    assert list(sentences(text)) == expected


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=st.text(st.sampled_from(" \t\r\n\x0b\x0c\x1c\x85\xa0\u2028\u3000")))
def test_blank_text_has_no_sentences(text, language):
    assert list(sentences(text, language=language)) == []


@given(text=texts)
def test_white_space_around_a_text_only_shifts_offsets(text):
    moved = [(token.text, token.start - 3, token.end - 3, token.word) for token in tokenize(f"\n \t{text}\n")]
    assert moved == [tuple(token) for token in tokenize(text)]


def predicted(gold: GoldText) -> GoldText:
    return GoldText(gold.text, [[(token.start, token.end) for token in sentence] for sentence in sentences(gold.text)])


def test_hard_cases_have_few_errors():
    """More cases may be wrong one day, but not many: the rules were written with these cases in view."""
    boundaries, tokens = Counts(), Counts()
    cases = read_cases()
    for gold in cases:
        boundaries = boundaries.plus(gold.ends, predicted(gold).ends)
        tokens = tokens.plus(gold.tokens, predicted(gold).tokens)
    assert sum(len(gold.sentences) for gold in cases) > 300
    assert min(boundaries.precision, boundaries.recall) > 0.985
    assert min(tokens.precision, tokens.recall) > 0.99


@pytest.mark.parametrize(
    "text",
    [
        "word ",
        "a",
        '"',
        "(",
        "“x. ",
        "www.",
        "http://a(",
        "a..",
        "<a",
        "a.)",
        "&a",
        "a@",
        "1,",
        "don't'",
        "😀",
        "\r",
        "\n\n",
    ],
)
def test_long_text_without_sentence_ends_is_covered(text):
    long = text * (200_000 // len(text))
    assert_covers(long, list(sentences(long)))


def test_a_sentence_longer_than_a_window_is_not_split():
    assert len(list(sentences("word " * 40_000))) == 1


def test_sentences_are_split_on_demand(monkeypatch):
    monkeypatch.setattr(sentence_splitter, "_WINDOW", 100)
    windows: list[str] = []
    monkeypatch.setattr(sentence_splitter, "_ends_in", lambda text, language: windows.append(text) or [50])
    next(sentences("A word. " * 1000))
    assert len(windows) == 1


def test_an_unknown_language_is_an_error_at_the_call():
    with pytest.raises(ValueError, match="no tokenizer for language 'xx'; expected one of 'ca', 'en', 'es'"):
        sentences("text", language="xx")


# F1 of sentence boundaries and tokens before the rules of `english`, in percent
_EARLIER_SCORES = {"masc": (90.92, 99.88), "ptb_sample": (99.63, 99.98), "mctb": (93.19, 98.96), "gum": (96.85, 99.93)}


@pytest.mark.skipif(not TREEBANKS.exists(), reason="the treebanks are not in ../shared/treebanks")
@pytest.mark.parametrize("name", _EARLIER_SCORES)
def test_a_rebuilt_treebank_is_split_at_least_as_well_as_before(name):
    gold = rebuild(read_trees(TREEBANKS / name / "dev.mrg.gz"))
    split = predicted(gold)
    scores = (Counts().plus(gold.ends, split.ends).f1, Counts().plus(gold.tokens, split.tokens).f1)
    assert all(100 * score >= earlier - 0.01 for score, earlier in zip(scores, _EARLIER_SCORES[name], strict=True))
