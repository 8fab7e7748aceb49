"""Subword pieces of words, and the segments of pieces that a pretrained encoder reads.

A tokenizer comes from its files if these are sufficient, else from transformers. Those of the installed models need no
other package.
"""

import json
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treecrf.arrays import Ints
from treecrf.files import DamagedFileError, parse_json
from treecrf.network.data.batch import ranges
from treecrf.network.data.pieces import Splitter, check_tokenizer, embedding_count, piece_ids, piece_splitter

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

_PIECES_PER_WORD = 20  # further pieces of a word are dropped
_CHARS_PER_WORD = 10_000
_DEFAULT_MAX_LENGTH = 512  # if neither the tokenizer nor the encoder has a limit
_MIN_MAX_LENGTH = 4  # two special pieces, and at least two others, so that segments can overlap
_TOKENIZER_FILE, _SETTINGS_FILE, _ENCODER_FILE = "tokenizer.json", "tokenizer_config.json", "config.json"
_WORDPIECE_FILE = "vocab.txt"
# tokenizer classes that add no code to tokenizer.json, and the classes of BERT's WordPiece
_PLAIN_CLASSES = ("PreTrainedTokenizerFast", "TokenizersBackend")
_BERT_CLASSES = ("BertTokenizer", "BertTokenizerFast")
_BERT_TOKENS = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
# the begin, end, padding and unknown pieces, each with the names that it may have
_SPECIAL_TOKENS = (
    ("cls_token", "bos_token", "eos_token"),
    ("sep_token", "eos_token", "bos_token"),
    ("pad_token", "eos_token"),
    ("unk_token", "pad_token"),
)
_TOKEN_NAMES = ("cls_token", "bos_token", "sep_token", "eos_token", "pad_token", "unk_token")


