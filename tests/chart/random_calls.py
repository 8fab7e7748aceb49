"""Random calls of the compiled functions of charts, half of the cases with a hostile argument.

    PYTHONPATH=SOURCE:tests python tests/chart/random_calls.py CALLS SEED

A valid call must give what NumPy gives.
"""

from collections.abc import Iterator

import numpy as np

from compiled_calls import WRONG_INDICES, WRONG_SIZES, Call, Random, Runner, integers, main
from treecrf.chart import _cpu_backend, cpu_backend, numpy_backend

TYPES = (np.float16, np.float32, np.float64, np.longdouble, np.int64, np.uint8, np.bool_, object)


def chart_calls(random: Random) -> Iterator[Call]:
    """Inside, outside and CKY on the same scores."""
    batch, size = int(random.integers(1, 6)), int(random.integers(2, 30))
    dtype = random.choice([np.float32, np.float64])
    score_charts = int(random.integers(1, 3))
    scores = random.normal(0, 3, (batch, score_charts, size, size)).astype(dtype)
    scores[random.random(scores.shape) < 0.05] = -np.inf
    lengths, plane = integers(random, 1, size - 1, batch), _cpu_backend.plane_length(size - 1)
    chart = np.zeros((batch, 2 + 2 * score_charts, plane))
    trees = np.zeros((batch, size, size), bool)
    outs = {"inside": np.zeros(batch), "outside": np.zeros(scores.shape, dtype), "cky": trees}
    for name, out in outs.items():
        arrays = [scores, lengths, np.argsort(-lengths), np.zeros((batch, 2), np.int64), chart]
        arguments = [batch, size, score_charts, int(dtype == np.float64), *arrays, np.zeros((6, 2, plane)), out]
        yield Call(name, arguments, [out], sizes=2)
    labels = int(random.integers(1, 20))
    label_scores = random.normal(0, 3, (batch, size, size, labels)).astype(dtype)
    label_scores[random.random(label_scores.shape) < 0.05] = -np.inf
    is_constituent, sums = random.random(labels) < 0.6, np.zeros((batch, 3, size, size))
    chart, weights = random.normal(0, 1, (batch, 2, size, size)), np.zeros_like(label_scores)
    offsets, sum_weights = random.normal(0, 1, (batch, size, size)), random.normal(0, 1, sums.shape)
    for name, terms, outs in (("label_chart", offsets, [sums, chart]), ("label_weights", sum_weights, [weights])):
        buffers = np.zeros((3, 9 * (labels + 16)))
        arrays = [label_scores, lengths, np.zeros(1, np.int64), is_constituent, buffers, sums, chart, terms, weights]
        flags = [int(dtype == np.float64), *random.integers(0, 2, 2).tolist()]
        yield Call(name, [batch, size, labels, *flags, *arrays], outs, sizes=3)
    k, values = int(random.integers(1, 12)), label_scores.astype(np.float64)
    best, choices = np.zeros((k, batch)), np.zeros((k, batch, size, size), np.int64)
    arrays = [values, lengths, np.zeros(1, np.int64), is_constituent, random.normal(0, 1, (batch, size, size, size))]
    yield Call("kbest", [batch, size, labels, k, *arrays, best, choices], [best, choices], sizes=4)


def random_scores(random: Random) -> tuple[np.ndarray, np.ndarray]:
    """Scores with or without right scores, contiguous or a view, and lengths."""
    batch, size = int(random.integers(1, 5)), int(random.integers(2, 14))
    scores = random.normal(0, 3, (batch, 2, size, size)).astype(random.choice([np.float32, np.float64]))
    lengths = integers(random, 1, size - 1, batch)
    scores = scores.swapaxes(2, 3) if random.integers(2) else scores
    return scores[:, 0] if random.integers(2) else scores, lengths


def check_scores(scores: np.ndarray, lengths: np.ndarray) -> None:
    results = []
    for backend in (cpu_backend, numpy_backend):
        chart, log_z = backend.inside(scores, lengths)
        results.append((log_z, backend.outside(scores, lengths, chart), backend.cky(scores, lengths)))
    (log_z, marginals, trees), expected = results
    np.testing.assert_allclose(log_z, expected[0], rtol=1e-5)
    np.testing.assert_allclose(marginals, expected[1], atol=1e-4)
    np.testing.assert_array_equal(trees, expected[2])


def changed(array: np.ndarray, random: Random) -> np.ndarray:
    """An array of another shape, of another type, or with other numbers."""
    kind = int(random.integers(4))
    if kind == 0:
        return array.astype(random.choice(TYPES))
    if kind == 1:
        return array[tuple(slice(int(random.integers(0, side + 1))) for side in array.shape)]
    if kind == 2:
        return np.concatenate([array, array]) if random.integers(2) else array[None]
    array = array.copy()
    numbers = WRONG_INDICES if array.dtype == np.int64 else (np.nan, np.inf, -np.inf, 3e38, -3e38)
    array.flat[random.integers(array.size)] = random.choice(numbers)
    return array


def call_with_changed_arrays(random: Random) -> None:
    scores, lengths = random_scores(random)
    chart, _ = cpu_backend.inside(scores, lengths)
    batch, size, labels = len(scores), scores.shape[-1], int(random.integers(1, 9))
    label_scores, is_constituent = random.normal(0, 3, (batch, size, size, labels)), random.random(labels) < 0.6
    sums, chart_gradient = random.normal(0, 3, (batch, 3, size, size)), random.normal(0, 1, (batch, 2, size, size))
    labeled = [lengths, is_constituent, True]
    function, arguments = (
        (cpu_backend.inside, [scores, lengths]),
        (cpu_backend.outside, [scores, lengths, chart]),
        (cpu_backend.cky, [scores, lengths]),
        (cpu_backend.label_chart, [label_scores[..., 0], label_scores, *labeled]),
        (cpu_backend.best_trees, [label_scores, lengths, 3, is_constituent, np.zeros((batch, size, size, size))]),
        (cpu_backend.label_weights, [label_scores, sums, chart_gradient, sums, *labeled, True]),
    )[random.integers(6)]
    position = random.choice([k for k, argument in enumerate(arguments) if isinstance(argument, np.ndarray)])
    arguments[position] = changed(arguments[position], random)
    function(*arguments)


def run_case(runner: Runner) -> None:
    random = runner.random
    kind = random.integers(8)
    if kind == 0:
        check_scores(*random_scores(random))
        runner.calls += 3
    elif kind < 4:
        runner.attempt(lambda: call_with_changed_arrays(random))
        runner.attempt(lambda: _cpu_backend.plane_length(int(random.choice([*WRONG_SIZES, 0, 1, 300]))))
    else:
        for call in chart_calls(random):
            if kind < 6:
                runner.check(_cpu_backend, call)
            else:
                runner.attempt_hostile(_cpu_backend, call)


if __name__ == "__main__":
    main("chart", run_case)
