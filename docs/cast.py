"""Records the first ten minutes with treecrf as an animated SVG: `python docs/cast.py` writes docs/cast.svg.

With `-` it prints the SVG. Each screen has commands and what they print; nothing in the file is written by hand.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

FILE = Path(__file__).parent / "cast.svg"
COLUMNS, ROWS = 100, 27
CHARACTER, LINE, MARGIN = 7.83, 18, 14
SECONDS = 6  # per screen
SCREENS = [
    ["echo 'The time for action is now.' | treecrf parse", "echo 'Time flies like an arrow.' | treecrf draw"],
    [
        "printf 'The old man saw the girl with the telescope.\\nShe fed her cat food.\\n' > notes.txt",
        "treecrf parse notes.txt -o notes.mrg",
        "cat notes.mrg",
        "treecrf search 'NP < PP' notes.mrg --show kwic",
    ],
    ["treecrf parse notes.txt -o notes.csv --probs", "cut -d, -f4-7,12 notes.csv"],
    ["treecrf parse notes.txt -o notes.conllu", "head -n 12 notes.conllu"],
    ["treecrf doubt notes.txt"],
    [
        'python3 -c "\n'
        "from treecrf import Parser\n\n"
        "analysis = Parser.load('en').analyze('I saw the man with the telescope.', k=2)\n"
        "for reading in analysis.alternatives:\n"
        "    print(f'{reading.probability:.1%}', *reading.differences)\n"
        'print(analysis.tree.pretty())"',
    ],
]


def record(commands: list[str], folder: Path) -> list[tuple[str, str]]:
    """The lines of a screen, each with its class: what is typed, and what is printed."""
    lines: list[tuple[str, str]] = []
    for command in commands:
        typed = command.split("\n")
        lines += [("typed", f"{'>' if number else '$'} {line}") for number, line in enumerate(typed)]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "COLUMNS": str(COLUMNS), "CUDA_VISIBLE_DEVICES": ""}
        process = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        lines += [("printed", line) for line in process.stdout.splitlines()]
    rows = [(kind, part) for kind, line in lines for part in wrap(line)]
    assert len(rows) <= ROWS, f"{commands[0]}: {len(rows)} rows on a screen of {ROWS}"
    return rows


def wrap(line: str) -> Iterator[str]:
    """The rows of a line in a terminal."""
    line = line.expandtabs()
    yield from (line[start : start + COLUMNS] for start in range(0, max(len(line), 1), COLUMNS))


def draw(screens: list[list[tuple[str, str]]]) -> str:
    """The screens one after the other; the first one stands where animations are off."""
    width, height = COLUMNS * CHARACTER + 2 * MARGIN, ROWS * LINE + 2 * MARGIN
    share = 100 / len(screens)
    style = (
        "text{font:13px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre;fill:#d8dee9}"
        ".typed{fill:#8fd694}g+g{opacity:0}"
        "@media (prefers-reduced-motion:no-preference){"
        f"g{{animation:show {SECONDS * len(screens)}s step-end infinite}}}}"
        f"@keyframes show{{0%{{opacity:1}}{share:.4f}%{{opacity:0}}}}"
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">',
        "<title>Commands of treecrf in a terminal, and what they print</title>",
        f'<style>{style}</style><rect width="100%" height="100%" rx="8" fill="#16191f"/>',
    ]
    for number, screen in enumerate(screens):
        lines.append(f'<g style="animation-delay:{number * SECONDS}s">')
        for row, (kind, text) in enumerate(screen, 1):
            lines.append(f'<text class="{kind}" x="{MARGIN}" y="{MARGIN + row * LINE - 5}">{escape(text)}</text>')
        lines.append("</g>")
    return "\n".join([*lines, "</svg>", ""])


def cast() -> str:
    """The recording."""
    with tempfile.TemporaryDirectory() as folder:
        return draw([record(commands, Path(folder)) for commands in SCREENS])


if __name__ == "__main__":
    if sys.argv[1:] == ["-"]:
        sys.stdout.write(cast())
    else:
        FILE.write_text(cast(), encoding="utf-8")
