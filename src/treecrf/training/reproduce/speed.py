"""The speed of parsers, from files of words to files of brackets, and the time of each part."""

import random
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from treecrf.chart.crf import SpanCRF
from treecrf.network.nn import TensorScores
from treecrf.parser import Parser
from treecrf.parser.benchmark import PartTimer, median_seconds, now
from treecrf.parser.decoding import ExpectedF1
from treecrf.parser.decoding.device_decode import PendingTrees, label_trees
from treecrf.parser.part_times import TensorDecode, time_parts
from treecrf.training.reproduce import paper
from treecrf.trees.tree import Tree

SENTENCES = {"cuda": (20_000, 2_000), "cpu": (500, 200)}  # for treecrf, and for what is slower
REPEATS = 3
_MBR = ("without MBR", "with MBR")

PlainWords = Sequence[Sequence[str]]


def sample(trees: Sequence[Tree], number: int) -> list[Tree]:
    """Returns a random sample in which all trees occur about equally often; always the same one."""
    sampled: list[Tree] = []
    generator = random.Random(1)
    while len(sampled) < number:
        sampled += generator.sample(trees, min(len(trees), number - len(sampled)))
    return sampled


def measure_speeds(parsers: dict[str, Parser], trees: Sequence[Tree]) -> dict[str, Any]:
    """Measures the speeds of parsers, of the first one with the charts of torch-struct, and of its chart alone."""
    name, parser = next(iter(parsers.items()))
    count, slow_count = SENTENCES[parser.device.split(":")[0]]
    words = [tree.words for tree in sample(trees, count)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        lines = list(_parser_lines(parsers, words, folder))
        lines += _torch_struct_lines(name, parser, words[:slow_count], folder)
    return {"lines": lines, "chart": _chart_microseconds(parser, words[:slow_count])}


def _chart_microseconds(parser: Parser, words: PlainWords) -> dict[str, float]:
    """Measures microseconds per sentence of the inside algorithm and of its back-propagation, which gives marginals."""
    seconds = {"inside": 0.0, "backward": 0.0}
    window = parser.reader.window(words, 0)
    for indices in window.batches(parser.batching.budget):
        batch = parser.numericalizer.collate(window.select(indices).model_words)
        scores = parser.model.score_on_device(batch)
        for _ in range(2):  # the first run is a warm-up
            spans = scores.spans.detach().requires_grad_()
            started = now(parser.device)
            log_z = SpanCRF(spans, scores.lengths, validate=False).log_partition.sum()
            middle = now(parser.device)
            log_z.backward()
            times = middle - started, now(parser.device) - middle
        seconds = {part: total + time for (part, total), time in zip(seconds.items(), times, strict=True)}
    return {part: 1e6 * total / len(words) for part, total in seconds.items()}


def _parser_lines(parsers: dict[str, Parser], words: PlainWords, folder: Path) -> Iterator[dict[str, Any]]:
    """Measures the speed of each parser with and without MBR."""
    for name, parser in parsers.items():
        for mbr in (False, True):
            title = f"{name}, {_MBR[mbr]}"
            yield {
                "name": title,
                "sentences_per_second": _file_speed(parser, words, folder, mbr=mbr),
                "paper": paper.SPEED.get(title),
                "parts": _part_microseconds(parser, words, folder, mbr=mbr),
            }


def _torch_struct_lines(name: str, parser: Parser, words: PlainWords, folder: Path) -> Iterator[dict[str, Any]]:
    """Measures the speed of a parser's network with the charts of torch-struct, if it is installed."""
    torch_struct = torch_struct_decode()
    if torch_struct is None or parser.model_config.one_stage:
        return
    for mbr in (False, True):
        line: dict[str, Any] = {"name": f"{name}, {_MBR[mbr]}, charts by torch-struct", "paper": None}
        try:
            parts = _part_microseconds(parser, words, folder, tensor_decode=torch_struct, mbr=mbr)
        except torch.OutOfMemoryError:
            yield line | {"note": "out of memory", "parts": {}}
        else:
            yield line | {"sentences_per_second": 1e6 / sum(parts.values()), "parts": parts}


def _file_speed(parser: Parser, words: PlainWords, folder: Path, *, mbr: bool) -> float:
    """Measures sentences per second from a file of words to a file of brackets."""
    source, target = folder / "in.txt", folder / "out.mrg"
    source.write_text("".join(f"{' '.join(sentence)}\n" for sentence in words), encoding="utf-8")

    def parse() -> None:
        with source.open(encoding="utf-8", newline="\n") as lines, target.open("w", encoding="utf-8") as out:
            sentences = (line.rstrip("\n").split(" ") for line in lines)
            out.writelines(f"{line}\n" for line in parser.brackets_many(sentences, exact=False, mbr=mbr))

    return len(words) / median_seconds(parse, REPEATS)


def _part_microseconds(
    parser: Parser, words: PlainWords, folder: Path, *, tensor_decode: TensorDecode | None = None, mbr: bool
) -> dict[str, float]:
    """Measures microseconds per sentence of each part, in the second of two runs."""
    for _ in range(2):
        timer = PartTimer(parser.device)
        with (folder / "parts.mrg").open("wb") as stream:
            size = parser.batching.window
            windows = (words[start : start + size] for start in range(0, len(words), size))
            time_parts(parser, windows, stream, timer, tensor_decode=tensor_decode, mbr=mbr)
    return {part: 1e6 * seconds / len(words) for part, seconds in timer.seconds.items()}


def torch_struct_decode() -> Callable[..., PendingTrees] | None:
    """Returns a `decode` for two-stage scores with the charts of torch-struct; None if it is not installed."""
    torch_struct = import_if_installed("torch_struct")
    if torch_struct is None:
        return None

    def decode(scores: TensorScores, *, mbr: bool = True, expected_f1: ExpectedF1 | None = None) -> PendingTrees:
        assert expected_f1 is None, "torch-struct has no expected-F1 decoding"
        with torch.enable_grad(), warnings.catch_warnings():  # torch-struct computes marginals and trees as gradients
            warnings.simplefilter("ignore")
            potentials = scores.spans[:, :-1, 1:, None].detach()
            if mbr:
                potentials = torch_struct.TreeCRF(potentials, lengths=scores.lengths).marginals.detach()
            best = torch_struct.TreeCRF(potentials, lengths=scores.lengths).argmax[..., 0]
        trees = torch.zeros_like(scores.spans, dtype=torch.bool)
        trees[:, :-1, 1:] = best > 0.5
        return label_trees(scores, trees)

    return decode


def import_if_installed(name: str) -> Any:
    """Returns a module, or None if it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(name)
    except ImportError:
        return None
