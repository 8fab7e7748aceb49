"""The recurrence compared with finite differences, and the Triton kernels compared with the recurrence.

Without a GPU, the kernels run in Triton's interpreter.
"""

import pytest
import torch

from treecrf.network.nn import lstm_recurrence
from treecrf.network.nn.lstm import shared_mask

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


MASK_SHAPES = {"batch": lambda steps, batch: (1, 1), "sentence": lambda steps, batch: (1, batch)}
MASK_SHAPES["step"] = lambda steps, batch: (steps, batch)


def random_inputs(batch, steps, size, *, dtype=torch.float32, mask_per="sentence", device="cpu"):
    generator = torch.Generator().manual_seed(batch + steps + size)
    gates = torch.randn(batch, steps, 2, 4, size, generator=generator, dtype=dtype)
    weight = torch.randn(2, 4 * size, size, generator=generator, dtype=dtype) / size**0.5
    mask = shared_mask(gates, 2, *MASK_SHAPES[mask_per](steps, batch), size, dropout=0.4)
    mask = mask.expand(2, steps, batch, size)
    lengths = torch.randint(1, steps + 1, (batch,), generator=generator)
    lengths[0] = steps
    return gates.to(device), weight.to(device), mask.to(device), lengths.to(device)


@pytest.mark.parametrize("mask_per", MASK_SHAPES)
def test_the_gradient_equals_finite_differences(mask_per):
    gates, weight, mask, lengths = random_inputs(3, 4, 2, dtype=torch.float64, mask_per=mask_per)

    def run(gates, weight):
        return lstm_recurrence.LSTMRecurrence.apply(gates.clone(), weight, mask, lengths)

    assert torch.autograd.gradcheck(run, (gates.requires_grad_(), weight.requires_grad_()))


def test_padding_is_zero_and_gets_no_gradient():
    gates, weight, mask, lengths = random_inputs(4, 6, 3)
    gates.requires_grad_()
    hidden = lstm_recurrence.LSTMRecurrence.apply(gates.clone(), weight, mask, lengths)
    hidden.sum().backward()
    padding = torch.arange(6) >= lengths[:, None]
    assert not hidden[padding].any() and not gates.grad[padding].any()
    assert hidden[~padding].all() and gates.grad[~padding].any()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_kernels_run_where_tf32_is_allowed(monkeypatch):
    x = torch.zeros(1, device="cuda")
    assert lstm_recurrence.find_triton_kernels(x, 400) is not None
    assert lstm_recurrence.find_triton_kernels(x.double(), 400) is None
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    assert lstm_recurrence.find_triton_kernels(x, 400) is None


@pytest.mark.parametrize("allowed", [True, False])
def test_the_cudnn_setting_determines_whether_tf32_is_allowed(allowed, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", allowed)
    assert lstm_recurrence._tf32_allowed() == allowed
