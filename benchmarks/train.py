"""How fast training is, and where the time of a step goes.

    python benchmarks/train.py TRAIN.mrg.gz [RECIPE.toml] [KEY=VALUE ...] [--epochs 5] [--profile]

First whole epochs as `treecrf train` runs them, evaluation not counted; then the parts of a step one by one, the device
finishing each before the next begins, which takes longer than letting them overlap.
"""

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from treecrf.config import read_config
from treecrf.data.bucketing import Budget
from treecrf.training import Progress, Recipe, fit
from treecrf.training.data_loader import Corpus, DataLoader
from treecrf.training.optimizer import build_optimizer, number_format
from treecrf.training.setup import build_parser
from treecrf.treebank import read_trees, write_trees

RECIPE = Path(__file__).parent.parent / "recipes" / "ptb_sample.toml"


class Clock:
    """Seconds by part; the device finishes a part before its time is taken."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds: dict[str, float] = defaultdict(float)

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    @contextmanager
    def time(self, part: str) -> Iterator[None]:
        started = self.now()
        yield
        self.seconds[part] += self.now() - started

    def watch(self, module: nn.Module, part: str) -> None:
        starts: list[float] = []
        module.register_forward_pre_hook(lambda *_: starts.append(self.now()))
        module.register_forward_hook(lambda *_: self._stop(part, starts.pop()))

    def _stop(self, part: str, started: float) -> None:
        self.seconds[part] += self.now() - started


def whole_epochs(recipe: Recipe, device: str, epochs: int) -> list[float]:
    """Sentences per second of each epoch after the first."""
    speeds: list[float] = []

    def watch(progress: Progress) -> None:
        if progress.record and progress.record["event"] == "epoch":
            speeds.append(progress.record["sentences_per_second"])

    with tempfile.TemporaryDirectory() as folder:
        trees = list(read_trees(recipe.data.train[0]))
        write_trees(Path(folder) / "dev.mrg", trees[:50])
        data = replace(recipe.data, dev=(f"{folder}/dev.mrg",), test=())
        recipe = replace(recipe, data=data, train=replace(recipe.train, epochs=epochs + 1))
        fit(recipe, Path(folder) / "run", device=device, watch=watch)
    return speeds[1:]


def parts_of_a_step(recipe: Recipe, device: torch.device) -> tuple[dict[str, float], int]:
    """Seconds of each part over one epoch, and the epoch's steps."""
    trees = list(read_trees(recipe.data.train[0]))
    parser = build_parser(recipe, trees)
    model = parser.model.to(device).train()
    optimizer = build_optimizer(recipe.train, model.parameters())
    budget = Budget(words=recipe.train.batch_words, cells=recipe.train.batch_cells)
    feed = DataLoader(
        corpus=Corpus.encode(trees, parser.vocabulary), encoder=parser.numericalizer, budget=budget, seed=1
    )
    clock = Clock(device)
    for module, part in ((model, "forward"), (model.inputs, "inputs"), (model.lstm, "lstm")):
        if module is not None:
            clock.watch(module, part)
    if model.inputs is not None and model.inputs.chars is not None:
        clock.watch(model.inputs.chars, "chars")
    if model.transformer is not None:
        clock.watch(model.transformer, "transformer")
    for epoch in range(2):  # the first one warms up
        clock.seconds.clear()
        batches = feed.epoch(epoch)
        for members in batches:
            one_step(recipe, feed, members, clock, model, optimizer)
    return breakdown(clock.seconds), len(batches)


def one_step(
    recipe: Recipe,
    feed: DataLoader,
    members: list[int],
    clock: Clock,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    with clock.time("host: batches (overlapped)"):
        step = feed._step(members)
    with clock.time("copy to the device"):
        batch = step.parts[0][1].to(clock.device)
    autocast = torch.autocast(clock.device.type, torch.bfloat16, enabled=recipe.train.precision == "bf16")
    optimizer.zero_grad()
    with clock.time("loss"), autocast:
        loss = model.loss(batch).total()  # type: ignore[operator]
    with clock.time("backward"):
        loss.backward()
    with clock.time("clip and optimizer"):
        nn.utils.clip_grad_norm_(model.parameters(), recipe.train.clip)
        optimizer.step()


def breakdown(seconds: dict[str, float]) -> dict[str, float]:
    """Times of nested parts as times of parts side by side."""
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


def profile(step: Callable[[], object], device: torch.device) -> str:
    """Where the device's and the host's time go, by kernel."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profiler:
        step()
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
    print(f"{name}, torch {torch.__version__}, {path}, {' '.join(args.settings) or 'as it is'}")
    speeds = whole_epochs(recipe, args.device, args.epochs)
    rounded = ", ".join(f"{speed:,.0f}" for speed in speeds)
    print(f"{statistics.median(speeds):,.0f} sentences/s, median of {len(speeds)} epochs ({rounded})")
    with number_format(recipe.train.precision):
        seconds, steps = parts_of_a_step(recipe, device)
        total = sum(time for name, time in seconds.items() if "overlapped" not in name)
        print(f"\nparts, each finished before the next: {1000 * total / steps:.2f} ms a step, {steps} steps an epoch")
        for name, time in seconds.items():
            print(f"{name:32} {1000 * time / steps:8.3f} ms {100 * time / total:6.1f} %")
        if args.profile:
            print(profile(lambda: parts_of_a_step(recipe, device), device))


if __name__ == "__main__":
    main()
