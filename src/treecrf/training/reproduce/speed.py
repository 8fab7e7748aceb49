"""The speed of parsers, from files of words to files of brackets, and the time of each part."""

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import torch

from treecrf.network.data.batch import Batch
from treecrf.network.nn import TensorBatch
from treecrf.parser import Parser
from treecrf.parser.benchmark import PartTimer, median_seconds
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.device_decode import PendingTrees, decode_on_device
from treecrf.parser.pipeline import Words
from treecrf.training.reproduce import paper
from treecrf.training.reproduce.baselines import supar_speed, torch_struct_decode
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.bracket_writer import FlatTrees

SENTENCES = {"cuda": (20_000, 2_000), "cpu": (500, 200)}  # for treecrf, and for baselines, which are slower
REPEATS = 3
_MBR = ("without MBR", "with MBR")

PlainWords = Sequence[Sequence[str]]
TensorDecode = Callable[..., PendingTrees]


def sample(trees: Sequence[Tree], number: int) -> list[Tree]:
    """Returns a random sample in which all trees occur about equally often; always the same one."""
    sampled: list[Tree] = []
    generator = random.Random(1)
    while len(sampled) < number:
        sampled += generator.sample(trees, min(len(trees), number - len(sampled)))
    return sampled


@torch.no_grad()
def time_parts(
    parser: Parser,
    sentences: Sequence[Words],
    stream: IO[bytes],
    timer: PartTimer,
    *,
    tensor_decode: TensorDecode | None = None,
    mbr: bool = True,
) -> None:
    """Parses sentences into a file and measures each part. The parts do not overlap, unlike in `Parser.parse_many`.

    A GPU decodes with `decode_on_device`, a CPU on NumPy arrays; `tensor_decode` replaces both.
    """
    if tensor_decode is None and parser.device != "cpu":
        tensor_decode = partial(decode_on_device, expected_f1=parser.expected_f1)
    writer = parser.tree_builder.bracket_writer(exact=False)
    for start in range(0, len(sentences), parser.batching.window):
        with timer.measure("sort into batches"):
            window = parser.reader.window(sentences[start : start + parser.batching.window], start)
            batches = window.batches(parser.batching.budget)
        lines: dict[int, str] = {}
        for indices in batches:
            with timer.measure("encode"):
                batch_sentences = window.select(indices)
                batch = parser.numericalizer.collate(batch_sentences.model_words)
            if tensor_decode is None:
                with timer.measure("network"):
                    scores = parser.scorer.score(batch)
                with timer.measure("chart and labels"):
                    decoded = decode(scores, mbr=mbr, expected_f1=parser.expected_f1)
            else:
                decoded = _decode_tensors(parser, batch, timer, partial(tensor_decode, mbr=mbr))
            with timer.measure("text"):
                brackets = writer.lines(batch_sentences.words, decoded)
                lines.update(zip(indices, brackets, strict=True))
        with timer.measure("put in order and write"):
            stream.write("\n".join([*(lines[index] for index in range(len(window))), ""]).encode())


def _decode_tensors(parser: Parser, batch: Batch, timer: PartTimer, tensor_decode: TensorDecode) -> FlatTrees:
    with timer.measure("copy to the device"):
        tensors = TensorBatch.from_host(batch, pin_memory=parser.device != "cpu").to(parser.device)
    with timer.measure("network"):
        scores = parser.model.eval()(tensors)
    with timer.measure("chart and labels"):
        decoded = tensor_decode(scores)
    with timer.measure("copy to the host"):
        return decoded()


def measure_speeds(
    parsers: dict[str, Parser], trees: Sequence[Tree], vocabulary: Sequence[Tree]
) -> list[dict[str, Any]]:
    """Measures the speeds of parsers and baselines; SuPar's network is built over the words of `vocabulary`."""
    name, parser = next(iter(parsers.items()))
    device = parser.device.split(":")[0]
    count, baseline_count = SENTENCES[device]
    words = [tree.words for tree in sample(trees, count)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        lines = list(_parser_lines(parsers, words, folder))
        lines += _torch_struct_lines(name, parser, words[:baseline_count], folder)
        supar = supar_speed(sample(trees, baseline_count), vocabulary, folder, device, REPEATS)
    speed_or_note = {"note": supar} if isinstance(supar, str) else {"sentences_per_second": supar}
    return [*lines, {"name": "SuPar, with MBR", "paper": None, "parts": {}, **speed_or_note}]


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
            time_parts(parser, words, stream, timer, tensor_decode=tensor_decode, mbr=mbr)
    return {part: 1e6 * seconds / len(words) for part, seconds in timer.seconds.items()}
