import json
from pathlib import Path

import pytest
import torch
from torch import Tensor

from nn.batches import TREES, batch_of
from small import small_recipe
from treecrf.nn import Batch
from treecrf.train import fit
from treecrf.train.room import Room, fill_up
from treecrf.train.tape import Recorder


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
def test_recorded_work_draws_what_the_seed_says_and_reads_the_new_batch() -> None:
    device = torch.device("cuda")
    drawn, words, sums = torch.zeros(8, device=device), torch.zeros((), device=device), torch.zeros(2, device=device)

    def work(batch: Batch, counts: Tensor) -> None:
        drawn.copy_(torch.rand_like(drawn))
        words.copy_(batch.words.sum())
        sums.copy_(counts)

    recorder = Recorder(work, device)
    found = []
    for seed, tree in [(1, 0), (2, 0), (3, 3), (1, 5)]:  # launched, recorded, played, played
        batch = fill_up(batch_of(TREES[tree : tree + 1]), Room(2, 20, 30, 12)).pin_memory()
        torch.manual_seed(seed)
        recorder(batch, (seed, tree))
        assert words.item() == batch.words.sum().item()
        assert sums.tolist() == [seed, tree]
        found.append(drawn.tolist())
    assert found[0] == found[3]
    assert found[1] != found[2] != found[3] != found[1]
