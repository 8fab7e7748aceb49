"""`treecrf bench`: how fast a model parses on this machine."""

import argparse
import platform
import random
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import accumulate

_SENTENCES = {"cuda": 20_000}
_SENTENCES_ELSEWHERE = 500
_SHORT = 8  # words of a sentence whose answer somebody waits for
_WORDS = 24  # of a sentence, on average

_NOTES = """\
Sentences are drawn from the model's own words, some of them often and most of them seldom, as in real text; there are
24 in a sentence on average, and up to a hundred. They are parsed to brackets, once to warm up and then as often as
--repeats says; times are medians. Loading counts what Parser.load does, not Python's own start.

example:
  treecrf bench --model en --device cpu
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `treecrf bench`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _NOTES
    add = parser.add_argument
    add("--model", default="en", metavar="M", help="a model that came with treecrf, or a folder (default: en)")
    add("--sentences", type=int, metavar="N", help="how many are parsed (default: 20,000 on a GPU, 500 elsewhere)")
    add("--repeats", type=int, default=3, metavar="N", help="how often (default: 3)")
    add("--no-mbr", action="store_true", help="the best-scoring trees, not those of least expected error")
    add("--device", metavar="D", help="cpu, cuda, cuda:1, ...; a GPU if there is one")


def run(args: argparse.Namespace) -> None:
    """Time a model and print what came out."""
    import torch

    from treecrf.parser import Parser

    for name in ("sentences", "repeats"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            raise ValueError(f"--{name} is {getattr(args, name)}; expected 1 or more")
    started = time.perf_counter()
    parser = Parser.load(args.model, args.device)
    loading = time.perf_counter() - started
    mbr = not args.no_mbr
    number = args.sentences or _SENTENCES.get(parser.device.type, _SENTENCES_ELSEWHERE)
    sentences = drawn_sentences(parser.vocabulary.words or parser.vocabulary.labels, number)
    short = (sentences[0] * _SHORT)[:_SHORT]
    total = sum(map(len, sentences))

    batch = _median(lambda: list(parser.brackets_many(sentences, mbr=mbr)), args.repeats)
    single = _median(lambda: parser.parse(short, mbr=mbr), 10 * args.repeats)
    where = torch.cuda.get_device_name(parser.device) if parser.device.type == "cuda" else _processor()
    print(f"{args.model} on {where}, torch {torch.__version__}, {'with' if mbr else 'without'} MBR")
    print(f"load                   {loading:10.2f} s")
    print(f"{f'{number:,} sentences':22} {number / batch:10,.0f} sentences/s")
    print(f"{f'{total:,} words':22} {total / batch:10,.0f} words/s")
    print(f"{f'one of {_SHORT} words':22} {1000 * single:10.2f} ms")


def drawn_sentences(words: Sequence[str], number: int) -> list[list[str]]:
    """Sentences with the lengths and the repetitions of real text, the same for the same words."""
    source = random.Random(1)
    ranked = source.sample(words, len(words))
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(ranked))))
    lengths = [min(100, 1 + round(source.gammavariate(3, (_WORDS - 1) / 3))) for _ in range(number)]
    return [source.choices(ranked, cum_weights=weights, k=length) for length in lengths]


def _median(run: Callable[[], object], repeats: int) -> float:
    """Seconds of a run, after one that does not count."""
    run()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _processor() -> str:
    import torch

    threads = torch.get_num_threads()
    return f"{platform.processor() or platform.machine()} ({threads} thread{'s' * (threads > 1)})"