class SubwordTokenizer(ABC):
    """Splits each word by itself into subword pieces.

    `special_ids` are the ids of its special tokens, by their names in transformers; a missing one is replaced by a
    similar one. `segment_size` is the number of pieces that the encoder reads at once, including the special pieces
    at both ends.
    """

    def __init__(self, special_ids: Mapping[str, int | None], *, segment_size: int) -> None:
        self.segment_size = segment_size
        self.begin_id, self.end_id, self.pad_id, self.unknown_id = (
            next((id_ for name in names if (id_ := special_ids.get(name)) is not None), 0) for names in _SPECIAL_TOKENS
        )

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The piece ids of each text without lone surrogates, without special pieces."""

    @abstractmethod
    def save(self, folder: str | Path) -> None:
        """Writes the tokenizer's files; `load` also needs the encoder's config.json in the same folder."""

    def split(self, words: Sequence[str]) -> list[list[int]]:
        """The piece ids of each word; a word without pieces gets the unknown piece."""
        pieces = self.encode([_replace_surrogates(word[:_CHARS_PER_WORD]) for word in words]) if words else []
        return [ids[:_PIECES_PER_WORD] or [self.unknown_id] for ids in pieces]

    @staticmethod
    def load(name: str | Path) -> "SubwordTokenizer":
        """Loads the tokenizer of a folder or of a name on the Hugging Face hub, for a parser that is saved later."""
        paths = [Path(name, file) for file in (_ENCODER_FILE, _SETTINGS_FILE, _TOKENIZER_FILE, _WORDPIECE_FILE)]
        files = {path.name: path.read_bytes() for path in paths if path.is_file()}
        from_files = _load_from_files(files, Path(name))
        tokenizer, encoder = (
            (from_files, _read_json(files, _ENCODER_FILE)) if from_files else _load_with_transformers(name)
        )
        if isinstance(tokenizer, FileTokenizer):
            try:  # as `load_saved` will
                check_tokenizer(json.loads(tokenizer.text), encoder)
            except ValueError as error:
                raise ValueError(
                    f"a parser with the tokenizer of '{name}' could not be loaded again: {error}"
                ) from None
        return tokenizer

    @staticmethod
    def load_saved(files: Mapping[str, bytes], folder: Path) -> "SubwordTokenizer":
        """Loads the tokenizer of a saved parser from the content of its files; `folder` names them in errors."""
        for name in (_ENCODER_FILE, _SETTINGS_FILE):
            if name in files:
                parse_json(files[name], folder / name)
        config = _read_json(files, _ENCODER_FILE)
        if _TOKENIZER_FILE in files:
            path = folder / _TOKENIZER_FILE
            try:
                check_tokenizer(parse_json(files[_TOKENIZER_FILE], path), config)
            except DamagedFileError:
                raise
            except ValueError as error:
                raise DamagedFileError(f"{path} is not the tokenizer of this model: {error}") from None
            if tokenizer := _load_from_files(files, folder):
                return tokenizer
            if _tokenizer_class(files) in (*_PLAIN_CLASSES, *_BERT_CLASSES):
                raise DamagedFileError(f"{path} does not have the special tokens that {_SETTINGS_FILE} names")
        with tempfile.TemporaryDirectory() as temporary:  # transformers would follow the links of a folder
            for name, data in files.items():
                Path(temporary, name).write_bytes(data)
            try:
                return _load_with_transformers(temporary, embedding_count(config))[0]
            except ImportError:
                raise
            except Exception as error:  # transformers does not check the types of settings
                raise DamagedFileError(
                    f"{folder} does not contain a tokenizer: {' '.join(str(error).split()):.300}"
                ) from None


class FileTokenizer(SubwordTokenizer):
    """A tokenizer with a tokenizer.json; `tokens` are its special tokens, by their names in transformers."""

    def __init__(self, find_id: Callable[[str], int | None], tokens: Mapping[str, str], *, segment_size: int) -> None:
        super().__init__({name: find_id(token) for name, token in tokens.items()}, segment_size=segment_size)
        self._tokens = tokens

    @property
    @abstractmethod
    def text(self) -> str:
        """The content of the tokenizer.json."""

    def save(self, folder: str | Path) -> None:
        Path(folder, _TOKENIZER_FILE).write_text(self.text, encoding="utf-8")
        settings = {"tokenizer_class": _PLAIN_CLASSES[0], "model_max_length": self.segment_size, **self._tokens}
        text = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
        Path(folder, _SETTINGS_FILE).write_text(text, encoding="utf-8")


class PlainTokenizer(FileTokenizer):
    """A tokenizer of a kind that `pieces` splits; `values` is the content of its tokenizer.json."""

    def __init__(
        self, values: Mapping[str, Any], split: Splitter, tokens: Mapping[str, str], *, segment_size: int
    ) -> None:
        super().__init__(piece_ids(values).get, tokens, segment_size=segment_size)
        self._values, self._split = values, split

    @property
    def text(self) -> str:
        return json.dumps(self._values, ensure_ascii=False, separators=(",", ":"))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return list(map(self._split, texts))


class FastTokenizer(FileTokenizer):
    """A tokenizer of the package tokenizers."""

    def __init__(self, backend: "Backend", tokens: Mapping[str, str], *, segment_size: int) -> None:
        backend.no_truncation()
        backend.no_padding()
        super().__init__(backend.token_to_id, tokens, segment_size=segment_size)
        self.backend = backend
        # some byte-level tokenizers mark the start of a word by the space before it and do not add that space
        settings = repr(backend.pre_tokenizer)
        self._prefix = " " if "ByteLevel" in settings and "add_prefix_space=False" in settings else ""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self.backend.encode_batch_fast([self._prefix + text for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    @property
    def text(self) -> str:
        return self.backend.to_str()


class SlowTokenizer(SubwordTokenizer):
    """A tokenizer that transformers implements in Python; the files that it saves keep their own limit of pieces."""

    def __init__(self, tokenizer: Any, *, segment_size: int) -> None:
        ids = {name: getattr(tokenizer, f"{name}_id", None) for name in _TOKEN_NAMES}
        super().__init__(ids, segment_size=segment_size)
        self._tokenizer = tokenizer

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        options = {"add_special_tokens": False, "return_attention_mask": False, "verbose": False}
        return self._tokenizer(list(texts), **options)["input_ids"]  # type: ignore[no-any-return]

    def save(self, folder: str | Path) -> None:
        self._tokenizer.save_pretrained(str(folder))


def max_length(settings: Mapping[str, Any], config: Mapping[str, Any]) -> int:
    """The number of pieces that an encoder reads at once, by tokenizer_config.json and the encoder's config.json."""
    model_type = str(config.get("model_type", ""))
    positions = config.get("max_position_embeddings") or _DEFAULT_MAX_LENGTH
    # in the RoBERTa family and MPNet, position ids start after the id of padding
    is_roberta = "roberta" in model_type or model_type in ("camembert", "mpnet")
    offset = (config.get("pad_token_id") or 0) + 1 if is_roberta else 0
    limit = positions if settings.get("model_max_length") is None else settings["model_max_length"]
    for name, value in (("max_position_embeddings", positions - offset), ("model_max_length", limit)):
        if type(value) not in (int, float) or not value >= _MIN_MAX_LENGTH:
            raise ValueError(f"{name} is {value!r:.50}; expected at least {_MIN_MAX_LENGTH} pieces")
    return int(min(positions - offset, limit))


