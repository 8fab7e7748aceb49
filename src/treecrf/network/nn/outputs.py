"""The scores that the network computes for a batch."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from treecrf.arrays import Floats, Ints
from treecrf.network.data.scores import Scores
from treecrf.network.nn.batch import Spans
from treecrf.network.nn.scorers import Biaffine, Minus


@dataclass(frozen=True, kw_only=True)
class TensorScores:
    """Scores of all spans by fencepost, in float32; label scores are computed on request."""

    total_words: int
    is_crf: bool  # whether the scores are log-potentials of a CRF, which has marginals
    lengths: Tensor  # (b,)
    # (b, n + 1, n + 1); of one-stage models, the logsumexp (CRF) or the maximum (margin) over labels
    spans: Tensor
    left: Tensor  # (b, n + 1, d) left boundary vectors for labels
    right: Tensor  # (b, n + 1, d) right boundary vectors for labels
    label_scorer: Biaffine | Minus
    labels: Tensor | None = None  # (b, n + 1, n + 1, labels) of one-stage models
    tags: Tensor | None = None  # (b, n, tags)

    def labels_at(self, spans: Spans) -> Tensor:
        """Label scores of m spans, (m, labels)."""
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
        )

    @torch.no_grad()
    def _labels_at_cells(self, cells: Ints) -> Floats:
        spans = Spans.at(torch.from_numpy(cells).to(self.spans.device), self.spans.shape[1])
        return _to_numpy(self.labels_at(spans))  # type: ignore[no-any-return]


def _to_numpy(tensor: Tensor) -> Any:
    return tensor.detach().cpu().numpy()
