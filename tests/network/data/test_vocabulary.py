import json

import numpy as np
import pytest

from toygrammar import toy_trees
from treecrf.network.data.vectors import Vectors
from treecrf.network.data.vocabulary import UnseenLabel, Vocabulary
from treecrf.network.nn import IGNORED
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import to_spans

TREES = toy_trees(30, seed=5)
PAIR = [Tree.parse("(TOP (NP (DT The) (NN cat)))"), Tree.parse("(TOP (NP (DT the) (NN dog)))")]


def vectors_of(*words):
    return Vectors(list(words), np.arange(2 * len(words), dtype=np.float32).reshape(-1, 2) + 1, 0)


def test_words_are_lowercase_and_frequent_and_characters_are_unchanged():
    vocabulary = Vocabulary.build(PAIR)
    assert vocabulary.words == ("the",)
    assert vocabulary.chars == tuple(sorted(set("Thethecatdog")))
    assert vocabulary.tags == ("DT", "NN") and vocabulary.labels == ("(NP)", "NP")
    assert vocabulary.vectors is None and vocabulary.sizes.vectors == 0
    assert vocabulary.sizes.words == 5 and vocabulary.sizes.labels == 2


def test_trees_by_a_parser_add_words_but_no_labels():
    vocabulary = Vocabulary.build(PAIR[:1], parsed=[Tree.parse("(TOP (X (Y (DT the) (ZZ zoo))))")])
    assert vocabulary.words == ("the",) and "z" in vocabulary.chars
    assert vocabulary.tags == ("DT", "NN") and vocabulary.labels == ("(NP)", "NP")


def test_all_words_of_the_vectors_are_appended_except_the_unknown_word():
    vectors = vectors_of("dog", "the", "zebra", "unk")
    assert Vocabulary.build(PAIR, vectors=vectors).vectors == ("dog", "zebra", "unk")
    assert Vocabulary.build(PAIR, vectors=vectors, unknown="unk").vectors == ("dog", "zebra")


def test_the_vector_table_follows_the_word_ids():
    vectors = vectors_of("dog", "the", "unk")
    vocabulary = Vocabulary.build(PAIR, vectors=vectors, unknown="unk")
    table = vocabulary.vector_table(vectors, unknown="unk")
    # padding, unknown, start, end, the, dog
    assert table.tolist() == [[0, 0], [5, 6], [0, 0], [0, 0], [3, 4], [1, 2]]
    assert len(table) == vocabulary.sizes.vectors


def test_an_unknown_word_without_a_vector_is_an_error():
    with pytest.raises(ValueError, match="no vector for 'unk'"):
        Vocabulary.build(PAIR, vectors=vectors_of("dog"), unknown="unk")


def test_json_round_trip_keeps_a_vocabulary():
    for vectors in (None, vectors_of("dog", "cat")):
        vocabulary = Vocabulary.build(TREES, vectors=vectors)
        assert Vocabulary.from_dict(json.loads(json.dumps(vocabulary.to_dict()))) == vocabulary


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": "NP"}, "the labels of the vocabulary are 'NP'; expected a list of strings"),
        ({"labels": []}, "there are 0 labels"),
        ({"labels": [f"X{number}" for number in range(5000)]}, "there are 5,000 labels; expected 1 to 4,000"),
        ({"labels": ["S\n"]}, "expected printable labels"),
        ({"labels": ["S  VP"]}, "expected printable labels"),
        ({"labels": ["(S"]}, "expected printable labels"),
        ({"labels": [" ".join(["S"] * 101)]}, "expected printable labels"),
        ({"tags": ["\x1b[2J"]}, "expected printable labels"),
        ({"tags": []}, "there are no tags"),
        ({"words": [1]}, "expected a list of strings"),
        ({"words": None}, "expected a list of strings"),
        ({"tags": ["A", "A"]}, "1 tags occur twice"),
        ({"extra": []}, "expected"),
    ],
)
def test_an_invalid_vocabulary_is_an_error(change, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary.from_dict(Vocabulary.build(PAIR).to_dict() | change)


def test_a_vocabulary_needs_trees():
    with pytest.raises(ValueError, match="no trees"):
        Vocabulary.build([])


def test_gold_ids_are_those_of_the_tree():
    vocabulary = Vocabulary.build(TREES)
    for tree in TREES:
        gold = vocabulary.encode_tree(tree)
        labels = [vocabulary.labels[label] for label in gold.labels]
        spans = list(zip(gold.starts.tolist(), gold.ends.tolist(), labels, strict=True))
        assert spans == [tuple(span) for span in to_spans(tree)]
        assert [vocabulary.tags[tag] for tag in gold.tags] == tree.tags


def test_a_label_unseen_in_training_is_ignored_and_reported():
    vocabulary = Vocabulary.build(PAIR)
    odd = Tree.parse("(TOP (QP (XX the) (NN cat)))")
    gold = vocabulary.encode_tree(odd)
    assert gold.labels.tolist() == [IGNORED] * 3 and gold.tags.tolist() == [IGNORED, 1]
    assert vocabulary.unseen_labels([*PAIR, odd, odd]) == [UnseenLabel("(QP)", 4, 2), UnseenLabel("QP", 2, 2)]
    assert vocabulary.unseen_labels(PAIR) == []


def test_vector_tables_are_float32():
    vectors = vectors_of("dog")
    assert Vocabulary.build(PAIR, vectors=vectors).vector_table(vectors).dtype == np.float32


def test_both_sides_of_binarization_have_the_same_labels():
    vocabulary = Vocabulary.build(TREES)
    right = {span.label for tree in TREES for span in to_spans(tree, side="right")}
    assert right == set(vocabulary.labels)
    tree = max(TREES, key=lambda tree: len(tree.words))
    gold = vocabulary.encode_tree(tree, side="right")
    spans = zip(gold.starts.tolist(), gold.ends.tolist(), gold.labels.tolist(), strict=True)
    assert [(start, end, vocabulary.labels[label]) for start, end, label in spans] == to_spans(tree, side="right")
