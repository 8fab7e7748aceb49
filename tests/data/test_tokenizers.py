"""Tokenizers from their files beside the same from transformers."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from treecrf.data.subwords import SubwordTokenizer
from treecrf.data.tokenizers import FastTokenizer, SlowTokenizer, limit, load_tokenizer
from treecrf.treebank import read_trees

TREEBANKS = Path(__file__).parent.parent.parent.parent / "shared" / "treebanks"
ODD = [
    *("", " ", "\u200b", "\ufeff", "\x00", "\x1b[0m", "a\tb", "\ufffd", "\U000e0041", "👩\u200d👩\u200d👧", "e\u0301"),
    *(
        "İstanbul",
        "ﬁ",
        "Å",
        "Übergrößenträger",
        "한국어",
        "漢字かな",
        "שלום",
        "مرحبا",
        "(",
        "-LRB-",
        "''",
        "...",
        "O'Neill's",
    ),
    *("[SEP]", "[CLS]x", "a" * 99, "a" * 100, "a" * 101, "a" * 30_000, "-" * 500, "a-" * 200),
]


@pytest.fixture(scope="module")
def theirs(minilm):
    """The pieces of words as transformers cuts them."""
    transformers = pytest.importorskip("transformers", reason="the package transformers is not installed")
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)

    def pieces(words):
        found = tokenizer(list(words), add_special_tokens=False)["input_ids"]
        return [ids[:20] or [tokenizer.unk_token_id] for ids in found]

    return pieces


def test_odd_words_have_the_pieces_that_transformers_gives(minilm, theirs):
    assert SubwordTokenizer.load(minilm).split(ODD) == theirs(ODD)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=20))
def test_any_words_have_the_pieces_that_transformers_gives(minilm, theirs, words):
    assert not words or SubwordTokenizer.load(minilm).split(words) == theirs(words)


@pytest.mark.parametrize("name", ["mctb", "genia", "sinica"])
def test_words_of_treebanks_have_the_pieces_that_transformers_gives(minilm, theirs, name):
    files = sorted((TREEBANKS / name).rglob("test*"))
    if not files:
        pytest.skip(f"the treebank {name} is not here")
    words = sorted({word for tree in read_trees(files[0]) for word in tree.words})
    assert len(words) > 1000 and SubwordTokenizer.load(minilm).split(words) == theirs(words)


def test_lone_surrogates_are_read_as_nothing_and_pairs_as_one(minilm):
    pieces = SubwordTokenizer.load(minilm)
    lone, around, pair, character = pieces.split(["\ud800", "a\udfffb", "\ud83d\ude00", "\U0001f600"])
    assert lone == [100] and [around] == pieces.split(["ab"]) and pair == character


def test_uncased_models_see_no_case_and_no_accents(minilm):
    assert SubwordTokenizer.load(minilm).split(["Café", "CAFÉ"]) == SubwordTokenizer.load(minilm).split(
        ["cafe", "cafe"]
    )


def test_a_vocabulary_alone_is_enough(minilm, theirs, tmp_path):
    for name in ("vocab.txt", "config.json"):
        shutil.copy(minilm / name, tmp_path)
    pieces = SubwordTokenizer.load(tmp_path)
    assert pieces.split(ODD) == theirs(ODD)
    assert (pieces.begin, pieces.end, pieces.pad, pieces.window) == (101, 102, 0, 512)


def test_settings_decide_about_case(minilm, tmp_path):
    for name in ("tokenizer.json", "config.json"):
        shutil.copy(minilm / name, tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": false}')
    cased, uncased = SubwordTokenizer.load(tmp_path).split(["Paris"]), SubwordTokenizer.load(minilm).split(["Paris"])
    assert cased == [[100]] and uncased != cased


@pytest.mark.parametrize("window", [512, 300])
def test_saved_tokenizers_cut_as_before(minilm, tmp_path, window):
    pieces = SubwordTokenizer.load(minilm, window=window)
    shutil.copy(minilm / "config.json", tmp_path)
    pieces.save(tmp_path)
    again = SubwordTokenizer.load(tmp_path)
    assert again.window == window and again.split(ODD) == pieces.split(ODD)
    assert (again.begin, again.end, again.pad) == (pieces.begin, pieces.end, pieces.pad)


def test_a_saved_tokenizer_is_read_by_transformers_too(minilm, theirs, tmp_path):
    transformers = pytest.importorskip("transformers", reason="the package transformers is not installed")
    shutil.copy(minilm / "config.json", tmp_path)
    SubwordTokenizer.load(minilm).save(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert [ids[:20] or [100] for ids in tokenizer(ODD, add_special_tokens=False)["input_ids"]] == theirs(ODD)


def byte_pairs():
    """A tokenizer of bytes, which tells words by the space before them."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<s>", "</s>", "<pad>"], show_progress=False)
    backend.train_from_iterator(["the cat sat on the mat"] * 9, trainer)
    return FastTokenizer(backend, {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}, limit=99)


