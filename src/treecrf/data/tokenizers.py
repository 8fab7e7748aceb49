"""The tokenizer of a pretrained encoder: from its files where they say all, else from transformers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from treecrf.nn.transformer import import_transformers

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

_WINDOW = 512  # where neither the tokenizer nor the encoder sets a limit
_FILE, _SETTINGS = "tokenizer.json", "tokenizer_config.json"
# classes that add nothing to tokenizer.json, and those that are the WordPiece of BERT
_PLAIN = ("PreTrainedTokenizerFast", "TokenizersBackend")
_BERT = ("BertTokenizer", "BertTokenizerFast")
_BERT_TOKENS = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
_TOKENS = ("cls_token", "bos_token", "sep_token", "eos_token", "pad_token", "unk_token")


class Tokenizer(Protocol):
    """Texts to pieces; the pieces that begin and end a text, fill it up, and stand for what is unknown."""

    begin: int
    end: int
    pad: int
    unknown: int
    limit: int  # pieces that the encoder reads at once

    def cut(self, texts: Sequence[str]) -> list[list[int]]: ...

    def save(self, folder: str | Path, *, limit: int) -> None: ...


class FastTokenizer:
    """A tokenizer of the library tokenizers; `tokens` are its special ones, by the names that transformers uses."""

    def __init__(self, backend: "Backend", tokens: Mapping[str, str], *, limit: int) -> None:
        backend.no_truncation()
        backend.no_padding()
        self._backend = backend
        self._tokens = tokens
        self.limit = limit
        self.begin, self.end, self.pad, self.unknown = _special(
            {name: backend.token_to_id(token) for name, token in tokens.items()}
        )
        # whether the start of a word is told by the space before it, and it is not put there anyway
        before = repr(backend.pre_tokenizer)
        self._prefix = " " if "ByteLevel" in before and "add_prefix_space=False" in before else ""

    def cut(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self._backend.encode_batch_fast(
            [self._prefix + _valid(text) for text in texts], add_special_tokens=False
        )
        return [encoding.ids for encoding in encodings]

    def save(self, folder: str | Path, *, limit: int) -> None:
        self._backend.save(str(Path(folder, _FILE)), pretty=False)
        settings = {"tokenizer_class": _PLAIN[0], "model_max_length": limit, **self._tokens}
        Path(folder, _SETTINGS).write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


class SlowTokenizer:
    """A tokenizer that is Python code of transformers."""

    def __init__(self, tokenizer: Any, *, limit: int) -> None:
        self._tokenizer = tokenizer
        self.limit = limit
        self.begin, self.end, self.pad, self.unknown = _special(
            {name: getattr(tokenizer, f"{name}_id", None) for name in _TOKENS}
        )

    def cut(self, texts: Sequence[str]) -> list[list[int]]:
        options = {"add_special_tokens": False, "return_attention_mask": False, "verbose": False}
        return self._tokenizer([_valid(text) for text in texts], **options)["input_ids"]  # type: ignore[no-any-return]

    def save(self, folder: str | Path, *, limit: int) -> None:
        self._tokenizer.save_pretrained(str(folder))


def load_tokenizer(name: str | Path) -> Tokenizer:
    """The tokenizer of a folder, or of a name on the Hugging Face hub."""
    return _from_files(Path(name)) or _from_transformers(name)


def limit(settings: Mapping[str, Any], config: Mapping[str, Any]) -> int:
    """How many pieces may be read at once, by what tokenizer_config.json and the encoder's config.json say."""
    kind = str(config.get("model_type", ""))
    positions = config.get("max_position_embeddings") or _WINDOW
    # position numbers of the RoBERTa family start after the padding's
    offset = (config.get("pad_token_id") or 0) + 1 if "roberta" in kind or kind == "camembert" else 0
    return int(min(positions - offset, settings.get("model_max_length") or positions))


def _from_files(folder: Path) -> FastTokenizer | None:
    """The tokenizer that a folder's files describe, if they leave nothing to code."""
    config, settings = _read(folder / "config.json"), _read(folder / _SETTINGS)
    kind = settings.get("tokenizer_class") or (_BERT[0] if config.get("model_type") == "bert" else "")
    if not config or kind not in (*_PLAIN, *_BERT):
        return None
    named = {name: settings[name] for name in _TOKENS if settings.get(name)}
    tokens = {name: value if isinstance(value, str) else value["content"] for name, value in named.items()}
    if kind in _BERT:
        tokens = _BERT_TOKENS | tokens
    backend = _backend(folder, settings if kind in _BERT else None, tokens)
    if backend is None or any(backend.token_to_id(token) is None for token in tokens.values()):
        return None
    return FastTokenizer(backend, tokens, limit=limit(settings, config))


def _backend(folder: Path, bert: Mapping[str, Any] | None, tokens: Mapping[str, str]) -> "Backend | None":
    from tokenizers import Tokenizer as Backend
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    if (folder / _FILE).is_file():
        backend = Backend.from_file(str(folder / _FILE))
    elif bert is not None and (folder / "vocab.txt").is_file():
        backend = Backend(WordPiece.from_file(str(folder / "vocab.txt"), unk_token=tokens["unk_token"]))
        backend.pre_tokenizer = BertPreTokenizer()
        backend.add_special_tokens(sorted(set(tokens.values())))
    else:
        return None
    if bert is not None:
        backend.normalizer = BertNormalizer(
            lowercase=bert.get("do_lower_case", True),
            strip_accents=bert.get("strip_accents"),  # None: where it lower-cases
            handle_chinese_chars=bert.get("tokenize_chinese_chars", True),
        )
    return backend


def _from_transformers(name: str | Path) -> Tokenizer:
    transformers = import_transformers()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(name), trust_remote_code=False)
        config = transformers.AutoConfig.from_pretrained(str(name), trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no tokenizer could be loaded from '{name}': {error}; expected a folder with its files, or a name on "
            "huggingface.co that is cached or can be reached"
        ) from error
    most = limit({"model_max_length": tokenizer.model_max_length}, config.to_dict())
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return SlowTokenizer(tokenizer, limit=most)
    tokens = {name: str(getattr(tokenizer, name)) for name in _TOKENS if getattr(tokenizer, name, None) is not None}
    return FastTokenizer(backend, tokens, limit=most)


def _special(ids: Mapping[str, int | None]) -> tuple[int, int, int, int]:
    """The pieces for begin, end, padding and unknown; a tokenizer that lacks one has another that serves."""
    wanted = (
        ("cls_token", "bos_token", "eos_token"),
        ("sep_token", "eos_token", "bos_token"),
        ("pad_token", "eos_token"),
        ("unk_token", "pad_token"),
    )
    begin, end, pad, unknown = (
        next((id_ for name in names if (id_ := ids.get(name)) is not None), 0) for names in wanted
    )
    return begin, end, pad, unknown


def _valid(text: str) -> str:
    """The text without lone surrogates, which no tokenizer takes."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # transformers says what is wrong with it
    return found if isinstance(found, dict) else {}
