import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small import random_parser
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.parser import Parser
from treecrf.parser.storage import ParserConfig
from treecrf.text.normalization import normalizer
from treecrf.trees.tree import Tree

SAME = [
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


@pytest.mark.parametrize("words", SAME, ids=lambda words: words[0])
def test_plain_gives_spelling_variants_one_form(words: list[str]) -> None:
    assert {normalizer("plain")(word) for word in words} == {words[0]}


@pytest.mark.parametrize(
    "word", ["-", "–", "−", "'s", "well-known", "U.S.", "café", "图书馆", "👍🏽", ":-)", "\\", "\u200b"]
)
def test_plain_keeps_other_words(word: str) -> None:
    assert normalizer("plain")(word) == word


@given(st.text(min_size=1))
def test_normalized_words_are_never_empty_and_normalize_to_themselves(word: str) -> None:
    assert normalizer("as-is")(word) == word
    plain = normalizer("plain")
    assert plain(word)
    if "\\" not in word and "-" not in plain(word):  # a restored character may complete another escape
        assert plain(plain(word)) == plain(word)


@pytest.mark.parametrize(
    ("word", "expected"), [("sin_embargo", "sin embargo"), ("_a_", "a"), ("__", "__"), ("_", "_"), ("-LRB-_x", "( x")]
)
def test_multiword_tokens_have_spaces_between_their_parts(word: str, expected: str) -> None:
    assert normalizer("multiword")(word) == expected


def test_traditional_and_simplified_words_normalize_alike() -> None:
    normalize = normalizer("simplified")
    pairs = [
        ("圖書館", "图书馆"),
        ("台灣", "台湾"),
        ("臺灣", "台湾"),
        ("裡", "里"),
        ("１９９０", "1990"),
        ("ＮＢＡ", "NBA"),
    ]
    assert all(normalize(one) == normalize(other) == other for one, other in pairs)


@given(st.text(min_size=1))
def test_simplified_accepts_any_word(word: str) -> None:
    assert normalizer("simplified")(word)


def test_simplified_replaces_a_lone_surrogate() -> None:
    assert normalizer("simplified")("圖\ud800") == "图?"


def test_a_missing_opencc_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opencc", None)
    with pytest.raises(ImportError, match=r"pip install 'treecrf\[zh\]'"):
        normalizer("simplified")


def test_a_chinese_parser_reads_both_scripts_and_keeps_the_words() -> None:
    trees = [
        Tree.parse("(TOP (S (NP (Nhaa 我們)) (VK1 喜歡) (NP (Nca 圖書館))))"),
        Tree.parse("(TOP (S (NP (Nhaa 他們)) (VC2 學) (NP (Nad 中文))))"),
    ]
    vocabulary = Vocabulary.build(trees * 2, normalization="simplified")
    random = random_parser(trees * 2, tag_head=True)
    assert vocabulary.words == tuple(sorted(normalizer("simplified")(word) for tree in trees for word in tree.words))
    parser = Parser(random.model, vocabulary, ParserConfig(language="zh", normalization="simplified"))
    for one, other in (("我們喜歡圖書館。", "我们喜欢图书馆。"), ("他們學中文", "他们学中文")):
        traditional, simplified = parser.analyze(one), parser.analyze(other)
        assert "".join(traditional.tree.words) == one and "".join(simplified.tree.words) == other
        assert traditional.tree.spans() == simplified.tree.spans()
        assert traditional.tree.tags == simplified.tree.tags
        assert traditional.log_prob == pytest.approx(simplified.log_prob)
