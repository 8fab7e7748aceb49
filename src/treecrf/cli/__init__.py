"""The `treecrf` command. Each verb has its own module, which is imported only when the verb is used.

The module of a verb has `add_arguments(parser)` and `run(args)`; `run` may return an exit status. Here: arguments and
one call of another wing. Not here: anything that a program may want to call.
"""

import argparse
import difflib
import gc
import sys
from collections.abc import Sequence
from importlib import import_module

from treecrf.cli.colors import paint
from treecrf.cli.errors import OptionError, describe_error
from treecrf.cli.interrupts import exit_on_interrupt
from treecrf.cli.streams import discard_stdout, open_standard_streams
from treecrf.cli.warning_lines import one_line_warnings

# Python's default of 700 makes hundreds of collections while modules and models are loaded: a tenth of the time
_OBJECTS_PER_COLLECTION = 50_000

COMMANDS = {
    "bench": "measure how fast a model parses on this machine",
    "calibrate": "calibrate a model's probabilities on a development set",
    "completion": "print a script that completes commands and options in a shell",
    "draw": "draw trees as pictures, as LaTeX or as text",
    "evaluate": "score predicted trees against gold trees, as EVALB does",
    "measure": "measure the syntactic complexity of texts, with intervals",
    "models": "list the models, or show the card or the labels of a model",
    "pack": "make a small model with a model card from a training run",
    "parse": "parse raw text, or sentences of words",
    "plot": "plot loss and dev F of training runs",
    "prepare": "make clean train, dev and test files from a treebank release",
    "reproduce": "run the paper's experiments on a treebank and write a report",
    "samples": "copy the sample files of the documentation into a folder",
    "search": "search trees with Tregex patterns, or change them with Tsurgeon operations",
    "serve": "start an HTTP server with a web page for trees",
    "train": "train a parser from a recipe",
}


def main(argv: Sequence[str] | None = None) -> None:
    """Runs one command; a known problem ends it with a message instead of a traceback."""
    argv = sys.argv[1:] if argv is None else list(argv)
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    open_standard_streams()
    name = f"treecrf {argv[0]}" if argv and argv[0] in COMMANDS else "treecrf"
    with exit_on_interrupt(name), one_line_warnings(name):
        try:
            status: int | str | None = _run(argv)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader of the output has closed it
            discard_stdout()
            status = 141
        except (ValueError, OSError, ImportError) as error:
            discard_stdout()
            message = f"{paint(f'{name}:', 'red', sys.stderr)} {describe_error(error)}"
            status = _print_error(message) if isinstance(error, OptionError) else message
        sys.exit(status)


def _print_error(message: str) -> int:
    """Prints the message of a wrong option, and returns the exit status of `argparse` for it."""
    print(message, file=sys.stderr)
    return 2


def _run(argv: Sequence[str]) -> int | None:
    parser = build_parser(argv[:1])
    args, unparsed = parser.parse_known_args(argv)
    # argparse does not accept a list of positional arguments with options in between
    positional = next((getattr(args, name) for name in ("settings", "files") if hasattr(args, name)), None)
    if unparsed and (positional is None or any(word.startswith("-") for word in unparsed)):
        _refuse(args.verb, unparsed)
    if positional is not None:
        positional += unparsed
    if getattr(args, "device", None):
        from treecrf.cli.devices import check_device

        check_device(args.device, is_local=getattr(args, "engine", "one") != "ray")
    status: int | None = args.run(args)
    return status


def build_parser(names: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of all commands, with the arguments of those that are named."""
    from treecrf import __version__

    parser = argparse.ArgumentParser(prog="treecrf", description="A neural CRF constituency parser.")
    parser.add_argument("--version", action="version", version=f"treecrf {__version__}")
    verbs = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        verb = verbs.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name in names:
            module = import_module(f"treecrf.cli.{name}")
            module.add_arguments(verb)
            verb.set_defaults(run=module.run, verb=verb)
    return parser


def _refuse(verb: argparse.ArgumentParser, unparsed: Sequence[str]) -> None:
    """Ends the command with the usage of its verb and the options that are nearest to the unknown ones."""
    options = [option for action in verb._actions for option in action.option_strings]
    hints = []
    for word in unparsed:
        nearest = difflib.get_close_matches(word.partition("=")[0], options, 1) if word.startswith("-") else []
        hints += [f"; did you mean {nearest[0]}?"] if nearest else []
    verb.error(f"unrecognized arguments: {' '.join(unparsed)}{''.join(hints)}")
