from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from small import small_recipe
from toygrammar import toy_trees, write_trees
from treecrf import Constraints, Parser, Tree
from treecrf.corpus.annotation.project import Project
from treecrf.corpus.annotation.session import AnnotationSession
from treecrf.parser.decoding.calibration import BetaCalibration
from treecrf.training import fit
from treecrf.training.adaptation import adapt as adaptation
from treecrf.training.adaptation.adapt import Fold, adapt, choose_epoch, folds_of, recalibrate, settings_for
from treecrf.training.adaptation.corrections import Corrections, f1
from treecrf.training.calibration.predictions import Predictions, collect_predictions
from treecrf.training.partial import PartialTree


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Parser:
    """A parser that is right about most sentences of the toy grammar."""
    folder = tmp_path_factory.mktemp("toy")
    train = write_trees(folder / "train.mrg", toy_trees(120, seed=3))
    recipe = small_recipe(data={"train": (str(train),)}, model={"tag_head": True}, epochs=4)
    fit(recipe, folder / "run", device="cpu")
    return Parser.load(folder / "run", "cpu")


@pytest.fixture
def large_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small network without a pretrained encoder needs larger steps."""
    monkeypatch.setattr(
        adaptation,
        "settings_for",
        lambda count, seed: replace(settings_for(count, seed=seed), learning_rate=1e-2, epochs=3),
    )


def without_adverb_phrases(tree: Tree) -> Tree:
    """The tree in another annotation scheme."""

    def rebuild(node: Tree) -> list[Tree]:
        if node.is_leaf:
            return [node]
        children = [child for each in node.child_trees for child in rebuild(each)]
        return children if node.label == "ADVP" else [Tree(node.label, children)]

    return rebuild(tree)[0]


def other_scheme(count: int, seed: int) -> list[Tree]:
    """Trees in which the other scheme makes a difference."""
    trees = [tree for tree in toy_trees(6 * count, seed=seed) if "(ADVP" in str(tree) and len(tree.words) > 2]
    return [without_adverb_phrases(tree) for tree in trees[:count]]


@pytest.mark.usefixtures("large_steps")
def test_a_parser_learns_another_scheme_and_says_by_how_much(
    parser: Parser, capsys: pytest.CaptureFixture[str]
) -> None:
    trees = other_scheme(50, seed=5)
    before = str(parser.parse(trees[0].words))
    result = adapt(parser, trees)
    out = capsys.readouterr().out
    assert result.is_kept, out
    assert result.gains["brackets"].difference > 1
    assert out.index("epoch 0") < out.index("fold 1 of 5")
    assert "95% interval" in out
    words = [tree.words for tree in other_scheme(25, seed=6)]
    count_before, count_after = (
        sum(str(tree).count("(ADVP") for tree in each.parse_many(words)) for each in (parser, result.parser)
    )
    assert count_after < count_before / 2
    assert str(parser.parse(trees[0].words)) == before
    assert sum(result.parser.productions.values()) > sum(parser.productions.values())


@pytest.mark.usefixtures("large_steps")
def test_partial_trees_alone_teach_too(parser: Parser) -> None:
    partial = [PartialTree(tree.words, Constraints(require=_nominals(tree))) for tree in toy_trees(60, seed=5)]
    result = adapt(parser, [each for each in partial if each.constraints.require][:25], report=lambda line: None)
    assert result.gains["brackets"].before < 30
    assert result.gains["brackets"].difference > 20


@pytest.mark.usefixtures("large_steps")
def test_a_model_learns_from_a_simulated_annotator(parser: Parser, tmp_path: Path) -> None:
    trees = other_scheme(50, seed=5)
    session = AnnotationSession(parser, Project(tmp_path / "gold", [tree.words for tree in trees]))
    actions = sum(annotate(session, number, trees[number]) for number in session.queue("ann"))
    session.close()
    assert (tmp_path / "gold" / "ann.mrg").read_text().splitlines() == [str(tree) for tree in trees]
    assert 0 < actions < sum(len(tree.spans()) for tree in trees)
    result = adapt(parser, tmp_path / "gold", report=lambda line: None)
    assert result.is_kept
    others = Corrections(other_scheme(25, seed=6))
    before, after = (f1(others.counts(others.parse(each))) for each in (parser, result.parser))
    assert after > before + 1


def annotate(session: AnnotationSession, number: int, gold: Tree) -> int:
    """Finishes a sentence as its gold tree; counts the actions."""
    history, parsed = session.parsed("ann", number)
    while parsed.tree != gold:
        found, expected = {*parsed.tree.spans()}, {*gold.spans()}
        if wrong := found - expected:
            values = {"action": "no", "forbid": [min(wrong)]}
        elif missing := expected - found:
            values = {"action": "yes", "require": [min(missing)]}
        else:
            values = {"action": "tag", "tags": {str(position): tag for position, tag in enumerate(gold.tags)}}
        history, parsed = session.act("ann", number, history.version, **values)
    session.act("ann", number, history.version, "done")
    return history.version


def _nominals(tree: Tree) -> list[tuple[int, int]]:
    """Adjectives with their nouns, which another scheme puts together."""
    tags = tree.tags
    return [(start, start + 2) for start in range(len(tags) - 1) if tags[start : start + 2] == ["JJ", "NN"]]


def test_what_the_parser_knows_already_is_refused(parser: Parser) -> None:
    trees = list(parser.parse_many(tree.words for tree in toy_trees(20, seed=8)))
    result = adapt(parser, trees, report=lambda line: None)
    assert result.verdict.startswith("refused")
    assert result.parser is parser


@pytest.mark.usefixtures("large_steps")
def test_a_loss_on_other_trees_is_refused(parser: Parser) -> None:
    trees = other_scheme(50, seed=5)
    others = list(parser.parse_many(tree.words for tree in toy_trees(40, seed=9)))
    result = adapt(parser, trees, keep_good_on=others, report=lambda line: None)
    assert result.others is not None
    assert result.others.before == 100
    assert not result.is_kept
    assert "other trees" in result.verdict


def test_folds_leave_out_each_sentence_once_and_keep_equal_sentences_together() -> None:
    words = [["a"], ["b"], ["a"], ["c"], ["d"], ["e"], ["f"]]
    folds = folds_of(words, seed=1)
    assert sorted(number for fold in folds for number in fold) == list(range(7))
    assert any({0, 2} <= {*fold} for fold in folds)
    assert len(folds_of([[str(number)] for number in range(200)], seed=1)) == 1
    with pytest.raises(ValueError, match="2 different sentences"):
        folds_of([["a"], ["b"], ["a"]], seed=1)


def test_the_epoch_of_a_fold_is_chosen_by_the_other_folds() -> None:
    def fold(*matched: int) -> Fold:
        return Fold([np.array([[10, 10, each, 0, 1]], float) for each in matched], [])

    epoch, gains = choose_epoch([fold(5, 9, 6), fold(5, 6, 8), fold(5, 5, 8)])
    assert epoch == 2
    # the totals of the other folds are best at the epochs 2, 1 and 1
    assert gains["brackets"].after == pytest.approx(100 * (6 + 6 + 5) / 30)
    assert gains["brackets"].before == 50


def test_few_predictions_hardly_change_the_calibration(parser: Parser) -> None:
    few, many = (collect_predictions(parser, toy_trees(count, seed=11)) for count in (2, 100))
    original = BetaCalibration(0.8, 0.9, 0.1)

    def distance(predictions: Predictions) -> float:
        other = Parser.from_state(parser.state(), "cpu")
        other.calibration = original
        return float(abs(np.subtract(recalibrate(other, [predictions]).calibration, original)).max())

    assert distance(Predictions()) == 0
    assert distance(few) < distance(many)


def test_a_method_of_the_parser_returns_the_better_parser(parser: Parser, tmp_path: Path) -> None:
    trees = list(parser.parse_many(tree.words for tree in toy_trees(6, seed=8)))
    path = write_trees(tmp_path / "six.mrg", trees)
    assert parser.adapt(str(path)) is parser
