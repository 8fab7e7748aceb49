"""Measures how fast a parser is on random sentences."""

import platform
import random
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from treecrf.parser import Parser
from treecrf.parser.timer import median_seconds

SHORT_WORDS = 8  # words of the sentence for the latency
_MEAN_WORDS = 24  # mean length of the sentences
_MAX_WORDS = 100
_SENTENCES = {"cuda": 20_000, "cpu": 500}


class Speed(NamedTuple):
    """The speed of a parser; times are medians in seconds."""

    sentences: int
    words: int
    batch_seconds: float  # time for all sentences
    latency_seconds: float  # time for one short sentence


def measure_speed(parser: Parser, *, sentences: int | None, repeats: int, mbr: bool) -> Speed:
    """Parses random sentences of the model's words, once as a warm-up and then `repeats` times."""
    count = sentences or _SENTENCES["cpu" if parser.device == "cpu" else "cuda"]
    texts = random_sentences(parser.vocabulary.words or parser.vocabulary.labels, count)
    short = (texts[0] * SHORT_WORDS)[:SHORT_WORDS]
    return Speed(
        sentences=count,
        words=sum(map(len, texts)),
        batch_seconds=median_seconds(lambda: list(parser.brackets_many(texts, mbr=mbr)), repeats),
        latency_seconds=median_seconds(lambda: parser.parse(short, mbr=mbr), 10 * repeats),
    )


def random_sentences(words: Sequence[str], count: int) -> list[list[str]]:
    """Sentences with the lengths and the word frequencies of real text; the same for the same words."""
    generator = random.Random(1)
    ranked = generator.sample(words, len(words))
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(ranked))))
    lengths = [min(_MAX_WORDS, 1 + round(generator.gammavariate(3, (_MEAN_WORDS - 1) / 3))) for _ in range(count)]
    return [generator.choices(ranked, cum_weights=weights, k=length) for length in lengths]


def device_name(device: str) -> str:
    """The name of a GPU with the version of PyTorch, or of this machine's processor."""
    if device == "cpu":
        return _processor_name()
    import torch

    return f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}"


def _processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not on Linux
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, [*names, platform.processor(), platform.machine()]), "an unknown processor")
