"""Benchmark of measures: equality with NeoSCA's counts, and the coverage of intervals by gold trees.

    pip install neosca pytregex
    python benchmarks/measures.py equality TREEBANK.mrg[.gz] [--trees 300]
    python benchmarks/measures.py coverage TREEBANK.mrg[.gz] ... [--texts 100] [--sentences 50]
    python benchmarks/measures.py factors TREEBANK.mrg[.gz] ... [--texts 600] [--model en]

`equality` gives the same trees to NeoSCA, one by one, with its patterns and its arithmetic; PyTregex by the same author
takes the place of Java. Each node counts once, as in NeoSCA. Words are counted as in L2SCA: NeoSCA leaves out words
with a hyphen, and its own number is printed as well.

`coverage` makes texts of random sentences of a treebank, parses their words, and counts how often an interval contains
its target. The target of a text's interval is the value of the gold trees of the text. The target of a population's
interval is the value of all gold trees of the treebank.

`factors` fits the factors of a model's errors to gold trees that it was not trained on, and writes them to
`measures.json` in the folder of the model, where `treecrf measure` reads them. The files of a folder are one treebank.
For each measure, the errors of texts are compared with the standard deviation of their samples. The factor a is the
spread of the errors inside of a treebank: 95 % of them are within 1.96 a. The mean error differs from treebank to
treebank; c is its mean over treebanks, and b its standard deviation, by a random-effects model. The variance of a
measure's mean errors is averaged with the variance of all measures, because three treebanks tell little about a single
measure, and the uncertainty of c is added to b.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from common import command_line, print_head, print_row
from treecrf.corpus.measures import MEASURES, Interval, Measure, measure_trees
from treecrf.corpus.measures.structures import INDICES, STRUCTURES, compute_measures, count_trees
from treecrf.corpus.measures.text import FACTORS_FILE, measure_counts, read_error_factors
from treecrf.files import write_file
from treecrf.parser import Parser
from treecrf.trees.search import Forest
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

TOLERANCE = 1e-9
L2SCA_WORD = re.compile(r"\([A-Z]+\$? [^()]+\)")
FITTED_SIZES = (20, 50, 100)  # sentences of a text
LEAST_CONSTANT = 0.7
NORMAL_QUANTILE = 1.959964  # 97.5 % of the distribution is below it
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
    print_head("", "NeoSCA", "treecrf", "equal trees")
    for name in (*STRUCTURES, *INDICES):
        pairs = [(their[name], our[name]) for their, our in zip(theirs, ours, strict=True)]
        equal = sum(abs(a - b) < TOLERANCE for a, b in pairs)
        sums = (f"{sum(column):,.0f}" if name in STRUCTURES else "" for column in zip(*pairs, strict=True))
        print_row(name, *sums, equal)


def covers(interval: Interval | None, value: float) -> bool:
    return interval is not None and interval.low - TOLERANCE <= value <= interval.high + TOLERANCE


class CountedTreebank:
    """The counts of a treebank's sentences in gold trees, in a parser's trees and in its samples."""

    def __init__(self, paths: Sequence[str], parser: Parser) -> None:
        trees = [tree for path in paths for tree in read_trees(path)]
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
        self._factors = read_error_factors(parser.folder)
        self._treebanks = [CountedTreebank([path], parser) for path in paths]
        self._generator = np.random.default_rng(seed)

    def measure(self, texts: int, sentences: int) -> Iterator[TextResult]:
        """The results of texts with this number of sentences."""
        for text in range(texts):
            treebank = self._treebanks[text % len(self._treebanks)]
            indices = self._generator.choice(len(treebank.gold), sentences, replace=False)
            yield TextResult(
                measure_counts(treebank.parsed[indices], treebank.sampled[indices].sum(axis=0), self._factors),
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


class TreebankErrors(NamedTuple):
    """The errors of a parser in texts of one treebank, for each measure.

    `bias` is the error of the whole treebank, and `deviation` the spread of texts around it; both are in standard
    deviations of the samples, for a text of one sentence.
    """

    sentences: int
    bias: np.ndarray
    deviation: np.ndarray


def treebank_errors(treebank: CountedTreebank, *, texts: int, generator: np.random.Generator) -> TreebankErrors:
    sentences = len(treebank.gold)
    bias = relative_errors(treebank, np.arange(sentences)) / np.sqrt(sentences)
    variances = []
    for size in FITTED_SIZES:
        indices = [generator.choice(sentences, size, replace=False) for _ in range(texts)]
        errors = np.array([relative_errors(treebank, text) for text in indices]) - bias * np.sqrt(size)
        quantiles = np.quantile(np.abs(errors), 0.95, axis=0) / NORMAL_QUANTILE
        variances.append(quantiles**2 / (1 - size / sentences))  # the sentences are drawn without replacement
    return TreebankErrors(sentences, bias, np.sqrt(np.mean(variances, axis=0)))


def relative_errors(treebank: CountedTreebank, indices: np.ndarray) -> np.ndarray:
    """The errors of a text's measures, gold trees minus parsed trees, in standard deviations of its samples."""
    values = compute_measures(treebank.parsed[indices].sum(axis=0))
    deviations = compute_measures(treebank.sampled[indices].sum(axis=0)).std(axis=0)
    errors = compute_measures(treebank.gold[indices].sum(axis=0)) - values
    return np.where(np.abs(errors) < TOLERANCE, 0.0, errors / np.maximum(deviations, TOLERANCE))


