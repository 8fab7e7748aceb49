import json
from pathlib import Path

import pytest
import torch

from small import small_recipe
from treecrf.train import fit


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
def test_recorded_steps_train_as_launched_ones_do(loss: str, tmp_path: Path) -> None:
    losses = {}
    for graphs in (False, True):
        recipe = small_recipe(model={"loss": loss, "dropout": 0.0, "tag_head": True}, epochs=6, cuda_graphs=graphs)
        fit(recipe, tmp_path / str(graphs), device="cuda")
        lines = (tmp_path / str(graphs) / "metrics.jsonl").read_text().splitlines()
        losses[graphs] = [event["loss"] for event in map(json.loads, lines) if event["event"] == "epoch"]
    assert losses[True] == pytest.approx(losses[False], rel=0.02)
    assert losses[True][-1] < 0.7 * losses[True][0]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_recorded_steps_draw_other_masks_each_time(tmp_path: Path) -> None:
    recipe = small_recipe(model={"dropout": 0.5}, epochs=6, learning_rate=1e-12)
    fit(recipe, tmp_path / "run", device="cuda")
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    losses = [event["loss"] for event in map(json.loads, lines) if event["event"] == "epoch"]
    assert len({round(loss, 6) for loss in losses}) == len(losses)
