import operator
from pathlib import Path

import pytest

from treecrf import Tree, evaluate
from treecrf.config import differences, read_config
from treecrf.training import DataConfig, Recipe
from treecrf.training.reproduce import paper
from treecrf.training.reproduce.paper import BY_NAME, CLAIMS, MAIN, REMARKS, TABLES, Claim, paper_differences, verdict
from treecrf.trees.bootstrap import Interval
from treecrf.trees.evalb.bootstrap import Comparison, compare_runs


@pytest.mark.parametrize("table", ["dev", "test"])
@pytest.mark.parametrize("corpus", paper.TITLES)
def test_published_f1_follows_from_precision_and_recall(table, corpus):
    scores = paper.published_scores(table, corpus)
    assert scores.keys() <= BY_NAME.keys()
    for precision, recall, f1 in scores.values():
        assert precision is None or f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=0.011)


def test_other_treebanks_have_no_published_scores():
    assert paper.published_scores("dev", "") == paper.published_scores("speed", "ptb") == {}


def test_treebanks_are_recognized_by_size():
    assert paper.corpus_of_size(39832, 1700, 2416) == "ptb"
    assert paper.corpus_of_size(46572, 2079, 2796) == "ctb7"
    assert paper.corpus_of_size(40, 15, 10) == ""


@pytest.mark.parametrize(
    ("kind", "interval", "expected"),
    [
        ("better", (0.1, 0.9), "supported"),
        ("better", (-0.1, 1.1), "not decided"),
        ("better", (-1.1, 0.1), "not decided"),
        ("better", (-0.9, -0.1), "contradicted"),
        ("same", (-0.2, 0.2), "supported"),
        ("same", (-0.5, 0.7), "not decided"),
        ("same", (-0.1, 0.5), "not decided"),
        ("same", (1.2, 4.8), "contradicted"),  # +3.0 with p = .001
        ("same", (-4.8, -1.2), "contradicted"),
        ("not worse", (-0.2, 0.6), "supported"),
        ("not worse", (1.2, 4.8), "supported"),
        ("not worse", (-6.1, 0.1), "not decided"),  # -3.0 with p = .06
        ("not worse", (-4.8, -1.2), "contradicted"),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_kind_of_claim(kind, interval, expected):
    claim, difference = Claim("", "two-stage", "minus", kind), sum(interval) / 2
    comparison = Comparison(90 + difference, 90, difference, Interval(*interval), 0.5)
    assert verdict(claim, comparison, seeds=3) == expected
    assert verdict(claim, comparison, seeds=1) == "not decided"


def test_a_verdict_needs_seeds_that_agree():
    gold = Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD slept))))")
    wrong = Tree.parse("(TOP (S (DT the) (NP (NN cat)) (VP (VBD slept))))")
    good, bad = (evaluate([gold] * 90, [wrong] * errors + [gold] * (90 - errors)) for errors in (0, 9))
    better, same = CLAIMS[0], CLAIMS[-1]
    for rows, others, expected in (
        ([good] * 3, [bad] * 3, ("supported", "contradicted")),
        ([bad] * 3, [good] * 3, ("contradicted", "contradicted")),
        ([good, bad, bad], [bad, bad, bad], ("not decided", "not decided")),
        ([good, bad, bad], [good, bad, bad], ("not decided", "supported")),
    ):
        comparison = compare_runs(rows, others)
        assert tuple(verdict(claim, comparison, seeds=3) for claim in (better, same)) == expected


def test_the_papers_own_differences_agree_with_its_claims():
    for claim in CLAIMS:
        differences = paper_differences(claim).values()
        assert len(differences) == 3
        lowest, highest = {"better": (0.4, 9.0), "not worse": (-0.2, 9.0), "same": (-0.2, 0.2)}[claim.kind]
        assert all(lowest < difference < highest for difference in differences)


def test_remarks_are_about_rows_and_have_no_published_differences():
    for claim in REMARKS:
        assert {claim.row, claim.other} <= BY_NAME.keys() and not paper_differences(claim)


RECIPES = Path(__file__).parents[3] / "recipes"
INPUTS = {"vectors": "glove.6B.100d.txt", "unknown": "unk", "encoder": "bert-large-cased"}
ROW_SETTINGS = {
    "one-stage-margin": {"model.loss": "one-stage-margin"},
    "one-stage-crf": {"model.loss": "one-stage-crf"},
    "two-stage": {},
    "minus": {"model.scorer": "minus"},
    "vanilla-dropout": {"model.dropout_kind": "vanilla"},
    "vectors": {"data.vectors": "glove.6B.100d.txt", "data.unknown_vector": "unk"},
    "frozen": {"model.transformer": "bert-large-cased", "model.char_size": 0},
}
MINILM = {**INPUTS, "encoder": "sentence-transformers/all-MiniLM-L6-v2"}


def recipe_of(base, row, names=None):
    settings = [setting.format(**(names or INPUTS)) for setting in BY_NAME[row].settings]
    return read_config(Recipe, RECIPES / f"{base}.toml", settings)


@pytest.mark.parametrize("corpus", ["ptb", "ctb5", "ctb7"])
@pytest.mark.parametrize("row", ROW_SETTINGS)
def test_a_row_differs_from_the_recipe_of_the_corpus_in_its_settings_alone(corpus, row):
    recipe, base = recipe_of(f"paper/{corpus}", row), read_config(Recipe, RECIPES / "paper" / f"{corpus}.toml")
    changed = {name: operator.attrgetter(name)(recipe) for name in differences(base, recipe)}
    assert changed == ROW_SETTINGS[row]


@pytest.mark.parametrize("corpus", ["ptb", "ctb5", "ctb7"])
def test_the_recipe_of_a_corpus_has_the_settings_of_its_plan(corpus):
    settings = dict(setting.removeprefix("data.").split("=") for setting in paper.SETTINGS[corpus])
    files = {part: (f"data/{corpus}/{part}.mrg",) for part in ("train", "dev", "test")}
    recipe = read_config(Recipe, RECIPES / "paper" / f"{corpus}.toml")
    assert recipe == Recipe(data=DataConfig(**files, **settings))


def test_a_recipe_for_fine_tuning_equals_its_row():
    recipe = read_config(Recipe, RECIPES / "treebanks" / "ptb_sample-minilm.toml")
    assert recipe == recipe_of("treebanks/ptb_sample", "fine-tuned", MINILM)


def test_rows_that_share_runs_have_no_settings():
    for row in BY_NAME.values():
        assert not row.shares_runs_with or (row.trained_name == MAIN and not row.settings)


def test_every_table_has_rows():
    assert TABLES and all(TABLES.values())
