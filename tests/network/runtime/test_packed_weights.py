import numpy as np
import pytest

from network.runtime.layers import (
    random_array,
)
from treecrf.network.runtime.packed_weights import pack, rounded_to_bytes, split_classes, tile_gates
from treecrf.network.runtime.weights import Matrix, Weights, quantize_weights

pytestmark = pytest.mark.usefixtures("int8_support")


@pytest.mark.parametrize(("outputs", "inputs"), [(64, 64), (130, 100)])
def test_stored_bytes_are_packed_like_the_floats_that_they_stand_for(outputs, inputs):
    weights = Weights(quantize_weights({"weight": random_array(outputs, inputs)}))
    stored, floats = weights.matrix("weight"), Matrix(weights["weight"])
    assert stored.scales is not None
    for bytes_part, float_part in zip(pack(stored), pack(floats), strict=True):
        np.testing.assert_allclose(bytes_part, float_part, rtol=1e-6)


def test_packed_weights_are_bytes_with_scales_and_sums_of_each_output():
    weight, bias = random_array(70, 19), random_array(70, seed=1)
    tiles, scales, sums, biases = pack(Matrix(weight), bias)
    assert tiles.shape == (8, 8, 16, 4) and (biases[:70] == bias).all() and not biases[70:].any()
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
