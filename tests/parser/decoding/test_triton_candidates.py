"""The kernels that find candidates, compared with the host."""

import numpy as np
import pytest
import torch

from kernels import DEVICE
from parser.decoding import label_grammars
from parser.decoding.random_scores import random_scores
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding import expected_f1
from treecrf.parser.decoding.grammar import Grammar
from treecrf.parser.decoding.label_grammar import CandidateSpans

triton_candidates = pytest.importorskip("treecrf.parser.decoding.triton_candidates", reason="Triton is not installed")

LENGTHS = [7, 1, 12, 3, 2, 20]
UTILITY = label_grammars.with_grammar(Grammar(label_grammars.COUNTS))


def random_marginals(generator: np.random.Generator, scores: Scores, share: float) -> np.ndarray:
    """Numbers between 0 and 1 for a share of all spans, and 1 for whole sentences; not of any distribution."""
    marginals = np.where(generator.random(scores.spans.shape) < share, generator.random(scores.spans.shape), 0.0)
    marginals[np.arange(len(LENGTHS)), 0, LENGTHS] = 1.0
    return (marginals * scores.is_span).astype(np.float32)


def find_on_device(scores: Scores, marginals: np.ndarray) -> "triton_candidates.Candidates":
    def labels_at(cells: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(scores.labels_at(cells.cpu().clamp(min=0).numpy())).to(DEVICE)

    common, counts = (torch.from_numpy(array).float().to(DEVICE) for array in (UTILITY.common, UTILITY.counts))
    return triton_candidates.find_candidates(
        torch.from_numpy(marginals).double().to(DEVICE),
        torch.tensor(LENGTHS, device=DEVICE),
        sum(LENGTHS),
        labels_at,
        torch.from_numpy(scores.tags).to(DEVICE),
        triton_candidates.CandidateUtility(UTILITY.threshold, common, counts),
    )


def assert_equal(actual: "triton_candidates.Candidates", expected: CandidateSpans) -> None:
    count = int(actual.counts.sum())
    assert count == len(expected.cells) and (actual.cells[count:] == -1).all()
    np.testing.assert_array_equal(actual.cells[:count].cpu(), expected.cells)
    np.testing.assert_array_equal(actual.labels[:count].cpu(), expected.labels)
    np.testing.assert_array_equal(actual.sentence_labels.cpu(), expected.sentence_labels)
    np.testing.assert_allclose(actual.utility[:count].cpu(), expected.utility, atol=1e-6)
    assert actual.is_finite.item() == 1


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_candidates_are_the_candidates_of_the_host(seed: int, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_candidates, "CELLS", 64)  # a program reads a chart in several blocks
    scores = random_scores(LENGTHS, labels=len(label_grammars.LABELS), tags=3, seed=seed, scale=2.0)
    marginals = random_marginals(np.random.default_rng(seed), scores, share)
    expected = expected_f1.find_candidates(scores, marginals, UTILITY)
    assert_equal(find_on_device(scores, marginals), expected)


def test_equal_marginals_beyond_the_limit_are_left_out_from_the_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_candidates, "CELLS", 64)
    scores = random_scores(LENGTHS, labels=len(label_grammars.LABELS), tags=3)
    marginals = (0.5 * scores.is_span).astype(np.float32)
    marginals[:, :2] *= 1.5
    expected = expected_f1.find_candidates(scores, marginals, UTILITY)
    whole = np.isin(np.arange(len(LENGTHS)) * 21**2 + LENGTHS, expected.cells)
    assert whole.all()
    assert_equal(find_on_device(scores, marginals), expected)


def test_the_best_tags_are_the_tags_of_the_host() -> None:
    scores = random_scores(LENGTHS, labels=len(label_grammars.LABELS), tags=3, scale=3.0)
    found = find_on_device(scores, (1.0 * scores.is_span).astype(np.float32))
    assert scores.word_tags is not None
    order = np.argsort(-scores.word_tags, -1, kind="stable")
    np.testing.assert_array_equal(found.tags.cpu(), order)
    ranked = np.take_along_axis(scores.word_tags, order, -1)
    np.testing.assert_allclose(found.odds.cpu(), ranked - ranked[:, :1], atol=1e-6)


@pytest.mark.parametrize("damage", [np.nan, np.inf, -np.inf])
def test_label_scores_that_are_not_finite_are_noticed(damage: float) -> None:
    scores = random_scores(LENGTHS, labels=len(label_grammars.LABELS), tags=3)
    labels = scores.labels_at(np.arange(scores.spans.size))
    labels[LENGTHS[0], 2] = damage
    table = type(scores)(
        is_crf=True,
        lengths=scores.lengths,
        spans=scores.spans,
        score_labels=lambda cells: labels[cells],
        tags=scores.tags,
    )
    marginals = (1.0 * scores.is_span).astype(np.float32)
    assert find_on_device(table, marginals).is_finite.item() == 0
