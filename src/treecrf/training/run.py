"""A run: everything that the loop holds in its hands, and how it tells the world where it stands."""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from treecrf.atomic_io import write_file
from treecrf.config import to_toml
from treecrf.data.bucketing import Budget
from treecrf.evalb import Rules
from treecrf.nn import SpanModel
from treecrf.nn.bert import Bert
from treecrf.nn.lstm_recurrence import kernels_for
from treecrf.parser import Parser
from treecrf.training.checkpoint import RECIPE, Position, check_recipe, load_state
from treecrf.training.config import Recipe
from treecrf.training.cuda_graphs import Recorder
from treecrf.training.data_loader import Corpus, DataLoader
from treecrf.training.distillation import Teachers
from treecrf.training.distributed import Processes
from treecrf.training.ema import Average
from treecrf.training.metrics_log import NAME, Journal
from treecrf.training.optimizer import build_optimizer
from treecrf.training.setup import TreebankPart, build_parser, describe_unseen_labels, read_rules

_LOG = logging.getLogger(__name__)


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


Watch = Callable[[Progress], None]


@dataclass(kw_only=True)
class Run:
    """One process's part in the training of a parser."""

    recipe: Recipe
    folder: Path
    processes: Processes
    parser: Parser
    learning: list[nn.Parameter]
    average: Average | None  # of what learns, where the recipe wants it
    optimizer: torch.optim.Optimizer
    feed: DataLoader
    dev: TreebankPart
    test: TreebankPart | None
    rules: Rules
    position: Position
    watch: Watch | None
    teachers: Teachers | None = None
    recorder: Recorder | None = None  # where the feed's batches are alike
    journal: Journal | None = None  # of the first process
    batches: int = 0  # of this epoch
    recent_loss: float = math.nan
    started: float = field(default_factory=time.monotonic)
    started_at: int = 0  # the epoch that this process started with
    saved: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.loss = torch.tensor(self.position.loss, dtype=torch.float64).to(self.processes.device)
        self.started_at = self.position.epoch

    @property
    def last_epoch(self) -> int:
        """The epoch after which the run ends, if no better one comes."""
        return min(self.recipe.train.epochs, self.position.best_epoch + self.recipe.train.patience)


def start_run(recipe: Recipe, folder: Path, processes: Processes, *, resume: bool, watch: Watch | None) -> Run:
    """Read and build what the recipe names; with `resume`, in the state that was saved last."""
    if processes.is_first:
        check_recipe(folder, recipe, resume=resume)
    rules = read_rules(recipe.data.rules)
    train = TreebankPart.read(recipe.data.train, "data.train").retagged(recipe.data.retag)
    dev = TreebankPart.read(recipe.data.dev, "data.dev")
    test = TreebankPart.read(recipe.data.test, "data.test") if recipe.data.test else None
    parser = build_parser(recipe, train.trees)
    parser.model.to(processes.device)
    processes.broadcast([parameter.detach() for parameter in parser.model.parameters()])
    optimizer = _optimizer(recipe, parser)
    learning = [parameter for parameter in parser.model.parameters() if parameter.requires_grad]
    average = Average(learning, recipe.train.ema_decay) if recipe.train.ema_decay else None
    position = load_state(folder, parser.model, optimizer, average) if resume else None
    teachers = _teachers(recipe, parser)
    run = Run(
        recipe=recipe,
        folder=folder,
        processes=processes,
        parser=parser,
        learning=learning,
        average=average,
        optimizer=optimizer,
        feed=_feed(recipe, train, parser, teachers, processes),
        dev=dev,
        test=test,
        rules=rules,
        position=position or Position(),
        watch=watch,
        teachers=teachers,
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


def _teachers(recipe: Recipe, learner: Parser) -> Teachers | None:
    config = recipe.train
    return (
        Teachers.load(config.teachers, learner, distillation_weight=config.distillation_weight)
        if config.teachers
        else None
    )


def _feed(
    recipe: Recipe, train: TreebankPart, parser: Parser, teachers: Teachers | None, processes: Processes
) -> DataLoader:
    return DataLoader(
        corpus=Corpus.encode(train.trees, parser.vocabulary, side=recipe.data.binarization),
        encoder=parser.numericalizer,
        budget=Budget(words=recipe.train.batch_words, cells=recipe.train.batch_cells),
        seed=recipe.train.seed,
        weights=train.spread(recipe.data.weights),
        lowercase=recipe.data.lowercase,
        accumulate=recipe.train.accumulate,
        rank=processes.rank,
        world=processes.world,
        read_tags=recipe.model.tag_size > 0,
        pin_memory=processes.device.type == "cuda",
        alike=_is_recordable(recipe, [parser.model, *(teachers.models if teachers else [])], processes),
    )


def _is_recordable(recipe: Recipe, networks: Sequence[SpanModel], processes: Processes) -> bool:
    """Whether a step is the same kernels for all batches of a shape: of the learner and its teachers, in one part."""
    config, learner = recipe.train, networks[0]
    wanted = learner.transformer is None if config.cuda_graphs is None else config.cuda_graphs
    alone = processes.world == config.accumulate == 1
    return wanted and alone and processes.device.type == "cuda" and all(map(_repeats_itself, networks))


def _repeats_itself(network: SpanModel) -> bool:
    """Whether a network launches the same kernels for all batches of a shape: our LSTM and BERT, a CRF."""
    config, transformer = network.config, network.transformer
    if config.loss == "one-stage-margin" or not (transformer is None or isinstance(transformer.encoder, Bert)):
        return False
    sizes = [config.lstm_size] * (config.encoder == "lstm")
    sizes += [config.char_size // 2] * (config.reads_words and config.char_size > 0)
    weight = next(network.parameters())
    return all(kernels_for(weight, size) is not None for size in sizes)


def _open_journal(run: Run, *, is_new: bool) -> None:
    run.folder.mkdir(parents=True, exist_ok=True)
    write_file(run.folder / RECIPE, to_toml(run.recipe).encode())
    run.journal = Journal(run.folder / NAME, keep=run.position.records)
    unseen = describe_unseen_labels(run.dev, run.parser.vocabulary)
    for message in unseen:
        _LOG.warning("dev: %s", message)
    if is_new:
        weights = sum(parameter.numel() for parameter in run.learning)
        facts = {"train": len(run.feed.corpus.lengths), "dev": len(run.dev.trees), "weights": weights}
        record(run, {"event": "start", "step": 0, **facts, "unseen_in_dev": unseen})


def record(run: Run, event: Mapping[str, Any]) -> None:
    """Write an event into the journal, and tell whoever watches."""
    if run.journal is not None:
        run.journal.write(event)
        run.position.records = run.journal.length
        tell(run, event)


def tell(run: Run, event: Mapping[str, Any] | None = None) -> None:
    """Tell whoever watches where the run stands."""
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
            record=event,
        )
    )
