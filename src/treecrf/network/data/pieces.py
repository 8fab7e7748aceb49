"""The pieces of a text, by the content of a tokenizer.json: BERT's WordPiece, and Unigram after NFKC.

The installed models have tokenizers of these two kinds, so that parsing needs no other package. The package
tokenizers gives the same pieces, and reads all other kinds.

The file of a saved parser may come from a stranger. Its text rules could make a word grow without limit, and its
regular expressions could take exponential time, so only known components and known expressions are accepted.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from treecrf.config import read_data

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
_PARTS: dict[str, list[str]] = read_data(__file__, "tokenizer_parts.toml")
_MAX_COMPONENTS = 20
_MAX_GROWTH = 64  # characters that the normalizers make of one character
_MAX_TOKEN_LENGTH = 1000  # characters
_MAX_WORD_LENGTH = 1000  # characters of a word that WordPiece splits; its time is quadratic


def piece_ids(values: Mapping[str, Any]) -> dict[str, int]:
    """The ids of all pieces, by their texts."""
    vocabulary = values["model"]["vocab"]
    is_table = isinstance(vocabulary, dict)
    ids: dict[str, int] = vocabulary if is_table else {piece: id_ for id_, (piece, _) in enumerate(vocabulary)}
    return ids | _token_ids(values.get("added_tokens") or [])


def _token_ids(tokens: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return {token["content"]: token["id"] for token in tokens}


def piece_splitter(values: Mapping[str, Any]) -> Splitter | None:
    """The function that splits texts into pieces, or None if the tokenizer is of another kind."""
    model, tokens = values["model"], values.get("added_tokens") or []
    normalizer, words = values.get("normalizer") or {}, values.get("pre_tokenizer")
    if values.get("truncation") or values.get("padding") or any(token.get("single_word") for token in tokens):
        return None
    if model.get("type") == "WordPiece" and words == {"type": "BertPreTokenizer"} and normalizer.get("clean_text"):
        return _bert_splitter(model, _BertCharacters(normalizer), tokens)
    if any(token.get(flag) for token in tokens for flag in ("lstrip", "rstrip", "normalized")):
        return None
    if model.get("type") == "Unigram" and isinstance(words, dict):
        prefix = _PREFIXES.get(words.get("prepend_scheme", ""))
        words = {name: value for name, value in words.items() if name != "prepend_scheme"}
        if prefix is not None and {"normalizer": normalizer, "pre_tokenizer": words} == _UNIGRAM:
            split = _unigram_splitter(model, prefix)
            return None if split is None else _around_tokens(_token_ids(tokens), split)
    return None


def _around_tokens(ids: Mapping[str, int], split: Splitter) -> Splitter:
    """The function that splits the texts around tokens, which are pieces as they stand."""
    if not ids:
        return split
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


def _bert_splitter(
    model: Mapping[str, Any], characters: _BertCharacters, tokens: Sequence[Mapping[str, Any]]
) -> Splitter | None:
    """Splits around the tokens of a text, then of the normalized text; spaces beside a token do not count."""
    literal, normalized = (
        _token_ids(token for token in tokens if bool(token.get("normalized")) == flag) for flag in (False, True)
    )
    normalized = {text.translate(characters): id_ for text, id_ in normalized.items()}
    if not all(map(str.strip, normalized)):
        return None
    split = _around_tokens(normalized, _word_piece_splitter(model))
    return _around_tokens(literal, lambda text: split(text.translate(characters)))


def _word_piece_splitter(model: Mapping[str, Any]) -> Splitter:
    """The function that splits normalized texts."""
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
        return [id_ for word in text.split() for id_ in (split_word(word) if len(word) <= longest else unknown)]

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


def check_tokenizer(values: Any, encoder: Mapping[str, Any]) -> None:
    """Raises a ValueError if the content of a tokenizer.json is not a tokenizer with known components.

    `encoder` is the content of the encoder's config.json. BERT has no precompiled tables of characters, which the
    package tokenizers reads without checks.
    """
    if not isinstance(values, dict) or not isinstance(values.get("model"), dict):
        raise ValueError("there is no model in it")
    _check_model(values["model"])
    tokens = values.get("added_tokens") or []
    if not isinstance(tokens, list):
        raise ValueError("added_tokens is not a list")
    ids = _vocabulary_ids(values["model"].get("vocab")) + [_token_id(token) for token in tokens]
    limit = embedding_count(encoder) or math.inf
    wrong = next((id_ for id_ in ids if not 0 <= id_ < limit), None)
    if wrong is not None:
        raise ValueError(f"the id of a piece is {wrong}; expected 0 to {limit - 1:,}, as the encoder has embeddings")
    unknown = {"Precompiled"} if encoder.get("model_type") == "bert" else set()
    growth = math.prod(map(_growth, _components(values.get("normalizer"), "normalizers", unknown)))
    if growth > _MAX_GROWTH:
        raise ValueError(f"its normalizer makes {growth:,} characters of one; expected at most {_MAX_GROWTH}")
    for component in _components(values.get("pre_tokenizer"), "pretokenizers", set()):
        if component["type"] == "Split":
            _check_pattern(component.get("pattern"))


def embedding_count(encoder: Mapping[str, Any]) -> int | None:
    """The number of pieces that have an embedding, if the encoder's config.json gives it."""
    return encoder["vocab_size"] if type(encoder.get("vocab_size")) is int else None


