"""Measures a model for its card: scores, well-formedness, calibration, speed and memory."""

import re
import subprocess
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from treecrf.files import isolated_python
from treecrf.parser import Parser
from treecrf.parser.benchmark import device_name, median_seconds
from treecrf.parser.evaluate import evaluate_parser, has_own_tags
from treecrf.parser.models.model_card import (
    LONG,
    ModelSpeed,
    TreebankCalibration,
    TreebankScore,
    TreebankWellFormedness,
)
from treecrf.training.calibration.predictions import Predictions, collect_predictions
from treecrf.training.calibration.reliability import reliability
from treecrf.training.config import Recipe
from treecrf.training.export.precisions import compare_precisions
from treecrf.trees.evalb import Rules
from treecrf.trees.evalb.bootstrap import f1_interval
from treecrf.trees.evalb.score import summarize
from treecrf.trees.notation import unescape_brackets
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import clean, read_trees
from treecrf.trees.treebank.well_formed import VIOLATION_NAMES, WellFormednessComparison

T = TypeVar("T")

_SPACES, _QUOTES = re.compile(r"[\s_]+"), re.compile(r"``|''|[“”„]")

_CALIBRATION_SENTENCES = 1_000  # sentences per test set
_SPEED_SENTENCES = 500  # sentences of all test sets together
_REPEATS = 3
# the largest amount of memory that a process had at once, from the Linux kernel
_MEMORY_PROGRAM = """
import re, sys
from treecrf import Parser
parser = Parser.load(sys.argv[1], "cpu")
list(parser.brackets_many(line.split() for line in sys.stdin))
print(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])
"""


class ScoringFiles(NamedTuple):
    """The files of a model's training sentences, and of each test set by its name."""

    train: list[Path]
    tests: dict[str, list[Path]]


def treebank_name(path: str) -> str:
    """Returns the name of a file's treebank, which is the name of its folder."""
    return Path(path).resolve().parent.name


def recipe_files(recipe: Recipe) -> ScoringFiles:
    """Returns the files of a recipe; without a test file, the model is scored on dev."""
    tests: dict[str, list[Path]] = {}
    for path in recipe.data.test or recipe.data.dev:
        name = treebank_name(path) if recipe.data.test else f"{treebank_name(path)}, dev"
        tests.setdefault(name, []).append(Path(path))
    train = list(map(Path, recipe.data.train))
    for file in (*train, *chain(*tests.values())):
        if not file.is_file():
            raise FileNotFoundError(
                f"there is no file {file}, which the recipe of the run names; run the command in the folder in which "
                "the parser was trained, or name the folder of the treebanks with --data"
            )
    return ScoringFiles(train=train, tests=tests)


def data_files(data: Path, train: Iterable[str], tests: Iterable[str]) -> ScoringFiles:
    """Returns the files of a folder with one folder for each treebank."""
    files = {name: data / name / "test.mrg" for name in tests}
    test_files = {name: [path if path.is_file() else path.with_suffix(".mrg.gz")] for name, path in files.items()}
    return ScoringFiles(train=[data / path for path in train], tests=test_files)


def measure_model(
    parser: Parser, folder: Path, files: ScoringFiles, *, rules: Rules, only_precisions: bool = False
) -> dict[str, Any]:
    """Measures a parser, whose files are in `folder`, on each test set; returns fields of a model card.

    With `only_precisions`, it only compares the precision of the parser's device with float32.
    """
    unlimited_rules = replace(rules, max_error=None)
    tests = {name: _read_gold(paths) for name, paths in files.tests.items()}
    precisions = compare_precisions(parser, folder, tests, unlimited_rules)
    if only_precisions:
        return {"scores": (), "precisions": precisions}
    training_sentences = {fold(tree.words) for path in files.train for tree in read_trees(path)}
    results = [_score(parser, name, gold, unlimited_rules, training_sentences) for name, gold in tests.items()]
    return {
        "scores": tuple(score for score, _ in results),
        "well_formedness": tuple(entry for _, entry in results if entry),
        "calibration": _calibration(parser, tests) if parser.model_config.is_crf else (),
        "precisions": precisions,
        "speed": _speed(parser, folder, [tree.words for gold in tests.values() for tree in gold]),
    }


def _read_gold(paths: Iterable[Path]) -> list[Tree]:
    trees = chain.from_iterable(map(read_trees, paths))
    return [cleaned for tree in trees if (cleaned := clean(tree, keep_labels=True))]


