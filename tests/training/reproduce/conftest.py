"""A plan of all tables with finished runs, and its report."""

import pytest

from training.reproduce.tiny_treebank import TINY, make_treebank, make_vectors
from treecrf.training.reproduce import speed
from treecrf.training.reproduce.paper import TABLES
from treecrf.training.reproduce.plan import Plan, Treebank
from treecrf.training.reproduce.report import write_report
from treecrf.training.reproduce.runner import is_finished
from treecrf.training.reproduce.worker import train_and_parse


@pytest.fixture(scope="session")
def plan(tmp_path_factory):
    """A plan of all tables with finished runs."""
    folder = tmp_path_factory.mktemp("report")
    plan = Plan(
        treebank=Treebank.find(make_treebank(folder / "treebank")),
        out=folder / "out",
        tables=tuple(TABLES),
        seeds=(1, 2),
        epochs=1,
        vectors=str(make_vectors(folder / "vectors.txt")),
        unknown_vector="unk",
        settings=TINY,
        corpus="ptb",
    )
    plan.write()
    for run in plan.runs():
        train_and_parse(plan.recipe(run), run.folder, "cpu")
        assert is_finished(plan, run)
    return plan


@pytest.fixture(scope="session")
def report(plan):
    patch = pytest.MonkeyPatch()
    patch.setitem(speed.SENTENCES, "cpu", (20, 10))
    yield write_report(plan, device="cpu", command="treecrf reproduce")
    patch.undo()
