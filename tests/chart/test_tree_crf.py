"""The labeled distribution, compared with the enumeration of all trees."""

import math

import pytest
import torch

from kernels import DEVICE
from treecrf.chart import dispatch, naive, torch_backend
from treecrf.chart.tree_crf import TreeCRF

LABELS = 4
IS_CONSTITUENT = torch.tensor([True, False, True, False])
BATCHES = [[1], [2], [3, 1], [4, 2]]
close = torch.testing.assert_close


def random_crf(lengths: list[int], seed: int = 0, device: str = "cpu", **options: object) -> TreeCRF:
    generator = torch.Generator().manual_seed(seed)
    size = max(lengths) + 2  # the last column belongs to no sentence
    spans = torch.randn(len(lengths), size, size, generator=generator, dtype=torch.float64)
    labels = 2 * torch.randn(*spans.shape, LABELS, generator=generator, dtype=torch.float64)
    return TreeCRF(spans.to(device), labels.to(device), lengths, is_constituent=IS_CONSTITUENT.to(device), **options)


def enumerate_trees(crf: TreeCRF, sentence: int) -> tuple[torch.Tensor, torch.Tensor]:
    """All trees of a sentence, and their scores by the definition: the potentials of the left-binarized derivation."""
    length, size = int(crf.lengths[sentence]), crf.potentials.shape[1]
    trees = naive.labeled_trees(length, size, [0, 2])
    free = crf.potentials[sentence][..., [1, 3]].logsumexp(-1)
    return trees, torch.stack([derivation_score(tree, crf.potentials[sentence], free, length) for tree in trees])


def derivation_score(tree: torch.Tensor, potentials: torch.Tensor, free: torch.Tensor, length: int) -> torch.Tensor:
    constituents = {(i, j): int(tree[i, j]) for i, j in (tree >= 0).nonzero().tolist()}
    total = torch.zeros((), dtype=torch.float64)

    def visit(start: int, end: int) -> None:
        nonlocal total
        total = total + (
            potentials[start, end, constituents[start, end]] if (start, end) in constituents else free[start, end]
        )
        ends = children(start, end)
        for first, last in zip([start, *ends], [*ends, end], strict=True) if ends else ():
            if (first, last) in constituents or last == first + 1:
                visit(first, last)
        for last in ends[1:]:  # the first two children, the first three, and so on
            total = total + free[start, last]

    def children(start: int, end: int) -> list[int]:
        """The inner boundaries of the children of a span."""
        inner = {(i, j) for i, j in constituents if start <= i and j <= end and (i, j) != (start, end)}
        highest = {(i, j) for i, j in inner if not any((p, q) != (i, j) and p <= i and j <= q for p, q in inner)}
        covered = {word for i, j in highest for word in range(i, j)}
        spans = sorted(highest | {(word, word + 1) for word in range(start, end) if word not in covered})
        return [end for _, end in spans[:-1]]

    visit(0, length)
    return total


@pytest.mark.parametrize("lengths", BATCHES, ids=str)
@pytest.mark.parametrize("normalize_labels", [True, False])
@pytest.mark.parametrize("backend", ["compiled", "torch", "triton"])
def test_all_quantities_equal_sums_over_all_trees(lengths, normalize_labels, backend, monkeypatch):
    use_backend(backend, monkeypatch)
    device = DEVICE if backend == "triton" else "cpu"
    options = {"normalize_labels": normalize_labels}
    # the interpreter of Triton would take minutes for the check of all trees
    crf = random_crf(lengths, device=device, validate=backend != "triton", **options)
    other = random_crf(lengths, seed=1, device=device)
    for sentence in range(len(lengths)):
        trees, scores = enumerate_trees(random_crf(lengths, **options), sentence)
        _, other_scores = enumerate_trees(random_crf(lengths, seed=1), sentence)
        trees, scores, other_scores = (tensor.to(device) for tensor in (trees, scores, other_scores))
        probabilities = scores.softmax(0)
        charts = torch.full((len(trees), len(lengths), *trees.shape[1:]), -1, device=device)
        charts[:, sentence] = trees
        close(crf.score(charts)[:, sentence], scores)
        close(crf.log_partition[sentence], scores.logsumexp(0))
        close(crf.log_prob(charts)[:, sentence].exp().sum(), torch.ones_like(scores.sum()))
        close(crf.entropy[sentence], -(probabilities * scores.log_softmax(0)).sum())
        difference = scores.log_softmax(0) - other_scores.log_softmax(0)
        close(crf.kl(other)[sentence], (probabilities * difference).sum())
        is_label = trees[..., None] == torch.arange(LABELS, device=device)
        marginals = torch.einsum("t,tijl->ijl", probabilities, is_label.double())
        close(crf.marginals[sentence], marginals)
        assert torch.equal(crf.argmax[sentence], trees[scores.argmax()])
        expected = (is_label * marginals).sum((-1, -2, -3))
        best = crf.mbr()[sentence][..., None] == torch.arange(LABELS, device=device)
        close((best * marginals).sum(), expected.max())


