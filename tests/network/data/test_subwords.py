import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from network.data.letters import BEGIN, END, PAD, UNKNOWN, letters
from treecrf.network.data.subwords import FastTokenizer, SlowTokenizer, SubwordTokenizer, build_segments, max_length
from treecrf.trees.treebank import read_trees


def segments_of(sentences, segment_size):
    """The piece fields of a batch of sentences, and the pieces of each word."""
    pieces = letters(segment_size).split([word for sentence in sentences for word in sentence])
    counts = np.array([len(ids) for ids in pieces])
    table = np.zeros((len(pieces), 20), np.int64)
    for row, ids in enumerate(pieces):
        table[row, : len(ids)] = ids
    lengths = np.array([len(sentence) for sentence in sentences])
    return build_segments(table[::-1], np.arange(len(table))[::-1], counts, lengths, letters(segment_size)), pieces


words = st.text("abc.", min_size=1, max_size=6)
batches = st.lists(st.lists(words, min_size=1, max_size=12), min_size=1, max_size=4)


@given(batches, st.integers(4, 40))
def test_every_position_is_mapped_to_each_of_its_pieces_once(sentences, segment_size):
    fields, pieces = segments_of(sentences, segment_size)
    positions = max(map(len, sentences)) + 2
    pieces_in_order = fields["pieces"].flatten()[fields["piece_index"]]
    flat = iter(pieces)
    expected = {}
    for number, sentence in enumerate(sentences):
        first = number * positions
        expected |= {first: [BEGIN], first + len(sentence) + 1: [END]}
        expected |= {first + place: next(flat) for place in range(1, len(sentence) + 1)}
    actual = {}
    for position, piece in zip(fields["piece_words"].tolist(), pieces_in_order.tolist(), strict=True):
        actual.setdefault(position, []).append(piece)
    assert actual == expected
    assert fields["piece_counts"].tolist() == [len(expected[place]) for place in fields["piece_words"].tolist()]


@given(batches, st.integers(4, 40))
def test_segments_have_at_most_the_segment_size(sentences, segment_size):
    fields, _ = segments_of(sentences, segment_size)
    grid, lengths = fields["pieces"], fields["segment_lengths"]
    assert grid.shape[1] <= segment_size and (grid[:, 0] == BEGIN).all()
    for row, length in zip(grid, lengths, strict=True):
        assert row[length - 1] == END and (row[length:] == PAD).all() and PAD not in row[:length]


@given(batches)
def test_a_sentence_that_fits_has_one_segment(sentences):
    fields, _ = segments_of(sentences, 512)
    assert len(fields["pieces"]) == len(sentences)


def test_a_piece_of_a_long_sentence_has_a_quarter_segment_of_context_on_both_sides():
    fields, pieces = segments_of([["abc"] * 200], 102)
    total = sum(map(len, pieces))
    width = fields["pieces"].shape[1]
    for piece, row in enumerate(fields["piece_index"][:total]):
        segment, place = divmod(int(row), width)
        assert place - 1 >= min(25, piece)
        assert fields["segment_lengths"][segment] - 2 - place >= min(24, total - piece - 1)


def test_a_word_without_pieces_is_unknown_and_a_long_word_is_truncated():
    assert letters().split(["..", "ab", "a" * 50]) == [[UNKNOWN], [97, 98], [97] * 20]
    assert letters().split([]) == []


TREEBANKS = Path(__file__).parents[4] / "shared" / "treebanks"
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
    """A function that returns the pieces of words by transformers."""
    transformers = pytest.importorskip("transformers", reason="the package transformers is not installed")
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)

    def pieces(words):
        input_ids = tokenizer(list(words), add_special_tokens=False)["input_ids"]
        return [ids[:20] or [tokenizer.unk_token_id] for ids in input_ids]

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


def test_lone_surrogates_are_dropped_and_pairs_are_one_character(minilm):
    pieces = SubwordTokenizer.load(minilm)
    lone, around, pair, character = pieces.split(["\ud800", "a\udfffb", "\ud83d\ude00", "\U0001f600"])
    assert lone == [100] and [around] == pieces.split(["ab"]) and pair == character


def test_uncased_models_ignore_case_and_accents(minilm):
    assert SubwordTokenizer.load(minilm).split(["Café", "CAFÉ"]) == SubwordTokenizer.load(minilm).split(
        ["cafe", "cafe"]
    )


def test_vocab_txt_and_config_json_are_sufficient(minilm, theirs, tmp_path):
    for name in ("vocab.txt", "config.json"):
        shutil.copy(minilm / name, tmp_path)
    pieces = SubwordTokenizer.load(tmp_path)
    assert pieces.split(ODD) == theirs(ODD)
    assert (pieces.begin_id, pieces.end_id, pieces.pad_id, pieces.segment_size) == (101, 102, 0, 512)


