"""The training loop.

Each step: arrays of binarized gold trees -> SpanModel -> loss -> optimizer. Each epoch: parse_many(dev) -> evaluate.

Random numbers follow from the seed and the number of the step. A run that was killed and resumed therefore draws the
same numbers as an uninterrupted run, and several processes draw the same numbers as one process that computes their
parts one after another.
"""

import logging
import math
import time
from collections.abc import Generator, Mapping
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from treecrf.config import to_toml
from treecrf.files import lock_folder, write_file
from treecrf.network.nn import TensorBatch
from treecrf.parser import Parser
from treecrf.parser.benchmark import device_name
from treecrf.parser.evaluate import predict_trees
from treecrf.training.checkpoint import RECIPE, TrainState, check_recipe, load_checkpoint, save_checkpoint, save_inputs
from treecrf.training.config import Recipe
from treecrf.training.cuda_graphs import CapturedStep
from treecrf.training.data_loader import StepBatch, mix_seed
from treecrf.training.distributed import join_processes
from treecrf.training.metrics_log import NAME, MetricsLog, Progress, ProgressCallback
from treecrf.training.optimizer import learning_rate_factor, matmul_precision, set_learning_rate
from treecrf.training.setup import TrainingSetup, describe_other_language, describe_unseen_labels, prepare_training
from treecrf.trees.evalb import Score, evaluate
from treecrf.trees.tree import Tree

_LOG = logging.getLogger(__name__)


class TrainingResult(NamedTuple):
    """The result of a training run: its best epoch, and the scores of the parser of that epoch."""

    best_epoch: int
    dev_f: float
    test: Score | None
    test_trees: list[Tree] | None  # predicted by the parser of the best epoch


def fit(
    recipe: Recipe,
    folder: str | Path,
    *,
    resume: bool = False,
    device: str | None = None,
    parser: Parser | None = None,
    watch: ProgressCallback | None = None,
) -> TrainingResult:
    """Trains a parser by a recipe, and saves the parser of the epoch with the best dev F in a folder.

    The folder also gets the metrics log and the checkpoints of the run. With `resume`, a run that ended early continues
    from its last checkpoint. With `parser`, its weights are trained further, except those without `requires_grad`; its
    vocabulary, its network and its calibration stay as they are, whatever `recipe.model` says. `watch` is called after
    every step and after every record of the metrics log.
    """
    folder = Path(folder)
    if parser is not None:
        if parser.scorer.precision != "float32":
            raise ValueError(
                f"the parser to train further computes in {parser.scorer.precision}; expected float32: load it with "
                "Parser.load(..., precision='float32')"
            )
        recipe = replace(recipe, model=parser.model_config)
    with (
        join_processes(device) as processes,
        lock_folder(folder) if processes.is_first else nullcontext(),
        matmul_precision(recipe.train.precision),
        # the caller's random number generators are restored at the end
        torch.random.fork_rng([processes.device] if processes.device.type == "cuda" else []),
    ):
        if processes.is_first:
            check_recipe(folder, recipe, resume=resume)
        started = time.monotonic()
        setup = prepare_training(recipe, folder, processes, parser)
        state = load_checkpoint(folder, setup.parser.model, setup.optimizer, setup.ema) if resume else None
        trainer = Trainer(setup, state or TrainState(), watch)
        if processes.is_first:
            trainer.open_log(is_new=state is None, setup_seconds=time.monotonic() - started)
        while trainer.state.epoch < trainer.last_epoch:
            trainer.train_epoch()
            trainer.end_epoch()
        return trainer.finish()


