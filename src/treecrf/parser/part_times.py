"""The time of each part of parsing. The parts are measured one after the other; in parsing they overlap."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING

from treecrf.network.data.batch import Batch
from treecrf.parser.benchmark import PartTimer
from treecrf.parser.decoding import decode
from treecrf.parser.parser import Parser
from treecrf.parser.pipeline import Words
from treecrf.trees.treebank.bracket_writer import FlatTrees

if TYPE_CHECKING:
    from treecrf.parser.decoding.device_decode import PendingTrees

TensorDecode = Callable[..., "PendingTrees"]
DEVICE_PARTS = ("network", "chart and labels")


def time_parts(
    parser: Parser,
    windows: Iterable[Sequence[Words]],
    stream: IO[bytes],
    timer: PartTimer,
    *,
    tensor_decode: TensorDecode | None = None,
    mbr: bool = True,
) -> None:
    """Parses windows of sentences into a file and measures each part.

    A GPU decodes with `decode_on_device`, a CPU on NumPy arrays; `tensor_decode` replaces both.
    """
    writer = parser.tree_builder.bracket_writer(exact=False)
    for sentences in windows:
        with timer.measure("sort into batches"):
            window = parser.reader.window(sentences)
            batches = window.batches(parser.batching.budget)
        lines: dict[int, str] = {}
        for indices in batches:
            with timer.measure("encode"):
                selected = window.select(indices)
                batch = parser.batch_scorer.collate(selected)
            if tensor_decode is None and parser.device == "cpu":
                decoded = _decode_on_host(parser, batch, timer, mbr=mbr)
            else:
                decoded = _decode_tensors(parser, batch, timer, tensor_decode, mbr=mbr)
            with timer.measure("text"):
                lines.update(zip(indices, writer.lines(selected.words, decoded), strict=True))
        with timer.measure("put in order and write"):
            stream.write("\n".join([*(lines[index] for index in range(len(window))), ""]).encode())


def _decode_on_host(parser: Parser, batch: Batch, timer: PartTimer, *, mbr: bool) -> FlatTrees:
    with timer.measure("network"):
        scores = parser.scorer.score(batch)
    with timer.measure("chart and labels"):
        return decode(scores, mbr=mbr, expected_f1=parser.expected_f1)


def _decode_tensors(
    parser: Parser, batch: Batch, timer: PartTimer, tensor_decode: TensorDecode | None, *, mbr: bool
) -> FlatTrees:
    import torch

    from treecrf.network.nn import TensorBatch
    from treecrf.parser.decoding.device_decode import decode_on_device

    tensor_decode = tensor_decode or partial(decode_on_device, expected_f1=parser.expected_f1)
    with torch.no_grad():
        with timer.measure("copy to the device"):
            tensors = TensorBatch.from_host(batch, pin_memory=parser.device != "cpu").to(parser.device)
        with timer.measure("network"):
            scores = parser.model.eval()(tensors)
        with timer.measure("chart and labels"):
            decoded = tensor_decode(scores, mbr=mbr)
        with timer.measure("copy to the host"):
            return decoded()


def part_table(seconds: Mapping[str, float], sentences: int) -> list[str]:
    """The lines of a table: microseconds per sentence and the share of each part."""
    total = sum(seconds.values())
    rows = [
        f"{name:22} {1e6 * part / sentences:10.2f} us/sentence {100 * part / total:5.1f}%"
        for name, part in seconds.items()
    ]
    return [*rows, f"{'one after the other':22} {1e6 * total / sentences:10.2f} us/sentence"]


def busy_share(seconds: Mapping[str, float], run_seconds: float) -> float:
    """The share of a run in which the device computes, by the times of its parts; not above 1."""
    return min(1.0, sum(seconds.get(part, 0.0) for part in DEVICE_PARTS) / run_seconds)
