"""Exact inference over the binary trees of a sentence, by the scores of their spans.

Here: the definition, and inside, outside, CKY, samples and k-best in NumPy, C, PyTorch and Triton; `SpanCRF`. Not here:
strings, labels and trees (`parser.decoding`), and networks (`network`). The names below are for NumPy arrays; they are
compiled, or in NumPy if the compiled code could not be built.
"""

from collections.abc import Iterable

import numpy as np

from treecrf.arrays import Mask
from treecrf.chart import cpu_backend

if cpu_backend.available:
    from treecrf.chart.cpu_backend import cky, inside, outside
else:
    from treecrf.chart.numpy_backend import cky, inside, outside

__all__ = ["cky", "compatible_spans", "inside", "outside"]


def compatible_spans(brackets: Iterable[tuple[int, int]], size: int) -> Mask:
    """Whether each span of a chart (size, size) crosses none of the brackets, which are (start, end) each.

    >>> compatible_spans([(0, 2)], 4).nonzero()[0].tolist(), compatible_spans([(0, 2)], 4).nonzero()[1].tolist()
    ([0, 0, 0, 1, 2], [1, 2, 3, 2, 3])
    """
    is_compatible = np.triu(np.ones((size, size), np.bool_), 1)
    for start, end in brackets:
        is_compatible[:start, start + 1 : end] = False
        is_compatible[start + 1 : end, end + 1 :] = False
    return is_compatible
