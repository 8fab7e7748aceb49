"""Measures the speed of training, and the time of each part of a step.

    python benchmarks/train.py TRAIN.mrg.gz [RECIPE.toml] [KEY=VALUE ...] [--epochs 5] [--profile]

First it measures whole epochs of `treecrf train`, without evaluation. Then it measures the parts of a step one by one.
It synchronizes the device after each part, so their sum is longer than a step whose parts overlap.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from treecrf.config import read_config
from treecrf.network.data.bucketing import Budget
from treecrf.parser.benchmark import PartTimer, now
from treecrf.training import Progress, Recipe, fit
from treecrf.training.data_loader import Corpus, DataLoader
from treecrf.training.optimizer import build_optimizer, matmul_precision
from treecrf.training.setup import build_parser
from treecrf.trees.treebank import read_trees, write_trees

RECIPE = Path(__file__).parent.parent / "recipes" / "treebanks" / "ptb_sample.toml"


class ModuleTimer(PartTimer):
    """A timer of parts that also times the forward passes of modules."""

    def time_module(self, module: nn.Module, part: str) -> None:
        """Adds the time of each forward pass of a module to a part."""
        starts: list[float] = []
        module.register_forward_pre_hook(lambda *_: starts.append(now(self.device)))
        module.register_forward_hook(lambda *_: self._stop(part, starts.pop()))

    def _stop(self, part: str, started: float) -> None:
        self.seconds[part] += now(self.device) - started


def measure_epochs(recipe: Recipe, device: str, epochs: int) -> list[float]:
    """Returns the sentences per second of each epoch after the first."""
    speeds: list[float] = []

    def note_speed(progress: Progress) -> None:
        if progress.record and progress.record["event"] == "epoch":
            speeds.append(progress.record["sentences_per_second"])

    with tempfile.TemporaryDirectory() as folder:
        trees = list(read_trees(recipe.data.train[0]))
        write_trees(Path(folder) / "dev.mrg", trees[:50])
        data = replace(recipe.data, dev=(f"{folder}/dev.mrg",), test=())
        recipe = replace(recipe, data=data, train=replace(recipe.train, epochs=epochs + 1))
        fit(recipe, Path(folder) / "run", device=device, watch=note_speed)
    return speeds[1:]


def measure_parts(recipe: Recipe, device: torch.device) -> tuple[dict[str, float], int]:
    """Returns the seconds of each part over one epoch, and the number of steps of that epoch."""
    trees = list(read_trees(recipe.data.train[0]))
    parser = build_parser(recipe, trees)
    model = parser.model.to(device).train()
    optimizer = build_optimizer(recipe.train, model.parameters())
    budget = Budget(words=recipe.train.batch_words, cells=recipe.train.batch_cells)
    corpus = Corpus.from_trees(trees, parser.vocabulary)
    loader = DataLoader(corpus=corpus, numericalizer=parser.numericalizer, budget=budget, seed=1)
    timer = ModuleTimer(str(device))
    for module, part in ((model, "forward"), (model.inputs, "inputs"), (model.lstm, "lstm")):
        if module is not None:
            timer.time_module(module, part)
    if model.inputs is not None and model.inputs.chars is not None:
        timer.time_module(model.inputs.chars, "chars")
    if model.transformer is not None:
        timer.time_module(model.transformer, "transformer")
    for epoch in range(2):  # the first is a warm-up
        timer.seconds.clear()
        batches = loader.epoch_batches(epoch)
        for indices in batches:
            run_step(recipe, loader, indices, timer, model, optimizer)
    return separate_parts(timer.seconds), len(batches)


def run_step(
    recipe: Recipe,
    loader: DataLoader,
    indices: list[int],
    timer: ModuleTimer,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    """Runs one step and measures its parts."""
    with timer.measure("host: batches (overlapped)"):
        step_batch = loader.collate(indices)
    with timer.measure("copy to the device"):
        batch = step_batch.parts[0][1].to(timer.device)
    autocast = torch.autocast(torch.device(timer.device).type, torch.bfloat16, enabled=recipe.train.precision == "bf16")
    optimizer.zero_grad()
    with timer.measure("loss"), autocast:
        loss = model.loss(batch).total()  # type: ignore[operator]
    with timer.measure("backward"):
        loss.backward()
    with timer.measure("clip and optimizer"):
        nn.utils.clip_grad_norm_(model.parameters(), recipe.train.clip)
        optimizer.step()


def separate_parts(seconds: dict[str, float]) -> dict[str, float]:
    """Subtracts the times of inner parts from the times of the parts that contain them."""
    inner = {name: seconds.pop(name, 0.0) for name in ("inputs", "chars", "lstm", "transformer", "forward", "loss")}
    forward = {
        "word vectors and dropout": inner["inputs"] - inner["chars"],
        "character LSTM": inner["chars"],
        "transformer": inner["transformer"],
        "BiLSTM": inner["lstm"],
        "scorers": inner["forward"] - inner["inputs"] - inner["lstm"] - inner["transformer"],
        "chart and label losses": inner["loss"] - inner["forward"],
    }
    return {name: time for name, time in (*forward.items(), *seconds.items()) if time > 0}


def profile(function: Callable[[], object], device: torch.device) -> str:
    """Returns a table of the time of each kernel on the host and the device."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profiler:
        function()
    order = "self_cuda_time_total" if device.type == "cuda" else "self_cpu_time_total"
    return str(profiler.key_averages().table(sort_by=order, row_limit=30, max_name_column_width=60))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", help="a treebank file")
    parser.add_argument("settings", nargs="*", help="a recipe and settings")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    path = args.settings.pop(0) if args.settings and args.settings[0].endswith(".toml") else RECIPE
    recipe = read_config(Recipe, path, [f"data.train={args.train}", *args.settings])
    device = torch.device(args.device)
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"{name}, torch {torch.__version__}, {path}, {' '.join(args.settings) or 'no changed settings'}")
    speeds = measure_epochs(recipe, args.device, args.epochs)
    rounded = ", ".join(f"{speed:,.0f}" for speed in speeds)
    print(f"{statistics.median(speeds):,.0f} sentences/s, median of {len(speeds)} epochs ({rounded})")
    with matmul_precision(recipe.train.precision):
        seconds, steps = measure_parts(recipe, device)
        total = sum(time for name, time in seconds.items() if "overlapped" not in name)
        print(f"\nparts, synchronized one by one: {1000 * total / steps:.2f} ms per step, {steps} steps per epoch")
        for name, time in seconds.items():
            print(f"{name:32} {1000 * time / steps:8.3f} ms {100 * time / total:6.1f} %")
        if args.profile:
            print(profile(lambda: measure_parts(recipe, device), device))


if __name__ == "__main__":
    main()
