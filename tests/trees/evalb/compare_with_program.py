"""Compares the scores of random pairs of trees with those of the EVALB program, which is not part of this project.

    python tests/trees/evalb/compare_with_program.py PROGRAM [--pairs 20000] [--seed 1]

PROGRAM is compiled from EVALB's source, best with `-fsanitize=address`: it ends where the program reads stray memory,
and those batches are counted apart. The pairs have wrong labels, spans, tags and words, quotation marks with exchanged
tags, functions and traces, unbalanced and empty brackets, odd white space and zero bytes. Each batch has its own rules.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from treecrf.trees.evalb import Rules, evaluate_lines
from treecrf.trees.evalb.brackets import read_lines

BATCH = 100
LABELS = ["S", "NP", "VP", "PP", "ADVP", "PRT", "SBAR-TMP", "NP-SBJ-1", "NP=2", "WHNP", "TOP", "X", "-LRB-", "A" * 28]
TAGS = ["NN", "VB", "DT", ",", ".", ":", "``", "''", "POS", "-NONE-", "IN", "RP", "CD", "$", "T" * 28]
WORDS = ["a", "the", "cat", "dogs", "'", '"', "/", ",", ".", "gray", "grey", "é", "貓", "*T*-1", "w" * 90, "-", "0"]
SPACES = [" ", " ", " ", "  ", "\t", " \f", "\v"]


def random_rules(generator: random.Random) -> str:
    """The text of a parameter file."""
    lines = ["MAX_ERROR 100000000", f"CUTOFF_LEN {generator.choice([0, 3, 10, 40])}", "DEBUG 0"]
    lines.append(f"LABELED {generator.choice([1, 1, 1, 0])}")
    names = sorted({*LABELS, *TAGS})
    for keyword, most in (("DELETE_LABEL", 6), ("DELETE_LABEL_FOR_LENGTH", 3), ("QUOTE_LABEL", 4)):
        chosen = generator.sample(TAGS if generator.random() < 0.7 else names, generator.randint(0, most))
        lines += [f"{keyword} {name}" for name in chosen]
    if generator.random() < 0.5:
        lines += ["QUOTE_LABEL ''", "QUOTE_LABEL POS", "DELETE_LABEL ''"]
    for _ in range(generator.randint(0, 3)):
        lines.append("EQ_LABEL {} {}".format(*generator.sample(LABELS, 2)))
        lines.append("EQ_WORD  {}\t{}".format(*generator.sample(WORDS[:14], 2)))
    return "\n".join(lines) + "\n"


Leaf = tuple[str, str]


def random_leaves(generator: random.Random) -> list[Leaf]:
    count = generator.choice([1, 2, 3, 5, 8, 12, 20, 45, 120])
    return [(generator.choice(TAGS), generator.choice(WORDS)) for _ in range(count)]


def random_brackets(leaves: list[Leaf], generator: random.Random) -> str:
    """The text of a random tree over leaves."""

    def space() -> str:
        return generator.choice(SPACES)

    level = [f"({tag}{space()}{word})" for tag, word in leaves]
    for _ in range(generator.randint(1, 2 + len(leaves))):
        start = generator.randrange(len(level))
        end = min(len(level), start + generator.randint(1, 4))
        label = generator.choice(LABELS)
        level[start:end] = [f"({label}{space()}{space().join(level[start:end])})"]
    empty = generator.choice(["", "", "", "", "(NP)", "(NP )", "()", "( )", "(())", "( ( ))"])
    text = generator.choice(["", " "]).join([*level, empty])
    return f"({generator.choice(['TOP', '', 'S', 'ROOT'])} {text})"


def change_leaves(leaves: list[Leaf], generator: random.Random) -> list[Leaf]:
    changed = list(leaves)
    for _ in range(generator.choice([0, 0, 0, 0, 0, 1, 1, 2, 6])):
        place = generator.randrange(len(changed))
        tag, word = changed[place]
        action = generator.random()
        if action < 0.5:
            changed[place] = generator.choice(TAGS), word
        elif action < 0.7:
            changed[place] = {"''": "POS", "POS": "''"}.get(tag, "''"), word
        elif action < 0.8:
            changed[place] = tag, generator.choice(WORDS)
        elif action < 0.9:
            changed.insert(place, (generator.choice(TAGS), generator.choice(WORDS)))
        elif len(changed) > 1:
            del changed[place]
    return changed


def spoil(line: str, generator: random.Random) -> str:
    """Sometimes damages a line in a way that EVALB can read: it loops at text outside of brackets."""
    action = generator.random()
    if action < 0.02:
        return generator.choice(["", " ", "(())", "()", "(TOP)", "(TOP )"])
    if action < 0.04:
        return line[:-1]  # a bracket is never closed
    if action < 0.06:
        return f"{line} {line}"
    if action < 0.08 and "(NN" in line:
        return line.replace("(NN", generator.choice(["(N\0N", "(NN\0", "(\0NN"]), 1)
    if action < 0.10:
        return line.replace(" the)", generator.choice([" t\0he)", " \0the)", " the\0)"]), 1)
    if action < 0.11:
        return line.replace(")", ")\0", 1)
    return line


def random_pair(generator: random.Random) -> tuple[str, str]:
    leaves = random_leaves(generator)
    other = change_leaves(leaves, generator)
    gold, predicted = random_brackets(leaves, generator), random_brackets(other, generator)
    return spoil(gold, generator), spoil(predicted, generator)


def is_readable(line: str) -> bool:
    """Whether a line is within the program's arrays, which have 200 words and brackets, and 20 quotation marks."""
    quotes = sum(line.count(f"{word})") for word in ("'", '"', "/"))
    return line.count("(") < 190 and quotes < 20 and len(line.encode()) < 4900


def compare_batch(program: str, folder: Path, generator: random.Random) -> str | None:
    """None if the scores of a batch are equal, else a description of the difference."""
    pairs = [random_pair(generator) for _ in range(BATCH * 3)]
    pairs = [pair for pair in pairs if all(map(is_readable, pair))][:BATCH]
    paths = [folder / name for name in ("rules.prm", "gold", "predicted")]
    texts = [random_rules(generator), *("".join(f"{line}\n" for line in lines) for lines in zip(*pairs, strict=True))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    command = [program, "-p", str(paths[0]), "-e", "100000000", str(paths[1]), str(paths[2])]
    result = subprocess.run(command, capture_output=True, check=False)
    if result.returncode:
        return "stray memory"
    score = evaluate_lines(*map(read_lines, map(str, paths[1:])), rules=Rules.read(paths[0]))
    expected, actual = result.stdout.decode().split("\n"), str(score).split("\n")
    wrong = [pair for pair in zip(expected, actual, strict=False) if pair[0] != pair[1]]
    if not wrong and len(expected) == len(actual):
        return None
    return f"{len(wrong)} of {len(expected)} lines differ: EVALB {wrong[:1]!r}; files in {folder}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares scores with the EVALB program.")
    parser.add_argument("program")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    generator, equal, stray = random.Random(args.seed), 0, 0
    while equal < args.pairs:
        folder = Path(tempfile.mkdtemp())
        difference = compare_batch(args.program, folder, generator)
        if difference is None:
            equal += BATCH
        elif difference == "stray memory":
            stray += BATCH
        else:
            sys.exit(f"after {equal:,} equal pairs: {difference}")
    print(f"{equal:,} pairs are scored as EVALB scores them; it reads stray memory in batches of {stray:,} more")


if __name__ == "__main__":
    main()
