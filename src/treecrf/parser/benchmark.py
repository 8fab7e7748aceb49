"""Measures how fast a parser is on random sentences; timers of calls, of repeated runs and of the parts of a run."""

import platform
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from treecrf.parser import Parser

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
    texts = sample_sentences(parser, count)
    short = (texts[0] * SHORT_WORDS)[:SHORT_WORDS]
    return Speed(
        sentences=count,
        words=sum(map(len, texts)),
        batch_seconds=median_seconds(lambda: list(parser.brackets_many(texts, mbr=mbr)), repeats),
        latency_seconds=median_seconds(lambda: parser.parse(short, mbr=mbr), 10 * repeats),
    )


def sample_sentences(parser: Parser, count: int) -> list[list[str]]:
    """Random sentences of a model's words."""
    return random_sentences(parser.vocabulary.words or parser.vocabulary.labels, count)


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


def time_call(call: Callable[[], object], device: str | None = None) -> float:
    """The seconds of one call; a GPU given as `device` completes its work before and after the call."""
    start = now(device)
    call()
    return now(device) - start


def time_runs(run: Callable[[], object], repeats: int) -> list[float]:
    """The seconds of a warm-up run and then of `repeats` runs."""
    return [time_call(run) for _ in range(repeats + 1)]


def median_seconds(run: Callable[[], object], repeats: int) -> float:
    """The median time of `repeats` runs after a warm-up run."""
    return statistics.median(time_runs(run, repeats)[1:])


def now(device: str | None = None) -> float:
    """The time in seconds, after a GPU given as `device` has completed its work."""
    if device is not None and device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()
    return time.perf_counter()


class PartTimer:
    """Adds up the time of each part of a run. The device completes a part before the next part starts."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Adds the time of the `with` block to a part."""
        start = now(self.device)
        yield
        self.seconds[part] += now(self.device) - start
