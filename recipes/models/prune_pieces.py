"""Writes a smaller copy of an encoder with a Unigram or WordPiece tokenizer: with the pieces that treebanks have more
than once.

    python recipes/models/prune_pieces.py [--language ja] ENCODER OUT data/icon/train.mrg.gz ...

ENCODER is a folder of Hugging Face's format, such as intfloat/multilingual-e5-small. Special pieces and single
letters, digits and marks of Latin text are kept as well, so that any word of a Latin script can be split; with
`--language`, also the characters of a national standard. Pieces keep their scores, so words whose pieces are kept are
split as before, and other words into smaller pieces. In languages without spaces, words get no mark of a space before
them.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from treecrf.network.data.pieces import piece_ids
from treecrf.text.normalization import Normalization, normalizer
from treecrf.trees.treebank import read_trees

TOKENIZER, SETTINGS, CONFIG, WEIGHTS = "tokenizer.json", "tokenizer_config.json", "config.json", "model.safetensors"
EMBEDDINGS = "embeddings.word_embeddings.weight"
SPECIAL_TOKENS = ("bos_token", "cls_token", "eos_token", "sep_token", "pad_token", "unk_token")
# Latin letters with and without accents, punctuation, currency signs and letter-like symbols
LATIN_CHARACTERS = (range(0x20, 0x250), range(0x1E00, 0x1F00), range(0x2010, 0x2060), range(0x20A0, 0x2200))
CONTINUING = "##"  # before a piece of WordPiece inside a word
MIN_COUNT = 2  # occurrences of a piece; a vector learned from one sentence is not worth its size
# a table of characters that treecrf does not load; it is close to NFKC
PRECOMPILED, REPLACEMENT = "Precompiled", {"type": "NFKC"}


class Writing(NamedTuple):
    """How a language is written."""

    normalization: Normalization  # how a parser spells words before it reads them
    charset: str | None = None  # codec whose characters are kept
    has_spaces: bool = True


LATIN = Writing("multiword")
WRITINGS = {"ja": Writing("multiword", "shift_jis", False), "zh": Writing("simplified", "gb2312", False)}


def prune_encoder(source: Path, target: Path, words: Mapping[str, int], writing: Writing = LATIN) -> int:
    """Writes the encoder with the frequent pieces of the counted words; returns the number of pieces."""
    tokenizer = json.loads((source / TOKENIZER).read_text(encoding="utf-8"))
    if tokenizer["model"].get("type") not in ("Unigram", "WordPiece"):
        raise ValueError(
            f"{source / TOKENIZER} has the model {tokenizer['model'].get('type')}; expected Unigram or WordPiece"
        )
    tokenizer["normalizer"] = replace_precompiled(tokenizer.get("normalizer"))
    if not writing.has_spaces and tokenizer["pre_tokenizer"]["type"] == "Metaspace":
        tokenizer["pre_tokenizer"] = {**tokenizer["pre_tokenizer"], "prepend_scheme": "never"}
    settings = json.loads((source / SETTINGS).read_text(encoding="utf-8"))
    special_tokens = {name: _content(settings[name]) for name in SPECIAL_TOKENS if settings.get(name)}
    kept_ids = kept_piece_ids(tokenizer, set(special_tokens.values()), words, writing.charset)
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


def kept_piece_ids(
    tokenizer: Mapping[str, Any], special_tokens: set[str], words: Mapping[str, int], charset: str | None = None
) -> list[int]:
    """The increasing ids of special pieces, of frequent pieces of the words, and of single characters."""
    backend = Tokenizer.from_str(json.dumps(tokenizer))
    counts: Counter[int] = Counter()
    for encoding, count in zip(
        backend.encode_batch_fast(list(words), add_special_tokens=False), words.values(), strict=True
    ):
        for id_ in encoding.ids:
            counts[id_] += count
    return [
        id_
        for piece, id_ in sorted(piece_ids(tokenizer).items(), key=itemgetter(1))
        if counts[id_] >= MIN_COUNT or piece in special_tokens or _is_character(piece, charset)
    ]


def prune_tokenizer(tokenizer: Mapping[str, Any], kept_ids: Sequence[int]) -> dict[str, Any]:
    """The content of tokenizer.json with fewer pieces, whose new ids are their places in `kept_ids`."""
    new_ids = {old: new for new, old in enumerate(kept_ids)}
    model = tokenizer["model"]
    if model["type"] == "Unigram":
        model = {**model, "vocab": [model["vocab"][id_] for id_ in kept_ids], "unk_id": new_ids[model["unk_id"]]}
    else:
        vocabulary = {piece: new_ids[id_] for piece, id_ in model["vocab"].items() if id_ in new_ids}
        model = {**model, "vocab": vocabulary}
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


def treebank_words(paths: Iterable[str], normalization: Normalization) -> Counter[str]:
    """The words of treebanks as a parser with this normalization reads them, with their counts."""
    words = Counter(word for path in paths for tree in read_trees(path) for word in tree.words)
    normalize = normalizer(normalization)
    normalized: Counter[str] = Counter()
    for word, count in words.items():
        normalized[normalize(word)] += count
    return normalized


def _is_character(piece: str, charset: str | None) -> bool:
    character = piece.removeprefix(CONTINUING)
    if len(character) != 1:
        return False
    is_latin = piece == "▁" or any(ord(character) in characters for characters in LATIN_CHARACTERS)
    return is_latin or (charset is not None and piece == character and piece.encode(charset, "ignore") != b"")


def _content(token: Any) -> str:
    return str(token["content"] if isinstance(token, dict) else token)


def _write_json(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("encoder", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("treebanks", nargs="+")
    arguments.add_argument("--language")
    options = arguments.parse_args()
    writing = WRITINGS.get(options.language, LATIN)
    words = treebank_words(options.treebanks, writing.normalization)
    print(f"{options.out}: {prune_encoder(options.encoder, options.out, words, writing):,} pieces")
