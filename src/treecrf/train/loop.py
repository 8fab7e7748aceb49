"""Training: the loop and nothing but the loop.

Everything random in it follows from the seed and the number of the step, so that a run that was killed and resumed
draws the same numbers as one that was not, and several processes the same as one that computes their parts in turn.
"""

import logging
import math
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from treecrf.batching import Budget
from treecrf.checkpoint import write_file
from treecrf.config import to_toml
from treecrf.evalb import Rules, Score, evaluate
from treecrf.parser import Parser
from treecrf.train.distributed import Processes, join_processes
from treecrf.train.feed import Corpus, Feed, Step, mix_seed
from treecrf.train.ingredients import TreebankPart, build_parser, describe_unseen_labels, read_rules
from treecrf.train.journal import NAME, Journal
from treecrf.train.optimizer import build_optimizer, learning_rate_share, number_format, set_learning_rate
from treecrf.train.recipe import Recipe
from treecrf.train.resume import RECIPE, Position, check_recipe, load_state, save_state
from treecrf.tree import Tree

_LOG = logging.getLogger(__name__)

Watch = Callable[["Progress"], None]


class Progress(NamedTuple):
    """Where a run stands after a step, or after what `record` says."""

    epoch: int  # from 1
    batch: int
    batches: int
    loss: float  # of the last steps that were looked at
    best_f: float
    sentences_per_second: float
    seconds_left: float  # if no epoch from here on is better
    record: Mapping[str, Any] | None = None


class Outcome(NamedTuple):
    """What came of a run."""

    best_epoch: int
    dev_f: float
    test: Score | None


@dataclass(kw_only=True)
class _Run:
    recipe: Recipe
    folder: Path
    processes: Processes
    parser: Parser
    optimizer: torch.optim.Optimizer
    feed: Feed
    dev: TreebankPart
    rules: Rules
    position: Position
    watch: Watch | None
    journal: Journal | None = None  # of the first process
    batches: int = 0  # of this epoch
    recent_loss: float = math.nan
    started: float = field(default_factory=time.monotonic)
    started_at: int = 0  # the epoch that this process started with
    saved: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.loss = torch.tensor(self.position.loss, dtype=torch.float64).to(self.processes.device)
        self.started_at = self.position.epoch
        self.learning = [parameter for parameter in self.parser.model.parameters() if parameter.requires_grad]

    @property
    def last_epoch(self) -> int:
        """The epoch after which the run ends, if no better one comes."""
        return min(self.recipe.train.epochs, self.position.best_epoch + self.recipe.train.patience)


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
        run = _prepare(recipe, Path(folder), processes, resume=resume, watch=watch)
        while run.position.epoch < run.last_epoch:
            _train_epoch(run)
            _close_epoch(run)
        return _finish(run)


def _fork_randomness(processes: Processes) -> AbstractContextManager[None]:
    """Leave the caller's random numbers as they are."""
    return torch.random.fork_rng([processes.device] if processes.device.type == "cuda" else [])


def _prepare(recipe: Recipe, folder: Path, processes: Processes, *, resume: bool, watch: Watch | None) -> _Run:
    if processes.is_first:
        check_recipe(folder, recipe, resume=resume)
    rules = read_rules(recipe.data.rules)
    train = TreebankPart.read(recipe.data.train, "data.train")
    dev = TreebankPart.read(recipe.data.dev, "data.dev")
    parser = build_parser(recipe, train.trees)
    parser.model.to(processes.device)
    processes.share_first([parameter.detach() for parameter in parser.model.parameters()])
    optimizer = _optimizer(recipe, parser)
    position = load_state(folder, parser.model, optimizer) if resume else None
    run = _Run(
        recipe=recipe,
        folder=folder,
        processes=processes,
        parser=parser,
        optimizer=optimizer,
        feed=_feed(recipe, train.trees, parser, processes),
        dev=dev,
        rules=rules,
        position=position or Position(),
        watch=watch,
    )
    if processes.is_first:
        _open_journal(run, is_new=position is None)
    return run


