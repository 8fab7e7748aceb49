import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chart.charts import charts, clean, random_tree
from treecrf.chart import naive, torch_backend
from treecrf.chart.crf import SpanCRF, margin_loss

close = torch.testing.assert_close
LABELS = 3


@given(charts(max_words=7))
@settings(max_examples=60)
def test_log_partition_and_marginals_are_sums_over_all_trees(chart):
    scores, lengths = chart
    crf = SpanCRF(scores, lengths)
    close(crf.log_partition, naive.log_partition(clean(scores, lengths), lengths))
    close(crf.marginals, naive.marginals(clean(scores, lengths), lengths))


@given(charts(max_words=6, constrained=True))
@settings(max_examples=40)
def test_allowed_conditions_all_quantities(chart):
    scores, lengths = chart
    allowed = scores > -torch.inf
    filler = torch.randn(scores.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    free = torch.where(allowed, clean(scores, lengths), filler)
    crf, constrained = SpanCRF(free, lengths), SpanCRF(free, lengths, allowed=allowed)
    for b, length in enumerate(lengths.tolist()):
        all_trees, totals = naive.tree_scores(free[b], length)
        is_allowed = (~all_trees | allowed[b]).all(-1).all(-1)
        probability = totals.softmax(0)[is_allowed].sum()
        close((constrained.log_partition - crf.log_partition)[b].exp(), probability)
        assert torch.equal(constrained.argmax[b], all_trees[is_allowed][0])
        assert torch.equal(crf.argmax[b], all_trees[0])
    assert not (constrained.mbr() & ~allowed).any()
    assert not (constrained.sample(5) & ~allowed).any()
    close(constrained.log_prob(constrained.argmax), constrained.score(constrained.argmax) - constrained.log_partition)


@given(charts(max_words=6))
@settings(max_examples=40)
def test_mbr_maximizes_the_sum_of_marginals(chart):
    scores, lengths = chart
    crf = SpanCRF(scores, lengths)
    tree = crf.mbr()
    for b, length in enumerate(lengths.tolist()):
        all_trees, _ = naive.tree_scores(clean(scores, lengths)[b], length)
        gains = (all_trees * crf.marginals[b]).sum((-1, -2))
        close((tree[b] * crf.marginals[b]).sum(), gains.max())
        assert (all_trees == tree[b]).all(-1).all(-1).any()


@given(charts(max_words=6), charts(max_words=6))
@settings(max_examples=30)
def test_cross_entropy_and_kl_are_expectations_over_trees(first, second):
    scores, lengths = first
    generator = torch.Generator().manual_seed(len(second[1]))
    other = torch.randn(scores.shape, generator=generator, dtype=torch.float64)
    p, q = SpanCRF(scores, lengths), SpanCRF(other, lengths)
    for b, length in enumerate(lengths.tolist()):
        all_trees, totals = naive.tree_scores(clean(scores, lengths)[b], length)
        log_p = totals.log_softmax(0)
        log_q = (all_trees * other[b]).sum((-1, -2)) - q.log_partition[b]
        close(p.cross_entropy(q)[b], -(log_p.exp() * log_q).sum())
        close(p.kl(q)[b], (log_p.exp() * (log_p - log_q)).sum(), atol=1e-9, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*arg_constraints:UserWarning")
@pytest.mark.parametrize("longest", [1, 2, 17, 60])
def test_results_match_torch_struct_on_ragged_batches(longest):
    torch_struct = pytest.importorskip("torch_struct")
    generator = torch.Generator().manual_seed(longest)
    lengths = torch.randint(1, longest + 1, (6,), generator=generator)
    lengths[0] = longest
    scores = torch.randn(6, longest + 1, longest + 1, generator=generator)
    reference = torch_struct.TreeCRF(scores[:, :-1, 1:, None].clone(), lengths=lengths)
    crf = SpanCRF(scores, lengths)
    close(crf.log_partition, reference.partition, atol=1e-4, rtol=1e-5)
    close(crf.marginals[:, :-1, 1:], reference.marginals[..., 0], atol=1e-4, rtol=1e-4)
    close(crf.argmax[:, :-1, 1:].float(), reference.argmax[..., 0])


@pytest.mark.parametrize("score", [0.0, 1e4, -1e4])
def test_with_equal_scores_log_z_is_the_log_number_of_trees(score):
    lengths = torch.tensor([1, 2, 3, 10, 100])
    crf = SpanCRF(torch.full((5, 101, 101), score, dtype=torch.float64), lengths)
    catalan = [math.log(math.comb(2 * n - 2, n - 1) // n) for n in lengths.tolist()]
    close(
        crf.log_partition - score * (2 * lengths - 1), torch.tensor(catalan, dtype=torch.float64), atol=1e-6, rtol=1e-9
    )
    close(crf.entropy, torch.tensor(catalan, dtype=torch.float64), atol=1e-6, rtol=1e-9)


def test_huge_scores_and_long_sentences_are_finite_and_exact():
    generator = torch.Generator().manual_seed(0)
    scores = (torch.rand(2, 401, 401, generator=generator) * 2 - 1) * 1e4
    lengths = torch.tensor([400, 257])
    crf, exact = SpanCRF(scores, lengths), SpanCRF(scores.double(), lengths)
    close(crf.log_partition.double(), exact.log_partition, rtol=1e-6, atol=0)
    close(crf.marginals.double(), exact.marginals, atol=1e-4, rtol=1e-4)
    assert torch.isfinite(crf.marginals).all()
    assert (crf.log_prob(crf.argmax) <= 1e-3).all()
    assert (crf.log_prob(crf.sample(2)) <= 1e-3).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_scores_are_summed_in_full_precision(dtype):
    scores = torch.randn(3, 31, 31).to(dtype)
    half, full = SpanCRF(scores, [30, 20, 1]), SpanCRF(scores.float(), [30, 20, 1])
    assert half.log_partition.dtype == half.marginals.dtype == torch.float32
    close(half.log_partition, full.log_partition)
    close(half.marginals, full.marginals)


def test_trees_can_be_passed_to_log_prob():
    crf = SpanCRF(torch.randn(4, 8, 8), [7, 5, 2, 1])
    assert crf.log_prob(crf.argmax).shape == (4,)
    assert crf.log_prob(crf.sample(6)).shape == (6, 4)
    assert crf.log_prob(crf.kbest(1)[1])[0].tolist() == crf.log_prob(crf.argmax).tolist()
    assert (crf.log_prob(crf.argmax) <= 1e-6).all()


INVALID_CALLS = {
    "sentence 1: length 5; expected 1 to 4": lambda s: SpanCRF(s, [4, 5]),
    "sentence 0: length 0": lambda s: SpanCRF(s, [0, 4]),
    r"sentence 1: the score of span \(0, 2\) is nan": lambda s: SpanCRF(
        s.index_put((torch.tensor(1), torch.tensor(0), torch.tensor(2)), torch.tensor(torch.nan)), [4, 3]
    ),
    r"sentence 0: the score of span \(1, 4\) is inf": lambda s: SpanCRF(
        s.index_put((torch.tensor(0), torch.tensor(1), torch.tensor(4)), torch.tensor(torch.inf)), [4, 3]
    ),
    r"scores are \(0, 5, 5\); expected": lambda s: SpanCRF(s[:0], []),
    r"scores are \(2, 1, 1\); expected": lambda s: SpanCRF(s[:, :1, :1], [1, 1]),
    r"of torch.float32; expected integers": lambda s: SpanCRF(s, torch.tensor([4.0, 3.0])),
    r"allowed are \(5, 5\)": lambda s: SpanCRF(s, [4, 3], allowed=s[0] > 0),
    r"scores are \(2, 5, 5\) of torch.int64; expected floating point": lambda s: SpanCRF(s.long(), [4, 3]),
    r"scores are \(2, 5, 4\); expected \(..., n \+ 1, n \+ 1\)": lambda s: SpanCRF(s[..., :4], [4, 3]),
    r"lengths are \(1,\) of torch.int64; expected integers .* of the batch, \(\)": lambda s: SpanCRF(s[0], [4]),
    r"expected integers of the shape of the batch, \(2,\)": lambda s: SpanCRF(s, [4]),
    r"allowed are .* expected torch.bool of the shape \(2, 5, 5\)": lambda s: SpanCRF(s, [4, 3], allowed=s),
    "sentence 1: the allowed spans form no tree": lambda s: (
        SpanCRF(s, [4, 3], allowed=torch.ones_like(s).bool().index_fill(0, torch.tensor(1), False)).argmax
    ),
    "sentence 1: the allowed spans form no": lambda s: (
        SpanCRF(s, [4, 3], split_scores=torch.zeros(2, 5, 5, 5).index_fill(0, torch.tensor(1), -torch.inf)).argmax
    ),
    "sentence 0: 5 spans that are not a binary tree over 4 words": lambda s: SpanCRF(s, [4, 3]).log_prob(
        SpanCRF(s, [3, 3]).argmax
    ),
    r"trees are \(5, 5\)": lambda s: SpanCRF(s, [4, 3]).log_prob(SpanCRF(s, [4, 3]).argmax[0]),
    "the other distribution is SpanCRF": lambda s: SpanCRF(s, [4, 3]).kl(SpanCRF(s, [4, 4])),
    "split_scores have NaN or inf": lambda s: SpanCRF(s, [4, 3], split_scores=torch.full((2, 5, 5, 5), torch.nan)),
    r"split_scores are .* of the shape \(2, 5, 5, 5\)": lambda s: SpanCRF(s, [4, 3], split_scores=s),
    "k is 0": lambda s: SpanCRF(s, [4, 3]).kbest(0),
}


@pytest.mark.parametrize("message", INVALID_CALLS)
def test_an_error_for_bad_input_names_the_sentence_and_the_reason(message):
    with pytest.raises(ValueError, match=message):
        INVALID_CALLS[message](torch.randn(2, 5, 5))


def test_lengths_and_scores_may_be_views():
    scores = torch.randn(1, 6, 6).expand(2, 6, 6)
    views = SpanCRF(scores, torch.tensor([5, 0, 3, 0])[::2])
    copies = SpanCRF(scores.contiguous(), [5, 3])
    close(views.log_partition, copies.log_partition)
    close(views.marginals, copies.marginals)
    assert views.lengths.is_contiguous()


def test_nan_outside_the_sentences_is_ignored():
    scores = torch.randn(2, 5, 5)
    scores[1, :, 4] = torch.nan
    assert torch.isfinite(SpanCRF(scores, [4, 3]).log_partition).all()


def test_crossing_spans_are_not_a_tree():
    trees = torch.zeros(1, 5, 5, dtype=torch.bool)
    trees[0, [0, 1, 2, 3, 0, 1, 0], [1, 2, 3, 4, 2, 3, 4]] = True
    with pytest.raises(ValueError, match="sentence 0: 7 spans that are not a binary tree over 4 words"):
        SpanCRF(torch.zeros(1, 5, 5), [4]).log_prob(trees)


@pytest.mark.parametrize("lengths", [[1], [2, 3], [5, 4]], ids=str)
@pytest.mark.parametrize("is_constrained", [False, True])
def test_scores_of_splits_condition_all_quantities(lengths, is_constrained):
    generator = torch.Generator().manual_seed(len(lengths))
    size = max(lengths) + 2
    scores, split_scores = (torch.randn(len(lengths), *[size] * n, generator=generator).double() for n in (2, 3))
    if is_constrained:
        split_scores = split_scores.masked_fill(torch.rand(split_scores.shape, generator=generator) < 0.2, -torch.inf)
        split_scores[:, 0] = 0.0  # left-branching splits stay allowed
    is_split = torch_backend.splits(torch_backend.span_mask(torch.tensor(lengths), size))
    crf = SpanCRF(scores, lengths, split_scores=split_scores.where(is_split, torch.nan))
    other = SpanCRF(scores.flip(0), lengths, split_scores=torch.randn(split_scores.shape, generator=generator).double())
    samples = crf.sample(3000, generator=generator)
    values, best = crf.kbest(3)
    for b, length in enumerate(lengths):
        trees, totals = naive.tree_scores(scores[b], length, split_scores[b])
        log_probs = totals.log_softmax(0)
        charts = crf.argmax.expand(len(trees), *crf.argmax.shape).clone()
        charts[:, b] = trees
        close(crf.log_partition[b], totals.logsumexp(0))
        close(crf.log_prob(charts)[:, b], log_probs)
        close(crf.marginals[b], torch.einsum("t,tij->ij", log_probs.exp(), trees.double()))
        splits = torch_backend.splits(trees).double()
        close(crf.split_marginals[b], torch.einsum("t,tikj->ikj", log_probs.exp(), splits))
        close(crf.entropy[b], -(log_probs.exp() * log_probs).sum())
        close(crf.kl(other)[b], (log_probs.exp() * (log_probs - other.log_prob(charts)[:, b])).sum())
        assert torch.equal(crf.argmax[b], trees[0])
        expected = (trees * crf.marginals[b]).sum((-1, -2))
        close((crf.mbr()[b] * crf.marginals[b]).sum(), expected.max())
        count = min(3, len(trees))
        close(values[:count, b], totals[:count])
        assert torch.equal(best[:count, b], trees[:count])
        frequency = torch.stack([(samples[:, b] == tree).flatten(1).all(1).double().mean() for tree in trees])
        close(frequency, log_probs.exp(), atol=0.04, rtol=0)


@pytest.mark.parametrize("quantity", ["log_partition", "marginals", "split_marginals", "entropy"])
def test_derivatives_with_scores_of_splits_equal_finite_differences(quantity):
    generator = torch.Generator().manual_seed(0)
    scores, split_scores = (
        torch.randn(2, *[5] * n, generator=generator, dtype=torch.float64).requires_grad_() for n in (2, 3)
    )

    def compute(spans, splits):
        return getattr(SpanCRF(spans, [4, 3], split_scores=splits), quantity)

    assert torch.autograd.gradcheck(compute, (scores, split_scores), fast_mode=True)
    assert torch.autograd.gradgradcheck(compute, (scores, split_scores), fast_mode=True)


def test_the_splits_of_a_distribution_without_scores_of_splits_have_marginals():
    crf = SpanCRF(torch.randn(2, 6, 6).double(), [5, 4])
    close(crf.split_marginals.sum(2).triu(2), crf.marginals.triu(2))


def best_augmented_score(scores, gold, length, margin):
    """The best cost-augmented score, by enumeration of all trees with the best label of each span."""
    is_gold_label = torch.nn.functional.one_hot(gold.clamp(min=0), LABELS).bool() & (gold >= 0)[..., None]
    augmented = torch.where(is_gold_label, scores, scores + margin).amax(-1)
    return naive.tree_scores(augmented, length)[1].max()


@given(st.integers(1, 6), st.integers(0, 10_000), st.sampled_from([0.0, 1.0, 2.5]))
@settings(max_examples=30)
def test_margin_loss_is_the_worst_violation_over_all_labeled_trees(length, seed, margin):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(1, length + 1, length + 1, LABELS, generator=generator, dtype=torch.float64)
    labels = torch.randint(LABELS, (length + 1, length + 1), generator=generator)
    gold = torch.where(random_tree(length, length + 1, generator), labels, -1)
    best = best_augmented_score(scores[0], gold, length, margin)
    is_gold = gold >= 0
    gold_score = scores[0].gather(-1, gold.clamp(min=0)[..., None])[..., 0][is_gold].sum()
    loss = margin_loss(scores, torch.tensor([length]), gold[None], margin=margin)
    torch.testing.assert_close(loss[0], (best - gold_score).clamp(min=0), atol=1e-5, rtol=1e-6)


def test_gradient_raises_the_gold_tree_and_lowers_the_best_other_tree():
    scores = torch.zeros(1, 3, 3, LABELS, requires_grad=True)
    gold = torch.tensor([[[-1, 0, 1], [-1, -1, 2], [-1, -1, -1]]])
    loss = margin_loss(scores, torch.tensor([2]), gold)
    loss.sum().backward()
    assert scores.grad is not None
    assert loss.item() == 3.0
    assert scores.grad[0, 0, 1, 0] == scores.grad[0, 0, 2, 1] == scores.grad[0, 1, 2, 2] == -1.0
    assert scores.grad.sum().item() == 0.0


def test_sample_frequencies_match_the_probabilities():
    generator = torch.Generator().manual_seed(4)
    lengths = torch.tensor([5, 3, 1])
    crf = SpanCRF(torch.randn(3, 6, 6, generator=generator), lengths)
    trees = crf.sample(20_000, generator=generator)
    close(trees.float().mean(0), crf.marginals, atol=0.015, rtol=0)
    for b, length in enumerate(lengths.tolist()):
        all_trees, totals = naive.tree_scores(crf.scores[b], length)
        frequency = torch.stack([(trees[:, b] == tree).all(-1).all(-1).float().mean() for tree in all_trees])
        close(frequency, totals.softmax(0), atol=0.015, rtol=0)


def test_equal_generators_give_equal_samples():
    crf = SpanCRF(torch.randn(2, 9, 9), [8, 6])
    first, second = (crf.sample(3, generator=torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first, second)


def test_batches_may_have_two_dimensions():
    scores, split_scores = torch.randn(2, 3, 5, 5), torch.randn(2, 3, 5, 5, 5)
    lengths = torch.tensor([[4, 3, 2], [1, 4, 3]])
    crf = SpanCRF(scores, lengths, split_scores=split_scores)
    flat = SpanCRF(scores.flatten(0, 1), lengths.flatten(), split_scores=split_scores.flatten(0, 1))
    for name in ("log_partition", "entropy", "marginals", "argmax", "split_marginals"):
        close(getattr(crf, name).flatten(0, 1), getattr(flat, name))
    close(crf.log_prob(crf.argmax).flatten(), flat.log_prob(flat.argmax))
    close(crf.cross_entropy(crf), crf.entropy)
    assert crf.event_shape == (5, 5) and crf.sample(7).shape == (7, 2, 3, 5, 5)
