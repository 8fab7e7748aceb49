"""The scripts that prepare the data and the encoders of models of other languages."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from treecrf.network.data.model_config import BertConfig
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.trees.tree import Tree

RECIPES = Path(__file__).parent.parent / "recipes" / "models"
# the most probable pieces are not always the longest ones
PIECES = {"<s>": 0.0, "<pad>": 0.0, "</s>": 0.0, "<unk>": 0.0, "▁": -4.0, "▁ab": -5.0, "b": -6.0, "bc": -9.0, "a": -6.0}
PIECES |= {"c": -6.5, "▁a": -5.5, "abc": -11.0, "cab": -7.0, "漢": -9.0, "é": -9.0}


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, RECIPES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prune_pieces, running_words = load_script("prune_pieces"), load_script("running_words")
characters = load_script("characters")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Unigram tokenizer and the weights of a small BERT, as from the Hugging Face hub."""
    folder = tmp_path_factory.mktemp("encoder")
    specials = [
        {"id": id_, "content": piece, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        | {"special": True}
        for id_, piece in enumerate(PIECES)
        if piece.startswith("<")
    ]
    tokenizer = {
        "version": "1.0",
        "added_tokens": specials,
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": ""}]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {"type": "Unigram", "unk_id": 3, "vocab": list(map(list, PIECES.items())), "byte_fallback": False},
    }
    tokens = {"cls_token": "<s>", "sep_token": {"content": "</s>"}, "pad_token": "<pad>", "unk_token": "<unk>"}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "XLMRobertaTokenizer"} | tokens))
    config = BertConfig(vocab_size=len(PIECES), hidden_size=4, num_attention_heads=2, pad_token_id=1)
    config.save_pretrained(folder)
    embeddings = np.arange(4 * len(PIECES), dtype=np.float16).reshape(-1, 4)
    save_file({"embeddings.word_embeddings.weight": embeddings}, folder / "model.safetensors")
    return folder


@given(st.sets(st.text("abcé漢", min_size=1, max_size=6), min_size=1, max_size=4))
def test_a_pruned_tokenizer_splits_the_words_as_before(encoder: Path, words: set[str]) -> None:
    tokenizer = json.loads((encoder / "tokenizer.json").read_text())
    tokenizer["normalizer"] = prune_pieces.replace_precompiled(tokenizer["normalizer"])
    kept_ids = prune_pieces.kept_piece_ids(tokenizer, {"<s>", "</s>", "<pad>", "<unk>"}, dict.fromkeys(words, 2))
    whole = Tokenizer.from_str(json.dumps(tokenizer))
    pruned = Tokenizer.from_str(json.dumps(prune_pieces.prune_tokenizer(tokenizer, kept_ids)))
    for word in words:
        old, new = whole.encode(word), pruned.encode(word)
        assert [kept_ids[id_] for id_ in new.ids] == old.ids


def test_the_characters_of_a_national_standard_are_kept_and_words_get_no_mark(encoder: Path, tmp_path: Path) -> None:
    writing = prune_pieces.WRITINGS["ja"]
    prune_pieces.prune_encoder(encoder, tmp_path, {"ab": 2, "cab": 3}, writing)
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text())
    assert "漢" in {piece for piece, _ in tokenizer["model"]["vocab"]}
    subwords = SubwordTokenizer.load(tmp_path)
    assert subwords.split(["漢", "a"]) == [[subwords.encode(["漢"])[0][0]], subwords.encode(["a"])[0]]
    assert tokenizer["pre_tokenizer"]["prepend_scheme"] == "never"


def test_a_pruned_word_piece_tokenizer_splits_the_words_as_before() -> None:
    pieces = ["[PAD]", "[UNK]", "a", "##b", "ab", "##c", "##cd", "漢", "##漢", "字", "龘"]
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    model |= {"max_input_chars_per_word": 100, "vocab": {piece: id_ for id_, piece in enumerate(pieces)}}
    tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None, "model": model}
    tokenizer |= {"pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None}
    kept_ids = prune_pieces.kept_piece_ids(tokenizer, {"[PAD]", "[UNK]"}, {"abcd": 2, "字": 1}, "gb2312")
    assert [pieces[id_] for id_ in kept_ids] == ["[PAD]", "[UNK]", "a", "##b", "ab", "##c", "##cd", "字"]
    pruned = Tokenizer.from_str(json.dumps(prune_pieces.prune_tokenizer(tokenizer, kept_ids)))
    whole = Tokenizer.from_str(json.dumps(tokenizer))
    for word in ("abcd", "字", "acd"):
        assert pruned.encode(word).tokens == whole.encode(word).tokens


def test_short_sentences_become_trees_of_characters() -> None:
    trees = [Tree.parse("(TOP (NP (N 昨日) (P は)))"), Tree.parse(f"(TOP (N {'長' * 151}))")]
    (tree,) = characters.short_character_trees(trees)
    assert str(tree) == "(TOP (WORD (FIRST 昨) (NEXT 日)) (WORD (FIRST は)))"


def test_a_pruned_encoder_has_the_vectors_of_its_pieces_and_can_be_loaded(encoder: Path, tmp_path: Path) -> None:
    count = prune_pieces.prune_encoder(encoder, tmp_path, {"ab": 2, "cab": 3, "bc": 1})
    pieces = [piece for piece, _ in json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]]
    assert count == len(pieces) and not {"漢", "bc"} & set(pieces) and {"é", "▁ab", "cab"} <= set(pieces)
    vectors = load_file(tmp_path / "model.safetensors")["embeddings.word_embeddings.weight"]
    assert vectors[:, 0].tolist() == [4 * list(PIECES).index(piece) for piece in pieces]
    subwords = SubwordTokenizer.load(tmp_path)
    assert subwords.split(["ab", "é漢"]) == [
        [pieces.index("▁ab")],
        [pieces.index(piece) for piece in ("▁", "é", "<unk>")],
    ]
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert SubwordTokenizer.load_saved(files, tmp_path).split(["cab ab"]) == subwords.split(["cab ab"])
    assert subwords.pad_id == json.loads((tmp_path / "config.json").read_text())["pad_token_id"] == 1


def test_the_parts_of_icelandic_words_become_one_word_and_omitted_words_are_dropped() -> None:
    tree = Tree.parse("(TOP (IP (NP (N-A dag$) (D-A $inn)) (IP (TO *)) (VB $fer$) (X $i) (X $ð) (P á$) (, .)))")
    assert str(running_words.with_running_words(tree)) == ("(TOP (IP (NP (N-A daginn)) (VB feri) (X ð) (P á) (, .)))")
    assert running_words.with_running_words(Tree.parse("(TOP (TO *))")) is None
