import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecrf.network.data.numericalize
from network.data.letters import letters
from toygrammar import toy_trees
from treecrf.network.data.batch import BOS, EOS, PAD, UNK
from treecrf.network.data.numericalize import (
    CAPITAL_CLASSES,
    Numericalizer,
    WordFeatures,
    _distinct_rows,
    classes_in_context,
    word_class,
)
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.network.nn import IGNORED
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import word_table
from treecrf.trees.treebank.word_table import LineLimits, WordTable

TREES = toy_trees(30, seed=5)
VOCABULARY = Vocabulary.build(TREES)
LIMITS = LineLimits(lines=100, bytes=10_000, line_bytes=1000, words=100)
words = st.one_of(st.sampled_from([word for tree in TREES for word in tree.words]), st.text(max_size=25))
sentences = st.lists(st.lists(words, min_size=1, max_size=9), min_size=1, max_size=5)
trees = st.lists(st.sampled_from(TREES), min_size=1, max_size=5)


@given(sentences)
def test_word_ids_follow_the_vocabulary(batch_sentences):
    batch = Numericalizer(VOCABULARY).collate(batch_sentences)
    ids = {word: id_ for id_, word in enumerate(VOCABULARY.words, 4)}
    for row, sentence in zip(batch.words.tolist(), batch_sentences, strict=True):
        padding = [PAD] * (batch.longest - len(sentence))
        assert row == [BOS, *(ids.get(word.lower(), UNK) for word in sentence), EOS, *padding]


@given(sentences)
def test_every_word_has_the_ids_of_its_first_twenty_characters(batch_sentences):
    batch = Numericalizer(VOCABULARY).collate(batch_sentences)
    ids = {char: id_ for id_, char in enumerate(VOCABULARY.chars, 4)}
    char_ids = [row[:length].tolist() for row, length in zip(batch.chars, batch.char_lengths, strict=True)]
    for row, sentence in zip(batch.char_rows.tolist(), batch_sentences, strict=True):
        expected = [[ids.get(char, UNK) for char in word[:20]] or [UNK] for word in sentence]
        assert [char_ids[place] for place in row[: len(sentence) + 2]] == [[BOS], *expected, [EOS]]
    assert len(char_ids) == len({word for sentence in batch_sentences for word in sentence}) + 2


@given(sentences)
def test_final_states_are_at_the_last_and_the_first_character(batch_sentences):
    batch = Numericalizer(VOCABULARY).collate(batch_sentences)
    width = batch.chars.shape[1]
    final_states = batch.char_final_states.tolist()
    for row, ((last, first), length) in enumerate(zip(final_states, batch.char_lengths, strict=True)):
        assert divmod(last, 2) == (row * width + int(length) - 1, 0) and divmod(first, 2) == (row * width, 1)


