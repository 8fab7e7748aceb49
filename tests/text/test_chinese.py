import sys

import pytest

from treecrf.text import chinese, sentences, tokenize


def words(text: str, **options: str) -> list[list[str]]:
    return [[token.word for token in sentence] for sentence in sentences(text, **options)]


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


def test_a_missing_segmenter_names_the_package(monkeypatch):
    chinese._segmenter.cache_clear()
    monkeypatch.setitem(sys.modules, "rjieba", None)
    with pytest.raises(ImportError, match=r"pip install 'treecrf\[zh\]'"):
        tokenize("你好", language="zh")