def _check_model(model: Mapping[str, Any]) -> None:
    if model.get("type", _PARTS["models"][0]) not in _PARTS["models"]:
        raise ValueError(f"its model is {model['type']!r:.50}; expected one of {', '.join(_PARTS['models'])}")
    longest = model.get("max_input_chars_per_word", 100)
    if type(longest) is not int or not 0 <= longest <= _MAX_WORD_LENGTH:
        raise ValueError(f"max_input_chars_per_word is {longest!r:.50}; expected at most {_MAX_WORD_LENGTH}")
    if model.get("dropout"):
        raise ValueError(f"its dropout is {model['dropout']!r:.50}; expected none, so that trees do not vary")


def _vocabulary_ids(vocabulary: Any) -> list[int]:
    """The ids of the pieces: the values of an object, or the positions in a list."""
    if isinstance(vocabulary, list):
        return list(range(len(vocabulary)))
    if not isinstance(vocabulary, dict):
        raise ValueError("its model has no vocabulary")
    if not all(type(id_) is int for id_ in vocabulary.values()):
        raise ValueError("an id in the vocabulary of its model is not an integer")
    return list(vocabulary.values())


def _token_id(token: Any) -> int:
    content = token.get("content") if isinstance(token, dict) else None
    if not isinstance(content, str) or not 0 < len(content) <= _MAX_TOKEN_LENGTH or type(token.get("id")) is not int:
        raise ValueError(f"an added token is {token!r:.100}; expected an id and up to {_MAX_TOKEN_LENGTH} characters")
    return int(token["id"])


def _components(value: Any, field: str, unknown: set[str]) -> Iterator[dict[str, Any]]:
    """The components of a normalizer or pre-tokenizer; a sequence lists its components in `field`."""
    known = set(_PARTS[field]) - unknown
    waiting, count = [value] if value is not None else [], 0
    while waiting:
        component = waiting.pop()
        count += 1
        kind = component.get("type") if isinstance(component, dict) else None
        if not isinstance(kind, str) or kind not in known or count > _MAX_COMPONENTS:
            raise ValueError(
                f"one of its {field} is {component!r:.100}; expected at most {_MAX_COMPONENTS}, "
                f"each of {', '.join(sorted(known))}"
            )
        if kind != "Sequence":
            yield component
        elif isinstance(component.get(field), list):
            waiting += component[field]


def _growth(component: Mapping[str, Any]) -> int:
    """The number of characters that a normalizer makes of one, at most."""
    if component["type"] == "ByteLevel":
        return 4  # the bytes of a character
    if component["type"] not in ("Prepend", "Replace"):
        return 1  # Unicode's own normal forms do not grow twice
    if component["type"] == "Replace":
        _check_pattern(component.get("pattern"))
    text = component.get("prepend" if component["type"] == "Prepend" else "content")
    if not isinstance(text, str):
        raise ValueError(f"one of its normalizers has the text {text!r:.50}; expected a string")
    return len(text) + 1


def _check_pattern(pattern: Any) -> None:
    is_known = isinstance(pattern, dict) and (
        isinstance(pattern.get("String"), str) or (pattern.get("Regex") in _PARTS["regexes"] and len(pattern) == 1)
    )
    if not is_known:
        raise ValueError(
            f"it splits or replaces the pattern {pattern!r:.100}; expected a string, or a known expression"
        )