def test_the_settings_determine_lowercasing(minilm, tmp_path):
    for name in ("tokenizer.json", "config.json"):
        shutil.copy(minilm / name, tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": false}')
    cased, uncased = SubwordTokenizer.load(tmp_path).split(["Paris"]), SubwordTokenizer.load(minilm).split(["Paris"])
    assert cased == [[100]] and uncased != cased


@pytest.mark.parametrize("segment_size", [512, 300])
def test_saved_tokenizers_give_the_same_pieces(minilm, tmp_path, segment_size):
    pieces = SubwordTokenizer.load(minilm)
    pieces.segment_size = segment_size
    shutil.copy(minilm / "config.json", tmp_path)
    pieces.save(tmp_path)
    again = SubwordTokenizer.load(tmp_path)
    assert again.segment_size == segment_size and again.split(ODD) == pieces.split(ODD)
    assert (again.begin_id, again.end_id, again.pad_id) == (pieces.begin_id, pieces.end_id, pieces.pad_id)


def test_transformers_reads_a_saved_tokenizer(minilm, theirs, tmp_path):
    transformers = pytest.importorskip("transformers", reason="the package transformers is not installed")
    shutil.copy(minilm / "config.json", tmp_path)
    SubwordTokenizer.load(minilm).save(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert [ids[:20] or [100] for ids in tokenizer(ODD, add_special_tokens=False)["input_ids"]] == theirs(ODD)


def byte_pairs():
    """A byte-level tokenizer that marks the start of a word by a space."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<s>", "</s>", "<pad>"], show_progress=False)
    backend.train_from_iterator(["the cat sat on the mat"] * 9, trainer)
    return FastTokenizer(backend, {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}, segment_size=99)


def test_a_tokenizer_that_marks_words_by_a_space_gets_a_space():
    tokenizer = byte_pairs()
    backend = tokenizer.backend
    spaced = [backend.encode(word).ids for word in (" cat", " the")]
    assert tokenizer.encode(["cat", "the"]) == spaced != [backend.encode(word).ids for word in ("cat", "the")]
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    assert FastTokenizer(backend, {}, segment_size=99).encode(["cat", "the"]) == spaced


def test_missing_special_pieces_are_replaced_by_others():
    tokenizer = byte_pairs()
    assert (tokenizer.begin_id, tokenizer.end_id, tokenizer.pad_id, tokenizer.unknown_id) == (0, 1, 2, 2)


def test_tokenizers_of_other_classes_are_loaded_by_transformers_and_saved_as_plain_ones(tmp_path):
    pytest.importorskip("transformers", reason="the package transformers is not installed")
    byte_pairs().save(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings | {"tokenizer_class": "GPT2Tokenizer"}))
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "n_positions": 60}')
    tokenizer = SubwordTokenizer.load(tmp_path)
    assert isinstance(tokenizer, FastTokenizer) and tokenizer.segment_size == 99
    tokenizer.save(tmp_path)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert SubwordTokenizer.load(tmp_path).encode(["cat", "mat"]) == tokenizer.encode(["cat", "mat"])


QWEN = (  # splits text into words, like GPT-4's expression, but each digit apart
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@pytest.mark.parametrize("tokenizer_class", ["PreTrainedTokenizerFast", "Qwen2Tokenizer"])
def test_a_tokenizer_that_a_saved_parser_may_not_have_is_refused_before_training(tmp_path, tokenizer_class):
    tokenizer = byte_pairs()
    split = pre_tokenizers.Split(Regex(QWEN), "isolated")
    tokenizer.backend.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.save(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings | {"tokenizer_class": tokenizer_class}))
    (tmp_path / "config.json").write_text('{"model_type": "qwen2", "vocab_size": 300}')
    with pytest.raises(ValueError, match=rf"'{tmp_path}' could not be loaded again: it splits or replaces the pattern"):
        SubwordTokenizer.load(tmp_path)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="it splits or replaces the pattern"):
        SubwordTokenizer.load_saved(files, tmp_path)


def test_a_tokenizer_with_more_pieces_than_embeddings_is_refused_before_training(tmp_path):
    byte_pairs().save(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "vocab_size": 20}')
    with pytest.raises(ValueError, match="expected 0 to 19, as the encoder has embeddings"):
        SubwordTokenizer.load(tmp_path)


def test_python_tokenizers_are_called_directly(tmp_path):
    class Python:
        cls_token_id, sep_token_id, pad_token_id, unk_token_id = 1, 2, 3, 4

        def __call__(self, texts, **options):
            assert options["add_special_tokens"] is False
            return {"input_ids": [[len(text)] for text in texts]}

        def save_pretrained(self, folder):
            Path(folder, "saved").touch()

    tokenizer = SlowTokenizer(Python(), segment_size=7)
    assert tokenizer.split(["ab", "c\ud800"]) == [[2], [2]]
    assert (tokenizer.begin_id, tokenizer.end_id, tokenizer.pad_id, tokenizer.unknown_id) == (1, 2, 3, 4)
    tokenizer.save(tmp_path)
    assert (tmp_path / "saved").exists()


@pytest.mark.parametrize(
    ("kind", "positions", "longest", "expected"),
    [("bert", 512, 512, 512), ("xlm-roberta", 514, 10**30, 512), ("bert", 512, 256, 256), ("xlnet", None, 10**30, 512)],
)
def test_the_maximal_length_is_the_smaller_of_tokenizer_and_encoder(kind, positions, longest, expected):
    config = {"model_type": kind, "max_position_embeddings": positions, "pad_token_id": 1}
    assert max_length({"model_max_length": longest}, config) == expected
    assert max_length({}, {}) == 512


def test_a_bert_and_its_tokenizer_need_no_transformers(minilm, tmp_path):
    shutil.copy(minilm / "config.json", tmp_path)
    code = (
        "import sys; sys.modules['transformers'] = None\n"
        "from treecrf.network.data.subwords import SubwordTokenizer\n"
        "from treecrf.network.nn.transformer import build_encoder\n"
        f"print(SubwordTokenizer.load({str(minilm)!r}).split(['cat']), type(build_encoder({str(tmp_path)!r})).__name__)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["[[4937]]", "Bert"]