def import_transformers() -> Any:
    """Imports the package transformers, or raises an error with the command that installs it."""
    # without PyTorch, transformers prints advice on standard error
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        import transformers
    except ImportError as error:
        raise ImportError(
            "a transformer encoder needs the package transformers: pip install 'treecrf[transformers]'"
        ) from error
    return transformers


def load_pretrained(auto_class: str, name: str | Path, kind: str) -> Any:
    """Loads the files of a folder or of a name on the Hugging Face hub with a class of transformers."""
    transformers = import_transformers()
    try:
        return getattr(transformers, auto_class).from_pretrained(str(name), trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no {kind} could be loaded from '{name}': {error}; expected a folder with its files, or a name on "
            "huggingface.co that is cached or can be reached"
        ) from error


def _load_from_files(files: Mapping[str, bytes], folder: Path) -> FileTokenizer | None:
    """The tokenizer in the content of files, or None if they do not describe it completely."""
    config, settings = _read_json(files, _ENCODER_FILE), _read_json(files, _SETTINGS_FILE)
    tokenizer_class = _tokenizer_class(files)
    if not config or tokenizer_class not in (*_PLAIN_CLASSES, *_BERT_CLASSES):
        return None
    named = {name: settings[name] for name in _TOKEN_NAMES if settings.get(name)}
    tokens = {name: value["content"] if isinstance(value, dict) else value for name, value in named.items()}
    if not all(isinstance(token, str) for token in tokens.values()):
        raise ValueError(f"{folder / _SETTINGS_FILE} has the special tokens {tokens!r:.200}; expected strings")
    if tokenizer_class in _BERT_CLASSES:
        tokens = _BERT_TOKENS | tokens
    try:
        values = _tokenizer_values(files, settings if tokenizer_class in _BERT_CLASSES else None, tokens)
        if values is None or not piece_ids(values).keys() >= set(tokens.values()):
            return None
        longest = max_length(settings, config)
        if split := piece_splitter(values):
            return PlainTokenizer(values, split, tokens, segment_size=longest)
        return FastTokenizer(_load_backend(json.dumps(values)), tokens, segment_size=longest)
    except ImportError:
        raise
    except Exception as error:  # the class that tokenizers raises
        raise ValueError(f"no tokenizer could be loaded from {folder}: {error!s:.200}") from None


def _tokenizer_class(files: Mapping[str, bytes]) -> Any:
    """The class in tokenizer_config.json, or the default of BERT."""
    is_bert = _read_json(files, _ENCODER_FILE).get("model_type") == "bert"
    return _read_json(files, _SETTINGS_FILE).get("tokenizer_class") or (_BERT_CLASSES[0] if is_bert else "")


def _tokenizer_values(
    files: Mapping[str, bytes], bert_settings: Mapping[str, Any] | None, tokens: Mapping[str, str]
) -> dict[str, Any] | None:
    """The content of tokenizer.json, or the same of the vocab.txt of a BERT, whose settings have the normalizer."""
    values: dict[str, Any]
    if _TOKENIZER_FILE in files:
        values = json.loads(files[_TOKENIZER_FILE])
    elif bert_settings is not None and _WORDPIECE_FILE in files:
        pieces = files[_WORDPIECE_FILE].decode("utf-8").split("\n")
        ids = {piece.rstrip(): id_ for id_, piece in enumerate(pieces[:-1] if not pieces[-1] else pieces)}
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        special = sorted({*tokens.values()} & ids.keys())
        model = {"type": "WordPiece", "unk_token": tokens["unk_token"], "continuing_subword_prefix": "##"}
        values = {
            "version": "1.0",
            "added_tokens": [{"id": ids[token], "content": token, **flags} for token in special],
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {**model, "max_input_chars_per_word": 100, "vocab": ids},
        }
    else:
        return None
    if bert_settings is not None:
        values["normalizer"] = {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": bert_settings.get("tokenize_chinese_chars", True),
            "strip_accents": bert_settings.get("strip_accents"),  # None: strip if lowercase
            "lowercase": bert_settings.get("do_lower_case", True),
        }
    return values


