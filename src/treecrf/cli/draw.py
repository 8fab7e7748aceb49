"""`treecrf draw`: pictures of trees."""

import argparse
import io
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from treecrf import viz
from treecrf.tree import Tree
from treecrf.treebank import read_trees
from treecrf.treebank.lines import open_stream, read_lines
from treecrf.viz.colors import THEMES, checked
from treecrf.viz.text_metrics import visible

STDIO = "-"
_FORMATS = {
    "text": ".txt",
    "svg": ".svg",
    "png": ".png",
    "pdf": ".pdf",
    "html": ".html",
    "forest": ".tex",
    "tikz-qtree": ".tex",
}
_PACKAGES: dict[str, viz.Package] = {"forest": "forest", "tikz-qtree": "tikz-qtree"}
_PICTURES = ("svg", "png", "pdf", "html")
_ONE_EACH = ("svg", "png")  # formats whose files hold one picture
_CHECKED_LETTERS = 100
_NOTES = """\
The input is trees in brackets, lines of `treecrf parse --format json` (with --probs, probabilities become colours), or,
with --model, raw text that is parsed first. Of several trees, SVG and PNG make numbered files (tree-1.svg, tree-2.svg),
PDF and LaTeX a page each, HTML one page, and text one drawing below the other.

examples:
  treecrf draw trees.mrg
  treecrf draw trees.mrg --number 3 -o tree.svg
  echo 'The time for action is now.' | treecrf draw --model en -o tree.pdf
  treecrf parse --format json --probs news.txt | treecrf draw -o news.html
"""


class Drawn(NamedTuple):
    """What is drawn: a tree, and the probabilities of its constituents where they are known."""

    tree: Tree
    probabilities: Sequence[float] | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `treecrf draw`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _NOTES
    add = parser.add_argument
    add("input", nargs="?", default=STDIO, metavar="INPUT", help="a file, plain or gzipped, or - (default: -)")
    add("-o", "--output", default=STDIO, metavar="OUT", help=".svg, .png, .pdf, .html, .tex or .txt (default: -)")
    add("--format", choices=_FORMATS, help="what to write, where the name of OUT does not tell (default: text)")
    add("--number", metavar="N", help="draw only these trees, counted from 1: 3 or 2,5-7")
    add("--model", metavar="M", help="parse the input, raw text, with this model first")
    add("--tokens", action="store_true", help="with --model: a line is a sentence, its words between spaces")
    add("--no-probs", action="store_true", help="leave probabilities out")
    add("--layout", choices=["tidy", "aligned", "sideways"], help="words below tags (default), on one line, in rows")
    add("--theme", choices=THEMES, help="the ground that pictures have (default: light)")
    add("--transparent", action="store_true", help="no ground, for a page that has one of the theme's tone")
    add("--scale", type=float, metavar="S", help="with png: pixels to a unit (default: 2)")
    add("--fonts", metavar="FOLDER", help="with png and pdf: take fonts from here as well")
    add("--width", type=int, metavar="N", help="with text: columns that a drawing may fill (default: the terminal's)")


def run(args: argparse.Namespace) -> None:
    """Read the trees, choose, draw."""
    chosen = args.format or _format(args.output)
    _check(args, chosen)
    try:
        trees = _chosen(list(_read(args)), args.number, args.input)
        if args.no_probs:
            trees = [Drawn(tree) for tree, _ in trees]
        if args.fonts:
            viz.use_fonts(args.fonts)
        if chosen in ("png", "pdf"):
            _warn_of_boxes(trees)
        files = _files(trees, chosen, args)
    except ImportError as error:
        raise SystemExit(f"treecrf draw: {error}") from error
    _write(files, args.output)
    if args.output != STDIO:
        names = " to ".join(_names(args.output, len(files))[:: max(len(files) - 1, 1)])
        print(f"{len(trees)} tree{'s' * (len(trees) > 1)} drawn in {names}")


def _format(output: str) -> str:
    if output == STDIO:
        return "text"
    suffix = Path(output).suffix.lower()
    for name, known in _FORMATS.items():
        if suffix == known:
            return name
    raise ValueError(f"{output}: no format has the suffix {suffix!r}; expected one of .svg .png .pdf .html .tex .txt")


def _check(args: argparse.Namespace, chosen: str) -> None:
    allowed = {
        "layout": _PICTURES,
        "theme": _PICTURES,
        "transparent": _PICTURES,
        "scale": ("png",),
        "fonts": ("png", "pdf"),
        "width": ("text",),
    }
    for name, formats in allowed.items():
        if getattr(args, name) not in (None, False) and chosen not in formats:
            raise ValueError(f"--{name} goes with {', '.join(formats)}, and this is {chosen}")
    if args.tokens and not args.model:
        raise ValueError("--tokens is about text to parse; name the parser with --model")
    if args.width is not None and args.width < 1:
        raise ValueError(f"--width is {args.width}; expected 1 or more")
    if args.output != STDIO != args.input and Path(args.output).resolve() == Path(args.input).resolve():
        raise ValueError(f"{args.output} is the input and would be overwritten; choose another -o")


