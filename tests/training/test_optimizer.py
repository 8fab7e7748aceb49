from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from treecrf.training import TrainConfig
from treecrf.training.optimizer import (
    build_optimizer,
    learning_rate_share,
    number_format,
    optimizer_tensors,
    restore_optimizer,
    set_learning_rate,
)

PAPER = TrainConfig()
TUNED = TrainConfig(learning_rate=1e-4, head_multiplier=20.0, schedule="linear", warmup=0.1, weight_decay=0.01)


def test_the_paper_multiplies_by_three_quarters_in_5000_steps() -> None:
    assert learning_rate_share(PAPER, step=0, progress=0.3) == 1
    assert learning_rate_share(PAPER, step=5000, progress=0.3) == pytest.approx(0.75)
    assert learning_rate_share(PAPER, step=7500, progress=0.3) == pytest.approx(0.75**1.5)


@given(st.floats(0, 1), st.floats(0, 1))
def test_linear_rises_to_one_and_falls_to_zero(first: float, second: float) -> None:
    low, high = sorted((first, second))
    before, after = (learning_rate_share(TUNED, step=0, progress=progress) for progress in (low, high))
    assert 0 <= before <= 1 and 0 <= after <= 1
    assert before <= after if high <= 0.1 else low < 0.1 or before >= after


def test_linear_is_at_its_peak_after_the_warm_up() -> None:
    shares = [learning_rate_share(TUNED, step=0, progress=progress) for progress in (0.0, 0.05, 0.1, 0.55, 1.0)]
    assert shares == pytest.approx([0, 0.5, 1, 0.5, 0])
    unwarmed = replace(TUNED, warmup=0.0)
    assert learning_rate_share(unwarmed, step=0, progress=0.25) == pytest.approx(0.75)


def test_a_fine_tuned_encoder_has_a_rate_of_its_own() -> None:
    head, encoder = nn.Linear(2, 3), nn.Linear(3, 4)
    encoder.bias.requires_grad_(False)
    optimizer = build_optimizer(TUNED, head.parameters(), encoder.parameters())
    set_learning_rate(optimizer, 0.5)
    groups = {group["params"][0]: group for group in optimizer.param_groups}
    assert groups[head.weight]["lr"] == pytest.approx(1e-3) == groups[head.bias]["lr"]
    assert groups[encoder.weight]["lr"] == pytest.approx(5e-5)
    assert groups[head.weight]["weight_decay"] == 0.01 and groups[head.bias]["weight_decay"] == 0
    assert encoder.bias not in groups


def test_without_decay_it_is_the_papers_adam() -> None:
    ours, theirs = (nn.Parameter(torch.tensor([1.0, -2.0])) for _ in range(2))
    mine = build_optimizer(PAPER, [ours])
    adam = torch.optim.Adam([theirs], lr=2e-3, betas=(0.9, 0.9), eps=1e-12)
    for step in range(5):
        for parameter, optimizer in ((ours, mine), (theirs, adam)):
            optimizer.zero_grad()
            ((parameter - step) ** 3).sum().backward()
            optimizer.step()
    assert torch.equal(ours, theirs)


def test_a_restored_optimizer_goes_on_the_same() -> None:
    first = nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = build_optimizer(PAPER, [first])

    def step(parameter: nn.Parameter, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        (parameter**2).sum().backward()
        optimizer.step()

    step(first, optimizer)
    second = nn.Parameter(first.detach().clone())
    copy = build_optimizer(PAPER, [second])
    restore_optimizer(copy, {name: tensor.clone() for name, tensor in optimizer_tensors(optimizer).items()})
    step(first, optimizer)
    step(second, copy)
    assert torch.equal(first, second)


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_the_number_format_is_put_back(precision: str) -> None:
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    with number_format(precision):  # type: ignore[arg-type]
        assert torch.backends.cudnn.allow_tf32 == (precision != "fp32")
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("learning_rate", 0.0), ("epochs", 0), ("clip", -1.0), ("warmup", 1.0), ("betas", (0.9, 1.0)), ("seed", -1)],
)
def test_values_out_of_range_are_told(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name} (is|are) .*expected"):
        replace(PAPER, **{name: value})  # type: ignore[arg-type]
