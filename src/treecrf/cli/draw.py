"""`treecrf draw`: draws trees as pictures, as LaTeX or as text."""

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from treecrf.corpus.inputs import find_inputs
from treecrf.corpus.options import check_minimum
from treecrf.corpus.records import has_records, holds_trees, read_texts
from treecrf.corpus.terminal import print_message
from treecrf.files import real_path, write_file
from treecrf.trees.drawing import render as rendering
from treecrf.trees.drawing import use_fonts
from treecrf.trees.drawing.colors import THEMES
from treecrf.trees.drawing.tree_files import DrawableTree, begins_with_trees, read_drawable_trees, select_trees
from treecrf.trees.treebank.lines import read_lines

if TYPE_CHECKING:
    from treecrf.parser import Parser
    from treecrf.parser.pipeline import Words

_STDIO = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="trees or texts: files, folders or patterns (default: -)",
    )
    add("-o", "--output", default=_STDIO, metavar="OUT", help=".svg, .png, .pdf, .html, .tex or .txt (default: -)")
    add("--format", choices=rendering.SUFFIXES, help="output format (default: by the name of OUT, or text)")
    add("--number", metavar="N", help="draw only these trees, counted from 1: 3 or 2,5-7")
    add("--model", metavar="M", help="parse raw text with this model (default: en)")
    add("--field", metavar="F", help="field of CSV, TSV, JSON lines or Parquet with the text (default: text)")
    add("--tokens", action="store_true", help="with --model: a line is one sentence, with spaces between its words")
    add("--no-probs", action="store_true", help="draw no probabilities")
    add("--layout", choices=["tidy", "aligned", "sideways"], help="words below tags (default), on one line, or in rows")
    add("--theme", choices=THEMES, help="colors of pictures (default: light)")
    add("--transparent", action="store_true", help="no background; choose the theme of the page behind the picture")
    add("--scale", type=float, metavar="S", help="pixels per unit (png only; default: 2)")
    add("--fonts", metavar="FOLDER", help="also use the fonts of this folder (png and pdf only)")
    add("--width", type=int, metavar="N", help="columns of a drawing (text only; default: the width of the terminal)")


def run(args: argparse.Namespace) -> None:
    files = [file.path for file in find_inputs(args.files or [_STDIO], partial(print_message, "treecrf draw"))]
    options = _render_options(args, files)
    trees = list(_read_trees(args, files))
    names = ", ".join(args.files) or _STDIO
    if not trees:
        raise ValueError(f"{names} has no tree to draw")
    if args.number is not None:
        trees = select_trees(trees, args.number, names)
    if args.no_probs:
        trees = [DrawableTree(tree) for tree, _ in trees]
    if args.fonts:
        use_fonts(args.fonts)
    if options.format in ("png", "pdf"):
        _warn_about_fonts(trees)
    pictures = rendering.render(trees, options)
    _write(pictures, args.output)
    if args.output != _STDIO:
        names = " to ".join(rendering.file_names(args.output, len(pictures))[:: max(len(pictures) - 1, 1)])
        print(f"{len(trees)} tree{'s' * (len(trees) > 1)} drawn in {names}")


def _render_options(args: argparse.Namespace, files: Sequence[str]) -> rendering.RenderOptions:
    format_ = args.format or ("text" if args.output == _STDIO else rendering.format_of(args.output))
    for name, formats in rendering.OPTION_FORMATS.items():
        if getattr(args, name) not in (None, False) and format_ not in formats:
            raise ValueError(f"--{name} needs the format {' or '.join(formats)}; this is {format_}")
    if args.tokens and not args.model:
        raise ValueError("--tokens needs a parser; add --model M")
    check_minimum(args, width=1)
    if args.output != _STDIO and real_path(args.output) in {real_path(file) for file in files if file != _STDIO}:
        raise ValueError(f"{args.output} is the input and would be overwritten; choose another -o")
    return rendering.RenderOptions(
        format=format_,
        layout=args.layout or "tidy",
        theme=args.theme or "light",
        transparent=args.transparent,
        scale=args.scale,
        width=args.width or shutil.get_terminal_size((100, 24)).columns,
    )


def _read_trees(args: argparse.Namespace, files: Sequence[str]) -> Iterator[DrawableTree]:
    parser = None
    for file in files:
        is_text = args.model or (has_records(file) and not holds_trees(file)) or not begins_with_trees(file)
        if not is_text:
            yield from read_drawable_trees(file)
            continue
        if parser is None:
            from treecrf.parser import Parser

            parser = Parser.load(args.model or "en")
        for analysis in parser.analyze_many(_read_sentences(args, file, parser)):
            yield DrawableTree(analysis.tree, [constituent.calibrated for constituent in analysis.constituents])


def _read_sentences(args: argparse.Namespace, file: str, parser: "Parser") -> "Iterator[Words]":
    """Reads sentences of raw text, or with --tokens the words of one sentence per line."""
    for line in read_texts(file, args.field) if has_records(file) else _read_lines(file):
        if not args.tokens:
            yield from parser.split_text(line)
        elif words := line.split():
            yield words


def _read_lines(file: str) -> Iterator[str]:
    for number, (line, problem) in enumerate(read_lines(file, None), 1):
        if problem:
            raise ValueError(f"{file}:{number}: {problem}")
        yield line


def _warn_about_fonts(trees: Sequence[DrawableTree]) -> None:
    if missing := rendering.characters_without_font(trees):
        examples = f"{missing[0]!r} and {len(missing) - 1} more" if len(missing) > 1 else repr(missing)
        hint = "install a font that has them, such as Noto Sans CJK, or name a folder with --fonts"
        print(f"treecrf draw: no font has {examples}, which are drawn as boxes; {hint}", file=sys.stderr)


def _write(files: Sequence[bytes], output: str) -> None:
    if output != _STDIO:
        for name, data in zip(rendering.file_names(output, len(files)), files, strict=True):
            write_file(real_path(name), data)
        return
    if len(files) > 1:
        raise ValueError(f"{len(files)} pictures do not fit on standard output; name a file with -o")
    if sys.stdout.isatty() and b"\0" in files[0]:
        raise ValueError("a terminal cannot show this picture; name a file with -o")
    sys.stdout.buffer.write(files[0])
