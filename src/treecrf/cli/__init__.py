"""The `treecrf` command: one module per verb, imported only when that verb is used.

A verb's module holds `add_arguments(parser)` and `run(args)`; `run` may return an exit status.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {
    "bench": "show how fast a model parses on this machine",
    "calibrate": "make a model's probabilities come true",
    "draw": "draw trees as pictures, as LaTeX or in the terminal",
    "evaluate": "score predicted trees against gold trees, as EVALB does",
    "models": "list the models that came with treecrf, or show the card of one",
    "pack": "turn a training run into a small model with a card",
    "parse": "parse text, or sentences given as words",
    "plot": "draw the curves of training runs",
    "prepare": "turn treebank releases into clean train, dev and test files",
    "reproduce": "run the paper's experiments on a treebank, and report",
    "serve": "answer requests over HTTP, and show a page to see trees",
    "train": "train a parser by a recipe",
}


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command; a known problem ends it with a message, not a traceback."""
    argv = sys.argv[1:] if argv is None else list(argv)
    parser = argparse.ArgumentParser(prog="treecrf", description="A neural CRF constituency parser.")
    verbs = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        verb = verbs.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if argv and argv[0] == name:
            module = import_module(f"treecrf.cli.{name}")
            module.add_arguments(verb)
            verb.set_defaults(run=module.run)
    args, late = parser.parse_known_args(argv)
    if late and (not hasattr(args, "settings") or any(word.startswith("-") for word in late)):
        parser.error(f"unrecognized arguments: {' '.join(late)}")
    if late:
        args.settings += late  # argparse takes a list of positional arguments only where it stands in one piece
    try:
        sys.exit(args.run(args))
    except BrokenPipeError:
        # whoever read our output has left: send the rest nowhere, so that the exit is quiet too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"treecrf {args.command}: {error}")
