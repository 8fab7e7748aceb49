"""`treecrf bench`: measures how fast a model parses on this machine."""

import argparse
import time

from treecrf.corpus.options import check_minimum


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", default="en", metavar="M", help="an installed model or a folder (default: en)")
    add("--sentences", type=int, metavar="N", help="number of sentences (default: 20,000 on a GPU, 500 on a CPU)")
    add("--repeats", type=int, default=3, metavar="N", help="number of measurements (default: 3)")
    add("--no-mbr", action="store_true", help="find the trees with the best scores instead of MBR decoding")
    add("--device", metavar="D", help="cpu, cuda or cuda:N (default: cuda if available)")


def run(args: argparse.Namespace) -> None:
    from treecrf.parser import Parser
    from treecrf.parser.benchmark import SHORT_WORDS, device_name, measure_speed

    check_minimum(args, sentences=1, repeats=1)
    started = time.perf_counter()
    parser = Parser.load(args.model, args.device)
    load_seconds = time.perf_counter() - started
    speed = measure_speed(parser, sentences=args.sentences, repeats=args.repeats, mbr=not args.no_mbr)
    print(f"{args.model} on {device_name(parser.device)}, {'without' if args.no_mbr else 'with'} MBR")
    print(parser)
    print(f"load                   {load_seconds:10.2f} s")
    print(f"{f'{speed.sentences:,} sentences':22} {speed.sentences / speed.batch_seconds:10,.0f} sentences/s")
    print(f"{f'{speed.words:,} words':22} {speed.words / speed.batch_seconds:10,.0f} words/s")
    print(f"{f'one of {SHORT_WORDS} words':22} {1000 * speed.latency_seconds:10.2f} ms")
