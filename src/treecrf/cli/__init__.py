"""The `treecrf` command. Each verb has its own module, which is imported only when the verb is used.

The module of a verb has `add_arguments(parser)` and `run(args)`, which may return an exit status. The text below its
help, if any, is a file in `notes`. Here: arguments and one call of another wing. Not here: anything that a program may
want to call.
"""

import argparse
import difflib
import gc
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from treecrf.corpus import terminal
from treecrf.corpus.options import OptionError, check_device

# Python's default of 700 makes hundreds of collections while modules and models are loaded: a tenth of the time
_OBJECTS_PER_COLLECTION = 50_000
_FILE_PROBLEMS: Mapping[type, str] = {
    FileNotFoundError: "there is no file or folder {}; check the path, which is relative to the current folder",
    PermissionError: "no permission to read or write {}",
    IsADirectoryError: "{} is a folder; expected a file",
    NotADirectoryError: "{} is inside a file; expected a path whose parts are folders",
}
_NOTES = Path(__file__).with_name("notes")

COMMANDS = {
    "annotate": "correct trees of a corpus on a web page, the rest parsed again after each action",
    "bench": "measure how fast a model parses on this machine",
    "calibrate": "calibrate a model's probabilities on a development set",
    "check": "check trees that were edited by hand: words, labels and productions",
    "completion": "print a script that completes commands and options in a shell",
    "doubt": "list the sentences worth annotating, and what can be kept without looking",
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
    terminal.open_standard_streams()
    name = f"treecrf {argv[0]}" if argv and argv[0] in COMMANDS else "treecrf"
    with terminal.exit_on_interrupt(name), terminal.one_line_warnings(name):
        try:
            status: int | str | None = _run(argv)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader of the output has closed it
            terminal.discard_stdout()
            status = 141
        except (ValueError, OSError, ImportError) as error:
            terminal.discard_stdout()
            status = f"{terminal.paint(f'{name}:', 'red', sys.stderr)} {terminal.escape_controls(_describe(error))}"
            if isinstance(error, OptionError):
                print(status, file=sys.stderr)
                status = 2  # as argparse does for an unknown option
        sys.exit(status)


def _describe(error: Exception) -> str:
    """The message of an error in one line; a message of the operating system names the file."""
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        return "this needs PyTorch: pip install 'treecrf[torch]'"
    path = getattr(error, "filename", None)
    if path is None or error.__class__.__module__ != "builtins":
        return str(error)
    return _FILE_PROBLEMS[type(error)].format(path) if type(error) in _FILE_PROBLEMS else str(error)


def _run(argv: Sequence[str]) -> int | None:
    parser, verbs = build_parsers(argv[:1])
    if not argv:
        print(parser.format_help(), (_NOTES / "treecrf.txt").read_text(encoding="utf-8"), sep="\n", end="")
        return None
    if argv[0] not in verbs:
        parser.parse_args(argv)  # prints the version, help or an error, and exits
        parser.error("expected a command first")
    verb = verbs[argv[0]]
    args, unknown = verb.parse_known_args(argv[1:])
    if unknown and not any(word.startswith("-") for word in unknown):  # positional arguments after options
        args, unknown = verb.parse_known_intermixed_args(argv[1:])
    if unknown:
        _refuse(verb, unknown)
    if getattr(args, "device", None):
        check_device(args.device, is_local=getattr(args, "engine", "one") != "ray")
    status: int | None = args.run(args)
    return status


class _ArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(terminal.escape_controls(message))  # it may repeat an argument


def build_parsers(names: Sequence[str]) -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser of the command, and the parsers of its verbs by name; only verbs in `names` have arguments."""
    from treecrf import __version__

    parser = _ArgumentParser(prog="treecrf", description="A neural CRF constituency parser.")
    parser.add_argument("--version", action="version", version=f"treecrf {__version__}")
    verbs = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        verb = verbs.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name in names:
            module = import_module(f"treecrf.cli.{name}")
            if (notes := _NOTES / f"{name}.txt").is_file():
                verb.epilog = notes.read_text(encoding="utf-8")
                verb.formatter_class = argparse.RawDescriptionHelpFormatter
            module.add_arguments(verb)
            verb.set_defaults(run=module.run)
    return parser, verbs.choices


def _refuse(verb: argparse.ArgumentParser, unparsed: Sequence[str]) -> None:
    """Ends the command with the usage of its verb and the options that are nearest to the unknown ones."""
    options = [option for action in verb._actions for option in action.option_strings]
    hints = []
    for word in unparsed:
        nearest = difflib.get_close_matches(word.partition("=")[0], options, 1) if word.startswith("-") else []
        hints += [f"; did you mean {nearest[0]}?"] if nearest else []
    verb.error(f"unrecognized arguments: {' '.join(unparsed)}{''.join(hints)}")
