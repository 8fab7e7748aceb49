"""Times exact inference against torch-struct and SuPar's ConstituencyCRF, and compares their results.

    python benchmarks/chart.py [--device cuda] [--repeats 30]

Times are medians in milliseconds, from scores to results; the device is synchronized before and after each run.
Libraries that are not installed are skipped. Memory is the peak without the scores, in charts of float32.

A second table has log Z, marginals and the gradient of the labeled distribution, `TreeCRF`, as ratios to `SpanCRF` with
the same span scores, also in CPU time, which other programs hardly change, and to `SpanCRF` with labels: their scores
are summed before the chart, and the marginals of spans are divided among them. A third table has the k best trees of
both.
"""

import statistics
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from common import command_line, cpu_milliseconds, print_head, print_row
from treecrf.chart import dispatch, torch_backend
from treecrf.chart.crf import SpanCRF
from treecrf.chart.tree_crf import TreeCRF
from treecrf.parser.benchmark import time_call
from treecrf.training.reproduce.speed import import_if_installed

SHAPES = {
    "cuda": [(200, 25), (1000, 25), (128, 40), (64, 80), (32, 150), (8, 400), (1, 1000)],
    "cpu": [(80, 25), (50, 40), (4, 150)],
}

PartitionAndMarginals = tuple[Tensor, Tensor]  # log Z (b,) and marginals by fencepost (b, n+1, n+1)
Inference = Callable[[Tensor, Tensor], PartitionAndMarginals]  # arguments: scores by fencepost, and lengths


def inference_functions() -> dict[str, Inference]:
    """Returns the installed libraries that compute log Z and marginals, by name."""
    functions: dict[str, Inference] = {}
    if torch_struct := import_if_installed("torch_struct"):

        def infer_with_torch_struct(scores: Tensor, lengths: Tensor) -> PartitionAndMarginals:
            crf = torch_struct.TreeCRF(scores[:, :-1, 1:, None], lengths=lengths)
            chart = torch.zeros_like(scores)
            chart[:, :-1, 1:] = crf.marginals[..., 0]
            return crf.partition, chart

        functions["torch-struct"] = infer_with_torch_struct
    if structs := import_if_installed("supar.structs"):

        def infer_with_supar(scores: Tensor, lengths: Tensor) -> PartitionAndMarginals:
            crf = structs.ConstituencyCRF(scores, lengths)
            return crf.log_partition, crf.marginals

        functions["SuPar"] = infer_with_supar
    return functions


def unchecked(scores: Tensor, lengths: Tensor) -> PartitionAndMarginals:
    """log Z and marginals as the parser computes them: like the other libraries, without a check of the values."""
    crf = SpanCRF(scores, lengths, validate=False)
    marginals = crf.marginals
    return crf.log_partition, marginals


def checked(scores: Tensor, lengths: Tensor) -> PartitionAndMarginals:
    """log Z and marginals with the default checks for NaN, invalid lengths and the like."""
    crf = SpanCRF(scores, lengths)
    marginals = crf.marginals
    return crf.log_partition, marginals


def measure(run: Callable[[], object], device: str, *, repeats: int, budget: float = 20.0) -> float:
    """The median time of one run, in milliseconds; the repeats are limited to `budget` seconds."""

    def time_once() -> float:
        return 1000 * time_call(run, device)

    warm_up = min(time_once() for _ in range(3))
    count = max(3, min(repeats, int(1000 * budget / max(warm_up, 1e-3))))
    return statistics.median(time_once() for _ in range(count))


