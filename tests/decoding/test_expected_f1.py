"""Expected-F1 decoding against the enumeration of all labeled trees."""

from functools import cache
from itertools import product
from pathlib import Path

import pytest
import torch

from small import FIFTY, random_parser
from treecrf import Constraints, Parser, read_trees
from treecrf.data.batch import Spans
from treecrf.decoding import decode
from treecrf.decoding.expected_f1 import ExpectedF1
from treecrf.nn import Scores
from treecrf.runtime.int8 import why_unsupported
from treecrf.treebank.binarize import unary_chain

TREES = list(read_trees(FIFTY))
SENTENCES = [tree.words for tree in TREES]


@cache
def bracketings(start: int, end: int) -> list[frozenset[tuple[int, int]]]:
    """All binary trees over fenceposts, as sets of their spans."""
    if end - start == 1:
        return [frozenset([(start, end)])]
    return [
        left | right | {(start, end)}
        for middle in range(start + 1, end)
        for left, right in product(bracketings(start, middle), bracketings(middle, end))
    ]


def parser_with(threshold: float, **model: object) -> Parser:
    parser = random_parser(TREES, **model)
    parser.f1_threshold = threshold
    return parser


def utility_of(parser: Parser, words: list[str], spans: dict[tuple[int, int], str]) -> float:
    """The definition: the sum over constituents of their probability minus the threshold."""
    scores, _ = parser.batch_scorer(parser.reader.window([words]))
    marginals = parser.crf(words).marginals[0]
    total = 0.0
    for (start, end), label in spans.items():
        posterior = label_scores(scores, start, end).softmax(-1)
        for name in unary_chain(label):
            probability = sum(
                float(p)
                for p, other in zip(posterior, parser.vocabulary.labels, strict=True)
                if name in unary_chain(other)
            )
            total += float(marginals[start, end]) * probability - parser.f1_threshold
    return total


def label_scores(scores: Scores, start: int, end: int) -> torch.Tensor:
    size = scores.spans.shape[1]
    return scores.labels_at(Spans.at(torch.tensor([start * size + end]), size))[0]


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.45])
@torch.no_grad()
def test_no_tree_has_a_higher_utility_than_the_decoded_one(threshold: float, loss: str) -> None:
    parser = parser_with(threshold, loss=loss)
    for words in [sentence[:5] for sentence in SENTENCES[:6]]:
        scores, _ = parser.batch_scorer(parser.reader.window([words]))
        decoded = decode(scores, expected_f1=parser.expected_f1)
        labels = [parser.vocabulary.labels[label] for label in decoded.labels.tolist()]
        spans = dict(zip(zip(decoded.starts.tolist(), decoded.ends.tolist(), strict=True), labels, strict=True))
        best = {}  # by span: its most probable label, or none unless it is the whole sentence
        for start, end in {span for tree in bracketings(0, len(words)) for span in tree}:
            likeliest = parser.vocabulary.labels[int(label_scores(scores, start, end).argmax())]
            utility = utility_of(parser, words, {(start, end): likeliest})
            best[start, end] = utility if end - start == len(words) else max(0.0, utility)
        maximum = max(sum(best[span] for span in tree) for tree in bracketings(0, len(words)))
        assert utility_of(parser, words, spans) == pytest.approx(maximum, abs=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_constituents_that_exclude_each_other_do_not_make_a_label(dtype: torch.dtype) -> None:
    # no label, S, SQ, S SQ: both constituents exceed the threshold, and the last label has both
    constituents = torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]]).double()
    expected_f1 = ExpectedF1(threshold=0.4, constituents=constituents, counts=constituents.sum(1))
    labels = torch.tensor([[0.01, 0.51, 0.47, 0.01], [0.7, 0.3, 0.0, 0.0], [0.4, 0.45, 0.1, 0.05]], dtype=dtype).log()
    utility, best = expected_f1.best_labels(labels, torch.tensor([1.0, 1.0, 0.7], dtype=dtype))
    assert best.tolist() == [1, 0, 0]
    assert utility.tolist() == pytest.approx([0.52 - 0.4, 0, 0])


def test_a_high_threshold_keeps_only_probable_constituents() -> None:
    parser = random_parser(TREES)
    many = sum(len(tree.spans()) for tree in parser.parse_many(SENTENCES))
    parser.f1_threshold = 0.98
    few = [tree for tree in parser.parse_many(SENTENCES)]
    assert [tree.words for tree in few] == SENTENCES
    assert sum(len(tree.spans()) for tree in few) < many / 2


