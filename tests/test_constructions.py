"""The treebank of constructions: its trees are Penn trees as `en` knows them, and no test sentence is in it."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from project_models import model_folder
from treecrf.parser.decoding.grammar import ProductionCounts
from treecrf.parser.models.model_card import ModelCard
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.well_formed import measure_well_formedness, violations

ROOT = Path(__file__).parent.parent
CONSTRUCTIONS = ROOT / "recipes" / "models" / "constructions"
PARTS = ["train", "dev"]
QUALITY = ROOT.parent / "shared" / "quality" / "constituents.tsv"


def read_part(part: str) -> list[Tree]:
    return list(read_trees(CONSTRUCTIONS / f"{part}.mrg"))


def sentences(part: str) -> list[str]:
    return [" ".join(tree.words).lower() for tree in read_part(part)]


@pytest.mark.parametrize("part", PARTS)
def test_every_line_is_a_tree_with_labels_and_tags_of_en(part: str) -> None:
    card = ModelCard.load(model_folder("en"))
    lines = (CONSTRUCTIONS / f"{part}.mrg").read_text(encoding="utf-8").splitlines()
    trees = read_part(part)
    assert [str(tree) for tree in trees] == lines
    assert {tree.label for tree in trees} == {"TOP"}
    assert all(len(tree.child_trees) == 1 for tree in trees)
    labels = {node.label for tree in trees for node in tree.walk() if not node.is_leaf}
    assert labels - {"TOP"} <= set(card.labels)
    assert {tag for tree in trees for tag in tree.tags} <= set(card.tags)


@pytest.mark.parametrize("part", PARTS)
def test_no_tree_is_ill_formed_and_few_productions_are_new(part: str) -> None:
    trees = read_part(part)
    assert not [violation for tree in trees for violation in violations(tree)]
    known = ProductionCounts((model_folder("en") / "productions.txt").read_text(encoding="utf-8"))
    assert measure_well_formedness(trees, known).unseen_share < 0.03


def test_every_construction_has_enough_trees() -> None:
    with (CONSTRUCTIONS / "constructions.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert all(int(row["train"]) >= 15 and int(row["dev"]) >= 5 and row["description"] for row in rows)
    assert [sum(int(row[part]) for row in rows) for part in PARTS] == [len(read_part(part)) for part in PARTS]


def test_all_sentences_differ() -> None:
    all_sentences = [*sentences("train"), *sentences("dev")]
    assert len(set(all_sentences)) == len(all_sentences)


@pytest.fixture(scope="module")
def templates(monkeypatch_module: pytest.MonkeyPatch) -> dict[str, list[Tree]]:
    """The trees of the English templates of each part."""
    return template_trees(monkeypatch_module, "en")


def template_trees(monkeypatch: pytest.MonkeyPatch, language: str) -> dict[str, list[Tree]]:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from constructions import Templates

    read = Templates.read(language)
    return {part: [tree for kind in read.kinds for tree, _ in read.sentences(kind, part, 100)] for part in PARTS}


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.mark.parametrize("part", PARTS)
def test_templates_give_well_formed_trees_with_labels_and_tags_of_en(
    part: str, templates: dict[str, list[Tree]]
) -> None:
    card = ModelCard.load(model_folder("en"))
    trees = templates[part]
    assert len(trees) > 600
    assert {node.label for tree in trees for node in tree.walk() if not node.is_leaf} <= set(card.labels)
    assert {tag for tree in trees for tag in tree.tags} <= set(card.tags)
    assert not [violation for tree in trees for violation in violations(tree)]


@pytest.mark.parametrize("language", ["es", "id", "is"])
def test_templates_of_other_languages_have_labels_and_tags_of_their_models(
    monkeypatch_module: pytest.MonkeyPatch, language: str
) -> None:
    card = ModelCard.load(model_folder(language))
    trees = template_trees(monkeypatch_module, language)
    every_tree = [tree for part in PARTS for tree in trees[part]]
    assert len(every_tree) > 150
    assert {node.label for tree in every_tree for node in tree.walk() if not node.is_leaf} <= set(card.labels)
    tags = {tag for tree in every_tree for tag in tree.tags}
    assert tags - {"vmm02p0"} <= set(card.tags)  # no imperative of vosotros is in CESS-ESP
    assert not {" ".join(tree.words) for tree in trees["train"]} & {" ".join(tree.words) for tree in trees["dev"]}


def test_no_sentence_of_the_templates_is_in_both_parts(templates: dict[str, list[Tree]]) -> None:
    train, dev = ({" ".join(tree.words) for tree in templates[part]} for part in PARTS)
    assert not train & dev


@pytest.mark.skipif(not QUALITY.exists(), reason="the test sentences are not in ../shared/quality")
def test_no_test_sentence_is_in_the_treebank(templates: dict[str, list[Tree]]) -> None:
    lines = [line for line in QUALITY.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    tests = {line.partition("\t")[0].lower() for line in lines}
    assert tests and not tests & {*sentences("train"), *sentences("dev")}
    assert not tests & {" ".join(tree.words).lower() for trees in templates.values() for tree in trees}
