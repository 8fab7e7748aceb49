"""Tokenizers of pretrained encoders: from their files if these are sufficient, else through transformers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

_DEFAULT_MAX_LENGTH = 512  # if neither the tokenizer nor the encoder has a limit
_TOKENIZER_FILE, _SETTINGS_FILE = "tokenizer.json", "tokenizer_config.json"
# tokenizer classes that add no code to tokenizer.json, and the classes of BERT's WordPiece
_PLAIN_CLASSES = ("PreTrainedTokenizerFast", "TokenizersBackend")
_BERT_CLASSES = ("BertTokenizer", "BertTokenizerFast")
_BERT_TOKENS = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
_TOKEN_NAMES = ("cls_token", "bos_token", "sep_token", "eos_token", "pad_token", "unk_token")


class Tokenizer(Protocol):
    """Splits texts into subword pieces; has special pieces for text begin, text end, padding and unknown text."""

    begin_id: int
    end_id: int
    pad_id: int
    unknown_id: int
    max_length: int  # pieces that the encoder reads at once

    def encode(self, texts: Sequence[str]) -> list[list[int]]: ...

    def save(self, folder: str | Path, *, max_length: int) -> None: ...


class FastTokenizer:
    """A tokenizer of the package tokenizers; `tokens` are its special tokens, by their names in transformers."""

    def __init__(self, backend: "Backend", tokens: Mapping[str, str], *, max_length: int) -> None:
        backend.no_truncation()
        backend.no_padding()
        self._backend = backend
        self._tokens = tokens
        self.max_length = max_length
        self.begin_id, self.end_id, self.pad_id, self.unknown_id = _special_ids(
            {name: backend.token_to_id(token) for name, token in tokens.items()}
        )
        # some byte-level tokenizers mark the start of a word by the space before it and do not add that space
        settings = repr(backend.pre_tokenizer)
        self._prefix = " " if "ByteLevel" in settings and "add_prefix_space=False" in settings else ""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The piece ids of each text, without special pieces."""
        encodings = self._backend.encode_batch_fast(
            [self._prefix + _replace_surrogates(text) for text in texts], add_special_tokens=False
        )
        return [encoding.ids for encoding in encodings]

    def save(self, folder: str | Path, *, max_length: int) -> None:
        """Writes tokenizer.json and tokenizer_config.json."""
        self._backend.save(str(Path(folder, _TOKENIZER_FILE)), pretty=False)
        settings = {"tokenizer_class": _PLAIN_CLASSES[0], "model_max_length": max_length, **self._tokens}
        text = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
        Path(folder, _SETTINGS_FILE).write_text(text, encoding="utf-8")


class SlowTokenizer:
    """A tokenizer that transformers implements in Python."""

    def __init__(self, tokenizer: Any, *, max_length: int) -> None:
        self._tokenizer = tokenizer
        self.max_length = max_length
        self.begin_id, self.end_id, self.pad_id, self.unknown_id = _special_ids(
            {name: getattr(tokenizer, f"{name}_id", None) for name in _TOKEN_NAMES}
        )

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The piece ids of each text, without special pieces."""
        options = {"add_special_tokens": False, "return_attention_mask": False, "verbose": False}
        return self._tokenizer([_replace_surrogates(text) for text in texts], **options)["input_ids"]  # type: ignore[no-any-return]

    def save(self, folder: str | Path, *, max_length: int) -> None:
        """Writes the files of the original tokenizer, whose own limit stays."""
        self._tokenizer.save_pretrained(str(folder))


def load_tokenizer(name: str | Path) -> Tokenizer:
    """Loads the tokenizer of a folder or of a name on the Hugging Face hub."""
    return _load_from_files(Path(name)) or _load_with_transformers(name)


def max_length(settings: Mapping[str, Any], config: Mapping[str, Any]) -> int:
    """The number of pieces that an encoder reads at once, by tokenizer_config.json and the encoder's config.json."""
    model_type = str(config.get("model_type", ""))
    positions = config.get("max_position_embeddings") or _DEFAULT_MAX_LENGTH
    # in the RoBERTa family, position ids start after the id of padding
    is_roberta = "roberta" in model_type or model_type == "camembert"
    offset = (config.get("pad_token_id") or 0) + 1 if is_roberta else 0
    return int(min(positions - offset, settings.get("model_max_length") or positions))


