"""Where a training run stands, in one file: what it needs to go on as if it had never stopped."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from treecrf.atomic_io import DamagedFileError, pack, unpack, write_file
from treecrf.config import SettingError, differences, read_config
from treecrf.training.config import Recipe
from treecrf.training.ema import Average
from treecrf.training.optimizer import optimizer_tensors, restore_optimizer

RECIPE, STATE = "recipe.toml", "state.safetensors"
_MAY_CHANGE = {"train.patience", "train.log_steps", "train.checkpoint_steps", "train.checkpoint_seconds"}


@dataclass(kw_only=True)
class Position:
    """How far a run has come. What is random follows from the seed and `step`, so no random state is kept."""

    epoch: int = 0  # epochs that are finished
    batch: int = 0  # batches of the next one that are done
    step: int = 0
    best_epoch: int = 0
    best_f: float = -1.0
    loss: float = 0.0  # summed over the epoch's batches
    seen_loss: float = 0.0  # the part of it that has been looked at
    seen_batches: int = 0
    sentences: int = 0  # of the epoch so far
    seconds: float = 0.0
    records: int = 0  # in the journal


def check_recipe(folder: Path, recipe: Recipe, *, resume: bool) -> None:
    """Refuse to train over another run, or to go on with one by another recipe."""
    path = folder / RECIPE
    if not path.exists():
        return
    if not resume:
        raise FileExistsError(
            f"{folder} already holds a training run; go on with it (--resume), or name another folder"
        )
    old = read_config(Recipe, path)
    fixed = _MAY_CHANGE | ({"train.epochs"} if recipe.train.schedule == "exponential" else set())
    changed = [name for name in differences(old, recipe) if name not in fixed]
    if changed:
        raise SettingError(f"the run in {folder} was started with other values of {', '.join(changed)} (see {path})")


def save_state(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, average: Average | None, position: Position
) -> None:
    """Write the state; the last one stays until the new one is safe."""
    weights = _learning(model)
    tensors: dict[str, Tensor] = {f"model.{name}": weight for name, weight in weights.items()}
    if average is not None:
        tensors |= {f"average.{name}": tensor for name, tensor in zip(weights, average.tensors, strict=True)}
    tensors |= {f"optimizer.{name}": tensor for name, tensor in optimizer_tensors(optimizer).items()}
    write_file(folder / STATE, pack(tensors, {"position": asdict(position)}))


def load_state(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, average: Average | None
) -> Position | None:
    """Give model, optimizer and average the state they had, if one was saved."""
    path = folder / STATE
    if not path.exists():
        return None
    tensors, notes = unpack(path)
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "average": {}, "optimizer": {}}
    for key, tensor in tensors.items():
        part, _, name = key.partition(".")
        parts.setdefault(part, {})[name] = tensor
    weights = _learning(model)
    kept: dict[str, Mapping[str, Tensor]] = {"model": weights, "average": {}}
    if average is not None:
        kept["average"] = dict(zip(weights, average.tensors, strict=True))
    if any(_shapes(places) != _shapes(parts[part]) for part, places in kept.items()):
        raise DamagedFileError(
            f"{path} holds the state of another model; expected the weights that the recipe describes"
        )
    with torch.no_grad():
        for part, places in kept.items():
            for name, place in places.items():
                place.copy_(parts[part][name])
    restore_optimizer(optimizer, parts["optimizer"])
    return _position(notes, path)


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def _learning(model: nn.Module) -> dict[str, nn.Parameter]:
    """What training changes; the rest is there again when the model is built."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def _position(notes: dict[str, Any], path: Path) -> Position:
    try:
        return Position(**notes["position"])
    except (KeyError, TypeError):
        raise DamagedFileError(f"{path} does not say how far the run had come; start it anew") from None