def _optimizer(recipe: Recipe, parser: Parser) -> torch.optim.Optimizer:
    transformer = parser.model.transformer
    tuned = [] if transformer is None or transformer.frozen else list(transformer.encoder.parameters())
    theirs = {id(parameter) for parameter in tuned}
    head = [parameter for parameter in parser.model.parameters() if id(parameter) not in theirs]
    return build_optimizer(recipe.train, head, tuned)


def _feed(recipe: Recipe, trees: list[Tree], parser: Parser, processes: Processes) -> Feed:
    return Feed(
        corpus=Corpus.encode(trees, parser.vocabulary),
        encoder=parser.encoder,
        budget=Budget(words=recipe.train.batch_words, cells=recipe.train.batch_cells),
        seed=recipe.train.seed,
        accumulate=recipe.train.accumulate,
        rank=processes.rank,
        world=processes.world,
        read_tags=recipe.model.tag_size > 0,
        pin_memory=processes.device.type == "cuda",
    )


def _open_journal(run: _Run, *, is_new: bool) -> None:
    run.folder.mkdir(parents=True, exist_ok=True)
    write_file(run.folder / RECIPE, to_toml(run.recipe).encode())
    run.journal = Journal(run.folder / NAME, keep=run.position.records)
    unseen = describe_unseen_labels(run.dev, run.parser.vocabulary)
    for message in unseen:
        _LOG.warning("dev: %s", message)
    if is_new:
        weights = sum(parameter.numel() for parameter in run.learning)
        facts = {"train": len(run.feed.corpus.lengths), "dev": len(run.dev.trees), "weights": weights}
        _record(run, {"event": "start", "step": 0, **facts, "unseen_in_dev": unseen})


def _train_epoch(run: _Run) -> None:
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
            _tell(run)
    _read_loss(run)
    position.seconds = time.monotonic() - started


def _take_step(run: _Run, step: Step) -> None:
    """One step down the gradient of a batch; nothing in it waits for the device."""
    model, device = run.parser.model, run.processes.device
    run.optimizer.zero_grad()
    loss = torch.zeros((), device=device)
    for number, batch in step.parts:
        torch.manual_seed(mix_seed(run.recipe.train.seed, run.position.step, number))
        try:
            with torch.autocast(device.type, torch.bfloat16, enabled=run.recipe.train.precision == "bf16"):
                part = model.loss(batch.to(device)).total(words=step.words, labelled=step.labelled)
            part.backward()
        except torch.OutOfMemoryError as error:
            raise ValueError(
                f"{batch.size} sentences of {batch.total_words} words, the longest of {batch.longest}, do not fit into "
                "the GPU's memory; compute a batch in more parts (train.accumulate) or make it smaller "
                "(train.batch_words, train.batch_cells)"
            ) from error
        loss += part.detach()
    if run.processes.world > 1:
        run.processes.add_up([*_gradients(run.learning), loss])
    nn.utils.clip_grad_norm_(run.learning, run.recipe.train.clip)
    run.optimizer.step()
    run.loss += loss


def _gradients(parameters: list[nn.Parameter]) -> list[Tensor]:
    for parameter in parameters:
        if parameter.grad is None:  # no part of the batch was this process's
            parameter.grad = torch.zeros_like(parameter)
    return [cast(Tensor, parameter.grad) for parameter in parameters]


def _read_loss(run: _Run) -> None:
    """Learn from the device, which has to finish for it, what the epoch's loss is so far."""
    run.position.loss = float(run.loss)
    if not math.isfinite(run.position.loss):
        raise ValueError(
            f"the loss is {run.position.loss} at step {run.position.step}; lower train.learning_rate"
            + (", or try train.precision=fp32" if run.recipe.train.precision != "fp32" else "")
        )


