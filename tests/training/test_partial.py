"""Tests of partial trees and forests: the loss is the probability of all trees that agree, by enumeration."""

import json
from itertools import product

import numpy as np
import pytest
import torch

from small import FIFTY, small_recipe
from treecrf import Parser, Tree, read_trees
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.vocabulary import MERGED, GoldTree, Vocabulary
from treecrf.network.nn import TensorBatch
from treecrf.network.nn.losses import compute_loss
from treecrf.network.nn.scorers import TensorScores
from treecrf.parser.decoding.constraints import Constraints
from treecrf.training import fit
from treecrf.training.data_loader import Corpus
from treecrf.training.partial import PartialTree, derivations, read_partial
from treecrf.trees.tree import Span
from treecrf.trees.treebank.binarize import LabelSet, from_spans, is_intermediate

LABELS = ("", "(S)", "NP", "S", "S VP")
WORDS = ["a", "b", "c"]
VOCABULARY = Vocabulary(words=("a", "b", "c"), chars=("a",), labels=LABELS, tags=("X", "Y"))


def bracketings(start, end):
    """All binary trees over a span, as lists of spans."""
    if end == start + 1:
        return [[(start, end)]]
    return [
        [(start, end), *left, *right]
        for split in range(start + 1, end)
        for left in bracketings(start, split)
        for right in bracketings(split, end)
    ]


def random_scores(length, *, one_stage=False):
    size, generator = length + 1, torch.Generator().manual_seed(length)
    labels = torch.randn(1, size, size, len(LABELS), generator=generator, requires_grad=True)
    spans = labels.logsumexp(-1) if one_stage else torch.randn(1, size, size, generator=generator, requires_grad=True)
    boundaries = torch.zeros(1, size, 1)
    return TensorScores(
        total_words=length, is_crf=True, lengths=torch.tensor([length]), spans=spans, left=boundaries, right=boundaries,
        label_scorer=None, labels=labels,
    )  # fmt: skip


def tree_probabilities(scores, words):
    """The probability of every tree, by enumeration of all labeled binary trees."""
    leaves = [Tree("X", (word,)) for word in words]
    potentials = (scores.spans[..., None] + scores.labels.log_softmax(-1))[0].exp().tolist()
    totals = {}
    for spans in bracketings(0, len(words)):
        for labels in product(range(len(LABELS)), repeat=len(spans)):
            named = [Span(*span, LABELS[label]) for span, label in zip(spans, labels, strict=True)]
            weight = float(np.prod([potentials[i][j][label] for (i, j), label in zip(spans, labels, strict=True)]))
            tree = from_spans(named, leaves)
            totals[tree] = totals.get(tree, 0.0) + weight
    total = sum(totals.values())
    return {tree: weight / total for tree, weight in totals.items()}


def loss_of(scores, words, gold, kind="tree"):
    batch = Numericalizer(VOCABULARY).collate([words], gold=[gold])
    return compute_loss(kind, scores, TensorBatch.from_host(batch), None)


def agrees(tree, constraints):
    spans = {(span.start, span.end, span.label) for span in tree.spans()}

    def has(item):
        return any((start, end) == item[:2] and item[2] in (None, label) for start, end, label in spans)

    return all(map(has, constraints.require)) and not any(map(has, constraints.forbid))


@pytest.mark.parametrize("one_stage", [False, True])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_loss_of_a_tree_is_its_probability_over_all_derivations(length, one_stage):
    scores, labels = random_scores(length, one_stage=one_stage), LabelSet(LABELS)
    probabilities = tree_probabilities(scores, WORDS[:length])
    for tree, probability in probabilities.items():
        loss = loss_of(scores, WORDS[:length], GoldTree.of_forest(derivations(tree, labels), np.zeros(length, int)))
        assert loss.spans.item() == pytest.approx(-np.log(probability), abs=1e-4)
        assert loss.labels.item() == 0 and loss.label_count == 0 and torch.isfinite(loss.total())
    if not one_stage:
        loss.total().backward()
        assert torch.isfinite(scores.spans.grad).all() and torch.isfinite(scores.labels.grad).all()


@pytest.mark.parametrize(
    ("require", "forbid"),
    [
        ([], []),
        ([(0, 2)], []),
        ([(0, 2, "NP")], []),
        ([(0, 2, "S"), (0, 2, "VP"), (2, 3, "NP")], []),
        ([], [(1, 3)]),
        ([(1, 2)], [(0, 2, "NP"), (1, 2, "S")]),
        ([(0, 3, "TOP")], [(0, 3, "VP")]),
    ],
)
def test_the_loss_of_a_partial_tree_is_the_probability_of_all_trees_that_agree(require, forbid):
    scores, constraints = random_scores(3), Constraints(require=require, forbid=forbid)
    expected = sum(
        probability for tree, probability in tree_probabilities(scores, WORDS).items() if agrees(tree, constraints)
    )
    gold = PartialTree(WORDS, constraints).encode(VOCABULARY, LabelSet(LABELS), "TOP")
    assert loss_of(scores, WORDS, gold, "two-stage").spans.item() == pytest.approx(-np.log(expected), abs=1e-4)