def fit_factors(errors: Sequence[TreebankErrors]) -> np.ndarray:
    """The a, b and c of each measure, (3, measures), by a random-effects model of the treebanks."""
    biases = np.array([treebank.bias for treebank in errors])  # (treebanks, measures)
    constants = np.sqrt(np.mean([treebank.deviation**2 for treebank in errors], axis=0)).clip(LEAST_CONSTANT)
    noise = constants**2 / np.array([[treebank.sentences] for treebank in errors])
    own = np.array([between_variance(*columns) for columns in zip(biases.T, noise.T, strict=True)])
    shared = np.mean([variance for name, variance in zip(MEASURES, own, strict=True) if name not in TOTALS])
    between = (own + shared) / 2  # three treebanks tell little about a single measure
    weights = 1 / (between + noise)
    means = np.sum(weights * biases, axis=0) / np.sum(weights, axis=0)
    return np.stack([constants, np.sqrt(between + 1 / np.sum(weights, axis=0)), means])


def between_variance(biases: np.ndarray, noise: np.ndarray) -> float:
    """The variance of the biases of treebanks without their noise, by the method of Paule and Mandel (1982)."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        weights = 1 / (middle + noise)
        mean = np.sum(weights * biases) / np.sum(weights)
        is_too_small = np.sum(weights * (biases - mean) ** 2) > len(biases) - 1
        low, high = (middle, high) if is_too_small else (low, middle)
    return low


def write_factors(paths: Sequence[str], *, texts: int, model: str, seed: int) -> None:
    """Writes a, b and c of each measure to the model's folder. The files of a folder are one treebank."""
    parser = Parser.load(model)
    generator = np.random.default_rng(seed)
    folders = dict.fromkeys(Path(path).parent for path in paths)
    treebanks = [CountedTreebank([path for path in paths if Path(path).parent == folder], parser) for folder in folders]
    errors = [treebank_errors(treebank, texts=texts, generator=generator) for treebank in treebanks]
    rows = []
    for number, (name, (a, b, c)) in enumerate(zip(MEASURES, fit_factors(errors).T, strict=True)):
        rows.append(f"  {json.dumps(name)}: {json.dumps([round(a, 2), round(b, 3), round(c, 3)])}")
        print(rows[-1], "c by treebank:", [round(float(treebank.bias[number]), 2) for treebank in errors])
    text = f'{{\n "fitted_to": {json.dumps(Path(model).name)},\n "error_factors": {{\n' + ",\n".join(rows) + "\n }\n}\n"
    write_file(parser.folder / FACTORS_FILE, text.encode())


def print_coverage(paths: Sequence[str], *, texts: int, sentences: int, model: str, seed: int) -> None:
    rows = coverage(GoldTexts(paths, model=model, seed=seed), texts=texts, sentences=sentences)
    print(f"{texts} texts of {sentences} sentences of {', '.join(paths)}, model {model}\n")
    print_head("measure", "interval of the text covers, %", "interval of the population covers, %")
    for name, (text, population) in rows.items():
        # the total of a structure has no value in a population
        print_row(name, f"{text:.0f}", "" if name in TOTALS else f"{population:.0f}")
    for title, names in (("mean of the 14 indices", tuple(INDICES)), ("mean of all", tuple(MEASURES))):
        ratios = [name for name in names if name not in TOTALS]
        text = np.mean([rows[name][0] for name in names])
        print_row(title, f"{text:.1f}", f"{np.mean([rows[name][1] for name in ratios]):.1f}")


def main() -> None:
    parser = command_line(__doc__)
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
        write_factors(args.treebanks, **settings)
        return
    for path in args.treebanks:
        print_equality(path, args.trees)


if __name__ == "__main__":
    sys.exit(main())