def _calibration(parser: Parser, tests: dict[str, list[Tree]]) -> tuple[TreebankCalibration, ...]:
    """Measures the calibration errors on each test set, and on all of them together if there are several."""
    parts = {name: collect_predictions(parser, _spread(gold, _CALIBRATION_SENTENCES)) for name, gold in tests.items()}
    if len(parts) > 1:
        parts["all"] = sum(parts.values(), Predictions())
    return tuple(
        TreebankCalibration(
            name=name,
            sentences=len(part.trees),
            constituents=len(part.constituents),
            constituent_error=reliability(*part.forecasts("labeled")[:2]).error,
            tree_error=reliability(*part.forecasts("trees")[:2]).error,
        )
        for name, part in parts.items()
    )


def _spread(items: Sequence[T], count: int) -> list[T]:
    """Selects at most `count` items, in equal steps from the first to the last one."""
    step = max(1.0, len(items) / count)
    return [items[int(number * step)] for number in range(min(count, len(items)))]


def _speed(parser: Parser, folder: Path, sentences: Sequence[Sequence[str]]) -> ModelSpeed | None:
    words = _spread(sentences, _SPEED_SENTENCES)
    if not words:
        return None
    seconds = median_seconds(lambda: list(parser.brackets_many(words)), _REPEATS)
    return ModelSpeed(
        sentences=len(words),
        mean_words=sum(map(len, words)) / len(words),
        sentences_per_second=len(words) / seconds,
        parser=str(parser),
        device=device_name(parser.device),
        peak_memory=_peak_memory(folder, words),
    )


def _peak_memory(folder: Path, words: Iterable[Sequence[str]]) -> int | None:
    """Measures the largest amount of memory, in bytes, of a process that parses on a CPU; None if unknown."""
    if not Path("/proc/self/status").exists():
        return None
    process = subprocess.run(
        [*isolated_python(_MEMORY_PROGRAM), str(folder)],
        input="\n".join(map(" ".join, words)),
        capture_output=True,
        check=True,
        text=True,
        encoding="utf-8",
    )
    return 1024 * int(process.stdout)


def fold(words: Iterable[str]) -> str:
    """Returns the characters of a sentence, regardless of case, tokenization, spacing, and the form of its quotes.

    >>> fold(["``", "Do", "n't", "-LRB-", "New_York", "''"]) == fold(['"', "Don't", "(", "New", "York", '"'])
    True
    """
    return _SPACES.sub("", _QUOTES.sub('"', "".join(map(unescape_brackets, words)))).replace("’", "'").lower()


def _score(
    parser: Parser, name: str, gold: Sequence[Tree], rules: Rules, training_sentences: Set[str]
) -> tuple[TreebankScore, TreebankWellFormedness | None]:
    scores = evaluate_parser(parser, gold, rules=rules)
    lowercase_scores = evaluate_parser(parser, gold, rules=rules, lowercase=True)
    main, evalb = scores.all_sentences, scores.evalb
    seen = [tree for tree in gold if fold(tree.words) in training_sentences]
    pairs = zip(main.sentences, gold, strict=True)
    unseen = summarize([sentence for sentence, tree in pairs if fold(tree.words) not in training_sentences])
    score = TreebankScore(
        name=name,
        sentences=main.all.sentences,
        f1=main.f1,
        interval=f1_interval(main),
        evalb_f1=evalb.f1,
        evalb_interval=f1_interval(evalb),
        skipped=evalb.all.sentences - evalb.all.valid,
        tagging=evalb.all.tagging_accuracy if has_own_tags(parser) else None,
        lower_f1=lowercase_scores.all_sentences.f1,
        seen=len(seen),
        seen_long=sum(len(tree.words) >= LONG for tree in seen),
        unseen_f1=unseen.brackets.f1,
    )
    return score, scores.well_formedness and _well_formedness(name, scores.well_formedness)


def _well_formedness(name: str, comparison: WellFormednessComparison) -> TreebankWellFormedness:
    gold, predicted, has_penn_tags = comparison
    shares = (100 * gold.unseen_share, 100 * predicted.unseen_share)
    return TreebankWellFormedness(
        name=name,
        trees=gold.trees,
        ill_formed=(gold.ill_formed, predicted.ill_formed) if has_penn_tags else None,
        violations={
            violation: (gold.by_name[violation], predicted.by_name[violation])
            for violation in (VIOLATION_NAMES if has_penn_tags else ())
        },
        unseen_productions=shares if predicted.productions else None,
    )