def test_five_words_have_the_probabilities_of_all_their_trees():
    generator = torch.Generator().manual_seed(0)
    spans, labels = (torch.randn(1, *shape, generator=generator, dtype=torch.float64) for shape in ((6, 6), (6, 6, 2)))
    crf = TreeCRF(spans, labels, [5], is_constituent=[True, False])
    trees = naive.labeled_trees(5, 6, [0])
    free = crf.potentials[0, ..., 1]
    scores = torch.stack([derivation_score(tree, crf.potentials[0], free, 5) for tree in trees])
    close(crf.log_prob(trees[:, None])[:, 0], scores.log_softmax(0))
    close(crf.entropy[0], -(scores.softmax(0) * scores.log_softmax(0)).sum())
    close(crf.marginals[0, ..., 0], torch.einsum("t,tij->ij", scores.softmax(0), (trees == 0).double()))
    assert torch.equal(crf.kbest(20)[1][:, 0], trees[scores.argsort(descending=True)[:20]])


@pytest.mark.parametrize("options", [{}, {"normalize_labels": True}, {"normalize_labels": False}], ids=str)
def test_a_potential_is_the_span_score_plus_the_label_score(options):
    spans, labels = torch.randn(1, 3, 3).double(), torch.randn(1, 3, 3, LABELS).double()
    potentials = TreeCRF(spans, labels, [2], is_constituent=IS_CONSTITUENT, **options).potentials
    label_score = labels[0, 0, 2].log_softmax(-1) if options.get("normalize_labels", True) else labels[0, 0, 2]
    close(potentials[0, 0, 2], (spans[0, 0, 2] + label_score).double())
    assert (potentials[0, 2, 0] == 0).all()


def test_the_k_best_trees_have_their_log_probabilities():
    crf = random_crf([3, 2])
    log_probs, trees = crf.kbest(3)
    close(log_probs, crf.log_prob(trees))
    assert torch.equal(crf.kbest(1)[1][0], crf.argmax)
    with pytest.raises(ValueError, match="k is 0; expected at least 1"):
        crf.kbest(0)


def test_a_right_child_of_two_words_is_a_constituent_of_the_best_tree_whatever_its_free_labels_score():
    scores = torch.zeros(1, 4, 4, 2)
    scores[0, 0, 2], scores[0, 1, 3] = torch.tensor([-9.0, -9.0]), torch.tensor([1.0, 5.0])
    scores[0, 0, 3, 0] = -9.0
    options = {"is_constituent": [True, False], "normalize_labels": False}
    crf = TreeCRF(torch.zeros(1, 4, 4), scores, [3], **options)
    assert (crf.argmax[0] >= 0).nonzero().tolist() == [[1, 3]]
    close(crf.score(crf.argmax), torch.tensor([1.0]))


def test_a_tree_without_inner_constituents_is_the_best_expectation_if_none_is_allowed():
    scores = torch.zeros(1, 4, 4, 2)
    scores[0, 0, 2, 0] = scores[0, 1, 3, 0] = -math.inf
    crf = TreeCRF(torch.zeros(1, 4, 4), scores, [3], is_constituent=[True, False], normalize_labels=False)
    assert (crf.mbr()[0] >= 0).nonzero().tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]


def test_labels_that_are_not_allowed_are_in_no_tree():
    allowed = torch.rand(1, 6, 6, LABELS, generator=torch.Generator().manual_seed(2)) < 0.7
    allowed[0, 0, 4] = torch.tensor([False, False, True, False])  # the whole sentence is a constituent with label 2
    crf = random_crf([4], allowed=allowed)
    trees, scores = enumerate_trees(crf, 0)
    close(crf.log_partition[0], scores.logsumexp(0))
    assert scores.max() > -math.inf == scores.min()
    assert torch.equal(crf.argmax[0], trees[scores.argmax()])
    close(crf.marginals[0, 0, 4, 2].item(), 1.0)
    assert (crf.marginals[~allowed] == 0).all()
    possible = trees[scores > -math.inf]
    expected = (crf.marginals[0] * (possible[..., None] == torch.arange(LABELS))).sum((-1, -2, -3))
    assert torch.equal(crf.mbr()[0], possible[expected.argmax()])
    close(crf.entropy[0], -torch.where(scores > -math.inf, scores.softmax(0) * scores.log_softmax(0), 0.0).sum())


