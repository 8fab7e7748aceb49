"""`treecrf bench`: measures how fast a model parses on this machine."""

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from treecrf.corpus.options import ParseOptions, check_minimum

if TYPE_CHECKING:
    from treecrf.parser import Parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", default="en", metavar="M", help="an installed model or a folder (default: en)")
    add("--sentences", type=int, metavar="N", help="number of sentences (default: 20,000 on a GPU, 500 on a CPU)")
    add("--repeats", type=int, default=3, metavar="N", help="number of measurements (default: 3)")
    add("--no-mbr", action="store_true", help="find the trees with the best scores instead of MBR decoding")
    add("--device", metavar="D", help="cpu, cuda or cuda:N (default: cuda if available)")
    add("--precision", choices=("float32", "float16", "int8", "int14"), help="as of `treecrf parse`")


def run(args: argparse.Namespace) -> None:
    from treecrf.parser import Parser
    from treecrf.parser.benchmark import SHORT_WORDS, device_name, measure_speed

    check_minimum(args, sentences=1, repeats=1)
    started = time.perf_counter()
    parser = Parser.load(args.model, args.device, precision=args.precision)
    load_seconds = time.perf_counter() - started
    speed = measure_speed(parser, sentences=args.sentences, repeats=args.repeats, mbr=not args.no_mbr)
    print(f"{args.model} on {device_name(parser.device)}, {'without' if args.no_mbr else 'with'} MBR")
    print(parser)
    print(f"load                   {load_seconds:10.2f} s")
    print(f"{f'{speed.sentences:,} sentences':22} {speed.sentences / speed.batch_seconds:10,.0f} sentences/s")
    print(f"{f'{speed.words:,} words':22} {speed.words / speed.batch_seconds:10,.0f} words/s")
    print(f"{f'one of {SHORT_WORDS} words':22} {1000 * speed.latency_seconds:10.2f} ms")
    _print_parts(parser, args, speed.sentences)


def _print_parts(parser: "Parser", args: argparse.Namespace, count: int) -> None:
    """Prints the speed of `treecrf parse --tokens`, the time of its parts, and how busy the device is."""
    from treecrf.corpus.part_times import file_seconds, part_seconds
    from treecrf.parser.benchmark import sample_sentences
    from treecrf.parser.part_times import busy_share, part_table

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.txt"), Path(folder, "out.mrg")
        source.write_text(
            "".join(f"{' '.join(words)}\n" for words in sample_sentences(parser, count)), encoding="utf-8"
        )
        options = ParseOptions(model=args.model, tokens=True, no_mbr=args.no_mbr)
        seconds = file_seconds(parser, source, target, options, repeats=args.repeats)
        parts = part_seconds(parser, source, target, mbr=not args.no_mbr)
    print(f"from file to file      {count / seconds:10,.0f} sentences/s")
    if parser.device != "cpu":
        print(f"{f'{parser.device} computes':22} {100 * busy_share(parts, seconds):10.0f} % of the time")
    print("", *part_table(parts, count), sep="\n")
