"""How weights follow gradients: Adam, its learning rate over the run, and the number format of the products."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from treecrf.training.config import Precision, TrainConfig


def build_optimizer(
    config: TrainConfig, head: Iterable[nn.Parameter], encoder: Iterable[nn.Parameter] = ()
) -> torch.optim.Optimizer:
    """Adam over the parameters that learn; each group knows its `peak` learning rate."""
    groups: list[dict[str, Any]] = []
    for parameters, rate in ((head, config.learning_rate * config.head_multiplier), (encoder, config.learning_rate)):
        learning = [parameter for parameter in parameters if parameter.requires_grad]
        matrices = [parameter for parameter in learning if parameter.dim() > 1]
        others = [parameter for parameter in learning if parameter.dim() <= 1]
        for group, weight_decay in ((matrices, config.weight_decay), (others, 0.0)):
            if group:
                groups.append({"params": group, "peak": rate, "lr": rate, "weight_decay": weight_decay})
    on_gpu = all(parameter.is_cuda for group in groups for parameter in group["params"])
    if on_gpu:  # a recorded step reads the rate from where it is
        for entry in groups:
            entry["lr"] = torch.tensor(entry["lr"], device=entry["params"][0].device)
    return torch.optim.AdamW(groups, betas=config.betas, eps=config.epsilon, fused=on_gpu, capturable=on_gpu)


def learning_rate_share(config: TrainConfig, *, step: int, progress: float) -> float:
    """The share of the peak learning rate at a step, counted from 0, that ends at `progress` from 0 to 1 of the run."""
    rise = min(1.0, progress / config.warmup) if config.warmup else 1.0
    if config.schedule == "exponential":
        return rise * math.pow(config.decay, step / config.decay_steps)
    return rise if rise < 1 else (1 - progress) / (1 - config.warmup)


def set_learning_rate(optimizer: torch.optim.Optimizer, share: float) -> None:
    """Give each group this share of its peak."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(group["peak"] * share)
        else:
            group["lr"] = group["peak"] * share


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """What the optimizer remembers, by name."""
    memory: dict[int, dict[str, Tensor]] = optimizer.state_dict()["state"]
    return {f"{number}.{name}": tensor for number, kept in memory.items() for name, tensor in kept.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Make the optimizer remember what `optimizer_tensors` gave."""
    memory: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        memory.setdefault(int(number), {})[name] = tensor
    optimizer.load_state_dict({"state": memory, "param_groups": optimizer.state_dict()["param_groups"]})


@contextmanager
def number_format(precision: Precision) -> Iterator[None]:
    """Whether GPUs may round the factors of 32-bit products to 19 bits (TF32) while this lasts."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")
    torch.backends.cudnn.allow_tf32 = precision != "fp32"
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]