@pytest.mark.parametrize("share", [0.3, 0.9, 1.0])
@pytest.mark.parametrize("require", [[], [(0, 2, "NP")], [(0, 3, "S"), (0, 3, "VP")], [(0, 3, "TOP"), (1, 3)]])
def test_with_a_share_the_loss_is_the_probability_of_the_brackets(require, share):
    scores, constraints = random_scores(3), Constraints(require=require)
    given = sum(item[2:] != ("TOP",) for item in require)
    expected = sum(
        probability * (1 - share) ** (len(tree.spans()) - 1 - given)
        for tree, probability in tree_probabilities(scores, WORDS).items()
        if agrees(tree, constraints)
    )
    gold = PartialTree(WORDS, constraints).encode(VOCABULARY, LabelSet(LABELS), "TOP", share=share)
    loss = loss_of(scores, WORDS, gold, "two-stage").spans.item()
    assert loss == pytest.approx(-np.log(expected), abs=1e-4)


@pytest.mark.parametrize("share", [0.3, 0.6])
@pytest.mark.parametrize("require", [[(0, 2, "NP")], [(0, 3, "S"), (0, 3, "VP")]])
def test_with_a_known_share_constituents_without_a_bracket_have_their_number_on_the_mean(require, share):
    scores, constraints = random_scores(3), Constraints(require=require)
    trees = {tree: p for tree, p in tree_probabilities(scores, WORDS).items() if agrees(tree, constraints)}
    probabilities = np.array(list(trees.values()))
    missing = np.array([len(tree.spans()) - 1 - len(require) for tree in trees])
    low, high = -10.0, 10.0
    for _ in range(60):
        price = (low + high) / 2
        weights = probabilities * np.exp(-price * missing)
        is_high = (weights @ missing) / weights.sum() > len(require) * (1 - share) / share
        low, high = (price, high) if is_high else (low, price)
    gold = PartialTree(WORDS, constraints).encode(VOCABULARY, LabelSet(LABELS), "TOP", share=share, is_share_known=True)
    loss = loss_of(scores, WORDS, gold, "two-stage").spans.item()
    assert loss == pytest.approx(-np.log(weights.sum()), abs=1e-2)


def test_partial_and_full_trees_of_a_batch_add_their_losses():
    trees = [tree for tree in read_trees(FIFTY) if len(tree.words) > 4][:3]
    vocabulary = Vocabulary.build(trees)
    partial = PartialTree(trees[0].words, Constraints(require=[(0, 2, "NP")]))
    corpus = Corpus.from_trees(trees, vocabulary, partial=[partial])
    numericalizer = Numericalizer(vocabulary)
    torch.manual_seed(1)
    size = max(corpus.lengths) + 1
    spans, labels = torch.randn(4, size, size), torch.randn(4, size, size, len(vocabulary.labels))

    def losses(indices):
        batch = corpus.collate([corpus.words[i] for i in indices], indices, numericalizer, read_tags=False)
        n = max(corpus.lengths[i] for i in indices) + 1
        scores = TensorScores(
            total_words=0, is_crf=True, lengths=torch.from_numpy(batch.lengths), spans=spans[indices, :n, :n],
            left=torch.zeros(1), right=torch.zeros(1), label_scorer=None, labels=labels[indices, :n, :n],
        )  # fmt: skip
        loss = compute_loss("two-stage", scores, TensorBatch.from_host(batch), None)
        return torch.stack([loss.spans, loss.labels]), loss.label_count

    together, count = losses([0, 3, 1])
    single = [losses([index]) for index in (0, 3, 1)]
    assert torch.allclose(together, sum(loss for loss, _ in single), atol=1e-3)
    assert count == sum(count for _, count in single) and single[1][1] == 0


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("a.mrg", "(S (NP the cat) sat on ( the mat) .)", [(0, 7, "S"), (0, 2, "NP"), (4, 6, None)]),
        ("a.mrg", "the (S (VP \\u{28} b))", [(1, 3, "S"), (1, 3, "VP")]),
        ("a.txt", "[ the [ cat ] ] sat ( .", [(1, 2, None), (0, 2, None)]),
        ("a.jsonl", '{"words": ["the", "cat"], "require": [[0, 2, "NP"], [0, 1]]}', [(0, 2, "NP"), (0, 1, None)]),
    ],
)
def test_partial_trees_are_read_in_three_notations(tmp_path, name, line, expected):
    (tmp_path / name).write_text(f"\n{line}\n")
    (partial,) = read_partial(tmp_path / name)
    assert list(partial.constraints.require) == expected and not partial.constraints.forbid
    assert partial.location == f"{tmp_path / name}:2"