def _look_at_loss(run: _Run) -> None:
    position = run.position
    _read_loss(run)
    run.recent_loss = (position.loss - position.seen_loss) / (position.batch - position.seen_batches)
    position.seen_loss, position.seen_batches = position.loss, position.batch
    rate = max(group["lr"] for group in run.optimizer.param_groups)
    _record(run, {"event": "steps", "step": position.step, "loss": run.recent_loss, "learning_rate": rate})


def _close_epoch(run: _Run) -> None:
    """Score the dev part, keep the parser if it is the best so far, and get ready for the next epoch."""
    position, started = run.position, time.monotonic()
    score = _score(run.parser, run.dev.trees, run) if run.processes.is_first else None
    dev_f = run.processes.from_first(score.f1 if score else 0.0)
    record = {
        "event": "epoch",
        "step": position.step,
        "epoch": position.epoch + 1,
        "loss": position.loss / run.batches,
        "sentences_per_second": position.sentences / position.seconds,
        "seconds": position.seconds,
        "dev_seconds": time.monotonic() - started,
    }
    position.epoch += 1
    position.batch = position.seen_batches = position.sentences = 0
    position.loss = position.seen_loss = position.seconds = 0.0
    run.loss.zero_()
    is_best = dev_f > position.best_f
    if is_best:
        position.best_f, position.best_epoch = dev_f, position.epoch
        if run.processes.is_first:
            run.parser.save(run.folder)
    if score:
        _record(run, record | {"dev_p": score.precision, "dev_r": score.recall, "dev_f": dev_f, "best": is_best})
    _save_if_due(run)


def _score(parser: Parser, trees: list[Tree], run: _Run) -> Score:
    """EVALB's score of parsed trees, with the tags that the parser predicts or else, as in the paper, gold ones."""
    tags = None if parser.model.config.tag_head else [tree.tags for tree in trees]
    parsed = parser.parse_many([tree.words for tree in trees], tags=tags, mbr=run.recipe.train.mbr)
    return evaluate(trees, parsed, rules=run.rules)


def _finish(run: _Run) -> Outcome:
    position = run.position
    test = None
    if run.processes.is_first:
        save_state(run.folder, run.parser.model, run.optimizer, position)
        if run.recipe.data.test:
            best = Parser.load(run.folder, run.processes.device)
            test = _score(best, TreebankPart.read(run.recipe.data.test, "data.test").trees, run)
        scores = {"test_p": test.precision, "test_r": test.recall, "test_f": test.f1} if test else {}
        record = {"event": "end", "step": position.step, "best_epoch": position.best_epoch, "dev_f": position.best_f}
        _record(run, record | scores)
    return Outcome(position.best_epoch, position.best_f, test)


def _save_if_due(run: _Run) -> None:
    config, position = run.recipe.train, run.position
    by_steps = config.checkpoint_steps and position.batch and position.step % config.checkpoint_steps == 0
    by_time = time.monotonic() - run.saved >= config.checkpoint_seconds
    if run.processes.is_first and (by_steps or by_time):
        _read_loss(run)
        save_state(run.folder, run.parser.model, run.optimizer, position)
        run.saved = time.monotonic()


def _record(run: _Run, record: Mapping[str, Any]) -> None:
    if run.journal is not None:
        run.journal.write(record)
        run.position.records = run.journal.length
        _tell(run, record)


def _tell(run: _Run, record: Mapping[str, Any] | None = None) -> None:
    if run.watch is None or not run.processes.is_first:
        return
    position = run.position
    done = position.epoch - run.started_at + position.batch / max(1, run.batches)
    left = run.last_epoch - run.started_at - done
    run.watch(
        Progress(
            epoch=min(position.epoch + 1, run.last_epoch),
            batch=position.batch,
            batches=run.batches,
            loss=run.recent_loss,
            best_f=position.best_f,
            sentences_per_second=position.sentences / position.seconds if position.seconds else math.nan,
            seconds_left=left / done * (time.monotonic() - run.started) if done else math.nan,
            record=record,
        )
    )
