"""Exact inference over the binary trees of a sentence, by the scores of their spans.

Here: the definition, and inside, outside, CKY, samples and k-best in NumPy, C, PyTorch and Triton; `SpanCRF`. Not here:
strings, labels and trees (`parser.decoding`), and networks (`network`). The names below are for NumPy arrays; they are
compiled, or in NumPy if the compiled code could not be built.
"""

from treecrf.arrays import Doubles, Ints, Reals
from treecrf.chart import cpu_backend

if cpu_backend.available:
    from treecrf.chart.cpu_backend import cky, inside, outside
else:
    from treecrf.chart.numpy_backend import cky, inside, outside

__all__ = ["cky", "inside", "inside_outside", "outside"]


def inside_outside(scores: Reals, lengths: Ints) -> tuple[Doubles, Doubles, Reals]:
    """The inside chart, log Z and the marginals."""
    chart, log_z = inside(scores, lengths)
    return chart, log_z, outside(scores, lengths, chart)