def test_braces_and_forbid_are_spans_without_a_constituent(tmp_path):
    (tmp_path / "a.txt").write_text("[ r { = 0.975 } ]\n")
    (tmp_path / "a.jsonl").write_text('{"words": ["r", "=", "0.975"], "require": [[0, 3]], "forbid": [[1, 3]]}\n')
    (square,), (brace,) = (read_partial(tmp_path / name) for name in ("a.txt", "a.jsonl"))
    assert square.words == brace.words == ["r", "=", "0.975"] and square.constraints == brace.constraints


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("a.mrg", "(S the cat", "1 of the brackets are not closed"),
        ("a.mrg", "(S the) cat)", r"'\)' at character 12 closes no bracket"),
        ("a.mrg", "(S (NP) the)", "has no words"),
        ("a.txt", "[ the } cat", "closes no bracket"),
        ("a.txt", "[ the cat", "not closed"),
        ("a.jsonl", '{"words": "the cat"}', "expected a list of strings"),
        ("a.jsonl", '{"tokens": ["the"]}', "is not an object with words"),
        ("a.jsonl", '{"words": ["the"], "require": [[0]]}', r"expected \(start, end\)"),
        ("a.jsonl", "{", "Expecting"),
        ("a.csv", "the cat", r"ends in \.csv; expected \.mrg, \.txt, \.jsonl"),
    ],
)
def test_errors_have_the_file_and_the_line(tmp_path, name, line, message):
    (tmp_path / name).write_text(line)
    with pytest.raises(ValueError, match=message) as error:
        read_partial(tmp_path / name)
    assert name == "a.csv" or str(error.value).startswith(f"{tmp_path / name}:1: ")


def test_brackets_that_no_tree_has_are_an_error_with_their_place():
    partial = PartialTree(WORDS, Constraints(require=[(0, 2), (1, 3)]), "a.txt:7")
    with pytest.raises(ValueError, match=r"a\.txt:7: require .* these cross"):
        partial.encode(VOCABULARY, LabelSet(LABELS), "TOP")
    with pytest.raises(ValueError, match=r"a\.txt:7: the model has no label and no tag 'ZZ'"):
        partial._replace(constraints=Constraints(require=[(0, 1, "ZZ")])).encode(VOCABULARY, LabelSet(LABELS), "TOP")


def test_a_bracket_around_a_word_is_a_tag_if_no_longer_span_has_its_label():
    partial = PartialTree(WORDS, Constraints(require=[(0, 1, "Y"), (1, 2, "NP")]))
    gold = partial.encode(VOCABULARY, LabelSet(LABELS), "TOP")
    assert gold.tags.tolist() == [1, -100, -100] and gold.forest.restricted.tolist() == [[1, 2]]


@pytest.mark.parametrize(("name", "labels"), [("a.mrg", {"VP"}), ("a.jsonl", {"VP", "PRT"})])
def test_a_bracket_around_a_word_in_json_is_a_constituent(tmp_path, name, labels):
    brackets = {"words": ["go", "on"], "require": [[0, 2, "VP"], [1, 2, "PRT"]]}
    (tmp_path / name).write_text(json.dumps(brackets) if name == "a.jsonl" else "(VP go (PRT on))")
    (partial,) = read_partial(tmp_path / name)
    assert partial.constituent_labels == labels


@pytest.mark.parametrize("data", [{"train": (FIFTY,)}, {"train": ()}])
def test_a_parser_learns_from_partial_trees(tmp_path, data):
    lines = []
    for tree in read_trees(FIFTY):
        spans = [list(span) for span in tree.spans() if span.label != "TOP"]
        lines.append(json.dumps({"words": tree.words, "require": spans[:2]}))
    (tmp_path / "some.jsonl").write_text("\n".join(lines))
    recipe = small_recipe(data={**data, "partial": (str(tmp_path / "some.jsonl"),)}, epochs=2)
    fit(recipe, tmp_path / "run", device="cpu")
    parser = Parser.load(tmp_path / "run", "cpu")
    assert parser.parse(["the", "cat", "sat"]).words == ["the", "cat", "sat"]


def test_the_tree_loss_trains_and_the_parser_reports_the_probability_that_was_trained(tmp_path):
    trees = list(read_trees(FIFTY))[:6]
    fit(small_recipe(model={"loss": "tree"}, epochs=2), tmp_path, device="cpu")
    parser = Parser.load(tmp_path, "cpu", precision="float32")
    assert [label for label in parser.vocabulary.labels if is_intermediate(label)] == [MERGED]
    corpus = Corpus.from_trees(trees, parser.vocabulary, marginalize=True)
    for index, tree in enumerate(trees):
        batch = TensorBatch.from_host(corpus.collate([tree.words], [index], parser.numericalizer, read_tags=False))
        with torch.no_grad():
            loss = parser.model.eval().loss(batch)
        assert loss.spans.item() == pytest.approx(-parser.log_prob(tree), rel=1e-3, abs=1e-3)
