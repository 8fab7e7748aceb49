"""The report on a training run: scores with intervals, the curve of dev F, examples of errors, and what to try next."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treecrf.config import read_config
from treecrf.files import write_file
from treecrf.parser import Parser
from treecrf.parser.evaluate import ParserScores, evaluation_tags, has_own_tags, score_trees
from treecrf.training.advice import RunFigures, advise
from treecrf.training.checkpoint import RECIPE, read_rules
from treecrf.training.config import Recipe
from treecrf.training.markdown import markdown_table
from treecrf.training.metrics_log import NAME, read_metrics
from treecrf.trees.bootstrap import Interval
from treecrf.trees.evalb import Score, bootstrap
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank import read_trees

REPORT = "report.md"
_CURVE_ROWS = 15
_BAR_WIDTH = 40
_LABELS = 8  # labels with the most errors
_EXAMPLES = 5
_EXAMPLE_WORDS = 30  # longer sentences are not shown


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
        return bootstrap.intervals(self.main).get("f1", Interval(self.main.f1, self.main.f1))


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
    sections = {
        "Scores": _score_lines(parts),
        "Dev F by epoch": ["```text", *curve_lines(epochs), "```"],
        "Learning curve": markdown_table(
            ["trees", "dev F"], ([f"{trees:,}", f"{dev_f:.2f}"] for trees, dev_f in sorted(learning_curve.items()))
        ),
        "Labels with the most errors on dev": _label_lines(parts[0].main),
        "Examples of errors on dev": _example_lines(parts[0]),
        "What to try next": (f"- {sentence}" for sentence in advice),
    }
    lines = [f"# Training report: {folder.name}", ""]
    lines.append(f"Trained on {', '.join(f'`{path}`' for path in recipe.data.train)}; all settings are in `{RECIPE}`.")
    for title, content in sections.items():
        if learning_curve or title != "Learning curve":
            lines += ["", f"## {title}", "", *content]
    write_file(folder / REPORT, "\n".join([*lines, ""]).encode())
    return [*map(_summary_line, parts), *advice]


def _score_part(
    name: str, paths: Sequence[str], predicted: Sequence[Tree] | None, parser: Parser, folder: Path, recipe: Recipe
) -> PartScores:
    gold = [tree for path in paths for tree in read_trees(path)]
    if predicted is None:
        sentences, tags = [tree.words for tree in gold], evaluation_tags(parser, gold)
        predicted = list(parser.parse_many(sentences, tags=tags, mbr=recipe.train.mbr))
    scores = score_trees(gold, predicted, read_rules(folder, recipe))
    return PartScores(name=name, gold=gold, predicted=predicted, scores=scores, predicts_tags=has_own_tags(parser))


def _run_figures(
    recipe: Recipe,
    parts: Sequence[PartScores],
    epochs: Sequence[Mapping[str, Any]],
    learning_curve: Mapping[int, float],
) -> RunFigures:
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


def _score_lines(parts: Sequence[PartScores]) -> Iterator[str]:
    yield "F over all sentences, with punctuation deleted by the gold tags; EVALB deletes it by the predicted tags."
    yield ""
    head = ["part", "sentences", "F", "95% interval", "precision", "recall", "EVALB's F", "tagging accuracy"]
    rows = []
    for part in parts:
        score, evalb, (low, high) = part.main, part.scores.evalb, part.interval
        tagging = f"{evalb.all.tagging_accuracy:.2f}" if part.predicts_tags else "gold tags"
        percents = [f"{percent:.2f}" for percent in (score.precision, score.recall, evalb.f1)]
        interval = f"{low:.1f} to {high:.1f}"
        rows.append([part.name, f"{score.all.sentences:,}", f"{score.f1:.2f}", interval, *percents, tagging])
    yield from markdown_table(head, rows)


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


def _label_lines(score: Score) -> Iterator[str]:
    errors = {
        label: counts.gold - counts.recalled + counts.predicted - counts.correct
        for label, counts in score.labels.items()
    }
    rows = []
    for label in sorted(errors, key=lambda name: -errors[name])[:_LABELS]:
        counts = score.labels[label]
        percents = f"{counts.precision:.1f}", f"{counts.recall:.1f}"
        rows.append([label, f"{counts.gold:,}", *percents, f"{errors[label]:,}"])
    return markdown_table(["label", "in gold trees", "precision", "recall", "errors"], rows)


def _example_lines(part: PartScores) -> Iterator[str]:
    pairs = [
        (gold, predicted)
        for gold, predicted in zip(part.gold, part.predicted, strict=True)
        if len(gold.words) <= _EXAMPLE_WORDS and any(constituent_differences(gold, predicted))
    ]
    count = min(_EXAMPLES, len(pairs))
    for index in range(count):
        gold, predicted = pairs[index * len(pairs) // count]
        missed, wrong = constituent_differences(gold, predicted)
        yield from ([""] if index else [])
        yield from (" ".join(gold.words), "")
        yield from (f"- missed {_format_span(span, gold)}" for span in missed)
        yield from (f"- wrong {_format_span(span, gold)}" for span in wrong)
    if not pairs:
        yield "There are none."


def constituent_differences(gold: Tree, predicted: Tree) -> tuple[list[Span], list[Span]]:
    """Returns the constituents that only the gold tree has, and the constituents that only the predicted tree has.

    >>> gold = Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD slept))))")
    >>> constituent_differences(gold, Tree.parse("(TOP (S (DT the) (NP (NN cat)) (VP (VBD slept))))"))
    ([Span(start=0, end=2, label='NP')], [Span(start=1, end=2, label='NP')])
    """
    gold_spans, predicted_spans = Counter(gold.spans()[1:]), Counter(predicted.spans()[1:])
    missed, wrong = gold_spans - predicted_spans, predicted_spans - gold_spans
    return sorted(missed.elements()), sorted(wrong.elements())


def _format_span(span: Span, tree: Tree) -> str:
    return f"{span.label}: {' '.join(tree.words[span.start : span.end])}"
