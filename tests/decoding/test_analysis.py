"""Analyses against the enumeration of all labeled binary trees."""

import math
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from small import random_parser
from toygrammar import toy_trees
from treecrf.chart.naive import brackets
from treecrf.data.batch import Spans
from treecrf.decoding.analysis import Analysis
from treecrf.decoding.constraints import Constraints, ImpossibleError
from treecrf.parser import Parser
from treecrf.tree import Span, Tree
from treecrf.treebank.binarize import from_spans

# six labels: two constituents, two intermediate labels, a unary chain of two, and the empty label
FEW = [
    Tree.parse(text)
    for text in ("(TOP (S (NP (D a) (N b)) (V c)))", "(TOP (NP (N a)))", "(TOP (S (VP (V c))))", "(N a)", "(N b)")
]
LOSSES = ["two-stage", "one-stage-crf", "one-stage-margin"]
SENTENCES = [["a"], ["b", "a"], ["a", "b", "c"]]
TOY = toy_trees(30, seed=5)


@cache
def few_parser(loss: str, scorer: str = "biaffine") -> Parser:
    parser = random_parser(FEW, loss=loss, scorer=scorer)
    with torch.no_grad():
        for parameter in parser.model.parameters():
            parameter.mul_(0.7)  # so that no tree has all of the probability
    return parser


Derivations = dict[Tree, list[float]]  # the log-potentials of a tree's labeled binary trees


@cache
def derivations(loss: str, scorer: str, length: int) -> Derivations:
    """Every labeled binary tree by the model's own scores."""
    parser, words = few_parser(loss, scorer), SENTENCES[length - 1]
    with torch.no_grad():
        scores = parser.model(parser.numericalizer.collate([words]))
        size = length + 1
        labels = scores.labels_at(Spans.at(torch.arange(size * size), size)).view(size, size, -1).double()
        own = scores.spans[0].double() - labels.logsumexp(-1) if loss == "two-stage" else torch.zeros(size, size)
    leaves = [Tree("_", (word,)) for word in words]
    found: Derivations = defaultdict(list)
    for spans in brackets(0, length):
        base = sum(float(own[i, j]) for i, j in spans)
        for ids in product(range(labels.shape[-1]), repeat=len(spans)):
            total = base + sum(float(labels[i, j, id_]) for (i, j), id_ in zip(spans, ids, strict=True))
            named = [Span(i, j, parser.vocabulary.labels[id_]) for (i, j), id_ in zip(spans, ids, strict=True)]
            found[from_spans(named, leaves)].append(total)
    return found


def log_sum(derivations: Derivations) -> float:
    scores = [total for totals in derivations.values() for total in totals]
    return torch.tensor(scores, dtype=torch.float64).logsumexp(0).item()


def check(analysis: Analysis, derivations: Derivations) -> None:
    """Compare an analysis with the distribution over these."""
    log_z = log_sum(derivations)
    best = {tree: max(totals) - log_z for tree, totals in derivations.items()}
    probable: dict[Span, float] = defaultdict(float)
    for tree, totals in derivations.items():
        for span in set(tree.spans()):
            probable[span] += sum(math.exp(total - log_z) for total in totals)
    for rated in (analysis, *analysis.alternatives):
        assert [Span(c.start, c.end, c.label) for c in rated.constituents] == rated.tree.spans()
        for c in rated.constituents:
            assert c.probability == pytest.approx(probable[Span(c.start, c.end, c.label)], abs=1e-4)
    totals = torch.tensor(derivations[analysis.tree], dtype=torch.float64)
    assert (totals - log_z - analysis.log_prob).abs().min() < 1e-3
    expected = sorted(best.values(), reverse=True)[: len(analysis.alternatives)]
    assert [alternative.log_prob for alternative in analysis.alternatives] == pytest.approx(expected, abs=1e-3)
    assert len({alternative.tree for alternative in analysis.alternatives}) == len(analysis.alternatives)
    for alternative in analysis.alternatives:
        assert alternative.log_prob == pytest.approx(best[alternative.tree], abs=1e-3)


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("scorer", ["biaffine", "minus"])
@pytest.mark.parametrize("loss", LOSSES)
def test_an_analysis_equals_enumeration(loss: str, scorer: str, length: int) -> None:
    parser, every = few_parser(loss, scorer), derivations(loss, scorer, length)
    k = min(20, len(every))
    analysis = parser.analyze(SENTENCES[length - 1], k=k)
    assert len(analysis.alternatives) == k
    check(analysis, every)


