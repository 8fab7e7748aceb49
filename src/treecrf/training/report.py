"""The report on a training run: scores with intervals, the curve of dev F, examples of errors, and what to try next."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treecrf.config import read_config
from treecrf.files import write_file
from treecrf.parser import Parser
from treecrf.parser.evaluate import ParserScores, has_own_tags, predict_trees, score_trees
from treecrf.training.checkpoint import RECIPE, read_rules
from treecrf.training.config import Recipe
from treecrf.training.markdown import render
from treecrf.training.metrics_log import NAME, read_metrics
from treecrf.trees.bootstrap import Interval
from treecrf.trees.evalb import Score
from treecrf.trees.evalb.bootstrap import f1_interval
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank import read_trees

REPORT = "report.md"
_CURVE_ROWS = 15
_BAR_WIDTH = 40
_LABELS = 8  # labels with the most errors
_EXAMPLES = 5
_EXAMPLE_WORDS = 30  # longer sentences are not shown
_WIDE_INTERVAL = 4.0  # points of F
_MANY_UNKNOWN_WORDS = 0.08
_LATE_EPOCH = 0.9  # share of all epochs
_MANY_TREES = 10_000
_SMALL_GAIN = 0.5  # points of F


@dataclass(frozen=True, kw_only=True)
class PartScores:
    """The gold and the predicted trees of dev or test, and their scores."""

    name: str
    gold: list[Tree]
    predicted: Sequence[Tree]
    scores: ParserScores
    predicts_tags: bool

    @property
    def main(self) -> Score:
        """The score over all sentences, with punctuation deleted by the gold tags."""
        return self.scores.all_sentences

    @property
    def interval(self) -> Interval:
        return f1_interval(self.main)


def write_report(
    folder: Path,
    *,
    device: str | None = None,
    learning_curve: Mapping[int, float] | None = None,
    test_trees: Sequence[Tree] | None = None,
) -> list[str]:
    """Scores the parser of a run, writes report.md into its folder, and returns the summary in a few lines.

    `learning_curve` has the dev F by the number of training trees. `test_trees` are the predicted trees of the test
    set; without them, the test set is parsed.
    """
    recipe, learning_curve = read_config(Recipe, folder / RECIPE), learning_curve or {}
    parser = Parser.load(folder, device, precision="float32")
    parts = [
        _score_part(name, paths, predicted, parser, folder, recipe)
        for name, paths, predicted in (("dev", recipe.data.dev, None), ("test", recipe.data.test, test_trees))
        if paths
    ]
    epochs = [record for record in read_metrics(folder / NAME) if record["event"] == "epoch"]
    advice = advise(_run_figures(recipe, parts, epochs, learning_curve))
    text = render(
        "training.md",
        name=folder.name,
        train=recipe.data.train,
        recipe=RECIPE,
        parts=parts,
        curve=curve_lines(epochs),
        learning_curve=learning_curve,
        label_errors=_label_errors(parts[0].main),
        examples=_examples(parts[0]),
        advice=advice,
    )
    write_file(folder / REPORT, text.encode())
    return [*map(_summary_line, parts), *advice]


def _score_part(
    name: str, paths: Sequence[str], predicted: Sequence[Tree] | None, parser: Parser, folder: Path, recipe: Recipe
) -> PartScores:
    gold = [tree for path in paths for tree in read_trees(path)]
    if predicted is None:
        predicted = list(predict_trees(parser, gold, mbr=recipe.train.mbr))
    scores = score_trees(gold, predicted, read_rules(folder, recipe))
    return PartScores(name=name, gold=gold, predicted=predicted, scores=scores, predicts_tags=has_own_tags(parser))


def _run_figures(
    recipe: Recipe,
    parts: Sequence[PartScores],
    epochs: Sequence[Mapping[str, Any]],
    learning_curve: Mapping[int, float],
) -> "RunFigures":
    train = [tree for path in recipe.data.train for tree in read_trees(path)]
    train_words = {word.lower() for tree in train for word in tree.words}
    dev_words = [word.lower() for tree in parts[0].gold for word in tree.words]
    return RunFigures(
        trees=len(train),
        interval=parts[-1].interval,
        scored_part=parts[-1].name,
        unknown_word_share=sum(word not in train_words for word in dev_words) / len(dev_words),
        has_pretrained_words=bool(recipe.data.vectors or recipe.model.transformer),
        best_epoch=max(epochs, key=lambda record: record["dev_f"])["epoch"],
        epochs=recipe.train.epochs,
        learning_curve=learning_curve,
    )


def _summary_line(part: PartScores) -> str:
    low, high = part.interval
    return (
        f"{part.name}: F {part.main.f1:.2f} over all {part.main.all.sentences:,} sentences "
        f"(95% interval {low:.1f} to {high:.1f}), EVALB's F {part.scores.evalb.f1:.2f}"
    )


def curve_lines(epochs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Draws bars of dev F, for a limited number of epochs and the best one.

    >>> print("\\n".join(curve_lines([{"epoch": 1, "dev_f": 20.0}, {"epoch": 2, "dev_f": 80.0}])))
    epoch   dev F
        1   20.00  ██████████
        2   80.00  ████████████████████████████████████████ best
    """
    best = max(epochs, key=lambda record: record["dev_f"])
    rows = min(len(epochs), _CURVE_ROWS)
    chosen = {round(row * (len(epochs) - 1) / max(rows - 1, 1)) for row in range(rows)} | {epochs.index(best)}
    yield "epoch   dev F"
    for number in sorted(chosen):
        record = epochs[number]
        bar = "█" * round(_BAR_WIDTH * record["dev_f"] / max(best["dev_f"], 1.0))
        yield f"{record['epoch']:5}  {record['dev_f']:6.2f}  {bar}{' best' if record is best else ''}"