def test_the_whole_sentence_always_has_its_most_probable_label() -> None:
    parser = random_parser(TREES)
    scores, _ = parser.batch_scorer(parser.reader.window(SENTENCES))
    expected = []
    for sentence, words in enumerate(SENTENCES):
        size = scores.spans.shape[1]
        cell = torch.tensor([sentence * size * size + len(words)])
        expected.append(parser.vocabulary.labels[int(scores.labels_at(Spans.at(cell, size)).argmax())])
    parser.f1_threshold = 0.98
    decoded = decode(scores, expected_f1=parser.expected_f1)
    whole = (decoded.starts == 0) & (decoded.ends == scores.lengths.repeat_interleave(2 * scores.lengths - 1))
    assert [parser.vocabulary.labels[label] for label in decoded.labels[whole].tolist()] == expected
    assert any(map(unary_chain, expected))


def test_a_threshold_of_zero_is_the_papers_mbr() -> None:
    parser = random_parser(TREES)
    before = list(parser.parse_many(SENTENCES))
    parser.f1_threshold = 0.4
    assert parser.f1_threshold == 0.4 and list(parser.parse_many(SENTENCES)) != before
    parser.f1_threshold = 0.0
    assert list(parser.parse_many(SENTENCES)) == before


def test_trees_do_not_depend_on_the_batch_and_analyses_have_the_same() -> None:
    parser = parser_with(0.35)
    together = list(parser.parse_many(SENTENCES))
    assert together == [parser.parse(words) for words in SENTENCES]
    assert together == [analysis.tree for analysis in parser.analyze_many(SENTENCES)]
    assert list(map(str, together)) == list(parser.brackets_many(SENTENCES))


def test_without_mbr_there_is_no_threshold() -> None:
    with_threshold, without = parser_with(0.4), random_parser(TREES)
    best_trees = list(without.parse_many(SENTENCES, mbr=False))
    assert list(with_threshold.parse_many(SENTENCES, mbr=False)) == best_trees


@pytest.mark.parametrize("threshold", [0.3, 0.9])
def test_constraints_hold_with_any_threshold(threshold: float) -> None:
    parser = parser_with(threshold)
    for words in [words for words in SENTENCES if len(words) > 3][:10]:
        start, end = 1, 3
        tree = parser.parse(words, constraints=Constraints(require=[(start, end, "NP")], forbid=[(0, 1)]))
        spans = {(span.start, span.end, span.label) for span in tree.spans()}
        assert (start, end, "NP") in spans
        assert not any(span[:2] == (0, 1) for span in spans)


def test_the_threshold_is_saved_with_the_parser(tmp_path: Path) -> None:
    parser = parser_with(0.4)
    parser.save(tmp_path / "parser")
    again = Parser.load(tmp_path / "parser", "cpu", precision="float32")
    assert again.f1_threshold == 0.4 and list(again.parse_many(SENTENCES)) == list(parser.parse_many(SENTENCES))


def test_the_utility_moves_to_the_device_of_the_model() -> None:
    parser = parser_with(0.4)
    parser.model.to("meta")
    assert (
        parser.expected_f1 is not None
        and parser.expected_f1.constituents.device.type == "meta"
        and parser.f1_threshold == 0.4
    )


@pytest.mark.parametrize("threshold", [-0.1, 1.0, float("nan")])
def test_a_threshold_is_a_probability(threshold: float) -> None:
    with pytest.raises(ValueError, match="expected a probability between 0 and 1"):
        ExpectedF1(threshold=threshold, constituents=torch.zeros(1, 1), counts=torch.zeros(1))


@pytest.mark.skipif(why_unsupported() is not None, reason="needs compiled kernels")
@pytest.mark.parametrize("spans", [0, 1, 500])
def test_compiled_code_equals_plain_tensors(spans: int) -> None:
    generator = torch.Generator().manual_seed(spans)
    constituents = (torch.rand(37, 9, generator=generator) < 0.2).double()
    expected_f1 = ExpectedF1(
        threshold=0.3,
        constituents=constituents,
        counts=constituents.sum(1) + (torch.rand(37, generator=generator) < 0.1),
    )
    labels = 3 * torch.randn(spans, 37, generator=generator)
    labels[torch.rand(labels.shape, generator=generator) < 0.2] = -torch.inf
    marginals = torch.rand(spans, generator=generator)
    utility, best = expected_f1.best_labels(labels, marginals)
    expected_utility, expected_best = expected_f1.best_labels(labels.double(), marginals.double())
    torch.testing.assert_close(utility, expected_utility.float())
    assert best.equal(expected_best)
