"""The optimizer: AdamW, its learning rate schedule, the moving average of weights, and the precision of products."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from treecrf.network.nn import SpanModel
from treecrf.training.config import TrainConfig


class EMA:
    """The moving average of weights: average = decay * average + (1 - decay) * weights, from the first weights on."""

    @torch.no_grad()
    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        self._weights = list(weights)
        self._update_averages = get_ema_multi_avg_fn(decay)
        self.averages = [weight.clone() for weight in self._weights]

    def update(self) -> None:
        """Adds the current weights to the averages, without synchronizing the device."""
        self._update_averages(self.averages, self._weights, None)

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Gives the weights the values of their averages inside the context; their memory addresses stay the same."""
        backup = [weight.detach().clone() for weight in self._weights]
        self._overwrite_weights(self.averages)
        try:
            yield
        finally:
            self._overwrite_weights(backup)

    @torch.no_grad()
    def _overwrite_weights(self, values: Sequence[Tensor]) -> None:
        torch._foreach_copy_(self._weights, list(values))


def build_optimizer(
    config: TrainConfig, head: Iterable[nn.Parameter], encoder: Iterable[nn.Parameter] = ()
) -> torch.optim.Optimizer:
    """Returns AdamW over the trained parameters; each parameter group has its `peak` learning rate.

    The learning rate of `encoder`, a pretrained encoder's parameters, is not multiplied by `head_multiplier`.
    """
    groups: list[dict[str, Any]] = []
    for parameters, rate in ((head, config.learning_rate * config.head_multiplier), (encoder, config.learning_rate)):
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        matrices = [parameter for parameter in trained if parameter.dim() > 1]
        vectors = [parameter for parameter in trained if parameter.dim() <= 1]
        for group, weight_decay in ((matrices, config.weight_decay), (vectors, 0.0)):
            if group:
                groups.append({"params": group, "peak": rate, "lr": rate, "weight_decay": weight_decay})
    is_gpu = all(parameter.is_cuda for group in groups for parameter in group["params"])
    if is_gpu:  # a CUDA graph reads the learning rate from device memory
        for entry in groups:
            entry["lr"] = torch.tensor(entry["lr"], device=entry["params"][0].device)
    return torch.optim.AdamW(groups, betas=config.betas, eps=config.epsilon, fused=is_gpu, capturable=is_gpu)


def build_model_optimizer(config: TrainConfig, model: SpanModel) -> torch.optim.Optimizer:
    """Returns AdamW over a network; the weights of a pretrained encoder that is trained have their own group."""
    transformer = model.transformer
    encoder = [] if transformer is None or transformer.frozen else list(transformer.encoder.parameters())
    encoder_ids = {id(parameter) for parameter in encoder}
    return build_optimizer(config, [each for each in model.parameters() if id(each) not in encoder_ids], encoder)


def learning_rate_factor(config: TrainConfig, *, step: int, progress: float) -> float:
    """Returns the learning rate as a fraction of its peak.

    `step` counts from 0, and `progress` is the fraction of the run, from 0 to 1, at the middle of that step.
    """
    warmup_factor = min(1.0, progress / config.warmup) if config.warmup else 1.0
    if config.schedule == "exponential":
        return warmup_factor * math.pow(config.decay, step / config.decay_steps)
    return warmup_factor if warmup_factor < 1 else (1 - progress) / (1 - config.warmup)


def set_learning_rate(optimizer: torch.optim.Optimizer, factor: float) -> None:
    """Sets the learning rate of each parameter group to `factor` times its peak."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(group["peak"] * factor)
        else:
            group["lr"] = group["peak"] * factor


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state: dict[int, dict[str, Tensor]] = optimizer.state_dict()["state"]
    return {f"{number}.{name}": tensor for number, tensors in state.items() for name, tensor in tensors.items()}


def load_optimizer_tensors(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Loads the state that `optimizer_tensors` returned."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


@contextmanager
def matmul_precision(precision: str) -> Iterator[None]:
    """Allows TF32 (32-bit products with factors rounded to 19 bits) inside the context, unless `precision` is fp32."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")
    torch.backends.cudnn.allow_tf32 = precision != "fp32"
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]
