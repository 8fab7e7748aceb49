"""The interface of torch.distributions, for both distributions over trees."""

import numpy as np
import pytest
import torch
from torch.distributions import Distribution, kl_divergence

from treecrf.chart.crf import SpanCRF
from treecrf.chart.distribution import first_invalid_tree
from treecrf.chart.tree_crf import TreeCRF

close = torch.testing.assert_close
LENGTHS = torch.tensor([[4, 3, 1], [2, 4, 4]])
IS_CONSTITUENT = torch.tensor([True, False, True])


def random_scores(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def span_crf(seed: int = 0, **options: object) -> SpanCRF:
    return SpanCRF(random_scores(2, 3, 5, 5, seed=seed), LENGTHS, **options)


def anchored_crf(seed: int = 0) -> SpanCRF:
    return span_crf(seed, split_scores=random_scores(2, 3, 5, 5, 5, seed=seed + 100))


def tree_crf(seed: int = 0, **options: object) -> TreeCRF:
    labels = random_scores(2, 3, 5, 5, 3, seed=seed + 1)
    return TreeCRF(random_scores(2, 3, 5, 5, seed=seed), labels, LENGTHS, is_constituent=IS_CONSTITUENT, **options)


DISTRIBUTIONS = {"spans": span_crf, "anchored": anchored_crf, "labels": tree_crf}
every_distribution = pytest.mark.parametrize("create", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)


def quantities(crf: SpanCRF | TreeCRF) -> list[torch.Tensor]:
    """Results that begin with the dimensions of the batch."""
    return [crf.log_partition, crf.marginals, crf.argmax, crf.mbr(), crf.entropy, crf.log_prob(crf.argmax)]


@every_distribution
def test_a_batch_has_any_number_of_dimensions(create):
    crf = create()
    assert isinstance(crf, Distribution)
    assert (crf.batch_shape, crf.event_shape) == ((2, 3), (5, 5))
    for row in range(2):
        for column in range(3):
            alone = crf[row, column]
            assert alone.batch_shape == ()
            for result, expected in zip(quantities(crf), quantities(alone), strict=True):
                close(result[row, column], expected)
            for result, expected in zip(crf.kbest(3), alone.kbest(3), strict=True):
                close(result[:, row, column], expected)


@every_distribution
@pytest.mark.parametrize("index", [0, (slice(None), 1), (..., 2), torch.tensor([1, 0, 1]), (None, 1)], ids=str)
def test_an_index_selects_sentences(create, index):
    crf = create()
    assert crf[index].batch_shape == LENGTHS[index].shape
    close(crf[index].log_partition, crf.log_partition[index])


@every_distribution
def test_an_index_of_an_event_is_an_error(create):
    with pytest.raises(IndexError, match="too many indices"):
        create()[0, 0, 0]


@every_distribution
def test_a_larger_batch_repeats_a_smaller_one(create):
    crf = create()
    larger = crf.expand((4, 2, 3))
    assert larger.batch_shape == (4, 2, 3)
    for result, expected in zip(quantities(larger), quantities(crf), strict=True):
        close(result, expected.expand(4, *expected.shape))


@every_distribution
def test_a_distribution_changes_its_type_and_device(create):
    crf = create()
    single = crf.to(torch.float32)
    assert single.log_partition.dtype == torch.float32 != crf.log_partition.dtype
    close(single.log_partition, crf.log_partition.float())
    assert crf.to(device="meta").lengths.device.type == "meta"


@every_distribution
@pytest.mark.parametrize("shape", [(), (2,), (2, 5), torch.Size([1, 1])], ids=str)
def test_samples_have_the_shapes_of_sample_batch_and_event(create, shape):
    crf = create()
    samples = crf.sample(shape, generator=torch.Generator().manual_seed(0))
    assert samples.shape == (*shape, 2, 3, 5, 5)
    assert crf.log_prob(samples).shape == (*shape, 2, 3)
    assert crf.log_prob(samples).isfinite().all()
    assert crf.sample(4).shape == (4, 2, 3, 5, 5)


@every_distribution
def test_torch_knows_the_divergence(create):
    p, q = create(0), create(50)
    close(kl_divergence(p, q), p.kl(q))
    assert ((p.kl(q) > 1e-9) == ((0 if create is tree_crf else 2) < LENGTHS)).all()  # two words have one binary tree
    close(kl_divergence(p, p), torch.zeros(2, 3, dtype=torch.float64))


def test_distributions_of_different_trees_have_no_divergence():
    with pytest.raises(NotImplementedError):
        kl_divergence(span_crf(), tree_crf())


def test_a_distribution_is_printed_with_its_batch():
    assert repr(span_crf()) == "SpanCRF(batch_shape=(2, 3), words=4, device=cpu)"
    assert repr(tree_crf()[0, 0]) == "TreeCRF(batch_shape=(), words=4, device=cpu)"


@every_distribution
def test_the_mode_is_the_most_probable_tree(create):
    crf = create()
    assert torch.equal(crf.mode, crf.argmax)
    close(crf.kbest(1)[1][0], crf.argmax)


def test_an_array_is_an_error_that_says_how_to_convert_it():
    scores = np.zeros((1, 3, 3))
    with pytest.raises(TypeError, match=r"scores are ndarray; .* as torch.as_tensor\(scores\) gives"):
        SpanCRF(scores, [2])
    with pytest.raises(TypeError, match="label_scores are ndarray"):
        TreeCRF(torch.zeros(1, 3, 3), np.zeros((1, 3, 3, 2)), [2], is_constituent=[True, False])


@pytest.mark.parametrize("quantity", ["log_partition", "entropy"])
@pytest.mark.parametrize("kind", ["spans", "labels"])
def test_functional_transforms_equal_autograd(kind, quantity):
    scores, labels = random_scores(3, 2, 5, 5), random_scores(3, 2, 5, 5, 3, seed=1)

    def compute(chart: torch.Tensor, label_chart: torch.Tensor) -> torch.Tensor:
        options = {"is_constituent": IS_CONSTITUENT, "validate": False}
        spans = SpanCRF(chart, [4, 3], validate=False)
        return getattr(spans if kind == "spans" else TreeCRF(chart, label_chart, [4, 3], **options), quantity).sum()

    gradients = torch.func.vmap(torch.func.grad(compute))(scores, labels)
    for item in range(3):
        leaf = scores[item].clone().requires_grad_()
        (expected,) = torch.autograd.grad(compute(leaf, labels[item]), leaf, create_graph=True)
        close(gradients[item], expected.detach())
        close(torch.func.grad(compute)(scores[item], labels[item]), expected.detach())
    expected = torch.autograd.functional.hessian(lambda chart: compute(chart, labels[0]), scores[0])
    close(torch.func.jacrev(torch.func.grad(compute))(scores[0], labels[0]), expected)


def test_marginals_have_a_gradient_if_they_are_asked_for_first():
    scores = random_scores(1, 4, 4).requires_grad_()
    SpanCRF(scores, [3]).marginals[0, 0, 2].backward()
    p = SpanCRF(scores.detach(), [3]).marginals[0, 0, 2]
    expected = torch.zeros(1, 4, 4, dtype=torch.float64)
    expected[0, 0, 2], expected[0, 1, 3] = p * (1 - p), -p * (1 - p)  # one of the two spans is in the tree
    close(scores.grad, expected)


QUANTITIES = ("log_partition", "marginals", "entropy", "argmax", "mbr")


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("kind", ["spans", "trees"])
def test_vmap_without_gradients_equals_a_loop(kind, quantity):
    scores, labels = random_scores(3, 5, 5), random_scores(3, 5, 5, 3)
    options = {"is_constituent": torch.tensor([True, False, True]), "validate": False}

    def compute(chart, label_chart):
        spans = SpanCRF(chart, 4, validate=False)
        value = getattr(spans if kind == "spans" else TreeCRF(chart, label_chart, 4, **options), quantity)
        return value() if callable(value) else value

    close(torch.func.vmap(compute)(scores, labels), torch.stack(list(map(compute, scores, labels))))


@pytest.mark.parametrize("method", [SpanCRF.sample, lambda crf: crf.kbest(2)])
def test_samples_and_the_best_trees_inside_vmap_are_errors_that_say_what_to_use(method):
    scores = random_scores(3, 5, 5)
    with pytest.raises(RuntimeError, match=r"torch\.func.*; give the distribution one more batch dimension"):
        torch.func.vmap(lambda chart: method(SpanCRF(chart, 4, validate=False)), randomness="different")(scores)


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # PyTorch's forward mode calls it
def test_forward_mode_is_an_error_that_says_what_to_use():
    with pytest.raises(NotImplementedError, match=r"use torch.func.jacrev\(torch.func.grad\(f\)\)"):
        torch.func.hessian(lambda chart: SpanCRF(chart, 4, validate=False).log_partition)(random_scores(5, 5))


def test_values_are_not_checked_inside_vmap():
    with pytest.raises(RuntimeError, match=r"inside torch.func.vmap; pass validate=False"):
        torch.func.vmap(lambda chart: SpanCRF(chart, [4, 3]).log_partition)(random_scores(3, 2, 5, 5))


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_scores_inside_sentences_are_numbers(value):
    scores = random_scores(2, 3, 5, 5)
    assert not SpanCRF(scores, LENGTHS)._is_constrained
    scores[0, 1, 0, 2] = -torch.inf
    assert SpanCRF(scores, LENGTHS)._is_constrained
    scores[0, 1, 3, 4] = scores[1, 0, 2, 1] = value  # outside the sentences
    assert SpanCRF(scores, LENGTHS).log_partition.isfinite().all()
    scores[0, 1, 1, 3] = value
    with pytest.raises(ValueError, match=rf"sentence 0, 1: the score of span \(1, 3\) is {value}; expected a finite"):
        SpanCRF(scores, LENGTHS)


def test_a_sentence_without_a_tree_is_named_by_its_place_in_the_batch():
    allowed = torch.ones(2, 3, 5, 5, dtype=torch.bool)
    allowed[1, 2] = False
    with pytest.raises(ValueError, match="sentence 1, 2: the allowed spans form no tree; allow more spans"):
        _ = span_crf(allowed=allowed).log_partition


def test_a_length_beyond_the_chart_is_an_error():
    with pytest.raises(ValueError, match="length 3; expected 1 to 2"):
        SpanCRF(torch.zeros(1, 3, 3), torch.tensor([3]))


@pytest.mark.parametrize(
    ("removed", "added"), [((1, 3), None), (None, (0, 2)), ((0, 1), (0, 2)), ((0, 1), None), ((2, 3), (3, 4))], ids=str
)
def test_spans_that_cross_are_missing_or_outside_are_no_tree(removed, added):
    charts = torch.zeros(3, 5, 5, dtype=torch.bool)
    for start, end in ((0, 1), (1, 2), (2, 3), (1, 3), (0, 3)):
        charts[:, start, end] = True
    lengths = torch.tensor([3, 3, 3])
    assert first_invalid_tree(charts, lengths) is None
    for span, value in ((removed, False), (added, True)):
        if span is not None:
            charts[1:, span[0], span[1]] = value
    assert first_invalid_tree(charts, lengths) == 1