def import_transformers() -> Any:
    """Imports the package transformers, or raises an error with the command that installs it."""
    try:
        import transformers
    except ImportError as error:
        raise ImportError(
            "a transformer encoder needs the package transformers: pip install 'treecrf[transformers]'"
        ) from error
    return transformers


def _load_from_files(folder: Path) -> FastTokenizer | None:
    """The tokenizer of a folder, or None if its files do not describe it completely."""
    config, settings = _read_json(folder / "config.json"), _read_json(folder / _SETTINGS_FILE)
    default_class = _BERT_CLASSES[0] if config.get("model_type") == "bert" else ""
    tokenizer_class = settings.get("tokenizer_class") or default_class
    if not config or tokenizer_class not in (*_PLAIN_CLASSES, *_BERT_CLASSES):
        return None
    values = {name: settings[name] for name in _TOKEN_NAMES if settings.get(name)}
    tokens = {name: value if isinstance(value, str) else value["content"] for name, value in values.items()}
    if tokenizer_class in _BERT_CLASSES:
        tokens = _BERT_TOKENS | tokens
    backend = _load_backend(folder, settings if tokenizer_class in _BERT_CLASSES else None, tokens)
    if backend is None or any(backend.token_to_id(token) is None for token in tokens.values()):
        return None
    return FastTokenizer(backend, tokens, max_length=max_length(settings, config))


def _load_backend(folder: Path, bert_settings: Mapping[str, Any] | None, tokens: Mapping[str, str]) -> "Backend | None":
    from tokenizers import Tokenizer as Backend
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    if (folder / _TOKENIZER_FILE).is_file():
        backend = Backend.from_file(str(folder / _TOKENIZER_FILE))
    elif bert_settings is not None and (folder / "vocab.txt").is_file():
        backend = Backend(WordPiece.from_file(str(folder / "vocab.txt"), unk_token=tokens["unk_token"]))
        backend.pre_tokenizer = BertPreTokenizer()
        backend.add_special_tokens(sorted(set(tokens.values())))
    else:
        return None
    if bert_settings is not None:
        backend.normalizer = BertNormalizer(
            lowercase=bert_settings.get("do_lower_case", True),
            strip_accents=bert_settings.get("strip_accents"),  # None: strip if lowercase
            handle_chinese_chars=bert_settings.get("tokenize_chinese_chars", True),
        )
    return backend


def _load_with_transformers(name: str | Path) -> Tokenizer:
    transformers = import_transformers()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(name), trust_remote_code=False)
        config = transformers.AutoConfig.from_pretrained(str(name), trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no tokenizer could be loaded from '{name}': {error}; expected a folder with its files, or a name on "
            "huggingface.co that is cached or can be reached"
        ) from error
    most = max_length({"model_max_length": tokenizer.model_max_length}, config.to_dict())
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return SlowTokenizer(tokenizer, max_length=most)
    tokens = {name: str(token) for name in _TOKEN_NAMES if (token := getattr(tokenizer, name, None)) is not None}
    return FastTokenizer(backend, tokens, max_length=most)


def _special_ids(ids: Mapping[str, int | None]) -> tuple[int, int, int, int]:
    """The ids of the begin, end, padding and unknown pieces; a missing one is replaced by a similar one."""
    alternatives = (
        ("cls_token", "bos_token", "eos_token"),
        ("sep_token", "eos_token", "bos_token"),
        ("pad_token", "eos_token"),
        ("unk_token", "pad_token"),
    )
    begin_id, end_id, pad_id, unknown_id = (
        next((id_ for name in names if (id_ := ids.get(name)) is not None), 0) for names in alternatives
    )
    return begin_id, end_id, pad_id, unknown_id


def _replace_surrogates(text: str) -> str:
    """Replaces lone surrogates, which tokenizers do not accept."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # the fallback to transformers reports the problem
    return values if isinstance(values, dict) else {}
