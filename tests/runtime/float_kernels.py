"""Float versions of the int8 kernels with the same interface, for machines without int8 instructions.

A model that is quantized with them has the scores of the float model, if every kernel gets the correct weights.
"""

import copy

import pytest
import torch
import torch.nn.functional as F

from treecrf.runtime import quantized_model


class FloatLinear:
    def __init__(self, weight, bias=None, *, slope=1.0):
        self.weight = weight.detach().clone()
        self.bias = None if bias is None else bias.detach().clone()
        self.slope = slope

    def __call__(self, x):
        return F.leaky_relu(F.linear(x, self.weight, self.bias), self.slope)


class FloatLabels:
    """[left; 1]' W [right; 1] of selected spans, for each class."""

    def __init__(self, weight, left, right, bias):
        rows = [torch.cat([weight, left[..., None]], 2), torch.cat([right, bias[:, None]], 1)[:, None]]
        self.weight = torch.cat(rows, 1).detach()  # (classes, size + 1, size + 1)

    def __call__(self, left, right, spans):
        left, right = (F.pad(side.flatten(0, 1), (0, 1), value=1.0) for side in (left, right))
        return torch.einsum("si,cij,sj->sc", left[spans.lefts], self.weight, right[spans.rights])


class FloatChart:
    """[left; 1]' W [right; 1] of all spans."""

    def __init__(self, weight, left, right, bias):
        rows = [torch.cat([weight, left[:, None]], 1), torch.cat([right, bias[None]])[None]]
        self.weight = torch.cat(rows).detach()

    def __call__(self, left, right):
        left, right = (F.pad(side, (0, 1), value=1.0) for side in (left, right))
        return torch.einsum("bxi,ij,byj->bxy", left, self.weight, right)


class FloatLstm:
    def __init__(self, inputs, hidden, bias):
        directions = zip(inputs, hidden, bias, strict=True)
        self.weights = [[weight.detach().clone() for weight in weights] for weights in directions]

    def __call__(self, x, lengths):
        out = x.new_zeros(*x.shape[:2], 2, self.weights[0][1].shape[1])
        for row, length in enumerate(lengths.tolist()):
            for direction, positions in enumerate((range(length), reversed(range(length)))):
                self._run(x[row], positions, *self.weights[direction], out[row, :, direction])
        return out

    @staticmethod
    def _run(x, positions, inputs, hidden, bias, out):
        cell = state = x.new_zeros(hidden.shape[1])
        for position in positions:
            i, f, g, o = (inputs @ x[position] + hidden @ state + bias).chunk(4)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            state = out[position] = o.sigmoid() * cell.tanh()


class FloatBert:
    def __init__(self, bert):
        self.bert = copy.deepcopy(bert).eval()

    def __call__(self, pieces, lengths, layer_weights, piece_inputs=None):
        layers = self.bert(pieces, lengths, piece_inputs)[-len(layer_weights) :]
        return sum(weight * layer for weight, layer in zip(layer_weights, layers, strict=True))


def mean_of_pieces(hidden, rows, positions, counts, size):
    means = hidden.new_zeros(size, hidden.shape[-1])
    return means.index_add(0, positions, hidden.flatten(0, 1)[rows] / counts[:, None])


def use_float_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `quantize` use the float kernels."""
    monkeypatch.setattr(quantized_model, "why_unsupported", lambda: None)
    monkeypatch.setattr(quantized_model, "why_encoder_unsupported", lambda encoder: None)
    monkeypatch.setattr(quantized_model, "mean_of_pieces", mean_of_pieces)
    for kernel in (FloatLinear, FloatChart, FloatLabels, FloatLstm, FloatBert):
        monkeypatch.setattr(quantized_model, kernel.__name__.replace("Float", "Int8"), kernel)
