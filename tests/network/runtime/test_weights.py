import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.runtime.layers import (
    random_array,
)
from treecrf.network.runtime.weights import (
    Matrix,
    Weights,
    dequantize_weights,
    pack,
    quantize_weights,
    rounded_to_bytes,
    split_classes,
    tile_gates,
)


def random_weight(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@given(st.integers(0, 999), st.floats(-8, 8), st.floats(0, 1))
def test_the_error_of_a_weight_is_half_a_step_of_its_row(seed: int, magnitude: float, step: float) -> None:
    weight = (random_weight(64, 80, seed=seed) * 10**magnitude).astype(np.float32)
    weight[0, 0] *= 100  # with an outlier, the step is the 8-bit step
    dequantized = dequantize_weights(quantize_weights({"w": weight}, step))["w"]
    steps = np.maximum(np.abs(weight).max(1) / 127, step * np.sqrt(np.square(weight.astype(np.float64)).mean(1)))
    assert (np.abs(dequantized - weight) <= 0.501 * steps[:, None]).all()


def test_the_largest_floats_are_finite_after_quantization() -> None:
    weight = np.full((64, 80), np.finfo(np.float32).max / 2)
    assert np.allclose(dequantize_weights(quantize_weights({"w": weight}, 0.5))["w"], weight)


def test_large_matrices_take_a_quarter_of_the_space() -> None:
    quantized = quantize_weights({"w": random_weight(512, 400)})
    assert sum(array.nbytes for array in quantized.values()) < 0.26 * 512 * 400 * 4


def test_larger_steps_compress_better() -> None:
    zero, third = (
        len(zlib.compress(quantize_weights({"w": random_weight(512, 400)}, step)["w"].tobytes())) for step in (0, 0.3)
    )
    assert third < 0.6 * zero


def test_small_arrays_vectors_and_integers_are_unchanged() -> None:
    weights = {"bias": random_weight(5000), "distances": random_weight(32, 12), "ids": np.arange(8192).reshape(2, -1)}
    dequantized = dequantize_weights(quantize_weights(weights))
    assert dequantized.keys() == weights.keys()
    assert all(np.array_equal(dequantized[name], weights[name]) for name in weights)


def test_rows_of_zeros_stay_zeros() -> None:
    assert not dequantize_weights(quantize_weights({"w": np.zeros((64, 64), np.float32)}))["w"].any()


def test_weights_that_were_not_quantized_are_returned_in_float32() -> None:
    weights = {"w": random_weight(64, 80).astype(np.float16)}
    dequantized = dequantize_weights(weights)["w"]
    assert dequantized.dtype == np.float32 and np.array_equal(dequantized.astype(np.float16), weights["w"])


def test_weights_are_found_below_their_prefix() -> None:
    arrays = quantize_weights({"a.b.w": random_weight(64, 80), "a.c": random_weight(3)})
    weights = Weights(arrays).below("a")
    assert "c" in weights and "b" not in weights and weights.get("d") is None
    assert np.array_equal(weights.below("b")["w"], dequantize_weights(arrays)["a.b.w"])


def test_rows_of_a_table_equal_those_of_the_dequantized_weight() -> None:
    ids = np.array([[3, 3], [63, 0]])
    for arrays in ({"w": random_weight(64, 80)}, quantize_weights({"w": random_weight(64, 80)})):
        assert np.array_equal(Weights(arrays).matrix("w").vectors(ids), dequantize_weights(arrays)["w"][ids])


pytestmark = pytest.mark.usefixtures("int8_support")


@pytest.mark.parametrize(("outputs", "inputs"), [(64, 64), (130, 100)])
def test_stored_bytes_are_packed_like_the_floats_that_they_stand_for(outputs, inputs):
    weights = Weights(quantize_weights({"weight": random_array(outputs, inputs)}))
    stored, floats = weights.matrix("weight"), Matrix(weights["weight"])
    assert stored.scales is not None
    for bytes_part, float_part in zip(pack(stored, levels=255), pack(floats, levels=255), strict=True):
        np.testing.assert_allclose(bytes_part, float_part, rtol=1e-6)


def test_packed_weights_are_bytes_with_scales_and_sums_of_each_output():
    weight, bias = random_array(70, 19), random_array(70, seed=1)
    tiles, is_large, scales, sums, biases, levels = pack(Matrix(weight), bias, levels=255)
    assert (
        levels.tolist() == [255]
        and tiles.shape == (8, 8, 16, 4)
        and (biases[:70] == bias).all()
        and not biases[70:].any()
    )
    steps = tiles.astype(int).reshape(is_large.size, 2, 16, 2, 2).swapaxes(2, 1).reshape(is_large.size, 16, 2, 2, 2)
    large = [np.abs(steps * (steps * sign > 0)).sum((2, 4)).max((1, 2)) > 128 for sign in (1, -1)]
    assert (is_large == (large[0] | large[1])).all() and 0 < is_large.sum() < is_large.size
    rows = tiles.swapaxes(1, 2).reshape(128, 32)
    assert not rows[70:].any() and not rows[:, 19:].any() and (sums == rows.sum(1, dtype=np.int32)).all()
    assert np.abs(rows[:70, :19] * scales[:70, None] - weight).max() <= scales.max() / 2 * 1.001
    assert np.abs(rows[:70]).max(1).tolist() == [127] * 70
    np.testing.assert_allclose(rounded_to_bytes(weight[0]), rows[0, :19] * scales[0], rtol=1e-6)


def test_classes_and_gates_are_reordered_in_groups_of_sixteen():
    classes = np.arange(2 * 20 * 3, dtype=np.float32).reshape(2, 20, 3)
    split = split_classes(classes)
    assert split.shape == (2, 2, 16, 3)
    assert (split[1, 0, 0] == classes[0, 16]).all() and (split[0, 1, 5] == classes[1, 5]).all()
    assert not split[1, :, 4:].any()
    gates = np.arange(4 * 17 * 2).reshape(68, 2)
    tiled = tile_gates(gates)
    assert tiled.shape == (4 * 32, 2)
    assert (tiled[16] == gates[17]).all() and (tiled[64] == gates[16]).all() and not tiled[65:80].any()
