import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.forms import reader

ALIKE = [
    ["(", "-LRB-", "-lrb-", "（"],
    ["]", "-RSB-"],
    ["{", "-LCB-"],
    ['"', "``", "''", "“", "”", "„", "«", "»"],
    ["'", "`", "‘", "’"],
    ["n't", "n’t"],
    ["--", "—"],
    ["...", "…"],
    ["1/2", "1\\/2"],
    ["*", "\\*"],
    ["well-known", "well‑known", "well\u00ad-known", "\u200bwell-known"],
    ["p21(ras)", "p21-LRB-ras-RRB-"],
]


@pytest.mark.parametrize("words", ALIKE, ids=lambda words: words[0])
def test_plain_forms_are_one_however_a_word_is_written(words: list[str]) -> None:
    assert {reader("plain")(word) for word in words} == {words[0]}


@pytest.mark.parametrize(
    "word", ["-", "–", "−", "'s", "well-known", "U.S.", "café", "图书馆", "👍🏽", ":-)", "\\", "\u200b"]
)
def test_plain_forms_leave_other_words_alone(word: str) -> None:
    assert reader("plain")(word) == word


@given(st.text(min_size=1))
def test_every_word_has_a_form_and_forms_stay_what_they_are(word: str) -> None:
    assert reader("as-is")(word) == word
    plain = reader("plain")
    assert plain(word)
    if "\\" not in word and "-" not in plain(word):  # what was escaped may stand behind another escape
        assert plain(plain(word)) == plain(word)


def test_traditional_and_simplified_words_have_one_form() -> None:
    read = reader("simplified")
    pairs = [
        ("圖書館", "图书馆"),
        ("台灣", "台湾"),
        ("臺灣", "台湾"),
        ("裡", "里"),
        ("１９９０", "1990"),
        ("ＮＢＡ", "NBA"),
    ]
    assert all(read(one) == read(other) == other for one, other in pairs)


@given(st.text(min_size=1))
def test_simplified_forms_take_any_word(word: str) -> None:
    assert reader("simplified")(word)


def test_simplified_forms_take_a_broken_surrogate() -> None:
    assert reader("simplified")("圖\ud800") == "图?"


def test_a_missing_opencc_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opencc", None)
    with pytest.raises(ImportError, match=r"pip install 'treecrf\[zh\]'"):
        reader("simplified")
