"""Exact inference beside torch-struct and SuPar's ConstituencyCRF, in one run, answers compared.

    python benchmarks/chart.py [--device cuda] [--repeats 30]

Times are medians of wall-clock milliseconds, from scores to answers, waiting for the device each time. A peer that is
not installed is left out. Memory is the peak beyond the scores themselves, in charts of float32.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from treecrf.chart import dispatch, torch_backend
from treecrf.chart.crf import SpanCRF
from treecrf.reproduce.baselines import Answer, charts

SHAPES = {
    "cuda": [(200, 25), (1000, 25), (128, 40), (64, 80), (32, 150), (8, 400), (1, 1000)],
    "cpu": [(80, 25), (50, 40), (4, 150)],
}


def ours(scores: Tensor, lengths: Tensor) -> Answer:
    """As the parser calls it: like the peers, without a look at the values that it is given."""
    crf = SpanCRF(scores, lengths, validate=False)
    marginals = crf.marginals
    return crf.log_partition, marginals


def checked(scores: Tensor, lengths: Tensor) -> Answer:
    """As it is by default: NaN, lengths out of range and the like are found first."""
    crf = SpanCRF(scores, lengths)
    marginals = crf.marginals
    return crf.log_partition, marginals


def measure(run: Callable[[], object], device: str, *, repeats: int, budget: float = 20.0) -> float:
    """The median time of one run, in milliseconds; fewer repeats where they would exceed the budget of seconds."""

    def once() -> float:
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        if device == "cuda":
            torch.cuda.synchronize()
        return 1000 * (time.perf_counter() - begin)

    warm_up = min(once() for _ in range(3))
    count = max(3, min(repeats, int(1000 * budget / max(warm_up, 1e-3))))
    return statistics.median(once() for _ in range(count))


def memory(run: Callable[[], object], scores: Tensor) -> float:
    """The peak that a run adds, in charts of float32."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / (4 * scores.numel())


def compare(batch: int, words: int, device: str, repeats: int) -> list[str]:
    """One row: our times, then each peer's with the ratio to ours."""
    generator = torch.Generator().manual_seed(batch)
    scores = torch.randn(batch, words + 1, words + 1, generator=generator).to(device)
    lengths = torch.full((batch,), words, device=device)
    log_z, marginals = ours(scores, lengths)
    mine = measure(lambda: ours(scores, lengths), device, repeats=repeats)
    careful = measure(lambda: checked(scores, lengths), device, repeats=repeats)
    row = [f"{batch} x {words}", f"{mine:.3f}", f"{careful:.3f}"]
    for name, peer in charts().items():
        if (device == "cuda" and words > 400) or (name == "torch-struct" and words > 150):
            row.append("-")
            continue
        try:
            their_log_z, theirs = peer(scores, lengths)
            torch.testing.assert_close(log_z, their_log_z, rtol=1e-4, atol=1e-2)
            torch.testing.assert_close(marginals, theirs, rtol=1e-2, atol=1e-3)
            took = measure(lambda peer=peer: peer(scores, lengths), device, repeats=repeats)
        except torch.OutOfMemoryError:
            row.append("out of memory")
            continue
        row.append(f"{took:.1f} ({took / mine:.0f}x)")
    best = measure(lambda: dispatch.select_backend(scores).cky(scores, lengths), device, repeats=repeats)
    assert torch.equal(dispatch.select_backend(scores).cky(scores, lengths), torch_backend.cky(scores, lengths))
    plain = measure(lambda: torch_backend.cky(scores, lengths), device, repeats=repeats)
    row += [f"{best:.3f}", f"{plain:.2f} ({plain / best:.0f}x)"]
    if device == "cuda":
        row.append(f"{memory(lambda: ours(scores, lengths), scores):.1f}")
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cuda", "cpu"))
    parser.add_argument("--repeats", type=int, default=30)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*arg_constraints")
    head = ["batch x words", "treecrf", "with checks", *charts(), "CKY", "plain CKY"]
    if args.device == "cuda":
        head.append("charts of memory")
    print(f"log Z and marginals, CKY with back-trace; ms, {args.device}, torch {torch.__version__}")
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for batch, words in SHAPES[args.device]:
        print("| " + " | ".join(compare(batch, words, args.device, args.repeats)) + " |", flush=True)


if __name__ == "__main__":
    main()