def _load_backend(text: str) -> "Backend":
    try:
        from tokenizers import Tokenizer as Backend
    except ImportError as error:
        raise ImportError("this tokenizer needs the package tokenizers: pip install tokenizers") from error
    return Backend.from_str(text)


def _load_with_transformers(
    name: str | Path, vocabulary_size: int | None = None
) -> tuple[SubwordTokenizer, dict[str, Any]]:
    """The tokenizer and the content of its encoder's config.json."""
    tokenizer = load_pretrained("AutoTokenizer", name, "tokenizer")
    encoder = load_pretrained("AutoConfig", name, "tokenizer").to_dict()
    if vocabulary_size is not None and len(tokenizer) > vocabulary_size:
        raise ValueError(f"the tokenizer has {len(tokenizer):,} pieces; the encoder has {vocabulary_size:,}")
    most = max_length({"model_max_length": tokenizer.model_max_length}, encoder)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return SlowTokenizer(tokenizer, segment_size=most), encoder
    tokens = {name: str(token) for name in _TOKEN_NAMES if (token := getattr(tokenizer, name, None)) is not None}
    return FastTokenizer(backend, tokens, segment_size=most), encoder


def _replace_surrogates(text: str) -> str:
    """Replaces lone surrogates, which tokenizers do not accept."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read_json(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    try:
        values = json.loads(files.get(name, b""))
    except (ValueError, RecursionError):
        return {}  # the fallback to transformers reports the problem
    return values if isinstance(values, dict) else {}


def build_segments(
    pieces: Ints, rows: Ints, counts: Ints, lengths: Ints, tokenizer: SubwordTokenizer
) -> dict[str, Ints]:
    """The piece fields of a batch.

    `pieces` has a row for each distinct word, `rows` is the row of each word of all sentences and `counts` its number
    of pieces, and `lengths` is the number of words of each sentence. A sentence with too many pieces is split into
    overlapping segments. The vector of each piece is taken from the segment in which it has most context on both sides.
    """
    flat = pieces.ravel()[ranges(rows * pieces.shape[1], counts)]
    sentence_ends = np.cumsum(counts)[np.cumsum(lengths) - 1]
    segments = _split_sentences(sentence_ends, tokenizer.segment_size - 2)
    sizes = segments.ends - segments.starts
    width = int(sizes.max()) + 2
    places = np.arange(len(sizes)) * width
    grid = np.full((len(sizes), width), tokenizer.pad_id, dtype=np.int64)
    grid[:, 0] = tokenizer.begin_id
    grid.ravel()[ranges(places + 1, sizes)] = flat[ranges(segments.starts, sizes)]
    grid.ravel()[places + sizes + 1] = tokenizer.end_id
    used_sizes = segments.used_ends - segments.used_starts
    used_places = ranges(places + 1 + segments.used_starts - segments.starts, used_sizes)
    last = np.cumsum(segments.counts) - 1
    first = last + 1 - segments.counts
    begins = np.arange(len(lengths)) * (int(lengths.max()) + 2)
    return {
        "pieces": grid,
        "segment_lengths": sizes + 2,
        "piece_index": np.concatenate([used_places, places[first], (places + sizes + 1)[last]]),
        "piece_words": np.concatenate([np.repeat(ranges(begins + 1, lengths), counts), begins, begins + lengths + 1]),
        "piece_counts": np.concatenate([np.repeat(counts, counts), np.ones(2 * len(lengths), np.int64)]),
    }


class _Segments(NamedTuple):
    """Segments of sentences, as places among the pieces of all sentences."""

    starts: Ints
    ends: Ints
    used_starts: Ints  # the pieces whose vectors are taken from the segment
    used_ends: Ints
    counts: Ints  # segments of each sentence


def _split_sentences(ends: Ints, size: int) -> _Segments:
    """Splits sentences that end at these pieces into segments of at most `size` that overlap by half."""
    lengths = np.diff(ends, prepend=0)
    counts = 1 + np.maximum(0, -((size - lengths) // (size // 2)))
    numbers = ranges(np.zeros_like(counts), counts)  # the segments of each sentence, counted from 0
    is_last = numbers == np.repeat(counts - 1, counts)
    starts, sentence_ends = np.repeat(ends - lengths, counts) + numbers * (size // 2), np.repeat(ends, counts)
    return _Segments(
        starts,
        np.where(is_last, sentence_ends, starts + size),
        starts + np.where(numbers > 0, size // 4, 0),
        np.where(is_last, sentence_ends, starts + size // 2 + size // 4),
        counts,
    )