def test_a_sentence_without_an_allowed_tree_is_an_error():
    allowed = torch.ones(2, 5, 5, LABELS, dtype=torch.bool)
    allowed[1, 0, 1] = False
    with pytest.raises(ValueError, match="sentence 1: the allowed labels form no tree"):
        _ = random_crf([3, 3], allowed=allowed).log_partition


INVALID_CALLS = {
    "trees have numbers that are not labels of constituents": lambda crf: crf.log_prob(torch.ones_like(crf.argmax)),
    r"trees are \(5, 5\) of torch.int64; expected labels .*, \(2, 5, 5\)": lambda crf: crf.score(crf.argmax[0]),
    "sentence 0: constituents that cross": lambda crf: crf.log_prob(
        crf.argmax.index_put((torch.tensor([0, 0]), torch.tensor([0, 1]), torch.tensor([2, 3])), torch.tensor(0))
    ),
    "constituents that cross or are outside": lambda crf: crf.log_prob(
        crf.argmax.index_put((torch.tensor(1), torch.tensor(1), torch.tensor(4)), torch.tensor(0))
    ),
    r"is_constituent are \(1, 4\) of torch.bool; expected torch.bool of the shape \(1,\)": lambda crf: TreeCRF(
        crf.span_scores, crf.label_scores, [3, 2], is_constituent=IS_CONSTITUENT[None]
    ),
    r"label_scores are .* of the shape \(2, 5, 5, 3\)": lambda crf: TreeCRF(
        crf.span_scores, crf.label_scores, [3, 2], is_constituent=[True, False, True]
    ),
    r"sentence 0: the score of span \(0, 1\) is nan": lambda crf: (
        TreeCRF(
            crf.span_scores,
            crf.label_scores.where(torch.tensor([False, True])[:, None, None, None], math.nan),
            [3, 2],
            is_constituent=IS_CONSTITUENT,
        ).log_partition
    ),
}

QUANTITIES = {
    "log_partition": lambda crf: crf.log_partition,
    "marginals": lambda crf: crf.marginals,
    "log_prob": lambda crf: crf.log_prob(crf.argmax),
    "entropy": lambda crf: crf.entropy,
    "kl": lambda crf: crf.kl(random_crf([3, 2], seed=5)),
}


@pytest.mark.parametrize("backend", ["compiled", "torch"])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_first_and_second_derivatives_equal_finite_differences(quantity, backend, monkeypatch):
    use_backend(backend, monkeypatch)
    generator = torch.Generator().manual_seed(4)
    spans = torch.randn(2, 5, 5, generator=generator, dtype=torch.float64).requires_grad_()
    labels = torch.randn(2, 5, 5, LABELS, generator=generator, dtype=torch.float64).requires_grad_()

    def compute(span_scores, label_scores):
        crf = TreeCRF(span_scores, label_scores, [3, 2], is_constituent=IS_CONSTITUENT)
        return QUANTITIES[quantity](crf)

    assert torch.autograd.gradcheck(compute, (spans, labels), fast_mode=True)
    assert torch.autograd.gradgradcheck(compute, (spans, labels), fast_mode=True)


def use_backend(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "triton":
        backend = pytest.importorskip("treecrf.chart.triton_backend", reason="Triton is not installed")
    else:
        backend = torch_backend
    if name != "compiled":
        monkeypatch.setattr(dispatch, "select_backend", lambda scores: backend)


@pytest.mark.parametrize("message", INVALID_CALLS)
def test_an_error_for_bad_input_says_what_was_expected(message):
    with pytest.raises(ValueError, match=message):
        INVALID_CALLS[message](random_crf([3, 2]))


def test_samples_have_the_probabilities_of_their_trees():
    crf = random_crf([3, 2])
    samples = crf.sample(4000, generator=torch.Generator().manual_seed(6))
    for sentence in range(2):
        trees, scores = enumerate_trees(crf, sentence)
        numbers = {tuple(tree.flatten().tolist()): number for number, tree in enumerate(trees)}
        counts = torch.zeros(len(trees), dtype=torch.float64)
        for tree in samples[:, sentence]:
            counts[numbers[tuple(tree.flatten().tolist())]] += 1
        expected = 4000 * scores.softmax(0)
        is_frequent = expected >= 5
        observed = torch.cat([counts[is_frequent], counts[~is_frequent].sum(0, keepdim=True)])
        expected = torch.cat([expected[is_frequent], expected[~is_frequent].sum(0, keepdim=True)])
        chi_square = ((observed - expected) ** 2 / expected).sum()
        degrees = len(expected) - 1
        assert chi_square < degrees + 4 * math.sqrt(2 * degrees)
