"""Inside, outside and CKY in C for NumPy arrays, on as many threads as `num_threads` allows.

`scores` is (b, n + 1, n + 1) by fencepost, or (b, 2, n + 1, n + 1) with additional scores of right children: marginals
are then of a span anywhere, and of a span as a right child. `lengths` is (b,). Cells outside a sentence are never read.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from treecrf.arrays import AnyArray, Doubles, Ints, Mask, Reals
from treecrf.threads import num_threads, run_on_threads

try:
    from treecrf.chart import _cpu_backend
except ImportError:  # installed on a machine without a C compiler
    available = False
else:
    available = True

# sum of cubed lengths per thread: it takes a few times as long as waking the thread
SUM_WORK = 500_000
MAX_WORK = 2_000_000
LABEL_WORK = 200_000  # scores of labels per thread
_LANES = 8  # numbers that the kernels process at once


def inside(scores: Reals, lengths: Ints) -> tuple[Doubles, Doubles]:
    """The inside chart, in a layout for `outside` only, and log Z of every sentence."""
    chart = np.empty((len(scores), 2 + 2 * _score_charts(scores), _cpu_backend.plane_length(scores.shape[-1] - 1)))
    log_z = np.empty(len(scores))
    _run(_cpu_backend.inside, scores, lengths, chart, log_z, thread_work=SUM_WORK)
    return chart, log_z


def outside(scores: Reals, lengths: Ints, chart: Doubles) -> Reals:
    """The marginals, shaped like scores; zero outside of the sentence and if the sentence has no allowed tree."""
    planes = 2 + 2 * _score_charts(scores), _cpu_backend.plane_length(scores.shape[-1] - 1)
    chart = _checked("planes of the inside chart", chart, np.float64, len(scores), *planes)
    marginals = np.empty(scores.shape, dtype=_float_type(scores))
    _run(_cpu_backend.outside, scores, lengths, chart, marginals, thread_work=SUM_WORK)
    return marginals


def cky(scores: Reals, lengths: Ints) -> Mask:
    """The best tree of every sentence; the leftmost split wins a tie."""
    trees = np.empty((len(scores), *scores.shape[-2:]), dtype=np.bool_)
    _run(_cpu_backend.cky, scores, lengths, None, trees, thread_work=MAX_WORK)
    return trees


def label_chart(
    offsets: Reals, scores: Reals, lengths: Ints, is_constituent: Mask, adds_labels: bool
) -> tuple[Doubles, Doubles]:
    """The chart (b, 2, n + 1, n + 1) of scores of labels, and their sums (b, 3, n + 1, n + 1); see `labels.py`."""
    charts = len(scores), *scores.shape[1:3]
    chart, sums = (np.empty((charts[0], count, *charts[1:])) for count in (2, 3))
    terms = _checked("offsets", offsets, np.float64, *charts)
    _run_labels(_cpu_backend.label_chart, scores, lengths, is_constituent, sums, chart, terms, None, adds_labels)
    return chart, sums


def label_weights(
    scores: Reals,
    sums: Doubles,
    chart: Doubles,
    sum_weights: Doubles | None,
    lengths: Ints,
    is_constituent: Mask,
    adds_labels: bool,
    weighs_free: bool,
) -> Reals:
    """The gradient of the chart and of the sums with respect to the scores of labels; see `labels.py`."""
    weights = np.zeros(scores.shape, dtype=_float_type(scores))
    sums = _checked("sums", sums, np.float64, len(scores), 3, *scores.shape[1:3])
    chart = _checked("chart", chart, np.float64, len(scores), 2, *scores.shape[1:3])
    terms = None if sum_weights is None else _checked("weights of sums", sum_weights, np.float64, *sums.shape)
    flags = adds_labels, weighs_free
    _run_labels(_cpu_backend.label_weights, scores, lengths, is_constituent, sums, chart, terms, weights, *flags)
    return weights


def _run_labels(
    kernel: Callable[..., None],
    scores: Reals,
    lengths: Ints,
    is_constituent: Mask,
    sums: Doubles,
    chart: Doubles,
    terms: Doubles | None,
    weights: Reals | None,
    adds_labels: bool,
    weighs_free: bool = True,
) -> None:
    """Runs a kernel for label scores (b, n + 1, n + 1, labels), in float32 or float64, on several threads."""
    batch, size, _, labels = scores.shape
    scores = _checked("label scores", scores, _float_type(scores), batch, size, size, labels)
    lengths = _checked("lengths", lengths, np.int64, batch)
    is_constituent = _checked("marks of constituents", is_constituent, np.bool_, labels)
    threads = max(1, min(num_threads(), scores.size // LABEL_WORK))
    buffers = np.empty((threads, (_LANES + 1) * (labels + 2 * _LANES)))
    arrays = (scores, lengths, np.zeros(1, np.int64), is_constituent, buffers, sums, chart, terms, weights)
    flags = scores.dtype == np.float64, adds_labels, weighs_free
    run_on_threads(kernel, threads, batch, size, labels, *flags, *map(_address, arrays))


def _address(array: AnyArray | None) -> int:
    return 0 if array is None else array.ctypes.data


def best_trees(
    values: Doubles, lengths: Ints, k: int, is_right_choice: Mask | None, split_scores: Doubles | None
) -> tuple[Doubles, Ints]:
    """The scores (k, b) of the k best trees, and their choices (k, b, n + 1, n + 1); see `kbest.py`."""
    batch, size, _, choices = values.shape
    values = _checked("values of choices", values, np.float64, batch, size, size, choices)
    lengths = _checked("lengths", lengths, np.int64, batch)
    if is_right_choice is not None:
        is_right_choice = _checked("marks of right choices", is_right_choice, np.bool_, choices)
    if split_scores is not None:
        split_scores = _checked("scores of splits", split_scores, np.float64, batch, size, size, size)
    scores, trees = np.empty((k, batch)), np.empty((k, batch, size, size), np.int64)
    arrays = values, lengths, np.zeros(1, np.int64), is_right_choice, split_scores, scores, trees
    threads = max(1, min(num_threads(), batch))
    run_on_threads(_cpu_backend.kbest, threads, batch, size, choices, k, *map(_address, arrays))
    return scores, trees


def _score_charts(scores: Reals) -> int:
    return scores.shape[1] if scores.ndim == 4 else 1


def _float_type(scores: Reals) -> type[np.float32 | np.float64]:
    return np.float32 if np.result_type(scores, np.float32) == np.float32 else np.float64


def _checked(name: str, array: AnyArray, dtype: type[np.generic], *shape: int) -> Any:
    """The array as the kernels need it: they get its address, and cannot check its shape."""
    if array.shape != shape:
        raise ValueError(f"the {name} have shape {array.shape}; expected {shape}")
    return np.ascontiguousarray(array, dtype=dtype)


def _run(
    kernel: Callable[..., None], scores: Reals, lengths: Ints, chart: Doubles | None, out: AnyArray, *, thread_work: int
) -> None:
    """Runs a kernel on several threads, which divide the sentences, and the spans of long sentences, among them."""
    batch, size = len(scores), scores.shape[-1]
    charts = (_score_charts(scores),) if scores.ndim == 4 else ()
    scores = _checked("scores", scores, _float_type(scores), batch, *charts, size, size)
    lengths = _checked("lengths", lengths, np.int64, batch)
    order = np.argsort(-lengths, kind="stable")
    threads = max(1, min(num_threads(), int((lengths**3).sum()) // thread_work))
    counters = np.zeros((batch, 2), dtype=np.int64)
    scratch = np.empty((2 * threads, 2, _cpu_backend.plane_length(size - 1)))
    arrays = (scores, lengths, order, counters, chart, scratch, out)
    is_double = scores.dtype == np.float64
    run_on_threads(kernel, threads, batch, size, _score_charts(scores), is_double, *map(_address, arrays))
