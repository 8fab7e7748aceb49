"""Adapts a parser to corrected sentences, and keeps the result only if sentences that it has not seen get better.

Cross-validation trains a parser for each fold, and after each epoch parses the sentences that were left out. The best
epoch is the number of epochs of a last training on all sentences. The verdict is fair: the sentences of a fold are
scored at the epoch that is best on the other folds.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np

from treecrf.arrays import Doubles
from treecrf.parser import Parser
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.parser.storage import ParserConfig, ParserState
from treecrf.training.adaptation.corrections import Corrections, Measure, compare, f1
from treecrf.training.adaptation.fine_tuning import fine_tune
from treecrf.training.calibration.fit import fit_beta, fit_tree_calibration
from treecrf.training.calibration.predictions import Predictions, collect_predictions
from treecrf.training.config import TrainConfig
from treecrf.training.data_loader import Corpus
from treecrf.training.partial import PartialTree
from treecrf.trees.evalb import COLLINS, Rules
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.well_formed import count_productions

_FOLDS = 5
_MANY = 200  # sentences: from here on, only one of the folds is trained
_SURE = 0.9  # the probability that the parser is better, from which on it is kept
_LOSS = 0.3  # points of F that it may lose on the trees of `keep_good_on`
_BRACKET_SHARE = 0.2  # share of the constituents in partial trees: without it, the parser learns to find too many
_RIDGE = 10.0  # draws the calibration to the calibration of the base


@dataclass(frozen=True, kw_only=True)
class Adaptation:
    """An adapted parser, or its base if that is better."""

    base: Parser
    parser: Parser
    corrections: Corrections
    epoch: int  # 0: refused
    gains: Mapping[str, Measure]  # on left-out sentences, by "brackets" and "sentences"
    others: Measure | None  # F on the trees of `keep_good_on`
    verdict: str

    @property
    def is_kept(self) -> bool:
        return self.epoch > 0


@dataclass(frozen=True)
class Fold:
    """The results of the left-out sentences of a fold after each epoch, from epoch 0, the base, on."""

    counts: Sequence[Doubles]
    predictions: Sequence[Predictions]  # not calibrated


def settings_for(sentences: int, *, seed: int = 1) -> TrainConfig:
    """The schedule: more sentences have fewer epochs and a lower learning rate."""
    epochs, rate = (3, 1e-4) if sentences < 2 * _MANY else (2, 7e-5) if sentences < 10 * _MANY else (2, 5e-5)
    return TrainConfig(
        seed=seed,
        epochs=epochs,
        batch_words=200,
        batch_cells=40_000,
        learning_rate=rate,
        head_multiplier=3.0,
        betas=(0.9, 0.98),
        epsilon=1e-8,
        clip=1.0,
        schedule="linear",
        warmup=0.1,
    )


def adapt(
    parser: Parser,
    trees: "Iterable[Tree | PartialTree] | Corrections | str | Path",
    *,
    keep_good_on: Sequence[Tree] = (),
    rules: Rules = COLLINS,
    seed: int = 1,
    report: Callable[[str], object] = print,
) -> Adaptation:
    """Adapts a parser to full or partial trees: of a file, of an annotation folder, or in memory.

    If F on the trees of `keep_good_on` falls by more than 0.3, the adapted parser is refused. The parser that is given
    does not change.
    """
    corrections = trees if isinstance(trees, Corrections) else Corrections.of(trees, parser)
    task = _Task.of(parser, corrections, rules, seed)
    groups = folds_of(corrections.words, seed=seed)
    report(task.before())
    folds = []
    for number, held_out in enumerate(groups, 1):
        folds.append(task.train_fold(held_out))
        before, *after = (f1(counts) for counts in folds[-1].counts)
        epochs = " ".join(f"{each:.2f}" for each in after)
        report(f"fold {number} of {len(groups)}, left-out sentences: {before:.2f} before, {epochs} after each epoch")
    epoch, gains = choose_epoch(folds)
    result = partial(Adaptation, base=parser, corrections=corrections, gains=gains)
    report(f"left-out sentences: brackets {gains['brackets']}; entirely right {gains['sentences']}")
    if epoch == 0 or gains["brackets"].probability < _SURE:
        reason = f"no clear improvement on left-out sentences (probability {gains['brackets'].probability:.0%})"
        return result(parser=parser, epoch=0, others=None, verdict=f"refused: {reason}; the weights stay as they are")
    adapted = task.train_all(epoch, folds)
    others = task.compare(Corrections(list(keep_good_on)), adapted) if keep_good_on else None
    if others is not None:
        report(f"{len(keep_good_on):,} other trees: F {others}")
        if others.difference < -_LOSS:
            reason = f"F on the other trees falls by more than {_LOSS}"
            return result(
                parser=parser, epoch=0, others=others, verdict=f"refused: {reason}; the weights stay as they are"
            )
    verdict = f"kept: better with probability {gains['brackets'].probability:.0%}, {epoch} epochs on all sentences"
    return result(parser=adapted, epoch=epoch, others=others, verdict=verdict)


@dataclass(frozen=True)
class _Task:
    """A parser and the sentences that it is adapted to."""

    base: Parser  # computes as users parse
    state: ParserState
    corrections: Corrections
    config: TrainConfig
    rules: Rules

    @staticmethod
    def of(parser: Parser, corrections: Corrections, rules: Rules, seed: int) -> "_Task":
        config = settings_for(len(corrections), seed=seed)
        if corrections.partial and (parser.model_config.tag_size or not parser.model_config.is_crf):
            raise ValueError("partial trees need a model with a CRF loss that reads no tags; give it full trees alone")
        state = parser.state()
        base = Parser.from_state(state, parser.device)
        return _Task(base, state, corrections, config, rules)

    def before(self) -> str:
        """Describes the sentences and the scores of the base."""
        trees, partial_trees = len(self.corrections.trees), len(self.corrections.partial)
        counts = self.corrections.counts(self.corrections.parse(self.base), self.rules)
        right = counts[:, 3].mean()
        return (
            f"{trees} full and {partial_trees} partial trees; before (epoch 0): brackets {f1(counts):.2f}, "
            f"entirely right {right:.1%}"
        )

    def epochs(self, corrections: Corrections) -> Iterator[Parser]:
        """The parsers after each epoch of a training on some of the sentences; their grammar knows the trees."""
        vocabulary, root = self.base.vocabulary, self.base.root
        is_marginalized = self.base.model_config.loss == "tree"
        corpus = Corpus.from_trees(
            corrections.trees,
            vocabulary,
            marginalize=is_marginalized,
            partial=corrections.partial,
            partial_share=_BRACKET_SHARE,
            is_share_known=False,
            root=root,
        )
        productions = self.state.productions
        if productions:
            productions = Counter(productions) + Counter(count_productions(corrections.trees))
        for state in fine_tune(self.state, self.base, corpus, self.config):
            yield Parser.from_state(replace(state, productions=productions), self.base.device)

    def train_fold(self, held_out: Sequence[int]) -> Fold:
        """Trains without some sentences, and parses these before and after each epoch."""
        left_out = self.corrections.select(held_out)
        rest = self.corrections.select({*range(len(self.corrections))} - {*held_out})
        counts, predictions = [], []
        for parser in chain([self.base], self.epochs(rest)):
            counts.append(left_out.counts(left_out.parse(parser), self.rules))
            uncalibrated = Parser.from_state(replace(parser.state(), config=_uncalibrated(parser)), parser.device)
            predictions.append(collect_predictions(uncalibrated, left_out.trees))
        return Fold(counts, predictions)

    def train_all(self, epoch: int, folds: Sequence[Fold]) -> Parser:
        """Trains on all sentences, and calibrates with the predictions for left-out ones."""
        parser = next(islice(self.epochs(self.corrections), epoch - 1, None))
        return recalibrate(parser, [fold.predictions[epoch] for fold in folds])

    def compare(self, trees: Corrections, adapted: Parser) -> Measure:
        return compare(*(trees.counts(trees.parse(each), self.rules) for each in (self.base, adapted)))["brackets"]


def folds_of(words: Sequence[Sequence[str]], *, seed: int) -> list[list[int]]:
    """The numbers of the sentences to leave out, for each fold; equal sentences are in one fold."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, sentence in enumerate(words):
        groups.setdefault(tuple(sentence), []).append(number)
    if len(groups) < _FOLDS:
        raise ValueError(
            f"there are {len(groups)} different sentences; expected at least {_FOLDS}: each part is left out once, to "
            "see whether the parser gets better"
        )
    shuffled = list(groups.values())
    random.Random(seed).shuffle(shuffled)
    folds = [[number for group in shuffled[fold::_FOLDS] for number in group] for fold in range(_FOLDS)]
    return folds if len(words) < _MANY else folds[:1]


