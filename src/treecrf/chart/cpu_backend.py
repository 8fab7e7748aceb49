"""Inside, outside and CKY in C for CPUs, on as many threads as torch uses."""

from collections.abc import Callable

import torch
from torch import Tensor

from treecrf.chart.threads import run_on_threads

try:
    from treecrf.chart import _cpu_backend
except ImportError:  # installed on a machine without a C compiler
    available = False
else:
    available = True

# sum of cubed lengths per thread: it takes a few times as long as waking the thread
SUM_WORK = 500_000
MAX_WORK = 2_000_000


def inside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The inside chart, in a layout for `outside` only, and log Z of every sentence."""
    batch, size, _ = scores.shape
    chart = torch.empty(batch, 4, _cpu_backend.plane_length(size - 1), dtype=torch.float64)
    log_z = torch.empty(batch, dtype=torch.float64)
    _run(_cpu_backend.inside, scores, lengths, chart, log_z, thread_work=SUM_WORK)
    return chart, log_z


def outside(scores: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
    """The marginal of every span; zero outside of the sentence and if the sentence has no allowed tree."""
    marginals = torch.empty(scores.shape, dtype=torch.promote_types(scores.dtype, torch.float32))
    _run(_cpu_backend.outside, scores, lengths, chart, marginals, thread_work=SUM_WORK)
    return marginals


def inside_outside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The inside chart, log Z and the marginals."""
    chart, log_z = inside(scores, lengths)
    return chart, log_z, outside(scores, lengths, chart)


def cky(scores: Tensor, lengths: Tensor) -> Tensor:
    """The best tree of every sentence; the leftmost split wins a tie."""
    trees = torch.empty(scores.shape, dtype=torch.bool)
    _run(_cpu_backend.cky, scores, lengths, None, trees, thread_work=MAX_WORK)
    return trees


def _run(
    kernel: Callable[..., None], scores: Tensor, lengths: Tensor, chart: Tensor | None, out: Tensor, *, thread_work: int
) -> None:
    """Runs a kernel on several threads, which divide the sentences, and the spans of long sentences, among them."""
    batch, size, _ = scores.shape
    scores = scores.detach().to(torch.promote_types(scores.dtype, torch.float32)).contiguous()
    lengths = lengths.to(torch.int64).contiguous()
    order = lengths.argsort(descending=True)
    threads = max(1, min(torch.get_num_threads(), int(lengths.pow(3).sum()) // thread_work))
    counters = torch.zeros(batch, 2, dtype=torch.int64)
    scratch = torch.empty(2 * threads, 2, _cpu_backend.plane_length(size - 1), dtype=torch.float64)
    tensors = (scores, lengths, order, counters, chart, scratch, out)
    addresses = [0 if tensor is None else tensor.data_ptr() for tensor in tensors]
    is_double = scores.dtype == torch.float64
    run_on_threads(kernel, threads, batch, size, is_double, *addresses)
