import numpy as np
import pytest
from hypothesis import given, settings

from chart.charts import charts, clean
from treecrf.chart import cpu_backend, naive, numpy_backend

close = np.testing.assert_allclose


def random_scores(*shape: int, seed: int = 0) -> np.ndarray:
    return 3 * np.random.default_rng(seed).standard_normal(shape)


def results(backend, scores, lengths):
    chart, log_z = backend.inside(scores, lengths)
    marginals = backend.outside(scores, lengths, chart)
    return log_z, marginals, backend.cky(scores, lengths)


@given(charts(max_words=6, right_scores=True))
@settings(max_examples=40)
def test_results_equal_the_enumeration_of_all_trees(chart):
    scores, lengths = clean(*chart), chart[1]
    log_z, marginals, trees = results(numpy_backend, chart[0].numpy(), lengths.numpy())
    close(log_z, naive.log_partition(scores, lengths).numpy(), rtol=1e-12, atol=1e-12)
    close(marginals, naive.marginals(scores, lengths).numpy(), rtol=1e-11, atol=1e-12)
    best = [naive.tree_scores(s, n)[0][0].numpy() for s, n in zip(scores, lengths.tolist(), strict=True)]
    assert np.array_equal(trees, best)


@given(charts(max_words=5))
@settings(max_examples=20)
def test_the_best_trees_equal_the_enumeration(chart):
    scores, lengths = clean(*chart), chart[1]
    totals, choices = numpy_backend.best_trees(scores.double().numpy()[..., None], lengths.numpy(), 3, None, None)
    for sentence, length in enumerate(lengths.tolist()):
        trees, expected = naive.tree_scores(scores[sentence], length)
        count = min(3, len(trees))
        close(totals[:count, sentence], expected.sort(descending=True).values[:count].numpy(), rtol=1e-12, atol=1e-12)
        assert (totals[count:, sentence] == -np.inf).all() and (choices[count:, sentence] == -1).all()
        assert np.array_equal(choices[0, sentence] + 1, trees[0].numpy())  # the choice is 0 in the tree, -1 elsewhere


@pytest.mark.skipif(not cpu_backend.available, reason="treecrf was installed without a C compiler")
@given(charts(max_words=40, max_batch=5, right_scores=True))
@settings(max_examples=20)
def test_results_equal_those_of_the_compiled_backend(chart):
    scores, lengths = chart[0].numpy(), chart[1].numpy()
    log_z, marginals, trees = results(numpy_backend, scores, lengths)
    expected = results(cpu_backend, scores, lengths)
    close(log_z, expected[0], rtol=1e-11, atol=1e-9)
    close(marginals, expected[1], rtol=1e-9, atol=1e-9)
    assert np.array_equal(trees, expected[2])


@pytest.mark.parametrize("backend", [numpy_backend, cpu_backend], ids=["numpy", "compiled"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sentence_has_the_same_results_alone_and_in_a_batch(backend, dtype):
    if backend is cpu_backend and not cpu_backend.available:
        pytest.skip("treecrf was installed without a C compiler")
    scores, lengths = random_scores(5, 24, 24).astype(dtype), np.array([23, 1, 2, 9, 17])
    batched = results(backend, scores, lengths)
    for b, length in enumerate(lengths):
        alone = results(backend, scores[b : b + 1, : length + 1, : length + 1], lengths[b : b + 1])
        assert alone[0][0] == batched[0][b]
        assert np.array_equal(alone[1][0], batched[1][b, : length + 1, : length + 1])
        assert np.array_equal(alone[2][0], batched[2][b, : length + 1, : length + 1])


def test_a_sentence_without_an_allowed_tree_has_zero_marginals():
    scores, lengths = random_scores(2, 13, 13), np.array([12, 12])
    scores[1, range(12), range(1, 13)] = -np.inf
    log_z, marginals, _ = results(numpy_backend, scores, lengths)
    assert np.isfinite(log_z).tolist() == [True, False]
    assert not marginals[1].any()
