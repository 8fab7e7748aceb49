"""Checks of a tokenizer.json, when a parser is loaded and before one is trained.

The file of a saved parser may come from a stranger. Its text rules could make a word grow without limit, and its
regular expressions could take exponential time, so only known components and known expressions are accepted.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from treecrf.config import read_data

_PARTS: dict[str, list[str]] = read_data(__file__, "tokenizer_parts.toml")
_MAX_COMPONENTS = 20
_MAX_GROWTH = 64  # characters that the normalizers make of one character
_MAX_TOKEN_LENGTH = 1000  # characters
_MAX_WORD_LENGTH = 1000  # characters of a word that WordPiece splits; its time is quadratic


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
    ids = _piece_ids(values["model"].get("vocab")) + [_token_id(token) for token in tokens]
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


def _piece_ids(vocabulary: Any) -> list[int]:
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
