import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nn.batches import TREES, batch_of, small_model
from nn.readers import BERT, READERS, bert_batch
from small import small_recipe
from treecrf.data.padding import Room, pad_to
from treecrf.nn import Batch
from treecrf.nn.bert import Bert
from treecrf.training import fit
from treecrf.training.cuda_graphs import Recorder
from treecrf.training.distributed import Processes
from treecrf.training.optimizer import number_format
from treecrf.training.run import _is_recordable

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

MODELS: dict[str, dict[str, Any]] = {
    "alone": {"encoder": "transformer"},
    "over words": {"encoder": "transformer", "add_word_inputs": True},
    "frozen beside words": {"transformer_size": 16},
    "tuned beside words": {"transformer_tuned": True, "transformer_size": 0},
}


class Launcher:
    """Does what a recorder does, without recording anything."""

    def __init__(self, work: Callable[[Batch, Tensor], object], device: torch.device) -> None:
        self._work = work
        self._device = device

    def __call__(self, batch: Batch, counts: tuple[int, int]) -> None:
        self._work(batch.to(self._device), torch.tensor(counts, device=self._device))


@pytest.fixture
def steady(encoder: str, tmp_path: Path) -> str:
    """The folder of a tiny encoder without dropout."""
    folder = tmp_path / "steady"
    shutil.copytree(encoder, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def losses_of(folder: Path, *, device: str, model: dict[str, Any], **train: Any) -> list[float]:
    """The losses of a run's epochs."""
    fit(small_recipe(model={"dropout": 0.0, "tag_head": True} | model, **train), folder, device=device)
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [event["loss"] for event in map(json.loads, lines) if event["event"] == "epoch"]


@needs_gpu
@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
def test_recorded_steps_train_as_launched_ones_do(loss: str, tmp_path: Path) -> None:
    losses = {}
    for graphs in (False, True):
        folder = tmp_path / str(graphs)
        losses[graphs] = losses_of(folder, device="cuda", model={"loss": loss}, epochs=6, cuda_graphs=graphs)
    assert losses[True] == pytest.approx(losses[False], rel=0.02)
    assert losses[True][-1] < 0.7 * losses[True][0]


@needs_gpu
@pytest.mark.parametrize("precision", ["tf32", "bf16"])
@pytest.mark.parametrize("kind", MODELS)
def test_recorded_steps_of_a_transformer_train_as_launched_ones_do(
    kind: str, precision: str, steady: str, tmp_path: Path
) -> None:
    model = {"transformer": steady, "transformer_layers": 2} | MODELS[kind]
    train = {"epochs": 4, "learning_rate": 2e-3, "precision": precision}
    losses = {}
    for graphs in (False, True):
        losses[graphs] = losses_of(tmp_path / str(graphs), device="cuda", model=model, **train, cuda_graphs=graphs)
    assert losses[True] == pytest.approx(losses[False], rel=0.05 if precision == "bf16" else 0.02)
    assert losses[True][-1] < 0.8 * losses[True][0]


@pytest.mark.parametrize("kind", MODELS)
def test_batches_that_are_filled_up_train_as_others_do(
    kind: str, steady: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = {"transformer": steady, "transformer_layers": 2} | MODELS[kind]
    plain = losses_of(tmp_path / "plain", device="cpu", model=model, epochs=2, learning_rate=2e-3)
    monkeypatch.setattr("treecrf.training.run._is_recordable", lambda *_: True)
    monkeypatch.setattr("treecrf.training.loop.Recorder", Launcher)
    filled = losses_of(tmp_path / "filled", device="cpu", model=model, epochs=2, learning_rate=2e-3)
    assert filled == pytest.approx(plain, rel=1e-3)
    assert filled[-1] < filled[0]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
def test_teachers_teach_the_same_in_batches_that_are_filled_up(
    device: str, steady: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = {"transformer": steady, "transformer_layers": 2}
    model = encoder | MODELS["over words"]
    losses_of(tmp_path / "one", device="cpu", model=model, epochs=2, learning_rate=2e-3)
    losses_of(tmp_path / "other", device="cpu", model=encoder | MODELS["tuned beside words"], epochs=2)
    taught = {"teachers": (str(tmp_path / "one"), str(tmp_path / "other")), "epochs": 3, "learning_rate": 2e-3}
    plain = losses_of(tmp_path / "plain", device=device, model=model, cuda_graphs=False, **taught)
    if device == "cpu":
        monkeypatch.setattr("treecrf.training.run._is_recordable", lambda *_: True)
        monkeypatch.setattr("treecrf.training.loop.Recorder", Launcher)
    filled = losses_of(tmp_path / "filled", device=device, model=model, cuda_graphs=True, **taught)
    assert filled == pytest.approx(plain, rel=1e-3 if device == "cpu" else 0.02)
    assert filled[-1] < filled[0]


@needs_gpu
@pytest.mark.parametrize("reader", READERS)
def test_recorded_steps_of_a_transformer_are_the_launched_ones(reader: str) -> None:
    device = torch.device("cuda")
    room = Room(4, 16, 48, 12, 4, 56)
    batches = [pad_to(bert_batch(TREES[first : first + 4]), room).pin_memory() for first in (0, 4, 8, 0, 4)]
    assert len({batch.shapes for batch in batches}) == 1
    losses: dict[type, list[float]] = {}
    for kind in (Launcher, Recorder):
        with number_format("tf32"):
            do, loss = _learner(reader, kind, device)
            losses[kind] = []
            for number, batch in enumerate(batches):
                torch.manual_seed(number)
                do(batch, (batch.total_words, batch.total_labels))
                losses[kind].append(loss.item())
    # sums in bfloat16, whose order changes from launch to launch, drift apart by parts in a thousand
    assert losses[Recorder] == pytest.approx(losses[Launcher], rel=1e-2)
    assert len(set(losses[Recorder])) == len(batches)


def _learner(
    reader: str, kind: Callable[..., Callable[..., None]], device: torch.device
) -> tuple[Callable[..., None], Tensor]:
    """What takes a step with a batch, dropout and all, and where its loss is then."""
    torch.manual_seed(0)
    bert = Bert(replace(BERT, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1))
    model = small_model(READERS[reader], encoder=bert, dropout=0.2).to(device).train()
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=torch.tensor(1e-3, device=device), fused=True, capturable=True)
    last = torch.zeros((), device=device)

    def work(batch: Batch, counts: Tensor) -> None:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            loss = model.loss(batch).total(words=counts[0], labelled=counts[1])
        loss.backward()
        optimizer.step()
        last.copy_(loss.detach())

    return kind(work, device), last


def test_only_encoders_that_are_ours_are_recorded() -> None:
    ours, foreign = (small_model(READERS["alone"], encoder=encoder) for encoder in (Bert(BERT), _Foreign()))
    asked, unasked = small_recipe(cuda_graphs=True), small_recipe()
    on_gpu, on_cpu = (Processes(device=torch.device(device)) for device in ("cuda", "cpu"))
    assert _is_recordable(asked, [ours], on_gpu) and _is_recordable(asked, [ours, ours], on_gpu)
    assert not _is_recordable(asked, [foreign], on_gpu) and not _is_recordable(asked, [ours, foreign], on_gpu)
    assert not _is_recordable(asked, [ours], on_cpu) and not _is_recordable(unasked, [ours], on_gpu)


class _Foreign(nn.Module):
    """An encoder that is not ours."""

    config = BERT


@needs_gpu
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
        batch = pad_to(batch_of(TREES[tree : tree + 1]), Room(2, 20, 30, 12)).pin_memory()
        torch.manual_seed(seed)
        recorder(batch, (seed, tree))
        assert words.item() == batch.words.sum().item()
        assert sums.tolist() == [seed, tree]
        found.append(drawn.tolist())
    assert found[0] == found[3]
    assert found[1] != found[2] != found[3] != found[1]