class Trainer:
    """Trains a parser, epoch by epoch."""

    def __init__(self, setup: TrainingSetup, state: TrainState, callback: ProgressCallback | None) -> None:
        self.setup = setup
        self.state = state
        self._config = setup.recipe.train
        self._model = setup.parser.model
        self._processes = setup.processes
        self._log: MetricsLog | None = None  # only the first process writes it
        self._callback = callback if setup.processes.is_first else None
        self._first_epoch, self._started = state.epoch, time.monotonic()
        self._batches, self._recent_loss = 0, math.nan
        self._epoch_loss = torch.tensor(state.loss, dtype=torch.float64).to(setup.processes.device)
        self._captured_step: CapturedStep | None = None
        if setup.loader.fixed_shapes:
            self._captured_step = CapturedStep(self._step_on_device, setup.processes.device)
        self._last_checkpoint = time.monotonic()

    @property
    def last_epoch(self) -> int:
        """The epoch after which training ends if dev F does not improve again."""
        return min(self._config.epochs, self.state.best_epoch + self._config.patience)

    def open_log(self, *, is_new: bool, setup_seconds: float) -> None:
        """Writes the recipe and opens the metrics log, which starts with the sizes of a new run."""
        setup = self.setup
        save_inputs(setup.folder, setup.recipe)
        write_file(setup.folder / RECIPE, to_toml(setup.recipe).encode())
        self._log = MetricsLog(setup.folder / NAME, keep=self.state.records)
        unseen = describe_unseen_labels(setup.dev, setup.parser.vocabulary)
        for message in [*describe_other_language(setup.dev.trees, setup.recipe.data.language), *unseen]:
            _LOG.warning("dev: %s", message)
        if is_new:
            weights = sum(parameter.numel() for parameter in setup.parameters)
            sizes = {"train": len(setup.loader.corpus.lengths), "dev": len(setup.dev.trees), "weights": weights}
            machine = {"device": device_name(str(self._processes.device)), "seconds": setup_seconds}
            self._log_metrics({"event": "start", "step": 0, **sizes, **machine, "unseen_in_dev": unseen})

    def train_epoch(self) -> None:
        """Trains on the remaining batches of the current epoch."""
        state, loader = self.state, self.setup.loader
        batches = loader.epoch_batches(state.epoch)
        self._batches = len(batches)
        first_rounded = self._config.epochs - self._config.rounded_epochs
        self._model.round_products(state.epoch >= first_rounded)
        if state.epoch == first_rounded and state.batch == 0:
            state.best_f = TrainState.best_f  # the parser that is saved is one with rounded products
        self._model.train()
        started = time.monotonic() - state.seconds
        steps = cast("Generator[StepBatch, None, None]", loader.steps(batches[state.batch :]))
        with closing(steps):
            for step_batch in steps:
                progress = (state.epoch + (state.batch + 0.5) / len(batches)) / self._config.epochs
                factor = learning_rate_factor(self._config, step=state.step, progress=progress)
                set_learning_rate(self.setup.optimizer, factor)
                self._step(step_batch)
                state.batch += 1
                state.step += 1
                state.sentences += step_batch.sentences
                state.seconds = time.monotonic() - started
                if state.step % self._config.log_steps == 0:
                    self._log_loss()
                self._save_checkpoint_if_due()
                self._report_progress()
        self._read_loss()
        state.seconds = time.monotonic() - started

    def _step(self, step_batch: StepBatch) -> None:
        """Runs one optimizer step without synchronizing the device."""
        if self._captured_step is not None and not self._model.is_rounded:
            ((number, batch),) = step_batch.parts
            self._set_seed(number)
            self._captured_step(batch, (step_batch.words, step_batch.labeled_spans))
            return
        self.setup.optimizer.zero_grad()
        loss = torch.zeros((), device=self._processes.device)
        for number, batch in step_batch.parts:
            self._set_seed(number)
            loss += self._backward(batch.to(self._processes.device), step_batch.words, step_batch.labeled_spans)
        if self._processes.world_size > 1:
            self._processes.all_reduce([*_gradients(self.setup.parameters), loss])
        self._update_weights(loss)

    def _step_on_device(self, batch: TensorBatch, counts: Tensor) -> None:
        """Runs one optimizer step for a batch on the device; `counts` are its words and labeled spans."""
        self.setup.optimizer.zero_grad()
        words, labeled_spans = counts
        self._update_weights(self._backward(batch, words, labeled_spans))

    def _set_seed(self, part: int) -> None:
        torch.manual_seed(mix_seed(self._config.seed, self.state.step, part))

    def _backward(self, batch: TensorBatch, words: int | Tensor, labeled_spans: int | Tensor) -> Tensor:
        """Adds the gradient of a part of a batch, and returns its loss."""
        store, is_bf16 = self.setup.soft_targets, self._config.precision == "bf16"
        # a graph that is replayed must round the weights to bfloat16 again, because they have changed
        is_cached = self._captured_step is None
        try:
            with torch.autocast(batch.device.type, torch.bfloat16, enabled=is_bf16, cache_enabled=is_cached):
                soft_targets = None if store is None else store.read(batch)
                loss = self._model.loss(batch, soft_targets).total(word_count=words, label_count=labeled_spans)
            loss.backward()
        except torch.OutOfMemoryError as error:
            raise ValueError(
                f"a batch of {batch.size} sentences and {batch.total_words} words, up to {batch.longest} per sentence, "
                "does not fit into GPU memory; increase train.accumulate, or reduce train.batch_words or "
                "train.batch_cells"
            ) from error
        return loss.detach()

    def _update_weights(self, loss: Tensor) -> None:
        nn.utils.clip_grad_norm_(self.setup.parameters, self._config.clip)
        self.setup.optimizer.step()
        if self.setup.ema is not None:
            self.setup.ema.update()
        self._epoch_loss += loss

    def _read_loss(self) -> None:
        """Copies the epoch's loss from the device (synchronizes)."""
        state = self.state
        state.loss = float(self._epoch_loss)
        if not math.isfinite(state.loss):
            raise ValueError(
                f"the loss is {state.loss} at step {state.step}; lower train.learning_rate"
                + (", or try train.precision=fp32" if self._config.precision != "fp32" else "")
            )

    def _log_loss(self) -> None:
        """Logs the mean loss of the steps since the last record."""
        state = self.state
        self._read_loss()
        loss = (state.loss - state.seen_loss) / (state.batch - state.seen_batches)
        self._recent_loss = loss
        state.seen_loss, state.seen_batches = state.loss, state.batch
        rate = max(float(group["lr"]) for group in self.setup.optimizer.param_groups)
        self._log_metrics({"event": "steps", "step": state.step, "loss": loss, "learning_rate": rate})

    def end_epoch(self) -> None:
        """Scores the parser on dev, saves it if it is the best so far, and resets the counters of the epoch."""
        setup, state, started = self.setup, self.state, time.monotonic()
        with setup.ema.swapped_in() if setup.ema is not None else nullcontext():
            score = self._evaluate(setup.parser, setup.dev.trees)[0] if self._processes.is_first else None
            dev_seconds = time.monotonic() - started
            dev_f = self._processes.broadcast_scalar(score.f1 if score else 0.0)
            is_best = dev_f > state.best_f
            if is_best and self._processes.is_first:
                setup.parser.save(setup.folder)
        metrics = {
            "event": "epoch",
            "step": state.step,
            "epoch": state.epoch + 1,
            "loss": state.loss / self._batches,
            "sentences_per_second": state.sentences / state.seconds,
            "seconds": state.seconds,
            "dev_seconds": dev_seconds,
        }
        state.start_next_epoch()
        self._epoch_loss.zero_()
        if is_best:
            state.best_f, state.best_epoch = dev_f, state.epoch
        if score:
            scores = {"dev_p": score.precision, "dev_r": score.recall, "dev_f": dev_f}
            self._log_metrics(metrics | scores | {"best": is_best})
        self._save_checkpoint_if_due()

    def _evaluate(self, parser: Parser, trees: list[Tree]) -> tuple[Score, list[Tree]]:
        """Parses the words of gold trees; returns the EVALB score and the predicted trees."""
        predicted = list(predict_trees(parser, trees, mbr=self._config.mbr))
        return evaluate(trees, predicted, rules=self.setup.rules), predicted

    def finish(self) -> TrainingResult:
        """Saves the last checkpoint and scores the best parser on test, if there is a test set."""
        setup, state = self.setup, self.state
        test, test_trees = None, None
        if self._processes.is_first:
            self._save_checkpoint()
            if setup.test is not None:
                parser = Parser.load(setup.folder, self._processes.device, precision="float32")
                test, test_trees = self._evaluate(parser, setup.test.trees)
            metrics = {"event": "end", "step": state.step, "best_epoch": state.best_epoch, "dev_f": state.best_f}
            scores = {"test_p": test.precision, "test_r": test.recall, "test_f": test.f1} if test else {}
            self._log_metrics(metrics | scores)
        return TrainingResult(state.best_epoch, state.best_f, test, test_trees)

    def _save_checkpoint_if_due(self) -> None:
        config, state = self._config, self.state
        is_due_by_step = config.checkpoint_steps and state.batch and state.step % config.checkpoint_steps == 0
        is_due_by_time = time.monotonic() - self._last_checkpoint >= config.checkpoint_seconds
        if self._processes.is_first and (is_due_by_step or is_due_by_time):
            self._read_loss()
            self._save_checkpoint()
            self._last_checkpoint = time.monotonic()

    def _save_checkpoint(self) -> None:
        save_checkpoint(self.setup.folder, self._model, self.setup.optimizer, self.setup.ema, self.state)

    def _log_metrics(self, record: Mapping[str, Any]) -> None:
        if self._log is not None:
            self._log.write(record)
            self.state.records = self._log.length
            self._report_progress(record)

    def _report_progress(self, record: Mapping[str, Any] | None = None) -> None:
        """Calls the callback, if there is one."""
        if self._callback is None:
            return
        state = self.state
        epochs_done = state.epoch - self._first_epoch + state.batch / max(1, self._batches)
        epochs_left = self.last_epoch - self._first_epoch - epochs_done
        seconds = time.monotonic() - self._started
        self._callback(
            Progress(
                epoch=min(state.epoch + 1, self.last_epoch),
                batch=state.batch,
                batches=self._batches,
                loss=self._recent_loss,
                best_f=state.best_f,
                sentences_per_second=state.sentences / state.seconds if state.seconds else math.nan,
                seconds_left=epochs_left / epochs_done * seconds if epochs_done else math.nan,
                record=record,
            )
        )


def _gradients(parameters: list[nn.Parameter]) -> list[Tensor]:
    """Returns the gradients; they are zero if this process had no part of the batch."""
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    return [cast(Tensor, parameter.grad) for parameter in parameters]
