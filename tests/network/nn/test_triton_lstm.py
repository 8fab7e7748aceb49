"""The Triton kernels compared with the recurrence in torch: on a GPU, or in Triton's interpreter."""

import pytest
import torch

from network.nn.test_lstm_recurrence import DEVICE, MASK_SHAPES, random_inputs
from treecrf.network.nn import lstm_recurrence


@pytest.mark.parametrize("mask_per", MASK_SHAPES)
@pytest.mark.parametrize(
    ("batch", "steps", "size"),
    [(1, 1, 1), (2, 5, 3), (17, 4, 16), (5, 3, 20), (3, 2, 40)]
    + [(100, 30, 400), (7, 60, 50), (300, 9, 128), (2, 3, 800)] * torch.cuda.is_available(),
)
def test_kernels_equal_the_torch_implementation(batch, steps, size, mask_per):
    kernels = pytest.importorskip("treecrf.network.nn.triton_lstm", reason="Triton is not installed")
    gates, weight, mask, lengths = random_inputs(batch, steps, size, mask_per=mask_per, device=DEVICE)
    activations = gates.clone()
    hidden, cells, masked = kernels.forward(activations, weight, mask, lengths)
    expected_activations = gates.clone()
    expected = lstm_recurrence.forward(expected_activations, weight, mask, lengths)
    real = torch.arange(steps, device=DEVICE) < lengths[:, None]
    close = {"atol": 2e-3, "rtol": 2e-3}  # half precision, like TF32
    torch.testing.assert_close(hidden, expected[0], **close)
    torch.testing.assert_close(cells[real], expected[1][real], **close)
    torch.testing.assert_close(masked.float(), expected[2], **close)
    torch.testing.assert_close(activations[real], expected_activations[real], **close)
    grad = 1e-6 * torch.randn_like(hidden)  # without scaling, it would vanish in half precision
    grad_gates = kernels.backward(grad, expected_activations, expected[1], weight, mask, lengths)
    expected_grad = lstm_recurrence.backward(grad, expected_activations, expected[1], weight, mask, lengths)
    torch.testing.assert_close(grad_gates, expected_grad, atol=2e-9, rtol=2e-3)


@pytest.mark.parametrize(
    ("batch", "steps", "size"),
    [(1, 1, 1), (17, 4, 16), (5, 3, 20), (3, 2, 40)] + [(700, 30, 400), (300, 9, 800)] * torch.cuda.is_available(),
)
def test_hidden_states_of_inference_equal_the_torch_implementation(batch, steps, size):
    kernels = pytest.importorskip("treecrf.network.nn.triton_lstm", reason="Triton is not installed")
    gates, weight, mask, lengths = random_inputs(batch, steps, size, device=DEVICE)
    hidden = kernels.hidden_states(gates.half(), weight.half(), lengths)
    expected, *_ = lstm_recurrence.forward(gates.half().float(), weight.half().float(), torch.ones_like(mask), lengths)
    assert hidden.dtype == torch.float16
    torch.testing.assert_close(hidden.float(), expected, atol=2e-3, rtol=2e-3)


def test_kernels_accept_a_gradient_of_zero():
    kernels = pytest.importorskip("treecrf.network.nn.triton_lstm", reason="Triton is not installed")
    gates, weight, mask, lengths = random_inputs(2, 3, 4, device=DEVICE)
    _, cells, _ = kernels.forward(gates, weight, mask, lengths)
    assert not kernels.backward(torch.zeros_like(cells), gates, cells, weight, mask, lengths).any()
