"""The pieces of a text, by the content of a tokenizer.json: BERT's WordPiece, and Unigram after NFKC.

The installed models have tokenizers of these two kinds, so that parsing needs no other package. The package
tokenizers gives the same pieces, and reads all other kinds.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Splitter = Callable[[str], list[int]]  # from a text to the ids of its pieces

_UNKNOWN_PENALTY = 10.0  # below the least score of a piece
_LONGEST_PIECE = 64  # characters of a piece of Unigram
_SPACE, _REPLACED = "▁", " {2,}"  # Unigram's mark before a word; a text that the normalizer reads literally
_UNIGRAM = {
    "normalizer": {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFKC"},
            {"type": "Replace", "pattern": {"String": _REPLACED}, "content": " "},
        ],
    },
    "pre_tokenizer": {"type": "Metaspace", "replacement": _SPACE, "split": True},
}
_PREFIXES = {"always": _SPACE, "never": ""}  # what a text gets before its first word
_WORD = re.compile(f"{_SPACE}[^{_SPACE}]*|[^{_SPACE}]+")
_IDEOGRAPHS = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    "\U0002f800-\U0002fa1f]"
)
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")  # with the categories P of Unicode


def piece_ids(values: Mapping[str, Any]) -> dict[str, int]:
    """The ids of all pieces, by their texts."""
    vocabulary = values["model"]["vocab"]
    is_table = isinstance(vocabulary, dict)
    ids: dict[str, int] = vocabulary if is_table else {piece: id_ for id_, (piece, _) in enumerate(vocabulary)}
    return ids | _token_ids(values)


def _token_ids(values: Mapping[str, Any]) -> dict[str, int]:
    return {token["content"]: token["id"] for token in values.get("added_tokens") or []}


def piece_splitter(values: Mapping[str, Any]) -> Splitter | None:
    """The function that splits texts into pieces, or None if the tokenizer is of another kind."""
    model, tokens = values["model"], values.get("added_tokens") or []
    normalizer, words = values.get("normalizer") or {}, values.get("pre_tokenizer")
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    if values.get("truncation") or values.get("padding") or any(token.get(flag) for token in tokens for flag in flags):
        return None
    split: Splitter | None = None
    if model.get("type") == "WordPiece" and words == {"type": "BertPreTokenizer"} and normalizer.get("clean_text"):
        split = _word_piece_splitter(model, _BertCharacters(normalizer))
    elif model.get("type") == "Unigram" and isinstance(words, dict):
        prefix = _PREFIXES.get(words.get("prepend_scheme", ""))
        words = {name: value for name, value in words.items() if name != "prepend_scheme"}
        if prefix is not None and {"normalizer": normalizer, "pre_tokenizer": words} == _UNIGRAM:
            split = _unigram_splitter(model, prefix)
    if split is None or not tokens:
        return split
    ids = _token_ids(values)
    return partial(_split_around, re.compile("|".join(map(re.escape, sorted(ids, key=len, reverse=True)))), ids, split)


def _split_around(special: re.Pattern[str], ids: Mapping[str, int], split: Splitter, text: str) -> list[int]:
    """The pieces of a text in which special tokens are pieces as they stand."""
    pieces: list[int] = []
    end = 0
    for match in special.finditer(text):
        pieces += [*split(text[end : match.start()]), ids[match[0]]]
        end = match.end()
    return pieces + split(text[end:])


class _BertCharacters(dict[int, str]):
    """The characters that BERT's normalizer and its splitting into words make of one, for `str.translate`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._lowercase: bool = settings["lowercase"]
        strips: bool | None = settings["strip_accents"]
        self._strips_accents = self._lowercase if strips is None else strips
        self._separates_ideographs: bool = settings["handle_chinese_chars"]

    def __missing__(self, code: int) -> str:
        text = self._normalize(chr(code))
        if code < 1 << 16:  # rare characters do not fill the memory
            self[code] = text
        return text

    def _normalize(self, char: str) -> str:
        category = unicodedata.category(char)
        if char in "\t\n\r" or category[0] == "Z":
            return " "
        if category in ("Cc", "Cf", "Co") or char == "\ufffd":
            return ""
        is_separate = self._separates_ideographs and _IDEOGRAPHS.match(char)
        if self._strips_accents:
            char = "".join(part for part in unicodedata.normalize("NFD", char) if unicodedata.category(part) != "Mn")
        if self._lowercase:
            char = "".join(map(str.lower, char))
        return f" {char} " if is_separate else "".join(f" {part} " if _is_punctuation(part) else part for part in char)


def _is_punctuation(char: str) -> bool:
    return char in _PUNCTUATION or unicodedata.category(char)[0] == "P"


def _word_piece_splitter(model: Mapping[str, Any], characters: _BertCharacters) -> Splitter:
    first: dict[str, int] = model["vocab"]
    prefix, longest = model.get("continuing_subword_prefix", "##"), model.get("max_input_chars_per_word", 100)
    further = {piece[len(prefix) :]: id_ for piece, id_ in first.items() if piece.startswith(prefix)}
    unknown = [first[model["unk_token"]]]

    def split_word(word: str) -> list[int]:
        """The longest piece at the start of the word, then the longest at the start of the rest, and so on."""
        if word in first:
            return [first[word]]
        pieces, start, known = [], 0, first
        while start < len(word):
            end = next((end for end in range(len(word), start, -1) if word[start:end] in known), None)
            if end is None:
                return unknown
            pieces.append(known[word[start:end]])
            start, known = end, further
        return pieces

    def split(text: str) -> list[int]:
        words = text.translate(characters).split()
        return [id_ for word in words for id_ in (split_word(word) if len(word) <= longest else unknown)]

    return split


def _unigram_splitter(model: Mapping[str, Any], prefix: str) -> Splitter | None:
    unknown = model["unk_id"]
    pieces = {piece: (id_, float(score)) for id_, (piece, score) in enumerate(model["vocab"])}
    longest, scores = max(map(len, pieces)), [score for _, score in pieces.values()]
    unknown_score = min(scores) - _UNKNOWN_PENALTY
    is_sound = unknown in range(len(pieces)) and all(map(math.isfinite, scores))
    if model.get("byte_fallback") or longest > _LONGEST_PIECE or not is_sound:
        return None

    def split_word(word: str) -> list[int]:
        """The pieces with the greatest sum of scores; adjacent unknown characters are one piece."""
        best = [0.0, *[-math.inf] * len(word)]  # by end
        starts, ids = [0] * (len(word) + 1), [unknown] * (len(word) + 1)
        for start in range(len(word)):
            for end in range(start + 1, min(start + longest, len(word)) + 1):
                id_, score = pieces.get(word[start:end], (unknown, unknown_score if end == start + 1 else -math.inf))
                if best[start] + score > best[end]:
                    best[end], starts[end], ids[end] = best[start] + score, start, id_
        found: list[int] = []
        end = len(word)
        while end:
            if ids[end] != unknown or found[-1:] != [unknown]:
                found.append(ids[end])
            end = starts[end]
        return found[::-1]

    def split(text: str) -> list[int]:
        text = unicodedata.normalize("NFKC", text).replace(_REPLACED, " ").replace(" ", _SPACE)
        marked = text if not text or text.startswith(_SPACE) else prefix + text
        return [id_ for word in _WORD.findall(marked) for id_ in split_word(word)]

    return split
