from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from treecrf.training import TrainConfig
from treecrf.training.optimizer import (
    build_optimizer,
    learning_rate_factor,
    load_optimizer_tensors,
    matmul_precision,
    optimizer_tensors,
    set_learning_rate,
)

PAPER = TrainConfig()
TUNED = TrainConfig(learning_rate=1e-4, head_multiplier=20.0, schedule="linear", warmup=0.1, weight_decay=0.01)


def test_the_papers_schedule_decays_by_three_quarters_in_5000_steps() -> None:
    assert learning_rate_factor(PAPER, step=0, progress=0.3) == 1
    assert learning_rate_factor(PAPER, step=5000, progress=0.3) == pytest.approx(0.75)
    assert learning_rate_factor(PAPER, step=7500, progress=0.3) == pytest.approx(0.75**1.5)


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_linear_schedule_rises_to_one_and_falls_to_zero(first: float, second: float) -> None:
    low, high = sorted((first, second))
    before, after = (learning_rate_factor(TUNED, step=0, progress=progress) for progress in (low, high))
    assert 0 <= before <= 1 and 0 <= after <= 1
    assert before <= after if high <= 0.1 else low < 0.1 or before >= after


def test_the_linear_schedule_has_its_peak_after_the_warm_up() -> None:
    factors = [learning_rate_factor(TUNED, step=0, progress=progress) for progress in (0.0, 0.05, 0.1, 0.55, 1.0)]
    assert factors == pytest.approx([0, 0.5, 1, 0.5, 0])
    without_warmup = replace(TUNED, warmup=0.0)
    assert learning_rate_factor(without_warmup, step=0, progress=0.25) == pytest.approx(0.75)


def test_a_fine_tuned_encoder_has_its_own_learning_rate() -> None:
    head, encoder = nn.Linear(2, 3), nn.Linear(3, 4)
    encoder.bias.requires_grad_(False)
    optimizer = build_optimizer(TUNED, head.parameters(), encoder.parameters())
    set_learning_rate(optimizer, 0.5)
    groups = {group["params"][0]: group for group in optimizer.param_groups}
    assert groups[head.weight]["lr"] == pytest.approx(1e-3) == groups[head.bias]["lr"]
    assert groups[encoder.weight]["lr"] == pytest.approx(5e-5)
    assert groups[head.weight]["weight_decay"] == 0.01 and groups[head.bias]["weight_decay"] == 0
    assert encoder.bias not in groups


def test_without_weight_decay_the_optimizer_is_adam() -> None:
    ours, theirs = (nn.Parameter(torch.tensor([1.0, -2.0])) for _ in range(2))
    mine = build_optimizer(PAPER, [ours])
    adam = torch.optim.Adam([theirs], lr=2e-3, betas=(0.9, 0.9), eps=1e-12)
    for step in range(5):
        for parameter, optimizer in ((ours, mine), (theirs, adam)):
            optimizer.zero_grad()
            ((parameter - step) ** 3).sum().backward()
            optimizer.step()
    assert torch.equal(ours, theirs)


def test_a_loaded_optimizer_continues_in_the_same_way() -> None:
    first = nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = build_optimizer(PAPER, [first])

    def step(parameter: nn.Parameter, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        (parameter**2).sum().backward()
        optimizer.step()

    step(first, optimizer)
    second = nn.Parameter(first.detach().clone())
    copy = build_optimizer(PAPER, [second])
    load_optimizer_tensors(copy, {name: tensor.clone() for name, tensor in optimizer_tensors(optimizer).items()})
    step(first, optimizer)
    step(second, copy)
    assert torch.equal(first, second)


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_the_matmul_precision_is_restored(precision: str) -> None:
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    with matmul_precision(precision):  # type: ignore[arg-type]
        assert torch.backends.cudnn.allow_tf32 == (precision != "fp32")
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("learning_rate", 0.0), ("epochs", 0), ("clip", -1.0), ("warmup", 1.0), ("betas", (0.9, 1.0)), ("seed", -1)],
)
def test_values_out_of_range_are_errors(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name} (is|are) .*expected"):
        replace(PAPER, **{name: value})  # type: ignore[arg-type]
