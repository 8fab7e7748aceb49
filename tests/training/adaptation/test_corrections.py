import json
from pathlib import Path

import numpy as np
import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf import Constraints, Parser, Tree
from treecrf.corpus.annotation.events import Event
from treecrf.corpus.annotation.project import Project
from treecrf.training.adaptation.adapt import folds_of
from treecrf.training.adaptation.corrections import Corrections, compare, f1
from treecrf.training.partial import PartialTree
from treecrf.trees.evalb import evaluate


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser([*toy_trees(40), Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))")])


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


FULL = "( (S (NP-SBJ (DT the) (NN cat)) (VP (VBD sat) (NP (-NONE- *)))))"
CLEANED = "(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))"


def test_full_trees_get_the_root_and_the_labels_of_the_parser(tmp_path: Path, parser: Parser) -> None:
    found = Corrections.read([write(tmp_path, "some.mrg", FULL.replace(" (VP", "\n  (VP"))], parser)
    assert [str(tree) for tree in found.trees] == [CLEANED]
    assert not found.partial


@pytest.mark.parametrize(
    ("line", "brackets"),
    [
        ("(S (NP the cat) sat)", [(0, 3, "S"), (0, 2, "NP")]),
        ("( the cat) sat", [(0, 2, None)]),
        ("(S (NP cats) (VP sat))", [(0, 2, "S"), (0, 1, "NP"), (1, 2, "VP")]),
        ("(NP cats)", [(0, 1, "NP")]),
    ],
)
def test_full_and_partial_trees_may_be_in_one_file(
    tmp_path: Path, parser: Parser, line: str, brackets: list[object]
) -> None:
    found = Corrections.read([write(tmp_path, "mixed.mrg", f"{CLEANED}\n{line}\n{CLEANED}\n")], parser)
    assert [str(tree) for tree in found.trees] == [CLEANED, CLEANED]
    assert sorted(map(str, found.partial[0].constraints.require)) == sorted(
        str(item)
        for item in Constraints(require=brackets).require  # type: ignore[arg-type]
    )


def test_square_brackets_and_constraints_in_json_are_partial_trees(tmp_path: Path, parser: Parser) -> None:
    square = write(tmp_path, "square.txt", "[ the cat ] { sat on } it .\n")
    record = {"words": ["the", "cat", "sat"], "require": [[0, 2, "NP"]], "forbid": [[1, 3]]}
    constraints = write(tmp_path, "constraints.jsonl", json.dumps(record) + "\n")
    found = Corrections.read([square, constraints, write(tmp_path, "full.mrg", CLEANED)], parser)
    assert [each.words for each in found.partial] == [["the", "cat", "sat", "on", "it", "."], ["the", "cat", "sat"]]
    assert [source.partial for source in found.sources] == [1, 1, 0]
    assert len(found) == 3


def test_an_annotation_folder_gives_finished_and_partial_trees_of_all_annotators(
    tmp_path: Path, parser: Parser
) -> None:
    project = Project(tmp_path / "gold", [["the", "cat", "sat"], ["the", "dog", "sat"], ["it", "sat"]])
    done = Event(sentence=0, version=0, action="done", tree=CLEANED)
    project.record("anna", done)
    project.record("ben", done)
    project.record("ben", Event(sentence=1, version=0, action="yes", require=[(0, 2, "NP")]))
    project.record("ben", Event(sentence=1, version=1, action="tag", tags={"2": "VBD"}))
    project.record("ben", Event(sentence=1, version=2, action="partial"))
    project.record("ben", Event(sentence=2, version=0, action="skip", text="no sentence"))
    for name in ("anna", "ben"):
        project.export(name)
    project.close()
    found = Corrections.read([tmp_path / "gold"], parser)
    assert [str(tree) for tree in found.trees] == [CLEANED, CLEANED]
    (partial,) = found.partial
    assert partial.words == ["the", "dog", "sat"]
    assert partial.constraints.require == ((0, 2, "NP"), (2, 3, "VBD"))
    assert len(folds_of([["x"], *found.words, ["y"], ["z"], ["w"]], seed=1)) == 5


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("bad.mrg", "(S (NP the cat)\n", "bad.mrg"),
        ("bad.txt", "[ the cat sat\n", "bad.txt:1"),
        ("bad.jsonl", '{"words": ["a"], "wrong": 1}\n', "bad.jsonl:1"),
        ("empty.mrg", "\n", "no trees"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, parser: Parser, name: str, text: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Corrections.read([write(tmp_path, name, text)], parser)


def test_other_folders_and_missing_files_are_errors(tmp_path: Path, parser: Parser) -> None:
    with pytest.raises(ValueError, match="folder of treecrf annotate"):
        Corrections.read([tmp_path], parser)
    with pytest.raises(FileNotFoundError, match=r"nothing\.mrg"):
        Corrections.read([tmp_path / "nothing.mrg"], parser)


def test_counts_of_full_trees_give_the_f1_of_evalb(parser: Parser) -> None:
    gold, predicted = toy_trees(20, seed=1), toy_trees(20, seed=1)
    predicted[3] = Corrections(gold).parse(parser)[3]
    counts = Corrections(gold).counts(predicted)
    assert f1(counts) == pytest.approx(evaluate(gold, predicted, use_gold_tags=True).f1)
    assert counts[:, 3].sum() == 20 - (predicted[3] != gold[3])


def test_a_partial_tree_counts_its_brackets() -> None:
    tree = Tree.parse(CLEANED)
    constraints = Constraints(require=[(0, 2), (0, 2, "VP"), (0, 3, "S"), (0, 1, "DT")], forbid=[(1, 3), (0, 2, "NP")])
    counts = Corrections(partial=[PartialTree(tree.words, constraints)]).counts([tree])
    assert counts.tolist() == [[5, 5, 3, 0, 1]]


def test_sentences_are_selected_by_number() -> None:
    trees, partial = toy_trees(3), [PartialTree(["a", "b"], Constraints()), PartialTree(["c"], Constraints())]
    chosen = Corrections(trees, partial).select([4, 0])
    assert chosen == Corrections([trees[0]], [partial[1]])


def test_a_gain_has_an_interval_and_a_probability() -> None:
    before = np.array([[10, 10, 5, 0, 1]] * 30, float)
    after = before + np.array([0, 0, 1, 0, 0]) * (np.arange(30) % 3 > 0)[:, None]
    gain = compare(before, after)["brackets"]
    assert gain.difference == pytest.approx(20 / 3)
    assert 0 < gain.interval.low < gain.difference < gain.interval.high
    assert gain.probability == 1
    assert compare(before, before)["sentences"].probability == 0
