"""Sentences and characters of text without spaces."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gold_text import Counts, GoldText, rebuild
from printed_words import PRINTERS
from treecrf.text import sentences
from treecrf.text.characters import sentence_ends, split_chunk
from treecrf.trees.treebank import read_trees

TREEBANKS = Path(__file__).parents[3] / "shared" / "treebanks"


def split(text: str) -> list[str]:
    return ["".join(token.text for token in tokens) for tokens in sentences(text, language="ja")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("雨が降る。風も吹く！なぜ？", ["雨が降る。", "風も吹く！", "なぜ？"]),
        ("他说：“你好。”我喜欢北京！你呢", ["他说：“你好。”", "我喜欢北京！", "你呢"]),
        ("「誰だ。名を言え。」と聞いた。「私。」", ["「誰だ。名を言え。」と聞いた。", "「私。」"]),
        ("「『はい。』と言え。」", ["「『はい。』と言え。」"]),
        ("（長い。本当に。）道", ["（長い。本当に。）", "道"]),
        ("「開いたまま。次の文。", ["「開いたまま。", "次の文。"]),
        ("そうか！？」", ["そうか！？」"]),
    ],
)
def test_a_sentence_ends_at_a_stop_and_not_inside_a_quotation(text, expected):
    assert split(text) == expected


@given(st.text("「」『』“”（）。！と文A \n", max_size=12))
def test_ends_are_after_stops_or_closing_marks(text):
    ends = list(sentence_ends(text))
    assert ends == sorted(set(ends)) and all(text[end - 1] in "。！」』”）" for end in ends)


def test_the_time_for_many_open_quotations_is_linear():
    assert list(sentence_ends("「" * 30_000 + "。")) == [30_001]


def test_characters_are_tokens_but_addresses_and_latin_words_are_one_each():
    assert [piece[2] for piece in split_chunk("WTOはhttps://a.b/cへ１2。👍🏽", True)] == [
        *("WTO", "は", "https://a.b/c", "へ", "１", "2", "。", "👍🏽")
    ]


@given(st.text("ab日本のＡ。@/.:x👍", max_size=12))
def test_pieces_cover_the_chunk_in_order(chunk):
    assert "".join(piece[2] for piece in split_chunk(chunk, True)) == chunk
    assert all(chunk[start:end] == text for start, end, text in split_chunk(chunk, True))


@pytest.mark.skipif(not TREEBANKS.exists(), reason="the treebanks are not in ../shared/treebanks")
def test_the_sentences_of_a_rebuilt_treebank_are_found_as_well_as_documented():
    gold = rebuild(read_trees(TREEBANKS / "keyaki" / "dev.mrg.gz"), separator="", printer=PRINTERS["ja"])
    tokens = [[(token.start, token.end) for token in line] for line in sentences(gold.text, language="ja")]
    assert Counts().plus(gold.ends, GoldText(gold.text, tokens).ends).f1 >= 0.998