@given(trees)
def test_gold_cells_are_those_of_the_spans_of_each_tree(batch_trees):
    gold = [VOCABULARY.encode_tree(tree) for tree in batch_trees]
    batch = Numericalizer(VOCABULARY).collate([tree.words for tree in batch_trees], gold=gold)
    size = batch.longest + 1
    chart = np.full((batch.size, size, size), -1)
    chart.reshape(-1)[batch.cells] = batch.labels
    for row, tree in zip(chart, gold, strict=True):
        assert row[tree.starts, tree.ends].tolist() == tree.labels.tolist()
        assert int((row >= 0).sum()) == len(tree.labels)
    assert np.array_equal(batch.lefts, batch.cells // size)
    assert np.array_equal(batch.rights, batch.cells // size**2 * size + batch.cells % size)
    for row, tree in zip(batch.gold_tags.tolist(), gold, strict=True):
        assert row == tree.tags.tolist() + [IGNORED] * (batch.longest - len(tree.tags))


@given(sentences, sentences)
def test_a_batch_does_not_depend_on_earlier_batches(earlier, now):
    fresh, used = Numericalizer(VOCABULARY), Numericalizer(VOCABULARY)
    used.collate(earlier)
    for name, value in vars(fresh.collate(now)).items():
        other = getattr(used.collate(now), name)
        assert np.array_equal(value, other) if isinstance(value, np.ndarray) else value == other, name


@given(sentences)
def test_clearing_the_cache_changes_nothing(batch_sentences):
    numericalizer = Numericalizer(VOCABULARY)
    before = numericalizer.collate(batch_sentences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(treecrf.network.data.numericalize, "_CACHE_BYTES", 0)
        after = numericalizer.collate(batch_sentences)
    assert np.array_equal(before.words, after.words) and np.array_equal(before.chars, after.chars)


def test_long_words_are_not_kept():
    numericalizer = Numericalizer(VOCABULARY)
    numericalizer.collate([["warm", "up"]])
    tracemalloc.start()
    for number in range(200):
        numericalizer.collate([[f"{number}-" + "long" * 250_000]])
    memory_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert memory_bytes < 1_000_000


def test_threads_may_share_a_numericalizer():
    numericalizer = Numericalizer(VOCABULARY)
    texts = [[[f"word{(number * step) % 97}" for step in range(20)]] for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(numericalizer.collate, texts))
    for batch, text in zip(batches, texts, strict=True):
        alone = Numericalizer(VOCABULARY).collate(text)
        assert np.array_equal(batch.chars, alone.chars) and np.array_equal(batch.char_rows, alone.char_rows)


def test_words_with_only_a_pretrained_vector_share_the_trained_vector_of_unknown_words():
    vocabulary = Vocabulary(words=("a",), chars=("a",), labels=("X",), tags=("T",), vectors=("b",))
    batch = Numericalizer(vocabulary).collate([["a", "B", "c"]])
    assert batch.words.tolist() == [[BOS, 4, UNK, UNK, EOS]]
    assert batch.vectors.tolist() == [[BOS, 4, 5, UNK, EOS]]


def test_input_tags_have_ids_after_the_special_ids():
    vocabulary = Vocabulary(words=("a",), chars=("a",), labels=("X",), tags=("S", "T"))
    batch = Numericalizer(vocabulary).collate([["a", "a", "a"], ["a"]], tags=[["T", "S", "?"], ["S"]])
    assert batch.tags.tolist() == [[BOS, 5, 4, UNK, EOS], [BOS, 4, EOS, PAD, PAD]]


def test_fields_that_were_not_requested_are_none():
    batch = Numericalizer(VOCABULARY, characters=False).collate([["a"]])
    assert batch.chars is batch.pieces is batch.tags is batch.cells is batch.vectors is None


def test_pieces_are_mapped_to_their_words():
    batch = Numericalizer(VOCABULARY, subwords=letters()).collate([["ab", "..", "c"], ["d"]])
    assert batch.pieces.tolist() == [[1, 97, 98, 4, 99, 2], [1, 100, 2, 3, 3, 3]]
    assert batch.piece_words.tolist() == [1, 1, 2, 3, 6, 0, 5, 4, 7]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"sentences": []}, "there are no sentences"),
        ({"sentences": [["a"], []]}, "sentence 1 has no words"),
        ({"sentences": [["a", "b"]], "tags": [["X"]]}, "sentence 0 has 2 words and 1 tags"),
        (
            {"sentences": [["a", "b"]], "gold": [VOCABULARY.encode_tree(Tree.parse("(TOP (NP (NN a)))"))]},
            "sentence 0 has 2 words, its gold tree 1",
        ),
    ],
)
def test_inputs_that_do_not_fit_together_are_errors(call, message):
    with pytest.raises(ValueError, match=message):
        Numericalizer(VOCABULARY).collate(**call)


def test_words_with_equal_normalized_forms_have_equal_ids() -> None:
    trees = [Tree.parse("(TOP (S (`` \") (-LRB- -LRB-) (NN Word) (-RRB- -RRB-) ('' \")))")] * 2
    vocabulary = Vocabulary.build(trees, normalization="plain")
    assert vocabulary.words == ('"', "(", ")", "word") and "-" not in vocabulary.chars
    numericalizer = Numericalizer(vocabulary, normalization="plain")
    one, other = (numericalizer.collate([words]) for words in (['"', "(", "Word"], ["``", "-lrb-", "Word"]))
    assert np.array_equal(one.words, other.words) and UNK not in one.words
    assert one.chars is not None and other.chars is not None
    assert np.array_equal(one.chars[one.char_rows], other.chars[other.char_rows])


def test_without_normalization_words_are_unchanged() -> None:
    trees = [Tree.parse("(TOP (NP (-LRB- -LRB-) (NN Word)))")] * 2
    vocabulary = Vocabulary.build(trees)
    assert vocabulary.words == ("-lrb-", "word")
    assert UNK in Numericalizer(vocabulary).collate([["(", "Word"]]).words


def test_the_input_length_of_a_sentence_counts_words_or_pieces():
    sentences = [["ab", "c", "??"], ["d"], ["efg", "h"]]
    assert Numericalizer(VOCABULARY).input_lengths(sentences) == [3, 1, 2]
    assert Numericalizer(VOCABULARY, subwords=letters()).input_lengths(sentences) == [4, 1, 4]


