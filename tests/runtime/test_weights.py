import torch
from hypothesis import given
from hypothesis import strategies as st

from treecrf.runtime.weights import dequantize_state_dict, quantize_state_dict


@given(st.integers(0, 999), st.floats(-8, 8))
def test_a_shrunk_weight_is_off_by_half_a_step_of_its_row(seed: int, size: float) -> None:
    weight = torch.randn(64, 80, generator=torch.Generator().manual_seed(seed)) * 10**size
    again = dequantize_state_dict(quantize_state_dict({"w": weight}))["w"]
    step = weight.abs().amax(1, keepdim=True) / 127
    assert ((again - weight).abs() <= 0.501 * step).all()


def test_large_matrices_take_a_quarter_of_the_room() -> None:
    small = quantize_state_dict({"w": torch.randn(512, 400)})
    assert sum(tensor.nbytes for tensor in small.values()) < 0.26 * 512 * 400 * 4


def test_small_and_whole_numbers_stay_as_they_are() -> None:
    weights = {"bias": torch.randn(5000), "little": torch.randn(9, 9), "ids": torch.arange(8192).view(2, -1)}
    again = dequantize_state_dict(quantize_state_dict(weights))
    assert again.keys() == weights.keys() and all(torch.equal(again[name], weights[name]) for name in weights)


def test_rows_of_zeros_stay_zeros() -> None:
    assert torch.equal(dequantize_state_dict(quantize_state_dict({"w": torch.zeros(64, 64)}))["w"], torch.zeros(64, 64))


def test_weights_that_were_not_shrunk_come_back_in_32_bits() -> None:
    halves = {"w": torch.randn(64, 80).half()}
    assert dequantize_state_dict(halves)["w"].dtype == torch.float32 and torch.equal(
        dequantize_state_dict(halves)["w"].half(), halves["w"]
    )
