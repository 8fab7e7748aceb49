"""Writes a smaller copy of an encoder with a Unigram tokenizer: with the pieces that treebanks have more than once.

    python recipes/models/prune_pieces.py ENCODER OUT data/icon/train.mrg.gz ...

ENCODER is a folder of Hugging Face's format, such as intfloat/multilingual-e5-small. Special pieces and single
letters, digits and marks of Latin text are kept as well, so that any word of a Latin script can be split. Pieces keep
their scores, so words whose pieces are kept are split as before, and other words into smaller pieces.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from treecrf.text.normalization import normalizer
from treecrf.trees.treebank import read_trees

TOKENIZER, SETTINGS, CONFIG, WEIGHTS = "tokenizer.json", "tokenizer_config.json", "config.json", "model.safetensors"
EMBEDDINGS = "embeddings.word_embeddings.weight"
SPECIAL_TOKENS = ("bos_token", "cls_token", "eos_token", "sep_token", "pad_token", "unk_token")
# Latin letters with and without accents, punctuation, currency signs and letter-like symbols
LATIN_CHARACTERS = (range(0x20, 0x250), range(0x1E00, 0x1F00), range(0x2010, 0x2060), range(0x20A0, 0x2200))
MIN_COUNT = 2  # occurrences of a piece; a vector learned from one sentence is not worth its size
# a table of characters that treecrf does not load; it is close to NFKC
PRECOMPILED, REPLACEMENT = "Precompiled", {"type": "NFKC"}


def prune_encoder(source: Path, target: Path, words: Mapping[str, int]) -> int:
    """Writes the encoder with the frequent pieces of the counted words; returns the number of pieces."""
    tokenizer = json.loads((source / TOKENIZER).read_text(encoding="utf-8"))
    if tokenizer["model"].get("type") != "Unigram":
        raise ValueError(f"{source / TOKENIZER} has the model {tokenizer['model'].get('type')}; expected Unigram")
    tokenizer["normalizer"] = replace_precompiled(tokenizer.get("normalizer"))
    settings = json.loads((source / SETTINGS).read_text(encoding="utf-8"))
    special_tokens = {name: _content(settings[name]) for name in SPECIAL_TOKENS if settings.get(name)}
    kept_ids = kept_piece_ids(tokenizer, set(special_tokens.values()), words)
    target.mkdir(parents=True, exist_ok=True)
    weights = load_file(source / WEIGHTS)
    weights[EMBEDDINGS] = np.ascontiguousarray(weights[EMBEDDINGS][kept_ids])
    save_file(weights, target / WEIGHTS)
    _write_json(target / TOKENIZER, prune_tokenizer(tokenizer, kept_ids))
    config = json.loads((source / CONFIG).read_text(encoding="utf-8"))
    padding = kept_ids.index(config["pad_token_id"])
    _write_json(target / CONFIG, {**config, "vocab_size": len(kept_ids), "pad_token_id": padding})
    limit = {name: settings[name] for name in ("model_max_length",) if name in settings}
    _write_json(target / SETTINGS, {"tokenizer_class": "PreTrainedTokenizerFast", **special_tokens, **limit})
    return len(kept_ids)


def kept_piece_ids(tokenizer: Mapping[str, Any], special_tokens: set[str], words: Mapping[str, int]) -> list[int]:
    """The increasing ids of special pieces, of frequent pieces of the words, and of single Latin characters."""
    backend = Tokenizer.from_str(json.dumps(tokenizer))
    counts: Counter[int] = Counter()
    for encoding, count in zip(
        backend.encode_batch_fast(list(words), add_special_tokens=False), words.values(), strict=True
    ):
        for id_ in encoding.ids:
            counts[id_] += count
    pieces = [piece for piece, _ in tokenizer["model"]["vocab"]]
    return [
        id_
        for id_, piece in enumerate(pieces)
        if counts[id_] >= MIN_COUNT or piece in special_tokens or _is_latin_character(piece)
    ]


def prune_tokenizer(tokenizer: Mapping[str, Any], kept_ids: Sequence[int]) -> dict[str, Any]:
    """The content of tokenizer.json with fewer pieces, whose new ids are their places in `kept_ids`."""
    new_ids = {old: new for new, old in enumerate(kept_ids)}
    model = tokenizer["model"]
    model = {**model, "vocab": [model["vocab"][id_] for id_ in kept_ids], "unk_id": new_ids[model["unk_id"]]}
    added = [{**token, "id": new_ids[token["id"]]} for token in tokenizer["added_tokens"] if token["id"] in new_ids]
    # the parser adds special pieces itself
    return {**tokenizer, "model": model, "added_tokens": added, "post_processor": None}


def replace_precompiled(normalizer_settings: Any) -> Any:
    """The normalizer with NFKC in place of a precompiled table of characters."""
    if not isinstance(normalizer_settings, dict):
        return normalizer_settings
    if normalizer_settings.get("type") == PRECOMPILED:
        return REPLACEMENT
    parts = normalizer_settings.get("normalizers")
    return (
        {**normalizer_settings, "normalizers": [replace_precompiled(part) for part in parts]}
        if parts
        else normalizer_settings
    )


def treebank_words(paths: Iterable[str]) -> Counter[str]:
    """The words of treebanks as a parser with the normalization "multiword" reads them, with their counts."""
    words = Counter(word for path in paths for tree in read_trees(path) for word in tree.words)
    normalize = normalizer("multiword")
    normalized: Counter[str] = Counter()
    for word, count in words.items():
        normalized[normalize(word)] += count
    return normalized


def _is_latin_character(piece: str) -> bool:
    return len(piece) == 1 and (piece == "▁" or any(ord(piece) in characters for characters in LATIN_CHARACTERS))


def _content(token: Any) -> str:
    return str(token["content"] if isinstance(token, dict) else token)


def _write_json(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    count = prune_encoder(Path(sys.argv[1]), Path(sys.argv[2]), treebank_words(sys.argv[3:]))
    print(f"{sys.argv[2]}: {count:,} pieces")
