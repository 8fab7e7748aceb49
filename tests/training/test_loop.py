import errno
import hashlib
import json
import logging
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from small import FIFTY, small_recipe
from toygrammar import toy_trees, write_trees
from treecrf.config import read_config
from treecrf.network.nn import Loss
from treecrf.parser import Parser
from treecrf.parser.storage import WEIGHTS
from treecrf.training import Progress, Recipe, fit
from treecrf.training.checkpoint import STATE, read_safetensors
from treecrf.training.loop import Trainer
from treecrf.training.metrics_log import NAME, read_metrics
from treecrf.trees.evalb import evaluate
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees


class Stop(Exception):
    """Stops a training run."""


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Sums are reproducible only with a fixed number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def stop_at(step: int) -> Callable[[Progress], None]:
    def callback(progress: Progress) -> None:
        if progress.record and progress.record["step"] >= step:
            raise Stop

    return callback


def stop_at_100(progress: Progress) -> None:
    if progress.record and progress.record.get("dev_f") == 100:
        raise Stop


def records(folder: Path, event: str) -> list[dict[str, Any]]:
    return [record for record in read_metrics(folder / NAME) if record["event"] == event]


def losses(folder: Path) -> list[float]:
    return [record["loss"] for record in records(folder, "steps")]


def digest(folder: Path, name: str = WEIGHTS) -> str:
    return hashlib.sha256((folder / name).read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def uninterrupted(one_thread: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    fit(small_recipe(checkpoint_steps=4), folder, device="cpu")
    return folder


def test_the_fifty_trees_are_those_of_the_toy_grammar() -> None:
    assert list(read_trees(FIFTY)) == toy_trees(50)


@pytest.mark.parametrize(
    ("loss", "scorer"), [("two-stage", "biaffine"), ("one-stage-crf", "minus"), ("one-stage-margin", "biaffine")]
)
def test_every_loss_and_scorer_can_memorize_fifty_trees(tmp_path: Path, loss: str, scorer: str) -> None:
    recipe = small_recipe(model={"loss": loss, "scorer": scorer, "dropout": 0.0}, epochs=100)
    with pytest.raises(Stop):
        fit(recipe, tmp_path, device="cpu", watch=stop_at_100)
    trees = list(read_trees(FIFTY))
    parser = Parser.load(tmp_path, device="cpu")
    predicted = list(parser.parse_many([tree.words for tree in trees], tags=[tree.tags for tree in trees]))
    assert evaluate(trees, predicted).f1 == 100


@pytest.mark.parametrize(
    "model",
    [
        {"tag_head": True, "dropout_kind": "vanilla", "recurrent_dropout": "none", "dropout": 0.05},
        {"tag_size": 8, "char_size": 0},
        {"tag_size": 8, "tag_head": True, "recurrent_dropout": "sentence", "dropout": 0.05},
    ],
)
def test_other_models_can_memorize_them_too(tmp_path: Path, model: dict[str, Any]) -> None:
    recipe = small_recipe(model={"dropout": 0.0} | model, epochs=100)
    with pytest.raises(Stop):
        fit(recipe, tmp_path, device="cpu", watch=stop_at_100)


def test_the_best_parser_is_saved_and_scored_on_test(tmp_path: Path) -> None:
    test = write_trees(tmp_path / "test.mrg", toy_trees(20, seed=9))
    result = fit(small_recipe(data={"test": (str(test),)}, epochs=6), tmp_path / "run", device="cpu")
    scores = [record["dev_f"] for record in records(tmp_path / "run", "epoch")]
    assert result.dev_f == max(scores) and scores[result.best_epoch - 1] == max(scores)
    parser = Parser.load(tmp_path / "run", device="cpu", precision="float32")
    gold = list(read_trees(test))
    predicted = list(parser.parse_many([tree.words for tree in gold], tags=[tree.tags for tree in gold]))
    assert result.test is not None
    assert result.test.f1 == evaluate(gold, predicted).f1 == records(tmp_path / "run", "end")[0]["test_f"]


def test_training_ends_after_patience_epochs_without_improvement(tmp_path: Path) -> None:
    result = fit(small_recipe(epochs=50, patience=2, learning_rate=1e-9), tmp_path, device="cpu")
    assert len(records(tmp_path, "epoch")) == result.best_epoch + 2


def test_the_seed_determines_the_parser(uninterrupted: Path, tmp_path: Path) -> None:
    fit(small_recipe(), tmp_path / "same", device="cpu")
    fit(small_recipe(seed=2), tmp_path / "other", device="cpu")
    assert digest(tmp_path / "same") == digest(uninterrupted) != digest(tmp_path / "other")
    assert losses(tmp_path / "same") == losses(uninterrupted)


def test_a_parser_normalizes_words_as_in_training(tmp_path: Path) -> None:
    data = {"normalization": "plain", "weights": (1.5,), "lowercase": 0.3}
    fit(small_recipe(data=data, model={"tag_head": True}, epochs=1), tmp_path, device="cpu")
    parser = Parser.load(tmp_path, device="cpu")
    assert parser.normalization == "plain"
    one, other = parser.parse(["(", "we", "’ll", "wait", ")"]), parser.parse(["-LRB-", "we", "'ll", "wait", "-RRB-"])
    assert one.words == ["(", "we", "’ll", "wait", ")"] and one.spans() == other.spans() and one.tags == other.tags


def test_a_file_of_weight_0_only_adds_its_words(tmp_path: Path) -> None:
    (tmp_path / "more.mrg").write_text("(TOP (NP (NN zebra) (NN crossing)))\n" * 2)
    data = {"train": (FIFTY, str(tmp_path / "more.mrg")), "weights": (1.0, 0.0)}
    fit(small_recipe(data=data, epochs=1), tmp_path / "run", device="cpu")
    assert {"zebra", "crossing"} <= set(Parser.load(tmp_path / "run", device="cpu").vocabulary.words)
    events = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    epoch = next(event for event in events if event["event"] == "epoch")
    assert round(epoch["sentences_per_second"] * epoch["seconds"]) == 50


def test_training_does_not_change_the_callers_random_state(tmp_path: Path) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    fit(small_recipe(epochs=1), tmp_path, device="cpu")
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("step", [1, 4, 10, 15, 16, 29, 40])
def test_a_stopped_run_resumes_to_the_same_result(uninterrupted: Path, tmp_path: Path, step: int) -> None:
    recipe = small_recipe(checkpoint_steps=4)
    with pytest.raises(Stop):
        fit(recipe, tmp_path, device="cpu", watch=stop_at(step))
    torch.manual_seed(step)
    fit(recipe, tmp_path, device="cpu", resume=True)
    assert digest(tmp_path) == digest(uninterrupted)
    assert checkpoint_without_times(tmp_path) == checkpoint_without_times(uninterrupted)
    assert without_times(read_metrics(tmp_path / NAME)) == without_times(read_metrics(uninterrupted / NAME))


def without_times(metrics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in record.items() if "second" not in key} for record in metrics]


def checkpoint_without_times(folder: Path) -> Any:
    tensors, notes = read_safetensors(folder / STATE)
    counters = {name: value for name, value in notes["counters"].items() if name != "seconds"}
    return counters, {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


@pytest.mark.parametrize("writes", [3, 11, 20, 24])
def test_a_crash_while_writing_leaves_a_usable_checkpoint(
    uninterrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    fsync, remaining = os.fsync, writes

    def failing_fsync(descriptor: int) -> None:
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            raise Stop
        fsync(descriptor)

    recipe = small_recipe(checkpoint_steps=4)
    monkeypatch.setattr(os, "fsync", failing_fsync)
    with pytest.raises(Stop):
        fit(recipe, tmp_path, device="cpu")
    monkeypatch.undo()
    fit(recipe, tmp_path, device="cpu", resume=True)
    assert digest(tmp_path) == digest(uninterrupted)


def test_a_full_disk_ends_the_run_with_the_last_checkpoint_intact(
    uninterrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = small_recipe(checkpoint_steps=4)
    with pytest.raises(Stop):
        fit(recipe, tmp_path, device="cpu", watch=stop_at(10))

    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    state = digest(tmp_path, STATE)
    (tmp_path / "recipe.toml").unlink()
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=r"No space left on device, writing [\d,]+ bytes; .*inputs\.json"):
        fit(recipe, tmp_path, device="cpu", resume=True)
    assert digest(tmp_path, STATE) == state
    monkeypatch.undo()
    fit(recipe, tmp_path, device="cpu", resume=True)
    assert digest(tmp_path) == digest(uninterrupted)


def test_more_epochs_can_be_added_to_a_finished_run(uninterrupted: Path, tmp_path: Path) -> None:
    fit(small_recipe(epochs=2), tmp_path, device="cpu")
    fit(small_recipe(epochs=3), tmp_path, device="cpu", resume=True)
    assert digest(tmp_path) == digest(uninterrupted)


def test_resume_starts_a_new_run_if_there_is_no_checkpoint(uninterrupted: Path, tmp_path: Path) -> None:
    fit(small_recipe(), tmp_path / "new", device="cpu", resume=True)
    assert digest(tmp_path / "new") == digest(uninterrupted)


def test_a_run_is_neither_overwritten_nor_resumed_with_another_recipe(uninterrupted: Path) -> None:
    before = digest(uninterrupted)
    with pytest.raises(FileExistsError, match="already holds a training run; continue it with --resume"):
        fit(small_recipe(), uninterrupted, device="cpu")
    with pytest.raises(ValueError, match=r"other values of model\.dropout, train\.seed \(see"):
        fit(small_recipe(model={"dropout": 0.2}, seed=3), uninterrupted, device="cpu", resume=True)
    assert digest(uninterrupted) == before


def test_a_truncated_checkpoint_is_an_error(tmp_path: Path) -> None:
    fit(small_recipe(epochs=1), tmp_path, device="cpu")
    (tmp_path / STATE).write_bytes((tmp_path / STATE).read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"state\.safetensors cannot be read"):
        fit(small_recipe(epochs=1), tmp_path, device="cpu", resume=True)


@pytest.mark.parametrize("parts", [2, 3, 100])
def test_accumulated_parts_have_the_loss_of_the_whole_batch(tmp_path: Path, parts: int) -> None:
    model = {"dropout": 0.0}
    fit(small_recipe(model=model), tmp_path / "whole", device="cpu")
    fit(small_recipe(model=model, accumulate=parts), tmp_path / "parts", device="cpu")
    assert losses(tmp_path / "parts") == pytest.approx(losses(tmp_path / "whole"), rel=1e-3)


def test_labels_that_only_dev_has_are_counted_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    odd = Tree.parse("(TOP (ODD (NP (DT the) (NN cat)) (ODDER (RB slowly))))")
    dev = write_trees(tmp_path / "dev.mrg", [*toy_trees(3), odd])
    with caplog.at_level(logging.WARNING):
        fit(small_recipe(data={"dev": (FIFTY, str(dev))}, epochs=1), tmp_path / "run", device="cpu")
    (start,) = records(tmp_path / "run", "start")
    assert any("labeled 'ODD' cannot be found" in message for message in start["unseen_in_dev"])
    assert all(f"(first: {dev}, tree 4)" in message for message in start["unseen_in_dev"])
    assert "1 span labeled 'ODDER' cannot be found: training has none" in caplog.text


@pytest.mark.parametrize("setting", ["train", "dev", "test"])
def test_an_empty_treebank_is_an_error(tmp_path: Path, setting: str) -> None:
    empty = tmp_path / "empty.mrg"
    empty.write_text("\n")
    with pytest.raises(ValueError, match=rf"empty\.mrg \(data\.{setting}\) holds no trees"):
        fit(small_recipe(data={setting: (FIFTY, str(empty))}), tmp_path / "run", device="cpu")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.mrg"):
        fit(small_recipe(data={setting: ("nowhere.mrg",)}), tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("setting", ["train", "dev"])
def test_a_treebank_without_files_is_an_error(tmp_path: Path, setting: str) -> None:
    with pytest.raises(ValueError, match=rf"data\.{setting} names no file"):
        fit(small_recipe(data={setting: ()}), tmp_path / "run", device="cpu")


@pytest.mark.parametrize(
    ("text", "data", "message"),
    [
        ("", {}, "is empty"),
        ("cat 1 2\nwall 3\n", {}, "line 2"),
        ("cat 1 2 x\n", {}, "is not a number"),
        ("cat 1 2\nwall 3 4\n", {}, "have 2 numbers.*, the trained ones 16.* set word_size to 2"),
        ("cat 1 2\n", {"unknown_vector": "unk"}, r"has no vector for 'unk', the value of data\.unknown_vector"),
        (None, {}, "No such file.*vectors.txt"),
    ],
)
def test_unusable_vectors_are_errors(tmp_path: Path, text: str | None, data: dict[str, Any], message: str) -> None:
    path = tmp_path / "vectors.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises((ValueError, OSError), match=message):
        fit(small_recipe(data={"vectors": str(path)} | data), tmp_path / "run", device="cpu")


def test_pretrained_vectors_are_saved_and_stay_fixed(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{word} {number} 1 -1 2\n" for number, word in enumerate(["unk", "cat", "zebra"])))
    recipe = small_recipe(data={"vectors": str(path), "unknown_vector": "unk"}, model={"word_size": 4}, epochs=1)
    fit(recipe, tmp_path / "run", device="cpu")
    parser = Parser.load(tmp_path / "run", device="cpu")
    assert parser.model.inputs is not None and parser.model.inputs.words.pretrained is not None
    table = parser.model.inputs.words.pretrained.weight
    zebra = table[4 + len(parser.vocabulary.words) + (parser.vocabulary.vectors or ()).index("zebra")]
    assert torch.allclose(zebra / zebra[1], torch.tensor([2.0, 1.0, -1.0, 2.0]))
    assert not table.requires_grad


@pytest.mark.parametrize("log_steps", [1, 1000])
def test_a_loss_that_is_not_finite_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_steps: int) -> None:
    total = Loss.total
    monkeypatch.setattr(Loss, "total", lambda *args, **kwargs: total(*args, **kwargs) * math.nan)
    with pytest.raises(ValueError, match=r"the loss is nan at step \d+; lower train\.learning_rate, or .*fp32"):
        fit(small_recipe(log_steps=log_steps), tmp_path, device="cpu")


def test_the_loss_falls_in_bf16(tmp_path: Path) -> None:
    fit(small_recipe(precision="bf16", model={"dropout": 0.0}), tmp_path, device="cpu")
    epochs = [record["loss"] for record in records(tmp_path, "epoch")]
    assert math.isfinite(epochs[-1]) and epochs[-1] < epochs[0] / 1.5


def test_rules_can_come_from_a_file_and_unknown_names_are_errors(tmp_path: Path) -> None:
    (tmp_path / "custom.prm").write_text("DELETE_LABEL TOP\n")
    fit(small_recipe(data={"rules": str(tmp_path / "custom.prm")}, epochs=1), tmp_path / "run", device="cpu")
    with pytest.raises(ValueError, match="'colins'"):
        fit(small_recipe(data={"rules": "colins"}), tmp_path / "other", device="cpu")


def test_the_root_of_the_training_trees_is_the_parsers_root(tmp_path: Path) -> None:
    trees = [Tree("ROOT", tree.children) for tree in toy_trees(20)]
    path = str(write_trees(tmp_path / "train.mrg", trees))
    fit(small_recipe(data={"train": (path,), "dev": (path,)}, epochs=1), tmp_path / "run", device="cpu")
    assert Parser.load(tmp_path / "run", device="cpu").parse(["the", "cat"]).label == "ROOT"


def test_the_metrics_log_is_json_lines(uninterrupted: Path) -> None:
    lines = (uninterrupted / NAME).read_text().splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert events[0] == "start" and events[-1] == "end" and events.count("epoch") == 3


def test_the_mbr_setting_is_used_for_dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mbr_values: list[bool] = []
    original_parse_many = Parser.parse_many

    def parse_many(self: Parser, *args: Any, mbr: bool = True, **kwargs: Any) -> Any:
        mbr_values.append(mbr)
        return original_parse_many(self, *args, mbr=mbr, **kwargs)

    monkeypatch.setattr(Parser, "parse_many", parse_many)
    fit(small_recipe(epochs=1, mbr=False), tmp_path, device="cpu")
    assert mbr_values == [False]


def test_the_recipe_is_saved_in_the_folder(uninterrupted: Path) -> None:
    assert read_config(Recipe, uninterrupted / "recipe.toml") == small_recipe(checkpoint_steps=4)


def test_a_model_with_tags_as_input_and_output_is_scored_with_gold_tags(tmp_path: Path) -> None:
    recipe = small_recipe(data={"test": (FIFTY,)}, model={"tag_size": 8, "tag_head": True}, epochs=1)
    result = fit(recipe, tmp_path, device="cpu")
    trees = list(read_trees(FIFTY))
    parser = Parser.load(tmp_path, device="cpu", precision="float32")
    predicted = parser.parse_many([tree.words for tree in trees], tags=[tree.tags for tree in trees])
    assert result.test is not None
    assert result.dev_f == result.test.f1 == evaluate(trees, predicted).f1


def test_a_parser_trained_with_rounded_products_has_the_scores_of_the_cpu_runtime(tmp_path: Path) -> None:
    recipe = small_recipe(model={"dropout": 0.0}, epochs=3, rounded_epochs=2)
    fit(recipe, tmp_path / "run", device="cpu")
    network, runtime = (Parser.load(tmp_path / "run", "cpu", precision=name) for name in ("float32", "int8"))
    words = next(iter(read_trees(FIFTY))).words
    expected, unrounded = runtime.crf(words).scores, network.crf(words).scores
    assert network.model is not None
    network.model.round_products(True)
    rounded = network.crf(words).scores
    torch.testing.assert_close(rounded, expected, atol=1e-4 * float(expected.abs().max()), rtol=1e-4)
    assert (rounded - expected).abs().max() < 0.1 * (unrounded - expected).abs().max()


def test_the_best_epoch_is_one_with_rounded_products(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([90.0, 80.0, 85.0, 70.0])  # by epoch
    monkeypatch.setattr(Trainer, "_evaluate", lambda *_: (SimpleNamespace(f1=next(scores), precision=0, recall=0), []))
    result = fit(small_recipe(epochs=4, rounded_epochs=3), tmp_path, device="cpu")
    assert (result.best_epoch, result.dev_f) == (3, 85.0)