def test_a_tokenizer_that_tells_words_by_the_space_before_them_gets_one():
    tokenizer = byte_pairs()
    backend = tokenizer._backend
    spaced = [backend.encode(word).ids for word in (" cat", " the")]
    assert tokenizer.cut(["cat", "the"]) == spaced != [backend.encode(word).ids for word in ("cat", "the")]
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    assert FastTokenizer(backend, {}, limit=99).cut(["cat", "the"]) == spaced


def test_special_pieces_that_are_missing_are_served_by_others():
    tokenizer = byte_pairs()
    assert (tokenizer.begin, tokenizer.end, tokenizer.pad, tokenizer.unknown) == (0, 1, 2, 2)


def test_tokenizers_of_other_classes_come_from_transformers_and_are_saved_plain(tmp_path):
    pytest.importorskip("transformers", reason="the package transformers is not installed")
    byte_pairs().save(tmp_path, limit=50)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings | {"tokenizer_class": "GPT2Tokenizer"}))
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "n_positions": 60}')
    found = load_tokenizer(tmp_path)
    assert isinstance(found, FastTokenizer) and found.limit == 50
    found.save(tmp_path, limit=40)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert load_tokenizer(tmp_path).cut(["cat", "mat"]) == found.cut(["cat", "mat"])


def test_python_tokenizers_are_asked_themselves(tmp_path):
    class Python:
        cls_token_id, sep_token_id, pad_token_id, unk_token_id = 1, 2, 3, 4

        def __call__(self, texts, **options):
            assert options["add_special_tokens"] is False
            return {"input_ids": [[len(text)] for text in texts]}

        def save_pretrained(self, folder):
            Path(folder, "saved").touch()

    tokenizer = SlowTokenizer(Python(), limit=7)
    assert tokenizer.cut(["ab", "c\ud800"]) == [[2], [2]]
    assert (tokenizer.begin, tokenizer.end, tokenizer.pad, tokenizer.unknown) == (1, 2, 3, 4)
    tokenizer.save(tmp_path, limit=7)
    assert (tmp_path / "saved").exists()


@pytest.mark.parametrize(
    ("kind", "positions", "longest", "expected"),
    [("bert", 512, 512, 512), ("xlm-roberta", 514, 10**30, 512), ("bert", 512, 256, 256), ("xlnet", None, 10**30, 512)],
)
def test_the_window_is_the_smaller_of_what_tokenizer_and_encoder_allow(kind, positions, longest, expected):
    config = {"model_type": kind, "max_position_embeddings": positions, "pad_token_id": 1}
    assert limit({"model_max_length": longest}, config) == expected
    assert limit({}, {}) == 512


def test_neither_encoder_nor_tokenizer_of_a_bert_needs_transformers(minilm, tmp_path):
    shutil.copy(minilm / "config.json", tmp_path)
    code = (
        "import sys; sys.modules['transformers'] = None\n"
        "from treecrf.data.subwords import SubwordTokenizer\nfrom treecrf.nn.transformer import build_encoder\n"
        f"print(SubwordTokenizer.load({str(minilm)!r}).split(['cat']), type(build_encoder({str(tmp_path)!r})).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[[4937]]", "Bert"]
