"""Training: the loop and nothing but the loop.

Everything random in it follows from the seed and the number of the step, so that a run that was killed and resumed
draws the same numbers as one that was not, and several processes the same as one that computes their parts in turn.
"""

import math
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from treecrf.evalb import Score, evaluate
from treecrf.nn import Batch
from treecrf.parser import Parser
from treecrf.training.checkpoint import save_state
from treecrf.training.config import Recipe
from treecrf.training.cuda_graphs import Recorder
from treecrf.training.data_loader import Step, mix_seed
from treecrf.training.distributed import Processes, join_processes
from treecrf.training.optimizer import learning_rate_share, number_format, set_learning_rate
from treecrf.training.run import Run, Watch, record, start_run, tell
from treecrf.tree import Tree


class Outcome(NamedTuple):
    """What came of a run."""

    best_epoch: int
    dev_f: float
    test: Score | None


def fit(
    recipe: Recipe,
    folder: str | Path,
    *,
    resume: bool = False,
    device: str | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Train a parser by a recipe; the folder then holds the one that was best on dev, and the run's journal.

    With `resume`, a run that ended early goes on from its last checkpoint. `watch` is called after every step.
    """
    with join_processes(device) as processes, number_format(recipe.train.precision), _fork_randomness(processes):
        run = start_run(recipe, Path(folder), processes, resume=resume, watch=watch)
        if run.feed.alike:
            run.recorder = Recorder(partial(_recordable_step, run), processes.device)
        while run.position.epoch < run.last_epoch:
            _train_epoch(run)
            _close_epoch(run)
        return _finish(run)


def _fork_randomness(processes: Processes) -> AbstractContextManager[None]:
    """Leave the caller's random numbers as they are."""
    return torch.random.fork_rng([processes.device] if processes.device.type == "cuda" else [])


def _train_epoch(run: Run) -> None:
    config, position = run.recipe.train, run.position
    batches = run.feed.epoch(position.epoch)
    run.batches = len(batches)
    run.parser.model.train()
    started = time.monotonic() - position.seconds
    steps = cast("Generator[Step, None, None]", run.feed.steps(batches[position.batch :]))
    with closing(steps):
        for step in steps:
            progress = (position.epoch + (position.batch + 0.5) / len(batches)) / config.epochs
            set_learning_rate(run.optimizer, learning_rate_share(config, step=position.step, progress=progress))
            _take_step(run, step)
            position.batch += 1
            position.step += 1
            position.sentences += step.sentences
            position.seconds = time.monotonic() - started
            if position.step % config.log_steps == 0:
                _look_at_loss(run)
            _save_if_due(run)
            tell(run)
    _read_loss(run)
    position.seconds = time.monotonic() - started


def _take_step(run: Run, step: Step) -> None:
    """One step down the gradient of a batch; nothing in it waits for the device."""
    if run.recorder is not None:
        ((number, batch),) = step.parts
        _seed(run, number)
        run.recorder(batch, (step.words, step.labelled))
        return
    run.optimizer.zero_grad()
    loss = torch.zeros((), device=run.processes.device)
    for number, batch in step.parts:
        _seed(run, number)
        loss += _add_gradient(run, batch.to(run.processes.device), step.words, step.labelled)
    if run.processes.world > 1:
        run.processes.all_reduce([*_gradients(run.learning), loss])
    _descend(run, loss)


def _recordable_step(run: Run, batch: Batch, counts: Tensor) -> None:
    """A step with one batch on the device, and the words and labels in it there as well."""
    run.optimizer.zero_grad()
    words, labelled = counts
    _descend(run, _add_gradient(run, batch, words, labelled))


def _seed(run: Run, part: int) -> None:
    torch.manual_seed(mix_seed(run.recipe.train.seed, run.position.step, part))


def _add_gradient(run: Run, batch: Batch, words: int | Tensor, labelled: int | Tensor) -> Tensor:
    """The loss of a part of a batch, after its gradient was added."""
    try:
        is_bf16 = run.recipe.train.precision == "bf16"
        cached = run.recorder is None  # a step that is played again has to round the weights again
        with torch.autocast(batch.device.type, torch.bfloat16, enabled=is_bf16, cache_enabled=cached):
            soft_targets = None if run.teachers is None else run.teachers(batch)
            loss = run.parser.model.loss(batch, soft_targets).total(words=words, labelled=labelled)
        loss.backward()
    except torch.OutOfMemoryError as error:
        raise ValueError(
            f"{batch.size} sentences of {batch.total_words} words, the longest of {batch.longest}, do not fit into "
            "the GPU's memory; compute a batch in more parts (train.accumulate) or make it smaller "
            "(train.batch_words, train.batch_cells)"
        ) from error
    return loss.detach()


def _descend(run: Run, loss: Tensor) -> None:
    nn.utils.clip_grad_norm_(run.learning, run.recipe.train.clip)
    run.optimizer.step()
    if run.average is not None:
        run.average.update()
    run.loss += loss


def _gradients(parameters: list[nn.Parameter]) -> list[Tensor]:
    for parameter in parameters:
        if parameter.grad is None:  # no part of the batch was this process's
            parameter.grad = torch.zeros_like(parameter)
    return [cast(Tensor, parameter.grad) for parameter in parameters]


def _read_loss(run: Run) -> None:
    """Learn from the device, which has to finish for it, what the epoch's loss is so far."""
    run.position.loss = float(run.loss)
    if not math.isfinite(run.position.loss):
        raise ValueError(
            f"the loss is {run.position.loss} at step {run.position.step}; lower train.learning_rate"
            + (", or try train.precision=fp32" if run.recipe.train.precision != "fp32" else "")
        )


def _look_at_loss(run: Run) -> None:
    position = run.position
    _read_loss(run)
    run.recent_loss = (position.loss - position.seen_loss) / (position.batch - position.seen_batches)
    position.seen_loss, position.seen_batches = position.loss, position.batch
    rate = max(float(group["lr"]) for group in run.optimizer.param_groups)
    record(run, {"event": "steps", "step": position.step, "loss": run.recent_loss, "learning_rate": rate})


def _close_epoch(run: Run) -> None:
    """Score the dev part, keep the parser if it is the best so far, and get ready for the next epoch."""
    position, started = run.position, time.monotonic()
    with run.average.in_place() if run.average is not None else nullcontext():
        score = _score(run.parser, run.dev.trees, run) if run.processes.is_first else None
        seconds = time.monotonic() - started
        dev_f = run.processes.broadcast_scalar(score.f1 if score else 0.0)
        is_best = dev_f > position.best_f
        if is_best and run.processes.is_first:
            run.parser.save(run.folder)
    event = {
        "event": "epoch",
        "step": position.step,
        "epoch": position.epoch + 1,
        "loss": position.loss / run.batches,
        "sentences_per_second": position.sentences / position.seconds,
        "seconds": position.seconds,
        "dev_seconds": seconds,
    }
    position.epoch += 1
    position.batch = position.seen_batches = position.sentences = 0
    position.loss = position.seen_loss = position.seconds = 0.0
    run.loss.zero_()
    if is_best:
        position.best_f, position.best_epoch = dev_f, position.epoch
    if score:
        record(run, event | {"dev_p": score.precision, "dev_r": score.recall, "dev_f": dev_f, "best": is_best})
    _save_if_due(run)


def _score(parser: Parser, trees: list[Tree], run: Run) -> Score:
    """EVALB's score of parsed trees, with the tags that the parser predicts or else, as in the paper, gold ones."""
    tags = None if parser.model.config.tag_head else [tree.tags for tree in trees]
    parsed = parser.parse_many([tree.words for tree in trees], tags=tags, mbr=run.recipe.train.mbr)
    return evaluate(trees, parsed, rules=run.rules)


def _finish(run: Run) -> Outcome:
    position = run.position
    test = None
    if run.processes.is_first:
        save_state(run.folder, run.parser.model, run.optimizer, run.average, position)
        if run.test is not None:
            test = _score(Parser.load(run.folder, run.processes.device), run.test.trees, run)
        scores = {"test_p": test.precision, "test_r": test.recall, "test_f": test.f1} if test else {}
        event = {"event": "end", "step": position.step, "best_epoch": position.best_epoch, "dev_f": position.best_f}
        record(run, event | scores)
    return Outcome(position.best_epoch, position.best_f, test)


def _save_if_due(run: Run) -> None:
    config, position = run.recipe.train, run.position
    by_steps = config.checkpoint_steps and position.batch and position.step % config.checkpoint_steps == 0
    by_time = time.monotonic() - run.saved >= config.checkpoint_seconds
    if run.processes.is_first and (by_steps or by_time):
        _read_loss(run)
        save_state(run.folder, run.parser.model, run.optimizer, run.average, position)
        run.saved = time.monotonic()