def test_words_are_classified_by_their_capitals_unless_a_sentence_has_none_or_nothing_else():
    batch_sentences = ["“ The Tree in the US is an iPod .", "A I", "in the tree", "42 Trees", "THE U.S. TREE !"]
    batch = Numericalizer(VOCABULARY, capitals=True).collate([sentence.split() for sentence in batch_sentences])
    assert batch.capitals.tolist() == [
        [0, 7, 2, 1, 1, 3, 1, 1, 5, 0],
        [0] * 10,
        [0] * 10,
        [0, 7, *[0] * 8],
        [0] * 10,
    ]
    assert Numericalizer(VOCABULARY).collate([["Tree"]]).capitals is None


@given(
    st.lists(st.lists(st.sampled_from(["42", "tree", "Tree", "NP", "I", "iPod"]), min_size=1, max_size=5), max_size=3)
)
def test_the_first_cased_word_has_a_class_of_its_own(sentences):
    for sentence in sentences:
        alone = [word_class(word) for word in sentence]
        (classes,) = classes_in_context(np.array([alone])).tolist()
        has_capitals = any(number > 1 for number in alone)
        if not has_capitals or not any(number in (1, 2, 5) for number in alone):
            assert not any(classes)
            continue
        first = next(place for place, number in enumerate(alone) if number)
        assert classes[first] == alone[first] + 5 < CAPITAL_CLASSES
        assert classes[:first] + classes[first + 1 :] == alone[:first] + alone[first + 1 :]


def test_words_with_capitals_inside_are_mixed():
    assert [word_class(word) for word in ("McCoy", "eBay", "U.S.", "A.", "I'm", "É")] == [5, 5, 3, 3, 2, 4]


@given(sentences, st.booleans())
def test_split_lines_give_the_batch_of_their_words(batch_sentences, is_first):
    if not word_table.available:
        return
    numericalizer = Numericalizer(VOCABULARY, capitals=True, subwords=letters(9))
    text = "\n".join(" ".join(sentence) for sentence in batch_sentences).encode("utf-8", "replace").replace(b"\0", b"0")
    table = WordTable()
    if not is_first:
        table.split(b"other words", LIMITS)
        numericalizer.collate(table.split(b"the words", LIMITS).sentences)
    lines = table.split(text, LIMITS).sentences
    if len(lines):
        batch, expected = numericalizer.collate(lines), numericalizer.collate(list(lines))
        for name, values in vars(expected).items():
            np.testing.assert_array_equal(getattr(batch, name), values, name)
        assert numericalizer.input_lengths(lines) == numericalizer.input_lengths(list(lines))


@pytest.mark.skipif(not word_table.available, reason="the compiled part was not built")
@pytest.mark.parametrize("limit", ["_TABLE_WORDS", "_TABLE_BYTES"])
def test_a_word_table_is_kept_until_it_is_large(limit, monkeypatch):
    numericalizer = Numericalizer(VOCABULARY)
    table = numericalizer.word_table()
    assert numericalizer.word_table() is table
    table.split(b"the cat", LIMITS)
    assert numericalizer.word_table() is table
    monkeypatch.setattr(treecrf.network.data.numericalize, limit, 1)
    assert numericalizer.word_table() is not table


@pytest.mark.skipif(not word_table.available, reason="the compiled part was not built")
def test_the_features_of_a_table_are_kept_as_long_as_the_table():
    numericalizer, table = Numericalizer(VOCABULARY), WordTable()
    numericalizer.collate(table.split(b"the cat", LIMITS).sentences)
    assert len(numericalizer._table_features) == 1
    del table
    assert not numericalizer._table_features


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30))
def test__distinct_rows_are_in_the_order_of_their_first_occurrence(numbers: list[int]) -> None:
    distinct, rows = _distinct_rows(np.array(numbers))
    assert distinct.tolist() == list(dict.fromkeys(numbers))
    assert distinct[rows].tolist() == numbers


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_rows_stay_while_others_are_added(sizes: list[int]) -> None:
    features, words = WordFeatures(), np.arange(sum(sizes)) + 10
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        features.append({"words": words[end - size : end], "pieces": np.stack([words[end - size : end]] * 2, 1)})
    selected = features.select(np.arange(features.count))
    assert features.count == len(words) and features.nbytes >= 24 * len(words)
    assert selected["words"].tolist() == [*words.tolist(), BOS, EOS, PAD]
    assert selected["pieces"].tolist() == [*([number] * 2 for number in words.tolist()), [0, 0], [0, 0], [0, 0]]


def test_start_and_end_are_one_character() -> None:
    features = WordFeatures()
    features.append({"words": np.array([7]), "chars": np.array([[5, 6]]), "char_lengths": np.array([2])})
    selected = features.select(np.array([0, 0]))
    assert selected["chars"].tolist() == [[5, 6], [5, 6], [BOS, 0], [EOS, 0], [0, 0]]
    assert selected["char_lengths"].tolist() == [2, 2, 1, 1, 0]