constituent = st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from([None, "S", "NP", "VP", "TOP"])).filter(
    lambda span: span[0] < span[1]
)
constraints = st.builds(Constraints, st.lists(constituent, max_size=2), st.lists(constituent, max_size=3))


def satisfies(tree: Tree, constraints: Constraints) -> bool:
    spans = tree.spans()
    there = [
        any(span[:2] == constraint[:2] and constraint[2] in (None, span.label) for span in spans)
        for constraint in (*constraints.require, *constraints.forbid)
    ]
    return all(there[: len(constraints.require)]) and not any(there[len(constraints.require) :])


@settings(max_examples=60)
@given(st.sampled_from(LOSSES), st.sampled_from([1, 3]), constraints, st.booleans())
def test_constraints_condition_the_distribution(loss: str, length: int, constraint: Constraints, mbr: bool) -> None:
    parser, words = few_parser(loss), SENTENCES[length - 1]
    left = {
        tree: totals for tree, totals in derivations(loss, "biaffine", length).items() if satisfies(tree, constraint)
    }
    if any(end > length for _, end, _ in (*constraint.require, *constraint.forbid)) or not left:
        with pytest.raises(ImpossibleError, match=r"sentence 0: .*\b(require|forbid) .* over words\[\d:\d\]"):
            parser.parse(words, constraints=constraint, mbr=mbr)
        return
    analysis = parser.analyze(words, k=10, constraints=constraint, mbr=mbr)
    assert satisfies(analysis.tree, constraint)
    assert analysis.tree == parser.parse(words, constraints=constraint, mbr=mbr)
    check(analysis, left)
    drop = parser.crf(words, constraints=constraint).log_partition - parser.crf(words).log_partition
    assert drop.item() == pytest.approx(log_sum(left) - log_sum(derivations(loss, "biaffine", length)), abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mbr", [True, False])
def test_the_tree_equals_that_of_parse(loss: str, mbr: bool) -> None:
    parser = random_parser(TOY, loss=loss, tag_head=True)
    sentences = [tree.words for tree in TOY]
    found = list(parser.analyze_many(sentences, k=0, mbr=mbr, batch_words=60))
    assert [analysis.tree for analysis in found] == list(parser.parse_many(sentences, mbr=mbr))
    for words, analysis in zip(sentences, found, strict=True):
        alone = parser.analyze(words, mbr=mbr)
        assert alone.log_prob == pytest.approx(analysis.log_prob, abs=1e-3)
        assert alone.alternatives[0].log_prob >= analysis.log_prob - 1e-3
        crf = parser.crf(words)
        assert analysis.entropy == pytest.approx(crf.entropy.item(), abs=1e-3)
        for c in analysis.constituents[1:]:
            assert c.probability <= crf.marginals[0, c.start, c.end].item() + 1e-5


def test_every_constituent_of_a_tree_may_be_required_and_all_but_the_root_forbidden() -> None:
    parser = random_parser(TOY)
    for tree in parser.parse_many([tree.words for tree in TOY[:8]]):
        asked = Constraints(require=tree.spans())
        assert parser.parse(tree.words, constraints=asked).spans() == tree.spans()
        for span in tree.spans()[1:]:
            assert span not in parser.parse(tree.words, constraints=Constraints(forbid=[span])).spans()


def test_label_scores_in_blocks_give_the_same_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = random_parser(TOY)
    words = TOY[0].words + TOY[1].words + TOY[2].words
    constraint = Constraints(require=[(3, 7, "NP")], forbid=[(0, 1), (0, 2, "NP")])
    whole = parser.analyze(words, k=8, constraints=constraint)
    monkeypatch.setattr("treecrf.decoding.analysis._BLOCK", 5)
    parts = parser.analyze(words, k=8, constraints=constraint)
    assert [alternative.tree for alternative in parts.alternatives] == [
        alternative.tree for alternative in whole.alternatives
    ]
    assert [alternative.log_prob for alternative in parts.alternatives] == pytest.approx(
        [alternative.log_prob for alternative in whole.alternatives], abs=1e-4
    )
    assert all(satisfies(alternative.tree, constraint) for alternative in whole.alternatives)


def test_the_kbest_search_stops_at_a_tree_with_too_many_derivations(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = random_parser([Tree.parse("(TOP (N a) (N b))")])  # one intermediate label: one tree
    monkeypatch.setattr("treecrf.decoding.analysis._MAX_REPEATS", 50)
    analysis = parser.analyze(["a", "b"] * 6, k=5)
    assert [alternative.tree for alternative in analysis.alternatives] == [analysis.tree]
    assert analysis.constituents[0].probability == 1.0 and len(analysis.constituents) == 1


def constrained(require: object = (), forbid: object = ()) -> Callable[[Parser], object]:
    return lambda parser: list(
        parser.parse_many(
            SENTENCES[1:],
            constraints=[None, Constraints(require=require, forbid=forbid)],  # type: ignore[arg-type]
        )
    )


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (constrained([(0, 4)]), r"sentence 1: require a constituent over words\[0:4\] .* of 3 words"),
        (constrained([(2, 2)]), r"require a constituent over words\[2:2\] .* expected 0 <= start < end <= 3"),
        (constrained(forbid=[(-1, 2, "NP")]), r"forbid NP over words\[-1:2\]"),
        (constrained([(0, 2, "XP")]), r"require XP over .*no such label; expected one of NP, S, TOP, VP"),
        (constrained([(0, 2), (1, 3, "NP")]), r"words\[0:2\] and NP over words\[1:3\]: these cross"),
        (constrained([(0, 2, "NP")], [(0, 2)]), r"require NP over .* and forbid a constituent over .*no label"),
        (constrained(forbid=[(0, 3)]), r"forbid a constituent over words\[0:3\]: no label"),
        (constrained([(1, 2, "TOP")]), r"require TOP over words\[1:2\]: no label"),
        (constrained([(0,)]), r"require contains \(0,\); expected \(start, end\)"),
        (constrained(forbid=[(0, 1.0)]), "forbid contains"),
        (constrained([(0, 1, "")]), "require contains"),
        (constrained(["NP"]), "require contains 'NP'"),
        (lambda parser: parser.analyze(["a"], k=-1), "k is -1"),
        (lambda parser: parser.analyze([]), "sentence 0 has no words"),
        (lambda parser: list(parser.parse_many([["a"]], constraints=[])), "shorter"),
    ],
)
def test_impossible_constraints_are_errors(ask: Callable[[Parser], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask(few_parser("two-stage"))


def test_without_labels_of_parts_a_forbidden_constituent_is_no_span() -> None:
    parser = random_parser([Tree.parse("(TOP (NP (N a)))")])  # a single label: every span is an NP
    words = ["a", "b", "c"]
    assert (1, 3, "NP") in parser.parse(words, constraints=Constraints(forbid=[(0, 2)])).spans()
    assert (0, 2, "NP") in parser.parse(words, constraints=Constraints(forbid=[(1, 3)])).spans()
    with pytest.raises(ImpossibleError, match=r"forbid a .*\[0:2\], forbid NP over words\[1:3\]: no tree is left"):
        parser.parse(words, constraints=Constraints(forbid=[(0, 2), (1, 3, "NP")]))
