"""Benchmark of measures: equality with NeoSCA's counts, and the coverage of intervals by gold trees.

    pip install neosca pytregex
    python benchmarks/measures.py equality TREEBANK.mrg[.gz] [--trees 300]
    python benchmarks/measures.py coverage TREEBANK.mrg[.gz] ... [--texts 100] [--sentences 50]
    python benchmarks/measures.py factors TREEBANK.mrg[.gz] ... [--texts 600]

`equality` gives the same trees to NeoSCA, one by one, with its patterns and its arithmetic; PyTregex by the same author
takes the place of Java. Each node counts once, as in NeoSCA. Words are counted as in L2SCA: NeoSCA leaves out words
with a hyphen, and its own number is printed as well.

`coverage` makes texts of random sentences of a treebank, parses their words, and counts how often an interval contains
its target. The target of a text's interval is the value of the gold trees of the text. The target of a population's
interval is the value of all gold trees of the treebank.

`factors` fits the error factors of `treecrf.measures.error_factors` to development sets. For each measure, treebank and
length of a text, it takes the factor that makes 95 % of the intervals cover the value of the gold trees. The squares of
a and b are means over the treebanks. The factor b comes from errors that do not average out, which differ from one kind
of text to the next: it has the quantile of Student's t, and no measure has a smaller b than all measures together,
because three treebanks tell little about a single measure.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from treecrf.measures import MEASURES, Interval, Measure, measure_trees
from treecrf.measures.intervals import error_factors, measure_counts
from treecrf.measures.structures import INDICES
from treecrf.measures.totals import STRUCTURES, compute_measures, count_trees
from treecrf.parser import Parser
from treecrf.search import Forest
from treecrf.tree import Tree
from treecrf.treebank import read_trees

TOLERANCE = 1e-9
L2SCA_WORD = re.compile(r"\([A-Z]+\$? [^()]+\)")
FITTED_SIZES = (10, 20, 50, 100)  # sentences of a text
LEAST_CONSTANT = 0.7
# the 97.5 % quantile of Student's t with three degrees of freedom by that of the normal distribution: a variance that
# comes from three treebanks is uncertain itself
STUDENT_RATIO = 3.182 / 1.960
OWN_WORDS = "W without hyphens"
TOTALS = (*STRUCTURES, "nodes")


def neosca_values(trees: Sequence[Tree]) -> list[dict[str, float]]:
    """NeoSCA's values of each tree; the label of its roots is ROOT."""
    from neosca.querier import StanfordTregex
    from neosca.structure_counter import StructureCounter
    from pytregex.tree import Tree as PyTregexTree
    from pytregex.tregex import TregexPattern

    class PythonTregex(StanfordTregex):
        """Searches with PyTregex instead of Java."""

        def __init__(self) -> None:
            self.patterns: dict[str, Any] = {}

        def get_matches(self, sname: str, pattern_string: str, trees: str) -> list[Any]:
            # between relations PyTregex writes "||", and it ignores a negation after "$++"
            text = pattern_string.replace(" | ", " || ").replace("$++ NP !$+ CC", "!$+ CC $++ NP")
            pattern = self.patterns.setdefault(sname, TregexPattern(text))
            matches = pattern.findall(tuple(PyTregexTree.fromstring(trees)))
            return [match for number, match in enumerate(matches) if not any(match is m for m in matches[:number])]

    tregex = PythonTregex()
    values = []
    for tree in trees:
        text = str(Tree("ROOT", tree.children))
        own_words = StructureCounter(selected_measures=["W"])
        tregex.query(own_words, text)
        counter = StructureCounter()
        counter.set_value("W", len(L2SCA_WORD.findall(text)))  # NeoSCA keeps a value that is set
        tregex.query(counter, text)
        row = {name: counter.get_value(name, precision=12) for name in (*STRUCTURES, *INDICES)}
        values.append({**row, OWN_WORDS: own_words.get_value("W")})
    return values


