"""Rounded products in PyTorch equal the products of the CPU runtime."""

import pytest
import torch
import torch.nn.functional as F

from network.runtime.layers import random_array
from treecrf.network.nn.rounding import is_rounding, round_rows, round_weights, rounded_products
from treecrf.network.runtime import int8
from treecrf.network.runtime.weights import NARROW_LEVELS, Matrix


def test_numbers_are_rounded_between_the_extremes_of_a_row():
    row = torch.tensor([[-1.0, 0.1234, 2.0]])
    step = 3 / 255
    expected = torch.tensor([[-1.0, round(1.1234 / step) * step - 1, 2.0]])
    torch.testing.assert_close(round_rows(row), expected)
    torch.testing.assert_close(round_rows(torch.ones(2, 4)), torch.ones(2, 4))
    weights = round_weights(torch.tensor([[0.5, -1.0, 0.0031], [0.0, 0.0, 0.0]]))
    torch.testing.assert_close(weights[0] * 127, torch.tensor([64.0, -127.0, 0.0]))
    assert not weights[1].any()


@pytest.mark.skipif(not int8.is_compiled, reason="treecrf was installed without its compiled parts")
def test_a_rounded_linear_layer_equals_the_kernel():
    x, weight, bias = random_array(9, 40), random_array(70, 40, seed=1), random_array(70, seed=2)
    expected = int8.Linear(Matrix(weight), bias, levels=NARROW_LEVELS)(x)
    with rounded_products():
        actual = F.linear(*map(torch.from_numpy, (x, weight, bias)))
    torch.testing.assert_close(actual, torch.from_numpy(expected), atol=1e-4, rtol=1e-4)
    assert not torch.allclose(F.linear(*map(torch.from_numpy, (x, weight, bias))), actual, atol=1e-4)


def test_gradients_pass_through_the_rounding():
    x, weight = torch.randn(3, 8, requires_grad=True), torch.randn(5, 8, requires_grad=True)
    with rounded_products():
        out = F.linear(x, weight)
    out.sum().backward()
    torch.testing.assert_close(x.grad, round_weights(weight).sum(0).expand(3, -1))
    torch.testing.assert_close(weight.grad, round_rows(x).sum(0).expand(5, -1))


def test_the_context_ends_with_its_outermost_block():
    with rounded_products():
        with rounded_products(), rounded_products(False):
            assert is_rounding()
        assert is_rounding()
    assert not is_rounding()
    with rounded_products(False):
        assert not is_rounding()