def _read(args: argparse.Namespace) -> Iterator[Drawn]:
    if args.model:
        yield from _parsed(args)
        return
    with open_stream(args.input) as stream:
        lines = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        start = lines.peek(1).removeprefix(b"\xef\xbb\xbf").lstrip()
        if start.startswith((b"{", b"null")):
            yield from _from_json(lines, "<stdin>" if args.input == STDIO else args.input)
        else:
            yield from map(Drawn, read_trees(lines))


def _from_json(lines: Iterable[bytes], name: str) -> Iterator[Drawn]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8-sig"))
            sentences = value.get("sentences", [value]) if value is not None else []
            yield from map(_sentence, sentences)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else error
            raise ValueError(f"{name}:{number}: {reason}; expected a line of `treecrf parse --format json`") from error


def _sentence(value: dict[str, Any]) -> Drawn:
    tree = Tree.parse(value["tree"])
    probabilities = [span["probability"] for span in value.get("spans", ()) if "probability" in span]
    return Drawn(tree, checked(probabilities or None, len(tree.spans())))


def _parsed(args: argparse.Namespace) -> Iterator[Drawn]:
    from treecrf.parser import Parser
    from treecrf.parser.inputs import Words
    from treecrf.text import sentences

    parser = Parser.load(args.model)
    words: list[Words] = []
    for number, (line, problem) in enumerate(read_lines(args.input, None), 1):
        if problem:
            raise ValueError(f"{args.input}:{number}: {problem}")
        if args.tokens:
            words += [found] if (found := line.split()) else []
        else:
            words += sentences(line, language=parser.language)
    for analysis in parser.analyze_many(words):
        yield Drawn(analysis.tree, [constituent.probability for constituent in analysis.constituents])


def _chosen(trees: list[Drawn], numbers: str | None, name: str) -> list[Drawn]:
    if not trees:
        raise ValueError(f"{name} holds no tree to draw")
    if numbers is None:
        return trees
    found: list[Drawn] = []
    for part in numbers.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if not match:
            raise ValueError(f"--number is {numbers!r}; expected numbers and ranges of them, such as 3 or 2,5-7")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= len(trees):
            raise ValueError(f"--number asks for {part.strip()}; {name} holds trees 1 to {len(trees)}")
        found += trees[first - 1 : last]
    return found


def _warn_of_boxes(trees: list[Drawn]) -> None:
    texts = (node.label + "".join(node.words if node.is_leaf else []) for tree, _ in trees for node in tree.walk())
    letters = sorted({letter for text in texts for letter in visible(text) if letter > "\u024f"})
    if missing := viz.without_font("".join(letters[:_CHECKED_LETTERS])):
        shown = f"{missing[0]!r} and {len(missing) - 1} more" if len(missing) > 1 else repr(missing)
        hint = "install one that does (Noto Sans CJK, say), or name a folder with --fonts"
        print(f"treecrf draw: no font has {shown}, drawn as boxes: {hint}", file=sys.stderr)


def _files(trees: list[Drawn], chosen: str, args: argparse.Namespace) -> list[bytes]:
    """The contents of the files to write."""
    if chosen == "text":
        width = args.width or shutil.get_terminal_size((100, 24)).columns
        return ["\n\n".join([*(viz.text(*drawn, width=width) for drawn in trees), ""])[:-1].encode(errors="replace")]
    if chosen in _PACKAGES:
        package = _PACKAGES[chosen]
        return [viz.document((viz.latex(*drawn, package=package) for drawn in trees), package=package).encode()]
    theme = args.theme or "light"
    pictures = [
        viz.svg(*drawn, layout=args.layout or "tidy", theme=theme, transparent=args.transparent) for drawn in trees
    ]
    if chosen == "html":
        captions = (f"{number}. {visible(' '.join(tree.words))}" for number, (tree, _) in enumerate(trees, 1))
        return [viz.page(zip(captions, pictures, strict=True), theme=theme).encode()]
    if chosen == "pdf":
        return [viz.pdf(*pictures)]
    return [viz.png(picture, scale=args.scale) if chosen == "png" else picture.encode() for picture in pictures]


def _write(files: list[bytes], output: str) -> None:
    if output != STDIO:
        for name, data in zip(_names(output, len(files)), files, strict=True):
            Path(name).write_bytes(data)
        return
    if len(files) > 1:
        raise ValueError(f"{len(files)} pictures, and standard output takes one; name a file with -o")
    if sys.stdout.isatty() and b"\0" in files[0]:
        raise ValueError("a picture is nothing for a terminal; name a file with -o")
    sys.stdout.buffer.write(files[0])


def _names(output: str, count: int) -> list[str]:
    if count == 1:
        return [output]
    path, digits = Path(output), len(str(count))
    return [str(path.with_name(f"{path.stem}-{number:0{digits}d}{path.suffix}")) for number in range(1, count + 1)]
