import pytest

from training.reproduce.tiny_treebank import TINY, make_treebank
from treecrf.training.reproduce.paper import BY_NAME, TABLES
from treecrf.training.reproduce.plan import Plan, Treebank, sample_share
from treecrf.trees.treebank import read_trees


@pytest.fixture
def treebank(tmp_path):
    return Treebank.find(make_treebank(tmp_path / "treebank"))


def make_plan(treebank, tmp_path, **options):
    plan = Plan(treebank=treebank, out=tmp_path / "out", **options)
    plan.write()
    return plan


def test_files_of_a_part_are_genres(treebank):
    assert treebank.genres("test") == [("chat", 6), ("news", 4)]
    assert treebank.genres("dev") == [("all", 15)]
    assert len(treebank.trees["train"]) == 40


def test_a_missing_part_is_an_error(tmp_path):
    folder = make_treebank(tmp_path / "treebank")
    (folder / "dev.mrg").unlink()
    with pytest.raises(FileNotFoundError, match=r"no dev\.mrg and no dev\.mrg\.gz"):
        Treebank.find(folder)
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        Treebank.find(tmp_path / "elsewhere")


def test_two_training_files_are_an_error(tmp_path):
    folder = make_treebank(tmp_path / "treebank")
    (folder / "train.more.mrg").write_text("(TOP (NN a))\n")
    with pytest.raises(ValueError, match="several train files"):
        Treebank.find(folder)


def test_full_trees_beside_the_plain_ones_are_left_out(tmp_path):
    folder = make_treebank(tmp_path / "treebank")
    files = Treebank.find(folder).files
    for part in ("train", "dev", "test"):
        (folder / f"{part}.full.mrg.gz").write_bytes(b"")
    assert Treebank.find(folder).files == files


def test_the_default_plan_has_all_tables_of_the_paper_and_names_what_it_leaves_out(treebank, tmp_path):
    plan = make_plan(treebank, tmp_path)
    needed = {row.trained_name for table in ("dev", "remarks", "test", "speed") for row in TABLES[table]}
    without_inputs = {"vectors", "vectors-gold-tags", "frozen", "fine-tuned"}
    runs = {(run.row.name, run.seed) for run in plan.runs()}
    assert runs == {(name, seed) for name in needed - without_inputs for seed in range(1, 6)}
    assert all((plan.recipe(run).train.epochs, plan.recipe(run).train.patience) == (1000, 100) for run in plan.runs())
    reasons = [f"{BY_NAME[name].title}: needs --" for name in ("vectors", "vectors-gold-tags", "frozen", "fine-tuned")]
    assert [reason.startswith(expected) for reason, expected in zip(plan.left_out(), reasons, strict=True)] == [
        True
    ] * 4
    full_plan = make_plan(treebank, tmp_path, vectors="v.txt", encoder="e")
    assert {run.row.name for run in full_plan.runs()} == needed and not full_plan.left_out()


def test_tables_share_runs(treebank, tmp_path):
    plan = make_plan(treebank, tmp_path, tables=("dev", "test", "speed", "calibration"), seeds=(1, 2))
    names = [run.name for run in plan.runs()]
    assert len(set(names)) == len(names) == 2 * 6
    assert not any(name.startswith(("frozen", "vectors", "no-mbr")) for name in names)
    larger_plan = make_plan(treebank, tmp_path, vectors="v.txt", encoder="e", seeds=(1,))
    assert {"vectors-1", "frozen-1", "fine-tuned-1"} <= {run.name for run in larger_plan.runs()}


def test_settings_of_one_row_override_settings_of_all_rows(treebank, tmp_path):
    settings = ("train.betas=0.5,0.6", "model.scorer=biaffine", "fine-tuned:train.epochs=3", *TINY)
    plan = make_plan(treebank, tmp_path, settings=settings, encoder="e")
    minus, tuned, main = (plan.recipe(plan.run(BY_NAME[name], 7)) for name in ("minus", "fine-tuned", "two-stage"))
    assert minus.model.scorer == "minus" and minus.train.betas == (0.5, 0.6) and minus.train.seed == 7
    assert tuned.train.betas == (0.9, 0.999) and tuned.train.epochs == 3 and tuned.model.transformer == "e"
    assert main.train.epochs == 1000 and main.model.lstm_size == 24
    assert main.data.test == tuple(map(str, treebank.files["test"]))


def test_remarks_are_planned_with_their_settings(treebank, tmp_path):
    plan = make_plan(treebank, tmp_path, seeds=(1,))
    models = {run.row.name: plan.recipe(run).model for run in plan.runs()}
    assert models["same-word"].boundary == "same-word" and models["two-stage"].boundary == "next-word"
    assert models["gold-tags"].tag_size == 100 and not models["two-stage"].tag_size
    assert [models[name].margin for name in ("margin-0.5", "one-stage-margin", "margin-2")] == [0.5, 1.0, 2.0]
    both = models["minus-vanilla-dropout"]
    assert (both.scorer, both.dropout_kind) == ("minus", "vanilla")


def test_a_plan_can_be_limited_to_some_rows(treebank, tmp_path):
    plan = make_plan(treebank, tmp_path, rows=("two-stage", "minus"), seeds=(1, 2))
    assert [run.name for run in plan.runs()] == ["two-stage-1", "minus-1", "two-stage-2", "minus-2"]


def test_epochs_limit_every_run(treebank, tmp_path):
    plan = make_plan(treebank, tmp_path, epochs=50, encoder="e")
    epochs = {run.row.name: plan.recipe(run).train.epochs for run in plan.runs()}
    assert epochs["two-stage"] == 50 and epochs["fine-tuned"] == 30


def test_chinese_treebanks_have_their_settings(treebank, tmp_path):
    recipe = make_plan(treebank, tmp_path, corpus="ctb5").recipe(make_plan(treebank, tmp_path, corpus="ctb5").runs()[0])
    assert (recipe.data.language, recipe.data.rules) == ("zh", "ctb")


def test_smaller_shares_of_the_training_trees_are_subsets(treebank, tmp_path):
    plan = make_plan(treebank, tmp_path, tables=("analysis",), seeds=(1,))
    trees = treebank.trees["train"]
    few, many = sample_share(trees, 0.25), sample_share(trees, 0.5)
    assert len(few) == 10 and len(many) == 20
    assert all(tree in many for tree in few)
    path = plan.train_share_path(BY_NAME["share-25"])
    assert list(read_trees(path)) == few
    assert plan.recipe(plan.run(BY_NAME["share-25"], 1)).data.train == (str(path),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tables": ("dve",)}, "no table 'dve'; expected dev"),
        ({"rows": ("minus", "frozne")}, "no trained row 'frozne'; expected fine-tuned, frozen, gold-tags"),
        ({"seeds": (1, 1)}, "different seeds"),
        ({"seeds": ()}, "one or more"),
        ({"corpus": "negra"}, "no treebank 'negra'"),
        ({"settings": ("no-mbr:train.epochs=2",)}, "not trained"),
    ],
)
def test_invalid_plans_are_errors(treebank, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        Plan(treebank=treebank, out=tmp_path, **options)


def test_an_unknown_setting_names_the_closest_one(treebank, tmp_path):
    plan = make_plan(treebank, tmp_path, settings=("train.epoch=3",))
    with pytest.raises(ValueError, match=r"did you mean 'train\.epochs'"):
        plan.recipe(plan.runs()[0])
