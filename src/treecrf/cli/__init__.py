"""The `treecrf` command. Each verb has its own module, which is imported only when the verb is used.

The module of a verb has `add_arguments(parser)` and `run(args)`; `run` may return an exit status.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

COMMANDS = {
    "bench": "measure how fast a model parses on this machine",
    "calibrate": "calibrate a model's probabilities on a development set",
    "draw": "draw trees as pictures, as LaTeX or as text",
    "evaluate": "score predicted trees against gold trees, as EVALB does",
    "models": "list the embedded models, or show the card or the labels of one",
    "pack": "make a small model with a model card from a training run",
    "parse": "parse raw text, or sentences of words",
    "plot": "plot loss and dev F of training runs",
    "prepare": "make clean train, dev and test files from a treebank release",
    "reproduce": "run the paper's experiments on a treebank and write a report",
    "search": "search trees with Tregex patterns, or change them with Tsurgeon operations",
    "serve": "start an HTTP server with a web page for trees",
    "train": "train a parser from a recipe",
}


def main(argv: Sequence[str] | None = None) -> None:
    """Runs one command; a known problem ends it with a message instead of a traceback."""
    argv = sys.argv[1:] if argv is None else list(argv)
    parser = argparse.ArgumentParser(prog="treecrf", description="A neural CRF constituency parser.")
    verbs = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        verb = verbs.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if argv and argv[0] == name:
            module = _import_verb(name)
            module.add_arguments(verb)
            verb.set_defaults(run=module.run)
    args, unparsed = parser.parse_known_args(argv)
    # argparse does not accept a list of positional arguments with options in between
    positional = next((getattr(args, name) for name in ("settings", "files") if hasattr(args, name)), None)
    if unparsed and (positional is None or any(word.startswith("-") for word in unparsed)):
        parser.error(f"unrecognized arguments: {' '.join(unparsed)}")
    if positional is not None:
        positional += unparsed
    try:
        sys.exit(args.run(args))
    except BrokenPipeError:
        # the reader of the output has closed it: discard the rest, so that the flush at exit does not fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"treecrf {args.command}: {_explain(error)}")


def _import_verb(name: str) -> ModuleType:
    try:
        return import_module(f"treecrf.cli.{name}")
    except ModuleNotFoundError as error:
        sys.exit(f"treecrf {name}: {_explain(error)}")


def _explain(error: Exception) -> str:
    """The message of an error; if PyTorch is missing, the command that installs it."""
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        return "this needs PyTorch: pip install 'treecrf[torch]'"
    return str(error)
