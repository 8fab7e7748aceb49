"""Checkpoints: the counters, weights and optimizer state with which a stopped run continues exactly."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from treecrf.config import SettingError, differences, read_config
from treecrf.files import DamagedFileError, file_digest, write_file
from treecrf.training.config import Recipe
from treecrf.training.optimizer import EMA, load_optimizer_tensors, optimizer_tensors
from treecrf.trees.evalb import Rules, find_rules
from treecrf.trees.evalb.rules import NAMED

RECIPE, STATE, INPUTS, RULES = "recipe.toml", "state.safetensors", "inputs.json", "rules.prm"
_OPTIMIZER, _COUNTERS = "optimizer.", "counters"  # names in the file
_CHANGEABLE = {"train.patience", "train.log_steps", "train.checkpoint_steps", "train.checkpoint_seconds"}


@dataclass(kw_only=True)
class TrainState:
    """The counters of a training run. Random numbers follow from the seed and `step`: there is no generator state."""

    epoch: int = 0  # finished epochs
    batch: int = 0  # finished batches of the current epoch
    step: int = 0
    best_epoch: int = 0
    best_f: float = -1.0
    loss: float = 0.0  # sum over the epoch's batches
    seen_loss: float = 0.0  # the part of `loss` that has been logged
    seen_batches: int = 0  # batches whose loss has been logged
    sentences: int = 0  # in the epoch so far
    seconds: float = 0.0  # training time in the epoch so far
    records: int = 0  # in the metrics log

    def start_next_epoch(self) -> None:
        """Counts a finished epoch, and resets the counters of the current one."""
        self.epoch += 1
        self.batch = self.seen_batches = self.sentences = 0
        self.loss = self.seen_loss = self.seconds = 0.0


def check_recipe(folder: Path, recipe: Recipe, *, resume: bool) -> None:
    """Raises an error if the folder holds a run and `resume` is False, or if that run has a different recipe."""
    path = folder / RECIPE
    if not path.exists():
        return
    if not resume:
        raise FileExistsError(
            f"{folder} already holds a training run; continue it with --resume, or choose another folder"
        )
    changeable = _CHANGEABLE | ({"train.epochs"} if recipe.train.schedule == "exponential" else set())
    changed = [name for name in differences(read_config(Recipe, path), recipe) if name not in changeable]
    if changed:
        raise SettingError(f"the run in {folder} was started with other values of {', '.join(changed)} (see {path})")
    _check_inputs(folder, input_digests(recipe))


def input_digests(recipe: Recipe) -> dict[str, str]:
    """Returns the SHA-256 of each treebank and of the word vectors."""
    data = recipe.data
    paths = [*data.train, *data.parsed, *data.partial, *data.dev, *data.test, *filter(None, [data.vectors])]
    return {path: file_digest(path) for path in paths}


def save_inputs(folder: Path, recipe: Recipe) -> None:
    """Writes the checksums of a run's inputs, and a copy of its EVALB parameter file, if it has one."""
    write_file(folder / INPUTS, json.dumps(input_digests(recipe), indent=1).encode())
    if recipe.data.rules not in NAMED:
        write_file(folder / RULES, Path(recipe.data.rules).read_bytes())


def read_rules(folder: Path, recipe: Recipe) -> Rules:
    """Reads the EVALB rules of a run. A parameter file may be at another place than during the training."""
    return Rules.read(folder / RULES) if (folder / RULES).exists() else find_rules(recipe.data.rules)


def _check_inputs(folder: Path, digests: Mapping[str, str]) -> None:
    path = folder / INPUTS
    if not path.exists():
        return  # a run that was stopped before its first step
    old_digests = json.loads(path.read_bytes())
    changed = [name for name, digest in digests.items() if old_digests.get(name, digest) != digest]
    if changed:
        raise SettingError(
            f"{', '.join(changed)} changed after the run in {folder} was started; restore the old version, "
            "or start a new run in another folder"
        )


def save_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, ema: EMA | None, state: TrainState
) -> None:
    """Writes the checkpoint; the previous one stays until the new one is complete."""
    optimizer_state = {f"{_OPTIMIZER}{name}": tensor for name, tensor in optimizer_tensors(optimizer).items()}
    write_file(folder / STATE, to_safetensors(_weights(model, ema) | optimizer_state, {_COUNTERS: asdict(state)}))


def load_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, ema: EMA | None
) -> TrainState | None:
    """Loads weights, averages and optimizer state, and returns the counters; None if there is no checkpoint."""
    path = folder / STATE
    if not path.exists():
        return None
    tensors, notes = read_safetensors(path)
    optimizer_state = {
        name.removeprefix(_OPTIMIZER): tensors.pop(name) for name in list(tensors) if name.startswith(_OPTIMIZER)
    }
    weights = _weights(model, ema)
    if _shapes(weights) != _shapes(tensors):
        raise DamagedFileError(
            f"{path} holds the state of another model; expected the weights that the recipe describes"
        )
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(tensors[name])
    load_optimizer_tensors(optimizer, optimizer_state)
    try:
        return TrainState(**notes[_COUNTERS])
    except (KeyError, TypeError):
        raise DamagedFileError(f"{path} does not hold the counters of a training run; start a new run") from None


def _weights(model: nn.Module, ema: EMA | None) -> dict[str, Tensor]:
    """Returns the trained weights and their averages; other weights are rebuilt from the recipe."""
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    averages = {} if ema is None else dict(zip(trained, ema.averages, strict=True))
    groups: dict[str, Mapping[str, Tensor]] = {"model": trained, "ema": averages}
    return {f"{group}.{name}": tensor for group, named in groups.items() for name, tensor in named.items()}


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def to_safetensors(tensors: Mapping[str, Tensor], notes: Mapping[str, Any] = MappingProxyType({})) -> bytes:
    """Returns the content of a safetensors file with these tensors, and notes in JSON."""
    copies = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    return save(copies, {name: json.dumps(note) for name, note in notes.items()})


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads the tensors and the notes of a file whose content `to_safetensors` made; never executes its content."""
    try:
        with safe_open(path, framework="pt") as file:
            notes = {name: json.loads(note) for name, note in (file.metadata() or {}).items()}
            return {name: file.get_tensor(name) for name in file.keys()}, notes  # noqa: SIM118  # it is no dict
    except (SafetensorError, ValueError) as error:
        raise DamagedFileError(f"{path} cannot be read as safetensors: {error}") from None