def print_equality(path: str, limit: int) -> None:
    trees = list(read_trees(path))
    trees = trees[:: max(1, len(trees) // limit)][:limit]
    theirs = neosca_values(trees)
    ours = [{name: measure.value for name, measure in measure_trees([tree]).items()} for tree in trees]
    print(f"{path}: {len(trees)} trees, {sum(row[OWN_WORDS] for row in theirs):,} words without a hyphen\n")
    print("| | NeoSCA | treecrf | equal trees |\n|---|---|---|---|")
    for name in (*STRUCTURES, *INDICES):
        pairs = [(their[name], our[name]) for their, our in zip(theirs, ours, strict=True)]
        equal = sum(abs(a - b) < TOLERANCE for a, b in pairs)
        sums = " | ".join(f"{sum(column):,.0f}" for column in zip(*pairs, strict=True)) if name in STRUCTURES else " | "
        print(f"| {name} | {sums} | {equal} |")


def covers(interval: Interval | None, value: float) -> bool:
    return interval is not None and interval.low - TOLERANCE <= value <= interval.high + TOLERANCE


class CountedTreebank:
    """The counts of a treebank's sentences in gold trees, in a parser's trees and in its samples."""

    def __init__(self, path: str, parser: Parser) -> None:
        trees = list(read_trees(path))
        samples = list(parser.sample_many([tree.words for tree in trees], 100))
        self.gold = count_trees(Forest(trees))
        self.parsed = count_trees(Forest.parse("\n".join(sentence.best for sentence in samples)))
        self.sampled = np.stack([count_trees(sentence.forest)[sentence.draws] for sentence in samples])


class TextResult(NamedTuple):
    """The measures of a text by a parser, by its gold trees, and by all gold trees of its treebank."""

    measures: list[Measure]
    gold: list[float]
    population: list[float]


class GoldTexts:
    """Random texts of gold sentences, from one treebank after the other."""

    def __init__(self, paths: Sequence[str], *, model: str, seed: int) -> None:
        parser = Parser.load(model)
        self._treebanks = [CountedTreebank(path, parser) for path in paths]
        self._generator = np.random.default_rng(seed)

    def measure(self, texts: int, sentences: int) -> Iterator[TextResult]:
        """The results of texts with this number of sentences."""
        for text in range(texts):
            treebank = self._treebanks[text % len(self._treebanks)]
            indices = self._generator.choice(len(treebank.gold), sentences, replace=False)
            yield TextResult(
                measure_counts(treebank.parsed[indices], treebank.sampled[indices].sum(axis=0)),
                compute_measures(treebank.gold[indices].sum(axis=0)).tolist(),
                compute_measures(treebank.gold.sum(axis=0)).tolist(),
            )


def coverage(gold_texts: GoldTexts, *, texts: int, sentences: int) -> dict[str, tuple[float, float]]:
    """The percentage of texts whose intervals contain the value of the text and of the population, by measure."""
    hits = np.zeros((len(MEASURES), 2))
    for result in gold_texts.measure(texts, sentences):
        for index, (measure, gold, population) in enumerate(zip(*result, strict=True)):
            hits[index] += covers(measure.interval, gold), covers(measure.population, population)
    return {name: tuple(100 * counts / texts) for name, counts in zip(MEASURES, hits, strict=True)}


def needed_factors(gold_texts: GoldTexts, *, texts: int, sentences: int) -> dict[str, float]:
    """The error factor that makes 95 % of the intervals cover the value of the gold trees, by measure."""
    ratios: list[list[float]] = [[] for _ in MEASURES]
    factors = error_factors(sentences).tolist()
    for result in gold_texts.measure(texts, sentences):
        for measure, gold, factor, values in zip(result.measures, result.gold, factors, ratios, strict=True):
            half = measure.interval.high - measure.value if measure.interval else 0.0
            error = abs(measure.value - gold)
            values.append(0.0 if error < TOLERANCE else factor * error / max(half, TOLERANCE))
    return {name: float(np.quantile(values, 0.95)) for name, values in zip(MEASURES, ratios, strict=True)}


def print_factors(paths: Sequence[str], *, texts: int, model: str, seed: int) -> None:
    """Prints a and b of each measure, with least values."""
    treebanks = [GoldTexts([path], model=model, seed=seed) for path in paths]
    factors = [
        [needed_factors(gold_texts, texts=texts, sentences=size) for size in FITTED_SIZES] for gold_texts in treebanks
    ]
    fits = np.array(
        [[fit_factors(np.array([needed[name] for needed in by_size])) for by_size in factors] for name in MEASURES]
    )  # (measures, treebanks, 2)
    shared = np.mean([fits[number, :, 1] ** 2 for number, name in enumerate(MEASURES) if name not in TOTALS])
    for name, fit in zip(MEASURES, fits, strict=True):
        constant = max(LEAST_CONSTANT, np.sqrt(np.mean(fit[:, 0] ** 2)))
        growing = STUDENT_RATIO * np.sqrt(max(shared, np.mean(fit[:, 1] ** 2)))
        print(f'    "{name}": ({constant:.2f}, {growing:.3f}),  # by treebank: {fit.round(2).tolist()}')


def fit_factors(needed: np.ndarray) -> tuple[float, float]:
    """The a and b of the least squares fit of the root of a^2 + b^2 n to the factors of the fitted sizes."""
    sizes = np.array(FITTED_SIZES, np.float64)
    fits = []
    for growing in np.arange(0, 0.5, 0.005):
        constant = np.sqrt(max(0.0, np.mean(needed**2 - growing**2 * sizes)))
        error = np.sum((np.hypot(constant, growing * np.sqrt(sizes)) - needed) ** 2)
        fits.append((float(error), float(constant), float(growing)))
    _, constant, growing = min(fits)
    return constant, growing


def print_coverage(paths: Sequence[str], *, texts: int, sentences: int, model: str, seed: int) -> None:
    rows = coverage(GoldTexts(paths, model=model, seed=seed), texts=texts, sentences=sentences)
    print(f"{texts} texts of {sentences} sentences of {', '.join(paths)}, model {model}\n")
    print("| measure | interval of the text covers, % | interval of the population covers, % |\n|---|---|---|")
    for name, (text, population) in rows.items():
        # the total of a structure has no value in a population
        print(f"| {name} | {text:.0f} | {'' if name in TOTALS else f'{population:.0f}'} |")
    for title, names in (("mean of the 14 indices", tuple(INDICES)), ("mean of all", tuple(MEASURES))):
        ratios = [name for name in names if name not in TOTALS]
        text = np.mean([rows[name][0] for name in names])
        print(f"| {title} | {text:.1f} | {np.mean([rows[name][1] for name in ratios]):.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["equality", "coverage", "factors"])
    parser.add_argument("treebanks", nargs="+")
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--sentences", type=int, default=50)
    parser.add_argument("--model", default="en")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    settings = {"texts": args.texts, "model": args.model, "seed": args.seed}
    if args.part == "coverage":
        print_coverage(args.treebanks, sentences=args.sentences, **settings)
        return
    if args.part == "factors":
        print_factors(args.treebanks, **settings)
        return
    for path in args.treebanks:
        print_equality(path, args.trees)


if __name__ == "__main__":
    sys.exit(main())
