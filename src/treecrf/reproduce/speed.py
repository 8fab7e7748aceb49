"""How fast parsers are: sentences to brackets in files, and where the time goes."""

import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import torch

from treecrf.decoding import Decoded, decode
from treecrf.decoding.tree_builder import write_brackets
from treecrf.parser import Parser
from treecrf.reproduce import paper
from treecrf.reproduce.baselines import supar_speed, torch_struct_decode
from treecrf.reproduce.timer import Clock, seconds
from treecrf.tree import Tree

SENTENCES = {"cuda": (20_000, 2_000), "cpu": (500, 200)}  # ours and those of a peer, which is slow
REPEATS = 3


def sample(trees: Sequence[Tree], number: int) -> list[Tree]:
    """So many trees, all of them about equally often."""
    drawn: list[Tree] = []
    generator = random.Random(1)
    while len(drawn) < number:
        drawn += generator.sample(trees, min(len(trees), number - len(drawn)))
    return drawn


@torch.no_grad()
def time_parts(
    parser: Parser,
    words: Sequence[Sequence[str]],
    stream: IO[bytes],
    clock: Clock,
    *,
    decode: Callable[..., Decoded] = decode,
    mbr: bool = True,
) -> None:
    """Parse sentences into a file, each part finished before the next begins, and take the time of each."""
    parser.model.eval()
    writer = parser.tree_builder.bracket_writer(exact=False)
    for start in range(0, len(words), parser.batching.window):
        with clock.time("sort into batches"):
            window = parser._reader.window(words[start : start + parser.batching.window], start)
            batches = window.batches(parser.batching.budget)
        made: dict[int, str] = {}
        for members in batches:
            with clock.time("encode"):
                sentences = window.select(members)
                batch = parser.numericalizer.collate(sentences.model_words)
            with clock.time("copy to the device"):
                batch = (batch.pin_memory() if clock.device.type == "cuda" else batch).to(clock.device)
            with clock.time("network"):
                scores = parser.scorer(batch)
            with clock.time("chart and labels"):
                decoded = decode(scores, mbr=mbr, expected_f1=parser.expected_f1)
            with clock.time("copy to the host"):
                decoded = decoded.cpu()
            with clock.time("text"):
                made.update(zip(members, write_brackets(writer, sentences.words, None, decoded), strict=True))
        with clock.time("put in order and write"):
            stream.write("\n".join([*(made[number] for number in range(len(window))), ""]).encode())


def speeds(
    parsers: dict[str, Parser],
    trees: Sequence[Tree],
    vocabulary: Sequence[Tree],
    *,
    sentences: int | None = None,
    repeats: int = REPEATS,
) -> list[dict[str, Any]]:
    """Sentences/s of parsers with and without MBR, and of the first one's network with the charts of a peer."""
    device = next(iter(parsers.values())).device.type
    ours, theirs = SENTENCES.get(device, SENTENCES["cpu"])
    ours, theirs = (sentences, min(sentences, theirs)) if sentences else (ours, theirs)
    words = [tree.words for tree in sample(trees, ours)]
    found = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, parser in parsers.items():
            for mbr in (False, True):
                title = f"{name}, {'with' if mbr else 'without'} MBR"
                speed = _speed(parser, words, folder, repeats=repeats, mbr=mbr)
                found.append({"name": title, "sentences_per_second": speed, "paper": paper.SPEED.get(title)})
                found[-1]["parts"] = _parts(parser, words, folder, mbr=mbr)
        name, parser = next(iter(parsers.items()))
        if (peer := torch_struct_decode()) and not parser.model.config.one_stage:
            few = words[:theirs]
            for mbr in (False, True):
                title = f"{name}, {'with' if mbr else 'without'} MBR, charts by torch-struct"
                found.append({"name": title, "paper": None, **_with_charts(parser, few, folder, peer, mbr=mbr)})
        supar = supar_speed(sample(trees, theirs), vocabulary, folder, device, repeats)
        note = {"note": supar} if isinstance(supar, str) else {"sentences_per_second": supar}
        found.append({"name": "SuPar, with MBR", "paper": None, "parts": {}, **note})
    return found


def _with_charts(
    parser: Parser, words: Sequence[Sequence[str]], folder: Path, decode: Callable[..., Decoded], *, mbr: bool
) -> dict[str, Any]:
    try:
        parts = _parts(parser, words, folder, decode=decode, mbr=mbr)
    except torch.OutOfMemoryError:
        return {"note": "out of memory", "parts": {}}
    return {"sentences_per_second": 1e6 / sum(parts.values()), "parts": parts}


def _speed(parser: Parser, words: Sequence[Sequence[str]], folder: Path, *, repeats: int, mbr: bool) -> float:
    """The median over runs after the first, from a file of words to a file of brackets."""
    source, target = folder / "in.txt", folder / "out.mrg"
    source.write_text("".join(f"{' '.join(sentence)}\n" for sentence in words), encoding="utf-8")

    def parse() -> None:
        with source.open(encoding="utf-8", newline="\n") as lines, target.open("w", encoding="utf-8") as out:
            read = (line.rstrip("\n").split(" ") for line in lines)
            out.writelines(f"{line}\n" for line in parser.brackets_many(read, exact=False, mbr=mbr))

    return len(words) / statistics.median(seconds(parse, repeats)[1:])


def _parts(
    parser: Parser,
    words: Sequence[Sequence[str]],
    folder: Path,
    *,
    decode: Callable[..., Decoded] = decode,
    mbr: bool,
) -> dict[str, float]:
    """Microseconds of each part for a sentence; a first run does not count."""
    for _ in range(2):
        clock = Clock(parser.device)
        with (folder / "parts.mrg").open("wb") as stream:
            time_parts(parser, words, stream, clock, decode=decode, mbr=mbr)
    return {part: 1e6 * time / len(words) for part, time in clock.seconds.items()}