def measure_memory(run: Callable[[], object], scores: Tensor) -> float:
    """The peak memory that a run adds, in charts of float32."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / (4 * scores.numel())


def compare(batch: int, words: int, device: str, repeats: int) -> list[str]:
    """A table row: the times of treecrf, then the time of each library with its ratio to treecrf."""
    generator = torch.Generator().manual_seed(batch)
    scores = torch.randn(batch, words + 1, words + 1, generator=generator).to(device)
    lengths = torch.full((batch,), words, device=device)
    log_z, marginals = unchecked(scores, lengths)
    unchecked_ms = measure(lambda: unchecked(scores, lengths), device, repeats=repeats)
    checked_ms = measure(lambda: checked(scores, lengths), device, repeats=repeats)
    row = [f"{batch} x {words}", f"{unchecked_ms:.3f}", f"{checked_ms:.3f}"]
    for name, infer in inference_functions().items():
        if (device == "cuda" and words > 400) or (name == "torch-struct" and words > 150):
            row.append("-")
            continue
        try:
            library_log_z, library_marginals = infer(scores, lengths)
            torch.testing.assert_close(log_z, library_log_z, rtol=1e-4, atol=1e-2)
            torch.testing.assert_close(marginals, library_marginals, rtol=1e-2, atol=1e-3)
            library_ms = measure(lambda infer=infer: infer(scores, lengths), device, repeats=repeats)
        except torch.OutOfMemoryError:
            row.append("out of memory")
            continue
        row.append(f"{library_ms:.1f} ({library_ms / unchecked_ms:.0f}x)")
    backend = dispatch.select_backend(scores)
    cky_ms = measure(lambda: backend.cky(scores, lengths), device, repeats=repeats)
    assert torch.equal(backend.cky(scores, lengths), torch_backend.cky(scores, lengths))
    torch_cky_ms = measure(lambda: torch_backend.cky(scores, lengths), device, repeats=repeats)
    row += [f"{cky_ms:.3f}", f"{torch_cky_ms:.2f} ({torch_cky_ms / cky_ms:.0f}x)"]
    if device == "cuda":
        row.append(f"{measure_memory(lambda: unchecked(scores, lengths), scores):.1f}")
    return row


LABELED_SHAPE = (64, 40)
LABELS = (4, 8, 30, 100)


def span_gradient(scores: Tensor, lengths: Tensor) -> None:
    """log Z, marginals and gradient of the distribution over binary trees."""
    leaf = scores.detach().requires_grad_()
    crf = SpanCRF(leaf, lengths)
    _ = crf.marginals
    torch.autograd.grad(crf.log_partition.sum(), leaf)


def summed_labels_gradient(scores: Tensor, label_scores: Tensor, lengths: Tensor) -> None:
    """The same, of binary trees with a label over each span."""
    leaves = scores.detach().requires_grad_(), label_scores.detach().requires_grad_()
    crf = SpanCRF(leaves[0] + leaves[1].logsumexp(-1), lengths)
    _ = crf.marginals[..., None] * leaves[1].softmax(-1)
    torch.autograd.grad(crf.log_partition.sum(), leaves)


def tree_gradient(scores: Tensor, label_scores: Tensor, lengths: Tensor, is_constituent: Tensor) -> None:
    """The same, of labeled trees whose constituents have any number of children."""
    leaves = scores.detach().requires_grad_(), label_scores.detach().requires_grad_()
    crf = TreeCRF(*leaves, lengths, is_constituent=is_constituent)
    _ = crf.marginals
    torch.autograd.grad(crf.log_partition.sum(), leaves)


def compare_labeled(labels: int, device: str, repeats: int) -> list[str]:
    """A table row: the times of both distributions, and the ratios of the labeled one."""
    batch, words = LABELED_SHAPE
    generator = torch.Generator().manual_seed(labels)
    scores = torch.randn(batch, words + 1, words + 1, generator=generator).to(device)
    label_scores = torch.randn(*scores.shape, labels, generator=generator).to(device)
    lengths = torch.full((batch,), words, device=device)
    is_constituent = torch.arange(labels, device=device) < 3 * labels / 4
    runs = (
        lambda: span_gradient(scores, lengths),
        lambda: summed_labels_gradient(scores, label_scores, lengths),
        lambda: tree_gradient(scores, label_scores, lengths, is_constituent),
    )
    for run in runs:
        run()
    times, cpu_times = [], []
    for _ in range(repeats):  # in turn: others may use the CPU
        times.append([1000 * time_call(run, device) for run in runs])
        cpu_times.append([cpu_milliseconds(run)[0] for run in runs])
    span_ms, summed_ms, tree_ms = (statistics.median(column) for column in zip(*times, strict=True))
    span_cpu_ms, _, tree_cpu_ms = (statistics.median(column) for column in zip(*cpu_times, strict=True))
    ratios = f"{tree_ms / span_ms:.1f}x", f"{tree_cpu_ms / span_cpu_ms:.1f}x", f"{tree_ms / summed_ms:.2f}x"
    return [str(labels), f"{span_ms:.2f}", f"{tree_ms:.2f}", *ratios]


def time_kbest(batch: int, words: int, device: str, repeats: int) -> list[str]:
    """A table row: the times of the 5 best trees of `SpanCRF`, and of `TreeCRF` with 30 labels."""
    generator = torch.Generator().manual_seed(batch)
    scores = torch.randn(batch, words + 1, words + 1, generator=generator).to(device)
    label_scores = torch.randn(*scores.shape, 30, generator=generator).to(device)
    lengths, is_constituent = torch.full((batch,), words), torch.arange(30, device=device) < 22
    span_ms = measure(lambda: SpanCRF(scores, lengths).kbest(5), device, repeats=repeats)
    options = {"is_constituent": is_constituent}
    tree_ms = measure(lambda: TreeCRF(scores, label_scores, lengths, **options).kbest(5), device, repeats=repeats)
    return [f"{batch} x {words}", f"{span_ms:.2f}", f"{tree_ms:.2f}"]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cuda", "cpu"))
    parser.add_argument("--repeats", type=int, default=30)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*arg_constraints")
    head = ["batch x words", "treecrf", "with checks", *inference_functions(), "CKY", "plain CKY"]
    if args.device == "cuda":
        head.append("charts of memory")
    print(f"log Z and marginals, CKY with back-trace; ms, {args.device}, torch {torch.__version__}")
    print_head(*head)
    for batch, words in SHAPES[args.device]:
        print_row(*compare(batch, words, args.device, args.repeats))
    print("\nlog Z, marginals and gradient of {} x {} words".format(*LABELED_SHAPE))
    print_head("labels", "SpanCRF, ms", "TreeCRF, ms", "to SpanCRF", "in CPU time", "to SpanCRF with labels")
    for labels in LABELS:
        print_row(*compare_labeled(labels, args.device, args.repeats))
    print("\nthe 5 best trees, ms")
    print_head("batch x words", "SpanCRF", "TreeCRF, 30 labels")
    for batch in (1, 32):
        print_row(*time_kbest(batch, 25, args.device, args.repeats))


if __name__ == "__main__":
    main()
