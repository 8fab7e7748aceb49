"""Sentences and tokens: offsets cover the text, and English tokens follow the Penn Treebank."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gold_text import Counts, GoldText, read_cases, rebuild
from treecrf.text import Token, chinese, english_sentences, sentence_splitter, sentences, tokenize
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


def words(text: str, **options: str) -> list[list[str]]:
    return [[token.word for token in sentence] for sentence in sentences(text, **options)]


def surfaces(text: str) -> str:
    return " | ".join(" ".join(token.text for token in sentence) for sentence in sentences(text))


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't, can't and cannot.", "I do n't , ca n't and can not ."),
        ("It's John's; they'll've DON'T", "It 's John 's ; they 'll 've DO N'T"),
        ("It’s what I’d do, isn’t it?", "It ’s what I ’d do , is n’t it ?"),
        ("We're gonna, gotta, wanna; lemme, gimme", "We 're gon na , got ta , wan na ; lem me , gim me"),
        ("'Tis the '90s for 'em, rock 'n' roll", "'T is the '90s for 'em , rock 'n' roll"),
        ("O'Brien's and the investors' ma'am", "O'Brien 's and the investors ' ma'am"),
        ("Goin' to Dunkin' Donuts", "Goin' to Dunkin' Donuts"),
        ("He paid $3.50, US$5m, £4 or €1,000.", "He paid $ 3.50 , US$ 5m , £ 4 or € 1,000 ."),
        ("At 10:30, 50% of AT&T's R&D", "At 10:30 , 50 % of AT&T 's R&D"),
        ("A state-of-the-art 3/4-inch and/or 64-year-old", "A state-of-the-art 3/4-inch and/or 64-year-old"),
        ("Wait--no — yes... and well…", "Wait -- no — yes ... and well …"),
        ("He [sic] left (again).", "He [ sic ] left ( again ) ."),
        ("Your friend(s) and 1,25(OH)2D3", "Your friend(s) and 1,25(OH)2D3"),
        ("What?! No!!!", "What ?! | No !!!"),
        ("He works at Acme Inc.", "He works at Acme Inc ."),
        (
            "Acme Inc., of the U.S., grew (Acme Corp.) and grew",
            "Acme Inc. , of the U.S. , grew ( Acme Corp. ) and grew",
        ),
        ('He left the U.S." 😀', 'He left the U.S . " 😀'),
        ("'No.' he said", "' No . ' he said"),
        ("See https://a.org/b_(c), (www.x.com/a?b=c&d=1).", "See https://a.org/b_(c) , ( www.x.com/a?b=c&d=1 ) ."),
        ("Mail joe.bloggs+x@mail.co.uk.", "Mail joe.bloggs+x@mail.co.uk ."),
        (
            "#winning @bob :-) <3 LOL😀👨\u200d👩\u200d👧👍🏽🇺🇸!",
            "#winning @bob :-) <3 LOL 😀 👨\u200d👩\u200d👧 👍🏽 🇺🇸 !",
        ),
        ("<b>bold</b> &amp; x<y, a=b", "<b> bold </b> &amp; x < y , a = b"),
        ("She do n't know 's it ''", "She do n't know 's it ''"),
    ],
)
def test_english_tokens_follow_the_penn_treebank(text, expected):
    assert surfaces(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Smith left. Ms. Lee, vs. J. R. Roe, stayed.", "Mr. Smith left . | Ms. Lee , vs. J. R. Roe , stayed ."),
        ("It was 5 p.m. Then he left the U.S. He was sad.", "It was 5 p.m . | Then he left the U.S . | He was sad ."),
        ('He left. "Why? Say it," I said.', 'He left . | " Why ? | Say it , " I said .'),
        ('"Stop!" he cried -- why? -- and left.', '" Stop ! " he cried -- why ? -- and left .'),
        ('"Go." (He left. She stayed.) End', '" Go . " | ( He left . | She stayed . ) | End'),
        ("Tell me. No. OK. Yes", "Tell me . | No . | OK . | Yes"),
        ("A line\nthat wraps\r\nonce\n\nA title\r\n \r\nEnd", "A line that wraps once | A title | End"),
        ("Read www.a.com?b=1 or a.b.Com", "Read www.a.com?b=1 or a.b.Com"),
    ],
)
def test_sentences_end_as_in_treebanks(text, expected):
    assert surfaces(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is at 5 p.m. EST on Friday.", "It is at 5 p.m. EST on Friday ."),
        ("Add 3 tbsp. of flour.", "Add 3 tbsp. of flour ."),
        ("By Eq. (2), it holds.", "By Eq. ( 2 ) , it holds ."),
        ("Mgr. Novak left.", "Mgr. Novak left ."),
        ("1. Preheat the oven.\n2. Grease a pan.", "1 . Preheat the oven . | 2 . Grease a pan ."),
        ("It ended in 1648.¹ Peace came.", "It ended in 1648 . ¹ | Peace came ."),
        ("She left.Then he cried.", "She left . | Then he cried ."),
        ("make && test", "make && test"),
        ("Ha 😂😂😂 🎉👍👍", "Ha 😂😂😂 🎉 👍👍"),
    ],
)
def test_text_as_people_write_it(text, expected):
    assert surfaces(text) == expected


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


def test_line_breaks_are_read_once(monkeypatch):
    """The rules are applied once for each stop, however many line breaks follow it."""
    text = "One. Two.\n" + "\n" * 450_000 + "Three."
    assert surfaces(text) == "One . | Two . | Three ."
    calls: list[int] = []
    end_after = english_sentences._end_after
    monkeypatch.setattr(english_sentences, "_end_after", lambda *args: calls.append(1) or end_after(*args))
    list(sentences(text))
    assert len(calls) < 10


def test_words_are_escaped_as_in_the_penn_treebank():
    (sentence,) = words('"It’s (so) [very] {odd}" “he” said, ‘no’')
    assert " ".join(sentence) == "`` It 's -LRB- so -RRB- -LSB- very -RSB- -LCB- odd -RCB- '' `` he '' said , ` no '"


def test_quotation_marks_between_spaces_open_and_close_alternately():
    assert words('He said " yes " and " no "') == [["He", "said", "``", "yes", "''", "and", "``", "no", "''"]]


@pytest.mark.parametrize("text", ['("Yes")', '"...yes"', '--"yes"', '"\'Tis"', '"yes".', '"yes," "no,"'])
def test_quotation_marks_open_before_words_and_close_after_them(text):
    marks = [word for word in words(text)[0] if word in ("``", "''")]
    assert marks == ["``", "''"] * (len(marks) // 2)
    assert marks


def test_invisible_characters_are_removed_from_the_word_only():
    (token,) = tokenize("\ufeffco\xadop\u200b")
    assert token == Token("\ufeffco\xadop\u200b", 0, 7, "coop")


def test_a_token_of_invisible_characters_keeps_them():
    assert words("a \u200b b") == [["a", "\u200b", "b"]]


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


def test_chinese_is_split_into_sentences_and_words():
    assert words("他说：“你好。”我喜欢北京！你呢", language="zh") == [
        ["他", "说", "：", "“", "你好", "。", "”"],
        ["我", "喜欢", "北京", "！"],
        ["你", "呢"],
    ]


def test_traditional_and_simplified_chinese_have_the_same_words():
    traditional, simplified = "我們喜歡這個國家的圖書館", "我们喜欢这个国家的图书馆"
    cuts = [[token[1:3] for token in tokenize(text, language="zh")] for text in (traditional, simplified)]
    assert cuts[0] == cuts[1]
    assert words(traditional, language="zh") == [["我們", "喜歡", "這個", "國家", "的", "圖書館"]]


def test_addresses_in_chinese_are_not_split():
    assert words("请看https://a.com/b谢谢 x@y.cn你好 👍🏽", language="zh") == [
        ["请", "看", "https://a.com/b", "谢谢", "x@y.cn", "你好", "👍🏽"]
    ]


def test_an_unknown_language_is_an_error_at_the_call():
    with pytest.raises(ValueError, match="no tokenizer for language 'xx'; expected one of 'en', 'es', 'id'"):
        sentences("text", language="xx")


def test_a_missing_segmenter_names_the_package(monkeypatch):
    chinese._segmenter.cache_clear()
    monkeypatch.setitem(sys.modules, "rjieba", None)
    with pytest.raises(ImportError, match=r"pip install 'treecrf\[zh\]'"):
        tokenize("你好", language="zh")


def test_english_needs_no_segmenter_and_no_torch():
    code = "import sys; from treecrf.text import tokenize; tokenize('A text.'); print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "numpy", "rjieba", "opencc", "nltk"} & set(result.stdout.split())


@pytest.mark.skipif(not TREEBANKS.exists(), reason="the treebanks are not in ../shared/treebanks")
@pytest.mark.parametrize("name", ["masc", "ptb_sample"])
def test_words_of_a_treebank_are_not_split(name):
    """A single word of a treebank is one token, with few exceptions."""
    trees = read_trees(TREEBANKS / name / "dev.mrg.gz")
    vocabulary = {word.replace("\\/", "/") for tree in trees for word in tree.words if re.fullmatch(r"[\w'./-]+", word)}
    # a second word follows, so that a final period does not end the sentence
    cut = [word for word in vocabulary if tokenize(f"{word} x")[0].text != word]
    assert len(cut) < 0.005 * len(vocabulary), cut


# F1 of sentence boundaries and tokens before the rules of `english_sentences`, in percent
_EARLIER_SCORES = {"masc": (90.92, 99.88), "ptb_sample": (99.63, 99.98), "mctb": (93.19, 98.96), "gum": (96.85, 99.93)}


@pytest.mark.skipif(not TREEBANKS.exists(), reason="the treebanks are not in ../shared/treebanks")
@pytest.mark.parametrize("name", _EARLIER_SCORES)
def test_a_rebuilt_treebank_is_split_at_least_as_well_as_before(name):
    gold = rebuild(read_trees(TREEBANKS / name / "dev.mrg.gz"))
    split = predicted(gold)
    scores = (Counts().plus(gold.ends, split.ends).f1, Counts().plus(gold.tokens, split.tokens).f1)
    assert all(100 * score >= earlier - 0.01 for score, earlier in zip(scores, _EARLIER_SCORES[name], strict=True))
