import torch
from hypothesis import given
from hypothesis import strategies as st

from treecrf.runtime.weights import dequantize_state_dict, quantize_state_dict


@given(st.integers(0, 999), st.floats(-8, 8))
def test_the_error_of_a_weight_is_half_a_step_of_its_row(seed: int, magnitude: float) -> None:
    weight = torch.randn(64, 80, generator=torch.Generator().manual_seed(seed)) * 10**magnitude
    dequantized = dequantize_state_dict(quantize_state_dict({"w": weight}))["w"]
    step = weight.abs().amax(1, keepdim=True) / 127
    assert ((dequantized - weight).abs() <= 0.501 * step).all()


def test_large_matrices_take_a_quarter_of_the_space() -> None:
    quantized = quantize_state_dict({"w": torch.randn(512, 400)})
    assert sum(tensor.nbytes for tensor in quantized.values()) < 0.26 * 512 * 400 * 4


def test_small_tensors_vectors_and_integers_are_unchanged() -> None:
    weights = {"bias": torch.randn(5000), "small": torch.randn(9, 9), "ids": torch.arange(8192).view(2, -1)}
    dequantized = dequantize_state_dict(quantize_state_dict(weights))
    assert dequantized.keys() == weights.keys()
    assert all(torch.equal(dequantized[name], weights[name]) for name in weights)


def test_rows_of_zeros_stay_zeros() -> None:
    assert torch.equal(dequantize_state_dict(quantize_state_dict({"w": torch.zeros(64, 64)}))["w"], torch.zeros(64, 64))


def test_weights_that_were_not_quantized_are_returned_in_float32() -> None:
    weights = {"w": torch.randn(64, 80).half()}
    dequantized = dequantize_state_dict(weights)["w"]
    assert dequantized.dtype == torch.float32 and torch.equal(dequantized.half(), weights["w"])
