import math
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chart.charts import charts, clean
from compiled_calls import run_calls
from treecrf.chart import cpu_backend, cpu_tensors, naive, torch_backend

pytestmark = pytest.mark.skipif(not cpu_backend.available, reason="treecrf was installed without a C compiler")
close = torch.testing.assert_close


def random_scores(*shape, seed=0, scale=3.0):
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def compiled_results(scores, lengths):
    chart, log_z = cpu_tensors.inside(scores, lengths)
    return log_z, cpu_tensors.outside(scores, lengths, chart), cpu_tensors.cky(scores, lengths)


def reference_results(scores, lengths):
    chart, log_z = torch_backend.inside(clean(scores, lengths), lengths)
    return log_z, torch_backend.outside(clean(scores, lengths), lengths, chart), torch_backend.cky(scores, lengths)


def assert_equal(results, expected):
    assert all(map(torch.equal, results, expected))


@pytest.fixture(scope="module", autouse=True)
def one_torch_thread():
    """Runs PyTorch operations on one thread: they are too small to gain from more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def three_threads(monkeypatch):
    """Runs the kernels on three threads, even for little work."""
    monkeypatch.setattr(cpu_backend, "num_threads", lambda: 3)
    monkeypatch.setattr(cpu_backend, "SUM_WORK", 1)
    monkeypatch.setattr(cpu_backend, "MAX_WORK", 1)


@given(charts(max_words=7, right_scores=True))
@settings(max_examples=60)
def test_log_partition_and_marginals_are_sums_over_all_trees(chart):
    log_z, marginals, _ = compiled_results(*chart)
    close(log_z, naive.log_partition(clean(*chart), chart[1]), rtol=1e-12, atol=1e-12)
    close(marginals, naive.marginals(clean(*chart), chart[1]), rtol=1e-12, atol=1e-12)


@given(charts(max_words=7, right_scores=True))
@settings(max_examples=60)
def test_cky_finds_the_best_of_all_trees(chart):
    scores, lengths = clean(*chart), chart[1]
    best = [naive.tree_scores(s, n)[0][0] for s, n in zip(scores, lengths.tolist(), strict=True)]
    assert torch.equal(cpu_tensors.cky(*chart), torch.stack(best))


@given(st.floats(-1e300, 1e300))
def test_a_sentence_of_one_word_has_one_tree(score):
    log_z, marginals, tree = compiled_results(
        torch.tensor([[[0.0, score], [0.0, 0.0]]], dtype=torch.float64), torch.tensor([1])
    )
    close(log_z.item(), score, rtol=1e-15, atol=1e-15)
    assert marginals.tolist() == [[[0, 1], [0, 0]]] == tree.tolist()


@given(charts(max_words=60, max_batch=6, right_scores=True))
@settings(max_examples=30)
def test_ragged_batches_match_the_torch_backend(chart):
    log_z, marginals, trees = compiled_results(*chart)
    expected = reference_results(*chart)
    close((log_z, marginals), expected[:2], rtol=1e-9, atol=1e-9)
    assert torch.equal(trees, expected[2])


@pytest.mark.parametrize("threads", ["one thread", "three threads"])
def test_all_lengths_match_the_torch_backend(threads, request):
    if threads == "three threads":
        request.getfixturevalue("three_threads")
    lengths = torch.cat([torch.arange(1, 41), torch.tensor([63, 64, 65, 150])])
    chart = random_scores(len(lengths), 151, 151), lengths
    log_z, marginals, trees = compiled_results(*chart)
    expected = reference_results(*chart)
    close((log_z, marginals), expected[:2], rtol=1e-9, atol=1e-9)
    assert torch.equal(trees, expected[2])


@pytest.mark.parametrize("lengths", [[231], [215, 215], [20, 230, 1, 64, 15]])
def test_sharing_a_long_sentence_among_threads_changes_no_bit(lengths, three_threads, monkeypatch):
    scores, lengths = random_scores(len(lengths), 232, 232), torch.tensor(lengths)
    results = compiled_results(scores, lengths)
    close(results[:2], reference_results(scores, lengths)[:2], rtol=1e-9, atol=1e-9)
    monkeypatch.undo()
    assert_equal(results, compiled_results(scores, lengths))


def test_sums_over_labels_are_the_same_on_several_threads(monkeypatch):
    scores, lengths = random_scores(3, 12, 12, 9).numpy(), np.array([11, 4, 1])
    is_constituent = np.arange(9) % 2 == 0
    chart_arguments = scores[..., 0], scores, lengths, is_constituent, True
    chart, sums = cpu_backend.label_chart(*chart_arguments)
    arguments = scores, sums, chart, sums, lengths, is_constituent, True, True
    weights = cpu_backend.label_weights(*arguments)
    monkeypatch.setattr(cpu_backend, "num_threads", lambda: 3)
    monkeypatch.setattr(cpu_backend, "LABEL_WORK", 1)
    assert all(map(np.array_equal, cpu_backend.label_chart(*chart_arguments), (chart, sums)))
    assert np.array_equal(cpu_backend.label_weights(*arguments), weights)


def test_scores_may_have_any_strides():
    scores, lengths = random_scores(23, 4, 46).permute(1, 2, 0)[:, ::2], torch.tensor([22, 9, 1, 17])
    assert not scores.is_contiguous()
    assert_equal(compiled_results(scores, lengths), compiled_results(scores.contiguous(), lengths))


def test_cells_outside_of_a_sentence_and_uninitialized_memory_are_never_read(monkeypatch):
    scores, lengths = random_scores(6, 43, 43), torch.tensor([42, 3, 1, 17, 30, 8])
    expected = compiled_results(clean(scores, lengths), lengths)
    garbage = scores.masked_fill(~torch_backend.span_mask(lengths, 43), torch.nan)
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, np.nan).astype(dtype))
    assert_equal(compiled_results(garbage, lengths), expected)


def test_a_sentence_without_an_allowed_tree_has_zero_marginals():
    scores, lengths = random_scores(3, 31, 31), torch.tensor([30, 30, 12])
    scores[1, range(30), range(1, 31)] = -torch.inf
    scores[2, 0, 12] = -torch.inf
    log_z, marginals, trees = compiled_results(scores, lengths)
    assert log_z[0].isfinite()
    assert (log_z[1:] == -torch.inf).all()
    assert (marginals[1:] == 0).all()
    assert trees.sum((1, 2)).tolist() == [59, 59, 23]


@given(st.integers(0, 19), st.integers(1, 20), st.sampled_from([math.nan, math.inf]))
@settings(deadline=None)
def test_a_score_of_nan_or_inf_makes_log_z_nan(start, width, value):
    scores = random_scores(2, 21, 21)
    scores[0, start, min(start + width, 20)] = value
    _, log_z = cpu_tensors.inside(scores, torch.tensor([20, 20]))
    assert log_z.isnan().tolist() == [True, False]


def test_scores_of_ten_thousand_match_the_torch_backend():
    scores, lengths = random_scores(2, 301, 301), torch.tensor([300, 177])
    log_z, marginals, trees = compiled_results(1e4 * scores.sign() + scores, lengths)
    expected = reference_results(1e4 * scores.sign() + scores, lengths)
    assert ((marginals > 0.01) & (marginals < 0.99)).sum() > 100
    close(log_z, expected[0], rtol=1e-12, atol=0.0)
    close(marginals, expected[1], rtol=0.0, atol=1e-6)
    assert torch.equal(trees, expected[2])


@pytest.mark.parametrize("scale", [1e6, 1e18, 1e30])
def test_with_enormous_scores_the_best_tree_has_probability_one(scale):
    scores, lengths = random_scores(2, 301, 301, scale=scale), torch.tensor([300, 177])
    log_z, marginals, trees = compiled_results(scores, lengths)
    close(log_z, scores.where(trees, 0.0).sum((1, 2)), rtol=1e-12, atol=0.0)
    close(marginals, trees.double(), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("score", [0.0, -1e4, 1e4])
def test_with_equal_scores_log_z_is_the_log_number_of_trees(score):
    words = torch.tensor([1, 2, 3, 10, 64, 250])
    _, log_z = cpu_tensors.inside(torch.full((6, 251, 251), score), words)
    n = words.double() - 1
    catalan = torch.lgamma(2 * n + 1) - torch.lgamma(n + 1) - torch.lgamma(n + 2)
    close(log_z, catalan + (2 * words - 1) * score, rtol=1e-12, atol=1e-9)


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(deadline=None)
def test_the_leftmost_split_wins_a_tie(seed, words):
    scores = random_scores(1, words + 1, words + 1, seed=seed, scale=0.6).round()
    lengths = torch.tensor([words])
    assert torch.equal(cpu_tensors.cky(scores, lengths), torch_backend.cky(scores, lengths))
    right_branching = torch.eye(words + 1).roll(1, 1).bool().triu(1)
    right_branching[:-1, -1] = True
    assert torch.equal(cpu_tensors.cky(torch.zeros_like(scores), lengths)[0], right_branching)


def test_calls_from_several_threads_are_independent(three_threads):
    lengths = torch.tensor([210, 7, 40, 1])
    batches = [(random_scores(4, 211, 211, seed=seed), lengths + torch.tensor([0, 0, seed, 0])) for seed in range(8)]
    expected = [compiled_results(*batch) for batch in batches]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            for results, wanted in zip(
                pool.map(lambda batch: compiled_results(*batch), batches), expected, strict=True
            ):
                assert_equal(results, wanted)


@pytest.mark.parametrize("length", [0, 6])
def test_a_length_outside_of_the_chart_is_an_error_with_the_sentence(length):
    with pytest.raises(ValueError, match=f"sentence 1 has length {length}; the chart holds 1 to 5 words"):
        cpu_tensors.inside(torch.zeros(2, 6, 6), torch.tensor([5, length]))


def test_an_empty_batch_has_empty_results():
    log_z, marginals, trees = compiled_results(torch.zeros(0, 6, 6), torch.zeros(0, dtype=torch.int64))
    assert (log_z.shape, marginals.shape, trees.shape) == ((0,), (0, 6, 6), (0, 6, 6))


@pytest.mark.parametrize("shape", [(2, 4, 5), (2, 2, 4, 5), (1, 4, 4), (4, 4)])
def test_scores_of_another_shape_are_an_error(shape):
    for function in (cpu_backend.inside, cpu_backend.cky):
        with pytest.raises(ValueError, match=r"have shape .*; expected"):
            function(np.zeros(shape), np.array([3, 3]))


def test_a_chart_of_other_scores_is_an_error():
    lengths = np.array([3])
    chart, _ = cpu_backend.inside(np.zeros((1, 4, 4)), lengths)
    with pytest.raises(ValueError, match="planes of the inside chart have shape"):
        cpu_backend.outside(np.zeros((1, 2, 4, 4)), lengths, chart)


def test_labels_of_another_shape_are_an_error():
    scores, lengths, is_constituent = np.zeros((1, 4, 4, 2)), np.array([3]), np.array([True, False])
    sums, chart, flags = np.zeros((1, 3, 4, 4)), np.zeros((1, 2, 4, 4)), (True, True)
    with pytest.raises(ValueError, match="marks of constituents have shape"):
        cpu_backend.label_chart(scores[..., 0], scores, lengths, is_constituent[:1], True)
    with pytest.raises(ValueError, match="offsets have shape"):
        cpu_backend.label_chart(scores, scores, lengths, is_constituent, True)
    for position, (name, wrong) in enumerate((("sums", chart), ("chart", sums), ("weights of sums", chart))):
        arrays = [sums, chart, sums]
        arrays[position] = wrong
        with pytest.raises(ValueError, match=f"{name} have shape"):
            cpu_backend.label_weights(scores, *arrays, lengths, is_constituent, *flags)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, np.int32, object])
def test_scores_of_any_type_are_converted(dtype):
    scores, lengths = np.arange(16).reshape(1, 4, 4), np.array([3], np.int32)
    _, expected = cpu_backend.inside(scores.astype(np.float64), lengths)
    _, log_z = cpu_backend.inside(scores.astype(dtype), lengths)
    np.testing.assert_allclose(log_z, expected)


def test_random_calls_are_computed_or_refused():
    random_calls = import_module("chart.random_calls")  # imports the compiled code
    assert 30 < run_calls(random_calls.run_case, 400, seed=5).refused < 200