def _label_errors(score: Score) -> list[tuple[str, int]]:
    """Returns the labels with the most errors, and how many they have."""
    errors = {
        label: counts.gold - counts.recalled + counts.predicted - counts.correct
        for label, counts in score.labels.items()
    }
    return sorted(errors.items(), key=lambda item: -item[1])[:_LABELS]


def _examples(part: PartScores) -> list[tuple[list[str], list[Span], list[Span]]]:
    """Returns the words of some sentences with their missed and wrong constituents."""
    pairs = [
        (gold.words, *constituent_differences(gold, predicted))
        for gold, predicted in zip(part.gold, part.predicted, strict=True)
        if len(gold.words) <= _EXAMPLE_WORDS and any(constituent_differences(gold, predicted))
    ]
    count = min(_EXAMPLES, len(pairs))
    return [pairs[index * len(pairs) // count] for index in range(count)]


def constituent_differences(gold: Tree, predicted: Tree) -> tuple[list[Span], list[Span]]:
    """Returns the constituents that only the gold tree has, and the constituents that only the predicted tree has.

    >>> gold = Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD slept))))")
    >>> constituent_differences(gold, Tree.parse("(TOP (S (DT the) (NP (NN cat)) (VP (VBD slept))))"))
    ([Span(start=0, end=2, label='NP')], [Span(start=1, end=2, label='NP')])
    """
    gold_spans, predicted_spans = Counter(gold.spans()[1:]), Counter(predicted.spans()[1:])
    missed, wrong = gold_spans - predicted_spans, predicted_spans - gold_spans
    return sorted(missed.elements()), sorted(wrong.elements())


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """Figures of a training run. `unknown_word_share` is the share of dev words that train does not have."""

    trees: int
    interval: Interval
    scored_part: str
    unknown_word_share: float
    has_pretrained_words: bool
    best_epoch: int
    epochs: int
    learning_curve: Mapping[int, float]  # dev F by the number of training trees


def advise(figures: RunFigures) -> list[str]:
    """Returns sentences that say what to try next, the most promising first."""
    advice = []
    gain = expected_gain(figures.learning_curve)
    if gain is not None and gain >= _SMALL_GAIN:
        advice.append(f"More trees: by the learning curve, twice as many would add about {gain:.1f} points of F.")
    elif gain is not None:
        advice.append(
            f"Twice as many trees would add only about {max(gain, 0.0):.1f} points of F, by the learning curve."
        )
    elif figures.trees < _MANY_TREES:
        advice.append(
            f"More trees: {figures.trees:,} are few. `--learning-curve` trains on a quarter and on half of them, and "
            "estimates how much more trees would help."
        )
    if not figures.has_pretrained_words and figures.unknown_word_share >= _MANY_UNKNOWN_WORDS:
        advice.append(
            f"{figures.unknown_word_share:.0%} of the words of dev do not occur in train. An encoder for the language "
            "knows them (model.encoder=transformer model.transformer=NAME), and so do word vectors (data.vectors=FILE)."
        )
    if figures.best_epoch >= _LATE_EPOCH * figures.epochs:
        advice.append(
            f"The best epoch was {figures.best_epoch} of {figures.epochs}: longer training may help "
            f"(train.epochs={2 * figures.epochs})."
        )
    low, high = figures.interval
    if high - low > _WIDE_INTERVAL:
        advice.append(
            f"The 95% interval on {figures.scored_part} is {high - low:.1f} points wide, so smaller differences "
            f"between two parsers mean nothing. More trees in {figures.scored_part} narrow it."
        )
    return advice


def expected_gain(learning_curve: Mapping[int, float]) -> float | None:
    """Estimates the points of F that twice as many trees add; None with less than two numbers of trees.

    The error 100 - F is assumed to be a power of the number of trees, through the last two points of the curve.

    >>> expected_gain({100: 60.0, 200: 80.0})
    10.0
    """
    if len(learning_curve) < 2:
        return None
    (fewer, low), (more, high) = sorted(learning_curve.items())[-2:]
    error_ratio = (100 - high) / (100 - low) if low < 100 else 1.0
    return (100 - high) * (1 - math.pow(error_ratio, 1 / math.log2(more / fewer)))
