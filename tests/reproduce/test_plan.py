import pytest

from reproduce.bank import TINY, make_bank
from treecrf.reproduce.ablations import BY_NAME
from treecrf.reproduce.plan import Plan, Treebank, first_share
from treecrf.treebank import read_trees


@pytest.fixture
def bank(tmp_path):
    return Treebank.find(make_bank(tmp_path / "bank"))


def planned(bank, tmp_path, **options):
    plan = Plan(treebank=bank, out=tmp_path / "out", **options)
    plan.write()
    return plan


def test_files_of_a_part_are_its_genres(bank):
    assert bank.genres("test") == [("chat", 6), ("news", 4)]
    assert bank.genres("dev") == [("all", 15)]
    assert len(bank.trees["train"]) == 40


def test_a_folder_without_a_part_says_which(tmp_path):
    folder = make_bank(tmp_path / "bank")
    (folder / "dev.mrg").unlink()
    with pytest.raises(FileNotFoundError, match=r"no dev\.mrg and no dev\.mrg\.gz"):
        Treebank.find(folder)
    with pytest.raises(FileNotFoundError, match="no folder"):
        Treebank.find(tmp_path / "elsewhere")


def test_two_training_files_are_not_mixed_silently(tmp_path):
    folder = make_bank(tmp_path / "bank")
    (folder / "train.more.mrg").write_text("(TOP (NN a))\n")
    with pytest.raises(ValueError, match="several train files"):
        Treebank.find(folder)


def test_each_run_is_planned_once_whatever_tables_need_it(bank, tmp_path):
    plan = planned(bank, tmp_path, tables=("dev", "test", "speed", "calibration"), seeds=(1, 2))
    names = [run.name for run in plan.runs()]
    assert len(set(names)) == len(names) == 2 * 5
    assert not any(name.startswith(("frozen", "vectors", "no-mbr")) for name in names)
    with_more = planned(bank, tmp_path, vectors="v.txt", encoder="e", seeds=(1,))
    assert {"vectors-1", "frozen-1", "fine-tuned-1"} <= {run.name for run in with_more.runs()}


def test_a_rows_own_settings_stand_above_those_for_all(bank, tmp_path):
    settings = ("train.betas=0.5,0.6", "model.scorer=biaffine", "fine-tuned:train.epochs=3", *TINY)
    plan = planned(bank, tmp_path, settings=settings, encoder="e")
    minus, tuned, main = (plan.recipe(plan.run(BY_NAME[name], 7)) for name in ("minus", "fine-tuned", "two-stage"))
    assert minus.model.scorer == "minus" and minus.train.betas == (0.5, 0.6) and minus.train.seed == 7
    assert tuned.train.betas == (0.9, 0.999) and tuned.train.epochs == 3 and tuned.model.transformer == "e"
    assert main.train.epochs == 1000 and main.model.lstm_size == 24
    assert main.data.test == tuple(map(str, bank.files["test"]))


def test_epochs_are_the_most_that_any_run_has(bank, tmp_path):
    plan = planned(bank, tmp_path, epochs=50, encoder="e")
    epochs = {run.row.name: plan.recipe(run).train.epochs for run in plan.runs()}
    assert epochs["two-stage"] == 50 and epochs["fine-tuned"] == 30


def test_the_papers_chinese_treebanks_bring_their_settings(bank, tmp_path):
    recipe = planned(bank, tmp_path, corpus="ctb5").recipe(planned(bank, tmp_path, corpus="ctb5").runs()[0])
    assert (recipe.data.language, recipe.data.rules) == ("zh", "ctb")


def test_shares_of_the_training_trees_are_parts_of_each_other(bank, tmp_path):
    plan = planned(bank, tmp_path, tables=("analysis",), seeds=(1,))
    trees = bank.trees["train"]
    few, many = first_share(trees, 0.25), first_share(trees, 0.5)
    assert len(few) == 10 and len(many) == 20
    assert all(tree in many for tree in few)
    path = plan.share_path(BY_NAME["share-25"])
    assert list(read_trees(path)) == few
    assert plan.recipe(plan.run(BY_NAME["share-25"], 1)).data.train == (str(path),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tables": ("dve",)}, "no table 'dve'; expected some of dev"),
        ({"seeds": (1, 1)}, "each once"),
        ({"seeds": ()}, "one or more"),
        ({"corpus": "negra"}, "no treebank 'negra'"),
        ({"settings": ("no-mbr:train.epochs=2",)}, "never trained"),
    ],
)
def test_what_cannot_be_planned_is_refused(bank, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        Plan(treebank=bank, out=tmp_path, **options)


def test_an_unknown_setting_names_the_closest_one(bank, tmp_path):
    plan = planned(bank, tmp_path, settings=("train.epoch=3",))
    with pytest.raises(ValueError, match=r"did you mean 'train\.epochs'"):
        plan.recipe(plan.runs()[0])
