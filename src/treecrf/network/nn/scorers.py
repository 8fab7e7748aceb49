"""Span scorers: scores of a span from the vectors of its two boundaries.

A scorer projects context vectors to left and right boundary vectors. Calling it on the boundary vectors of whole
sentences returns the chart of all spans. `at` returns the same scores for selected spans.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.arrays import Floats, Ints
from treecrf.network.data.batch import Scores
from treecrf.network.data.model_config import LEAKY_SLOPE, DropoutKind
from treecrf.network.nn.batch import Spans
from treecrf.network.nn.half_precision import runs_half_kernels
from treecrf.network.nn.lstm import SharedDropout
from treecrf.network.nn.rounding import is_rounding, round_weights, rounded_products

_SPANS_PER_CHUNK = 8192


class MLP(nn.Module):
    """`parts` independent layers over (b, n, d) in one matrix product, each initialized with an orthogonal matrix."""

    def __init__(
        self, input_size: int, size: int, *, parts: int = 1, dropout: float = 0.0, kind: DropoutKind = "shared"
    ) -> None:
        super().__init__()
        self.size = size
        self.linear = nn.Linear(input_size, parts * size)
        self.dropout = SharedDropout(dropout, kind=kind)
        for weight in torch.split(self.linear.weight.detach(), size):
            nn.init.orthogonal_(weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return torch.split(self.dropout(F.leaky_relu(self.linear(x), LEAKY_SLOPE)), self.size, -1)


class Scorer(nn.Module):
    """A span scorer. Other packages may have more of them: they define `project`, `forward` and perhaps `at`.

    They are built with the size of context vectors, their own size, the number of classes, and the `ModelConfig`.
    """

    is_rounded = False  # whether products are rounded as in the CPU runtime

    def reads_half(self, x: Tensor) -> bool:
        """Whether `at` takes boundary vectors of the half precision of x."""
        return False

    def halve_projection(self) -> None:
        """Computes boundary vectors in half precision from now on."""

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Left and right boundary vectors of context vectors (b, n, d)."""
        raise NotImplementedError

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Scores of all spans, (b, n, n, classes), for boundary vectors (b, n, d)."""
        raise NotImplementedError

    def at(self, left: Tensor, right: Tensor, spans: Spans) -> Tensor:
        """Scores of m spans, (m, classes), for boundary vectors (b, n, d)."""
        chart: Tensor = self(left, right)
        return chart.flatten(0, 2).index_select(0, spans.cells)

    def output_weights(self) -> list[nn.Parameter]:
        """The weights in which all scores are linear, and which a temperature divides."""
        raise ValueError(f"the scorer {type(self).__name__} has no temperature; calibrate with --keep-weights")


class Biaffine(Scorer):
    """[left; 1]' W [right; 1] for each class; without `bias_right`, [left; 1]' W right.

    The row and the column of W that are multiplied by 1 are separate parameters, so that no ones are concatenated.
    """

    def __init__(
        self,
        input_size: int,
        size: int,
        classes: int,
        *,
        bias_right: bool = True,
        dropout: float = 0.0,
        kind: DropoutKind = "shared",
    ) -> None:
        super().__init__()
        self.boundaries = MLP(input_size, size, parts=2, dropout=dropout, kind=kind)
        self.weight = nn.Parameter(torch.zeros(classes, size, size))
        self.weight_right = nn.Parameter(torch.zeros(classes, size))
        self.weight_left = nn.Parameter(torch.zeros(classes, size)) if bias_right else None
        self.bias = nn.Parameter(torch.zeros(classes)) if bias_right else None
        self._packed: Any = None

    def halve_projection(self) -> None:
        self.boundaries.half()

    def reads_half(self, x: Tensor) -> bool:
        return runs_half_kernels(x)

    def output_weights(self) -> list[nn.Parameter]:
        return list(self.parameters(recurse=False))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        left, right = self.boundaries(x)
        return left, right

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        classes = len(self.weight)
        batch, size = left.shape[:2]
        left_bias = None if self.weight_left is None else self.weight_left.flatten()
        with rounded_products(self.is_rounded):
            projected = F.linear(right, self.weight.flatten(0, 1), left_bias)
            linear = F.linear(right, self.weight_right, self.bias)
            if classes == 1 and is_rounding():  # the runtime has a second row with the rounding errors of this one
                linear = linear + F.linear(right, self.weight_right - round_weights(self.weight_right))
        chart = torch.baddbmm(linear.view(batch, 1, -1), left, projected.view(batch, size * classes, -1).mT)
        return chart.view(batch, size, size, classes)

    def at(self, left: Tensor, right: Tensor, spans: Spans) -> Tensor:
        """Scores of m spans, (m, classes), for boundary vectors (b, n, d).

        They are selected from the chart or computed for each pair of boundaries, whichever needs less memory.
        """
        if left.dtype == torch.float16:
            return self._half_scores(left, right, spans.cells)
        classes, width = self.weight_right.shape
        chart_size = left[..., 0].numel() * classes * (width + left.shape[1])
        if self.is_rounded or chart_size <= len(spans.cells) * width * width:
            return super().at(left, right, spans)
        chunks = [spans] if torch.is_grad_enabled() else spans.split(_SPANS_PER_CHUNK)
        return torch.cat([self._score_pairs(*chunk.boundary_vectors(left, right)) for chunk in chunks])

    def _half_scores(self, left: Tensor, right: Tensor, cells: Tensor) -> Tensor:
        from treecrf.network.nn import triton_biaffine

        if self._packed is None:  # the weights of a parser that computes in half precision do not change
            self._packed = triton_biaffine.pack_weights(self)
        return triton_biaffine.label_scores(left, right, cells, self._packed)

    def _score_pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """Scores (m, classes) of the spans between m pairs of boundary vectors, (m, d) each."""
        linear = F.linear(right, self.weight_right)
        if self.weight_left is not None:
            both = torch.cat([left, right], -1)
            linear = F.linear(both, torch.cat([self.weight_left, self.weight_right], -1), self.bias)
        return torch.addmm(linear, (left[:, :, None] * right[:, None, :]).flatten(1), self.weight.flatten(1).T)


class Minus(Scorer):
    """An MLP over the difference of two context vectors, for the paper's ablations.

    Its first layer is linear, so it is applied to the n boundaries instead of the n^2 differences. So is a dropout mask
    that is shared by the sentence: masks are not negative, and leaky ReLU commutes with multiplication by such numbers.
    Vanilla dropout has one mask for each difference.
    """

    def __init__(
        self, input_size: int, size: int, classes: int, *, dropout: float = 0.0, kind: DropoutKind = "shared"
    ) -> None:
        super().__init__()
        self.linear = nn.Linear(input_size, size, bias=False)
        self.bias = nn.Parameter(torch.zeros(size))
        self.dropout = SharedDropout(dropout, kind=kind)
        self.out = nn.Linear(size, classes)
        nn.init.orthogonal_(self.linear.weight)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def halve_projection(self) -> None:
        self.linear.half()

    def output_weights(self) -> list[nn.Parameter]:
        return list(self.out.parameters())

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        right = self.linear(x)
        if self.dropout.kind == "vanilla":
            return right + self.bias, right
        both = torch.cat([right + self.bias, right], 1)  # along the positions, so that both share a mask
        left, right = self.dropout(both).chunk(2, 1)
        return left, right

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return self._score(left[:, :, None], right[:, None])

    def at(self, left: Tensor, right: Tensor, spans: Spans) -> Tensor:
        return self._score(*spans.boundary_vectors(left, right))

    def _score(self, left: Tensor, right: Tensor) -> Tensor:
        hidden = F.leaky_relu(left - right, LEAKY_SLOPE)
        with rounded_products(self.is_rounded):
            return self.out(self.dropout(hidden) if self.dropout.kind == "vanilla" else hidden)  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class TensorScores:
    """Scores of all spans by fencepost, in float32; label scores are computed on request.

    The boundary vectors for labels may have half precision.
    """

    total_words: int
    is_crf: bool  # whether the scores are log-potentials of a CRF, which has marginals
    lengths: Tensor  # (b,)
    # (b, n + 1, n + 1); of one-stage models, the logsumexp (CRF) or the maximum (margin) over labels
    spans: Tensor
    left: Tensor  # (b, n + 1, d) left boundary vectors for labels
    right: Tensor  # (b, n + 1, d) right boundary vectors for labels
    label_scorer: Scorer
    labels: Tensor | None = None  # (b, n + 1, n + 1, labels) of one-stage models
    tags: Tensor | None = None  # (b, n, tags)
    words: Tensor | None = None  # (b, n, d) context vectors
    label_offsets: Tensor | None = None  # (labels,) numbers that are added to label scores

    def labels_at(self, spans: Spans) -> Tensor:
        """Label scores of m spans, (m, labels)."""
        scores = self._labels_at(spans)
        return scores if self.label_offsets is None else scores + self.label_offsets

    def candidate_labels(self, cells: Tensor) -> Tensor:
        """Label scores at m chart cells, (m, labels); the rows of negative cells may have any numbers."""
        spans = Spans.at(cells.clamp(min=0), self.spans.shape[1])
        return self.labels_at(spans._replace(cells=cells) if self.left.dtype == torch.float16 else spans)

    def _labels_at(self, spans: Spans) -> Tensor:
        if self.labels is not None:
            return self.labels.flatten(0, 2).index_select(0, spans.cells)
        with torch.autocast(self.left.device.type, enabled=False):
            return self.label_scorer.at(self.left, self.right, spans)

    def to_host(self) -> Scores:
        """The same scores as NumPy arrays (synchronizes the device)."""
        return Scores(
            is_crf=self.is_crf,
            lengths=_to_numpy(self.lengths),
            spans=_to_numpy(self.spans),
            score_labels=self._labels_at_cells,
            labels=None if self.labels is None else _to_numpy(self.labels),
            tags=None if self.tags is None else _to_numpy(self.tags),
            word_vectors=lambda: _to_numpy(self.word_vectors()),
        )

    def word_vectors(self) -> Tensor:
        """The context vectors of all words, (words, d); does not synchronize the device."""
        assert self.words is not None, "the scores come from a network"
        is_word = torch.arange(self.words.shape[1], device=self.words.device) < self.lengths[:, None]
        return self.words.flatten(0, 1)[nonzero_static(is_word.flatten(), self.total_words)]

    @torch.no_grad()
    def _labels_at_cells(self, cells: Ints) -> Floats:
        spans = Spans.at(torch.from_numpy(cells).to(self.spans.device), self.spans.shape[1])
        return _to_numpy(self.labels_at(spans))  # type: ignore[no-any-return]


def _to_numpy(tensor: Tensor) -> Any:
    return tensor.detach().cpu().numpy()


def nonzero_static(mask: Tensor, size: int) -> Tensor:
    """The indices of the first `size` true values of a flat mask, padded with 0; does not synchronize the device."""
    ranks = mask.cumsum(0) - 1
    indices = torch.arange(len(mask), device=mask.device)
    out = indices.new_zeros(size + 1)  # the last element receives the indices of false values
    return out.scatter_(0, ranks.masked_fill(~mask, size), indices)[:size]
