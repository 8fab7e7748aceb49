"""Actions of a simulated annotator to the gold trees, F by actions for each order of the queue, and time per action.

    python benchmarks/annotation.py actions shared/treebanks/masc/dev.mrg.gz --sentences 200
    python benchmarks/annotation.py times shared/treebanks/masc/dev.mrg.gz
    python benchmarks/annotation.py learn genia/train.mrg.gz --dev genia/dev.mrg.gz --model general --sentences 60

`learn` corrects the first sentences of the queue, adapts the model to them, and scores it on dev before and after.

The annotator adds the widest missing constituent, with its label, until none is missing, and then removes wrong ones.
By hand, every constituent is an action. Without parsing again, an action changes one constituent of the first tree.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.request import Request, urlopen

import numpy as np

from common import command_line, print_head, print_row
from treecrf.corpus.annotation.doubt import by_length, find_doubt
from treecrf.corpus.annotation.events import Event
from treecrf.corpus.annotation.session import parse_state
from treecrf.corpus.annotation.state import SentenceState
from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import ImpossibleError
from treecrf.training.adaptation.adapt import adapt
from treecrf.training.adaptation.corrections import Corrections, compare
from treecrf.trees.evalb import evaluate
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank import read_trees

PORT = 8766
CLICKS = 200
RANDOM_ORDERS = 10
POOL = 500  # sentences to choose from
BUDGETS = (0, 0.1, 0.2, 0.3, 0.5, 0.75, 1)


def constituents(tree: Tree, root: str) -> set[Span]:
    """The constituents below the root; a label that is repeated over the same words counts once."""
    return {span for span in tree.spans() if span.label != root}


def differences(tree: Tree, gold: Tree, root: str) -> tuple[set[Span], set[Span]]:
    """Missing and wrong constituents."""
    predicted, expected = constituents(tree, root), constituents(gold, root)
    return expected - predicted, predicted - expected


def static_actions(tree: Tree, gold: Tree, root: str) -> int:
    """Changes of single constituents, where another label is one change."""
    missing, wrong = (Counter(span[:2] for span in spans) for spans in differences(tree, gold, root))
    return sum((missing | wrong).values())


def corrections(parser: Parser, gold: Tree) -> Iterator[Tree]:
    """The tree after each action, the first before any. Raises `ImpossibleError` if the model has no such tree."""
    state = SentenceState(words=tuple(gold.words))
    for version in range(4 * len(gold.spans()) + 1):
        tree = parse_state(parser, state).tree
        yield tree
        missing, wrong = differences(tree, gold, parser.root)
        if not missing and not wrong:
            return
        values = (
            {"require": [tuple(min(missing, key=_width))]} if missing else {"forbid": [tuple(min(wrong, key=_width))]}
        )
        event = Event(sentence=0, version=version, action="yes" if missing else "no", **values)
        next_state = state.apply(event)
        if next_state == state:
            break
        state = next_state
    raise ImpossibleError("the actions do not lead to the gold tree")


def _width(span: Span) -> int:
    return span.start - span.end  # the widest first


class Row(NamedTuple):
    gold: Tree
    first: Tree  # the parser's tree before any action
    by_hand: int
    static: int
    again: int


def count_actions(parser: Parser, trees: list[Tree]) -> list[Row]:
    rows = []
    for gold in trees:
        try:
            steps = list(corrections(parser, gold))
        except ImpossibleError:
            continue
        by_hand, static = len(constituents(gold, parser.root)), static_actions(steps[0], gold, parser.root)
        rows.append(Row(gold, steps[0], by_hand, static, len(steps) - 1))
    return rows


def run_actions(parser: Parser, trees: list[Tree]) -> None:
    rows = count_actions(parser, trees)
    by_hand, static, again = (np.array([row[i] for row in rows]) for i in (2, 3, 4))
    print(f"{len(rows)} sentences; {len(trees) - len(rows)} more have trees that the model cannot have")
    print_head("actions per sentence", "mean", "median", "90 %", "fewer than by hand")
    for name, counts in (("by hand", by_hand), ("first tree, corrected", static), ("parsed again after each", again)):
        mean, share = counts.mean(), 1 - counts.sum() / by_hand.sum()
        print_row(name, f"{mean:.2f}", f"{np.median(counts):.0f}", f"{np.percentile(counts, 90):.0f}", f"{share:.1%}")
    sentences = [row.gold.words for row in rows]
    numbers = list(range(len(rows)))
    orders = {
        "gain": [[doubt.sentence for doubt in find_doubt(parser, sentences)]],
        "shortest": [by_length(sentences)],
        f"random, mean of {RANDOM_ORDERS}": [
            random.Random(i).sample(numbers, len(numbers)) for i in range(RANDOM_ORDERS)
        ],
    }
    print_head("F after a share of all actions (sentences read)", *(f"{budget:.0%}" for budget in BUDGETS))
    for name, several in orders.items():
        points = np.mean([[f_after(rows, order, budget) for budget in BUDGETS] for order in several], axis=0)
        print_row(name, *(f"{f1:.2f} ({read:.0f})" for f1, read in points))


def f_after(rows: list[Row], order: list[int], budget: float) -> tuple[float, int]:
    """F when a share of all actions is spent in this order, and the number of sentences that were read for it."""
    spent = np.cumsum([rows[number].again for number in order])
    count = int((spent <= budget * spent[-1]).sum()) if budget else 0
    done = {*order[:count]}
    trees = [row.gold if number in done else row.first for number, row in enumerate(rows)]
    return evaluate([row.gold for row in rows], trees, use_gold_tags=True).f1, count


def run_learning(parser: Parser, trees: list[Tree], dev: list[Tree], sentences: int) -> None:
    order = [doubt.sentence for doubt in find_doubt(parser, [tree.words for tree in trees])]
    rows = count_actions(parser, [trees[number] for number in order[:sentences]])
    actions, words = sum(row.again for row in rows), sum(len(row.gold.words) for row in rows)
    print(f"{len(rows)} sentences of {words} words: {actions} actions, {sum(row.by_hand for row in rows)} by hand")
    result = adapt(parser, [row.gold for row in rows])
    print(result.verdict)
    others = Corrections.of(dev, parser)
    scores = compare(*(others.counts(others.parse(each)) for each in (result.base, result.parser)))
    for name, score in scores.items():
        print(f"dev, {name}: {score}")


def run_times(model: str, trees: list[Tree]) -> None:
    """Milliseconds from a request to its answer, with a server process, for sentences of 30 words."""
    lines = "".join(" ".join(tree.words) + "\n" for tree in trees if len(tree.words) == 30)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.txt"
        corpus.write_text(lines, encoding="utf-8")
        command = [sys.executable, "-m", "treecrf", "annotate", str(corpus), "--tokens", "-o", f"{folder}/gold"]
        command += ["--model", model, "--port", str(PORT), "--device", "cpu"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            times = [1000 * seconds for seconds in click_seconds(lines.count("\n"))]
        finally:
            process.terminate()
            process.wait()
    print_head("milliseconds per action, 30 words", "median", "95 %", "max")
    print_row(f"{len(times)} actions", *(f"{value:.1f}" for value in (*np.percentile(times, [50, 95]), max(times))))


def click_seconds(sentences: int) -> Iterator[float]:
    url = f"http://127.0.0.1:{PORT}/annotation"
    draw = random.Random(0)
    versions: Counter[int] = Counter()
    while len(_wait(f"{url}/queue")["queue"]) > _wait(f"{url}/queue")["estimated"]:
        time.sleep(0.1)
    for _ in range(CLICKS):
        number, start = draw.randrange(sentences), draw.randrange(28)
        body = {"sentence": number, "version": versions[number], "action": "no", "forbid": [[start, start + 2]]}
        request = Request(f"{url}/events", json.dumps(body).encode(), {"content-type": "application/json"})
        begin = time.perf_counter()
        urlopen(request).read()
        yield time.perf_counter() - begin
        versions[number] += 1


def _wait(url: str) -> dict[str, list[object]]:
    for _ in range(300):
        try:
            answer: dict[str, list[object]] = json.load(urlopen(url))
            return answer
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"{url} does not answer")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("mode", choices=("actions", "times", "learn"))
    parser.add_argument("trees", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--sentences", type=int, default=200, help="a random sample of so many sentences")
    parser.add_argument("--dev", type=Path, help="trees to score the adapted model on")
    args = parser.parse_args()
    trees = list(read_trees(args.trees))
    if args.mode == "times":
        run_times(args.model, trees)
    elif args.mode == "learn":
        pool = random.Random(1).sample(trees, min(POOL, len(trees)))
        run_learning(Parser.load(args.model, "cpu"), pool, list(read_trees(args.dev)), args.sentences)
    else:
        sample = random.Random(1).sample(trees, min(args.sentences, len(trees)))
        run_actions(Parser.load(args.model, "cpu"), sample)


if __name__ == "__main__":
    main()