def choose_epoch(folds: Sequence[Fold]) -> tuple[int, dict[str, Measure]]:
    """The best epoch, 0 if none is better than the base, and the gains of left-out sentences.

    The gains of a fold are from the epoch that is best on the others, or, if there is one fold, on itself.
    """
    totals = np.array([[counts.sum(0) for counts in fold.counts] for fold in folds])  # (folds, epochs, 5)
    others = totals.sum(0) - totals if len(folds) > 1 else totals
    after = [fold.counts[_best(rest)] for fold, rest in zip(folds, others, strict=True)]
    gains = compare(np.concatenate([fold.counts[0] for fold in folds]), np.concatenate(after))
    return _best(totals.sum(0)), gains


def _best(counts_by_epoch: Doubles) -> int:
    return max(range(len(counts_by_epoch)), key=lambda epoch: f1(counts_by_epoch[epoch : epoch + 1]))


def recalibrate(parser: Parser, predictions: Sequence[Predictions]) -> Parser:
    """Fits the calibration to predictions for full trees; few predictions change little."""
    found = sum(predictions, Predictions())
    if found.trees:
        labeled, trees = found.forecasts("labeled"), found.trees
        parser.calibration = fit_beta(*labeled[:2], start=parser.calibration, ridge=_RIDGE)
        log_probs, words, is_correct = zip(*((t.log_prob, t.words, t.is_correct) for t in trees), strict=True)
        parser.tree_calibration = fit_tree_calibration(
            log_probs, words, is_correct, start=parser.tree_calibration, ridge=_RIDGE
        )
    return parser


def _uncalibrated(parser: Parser) -> ParserConfig:
    return replace(parser.config, calibration=BetaCalibration(), tree_calibration=TreeCalibration())
