"""The scores of a batch as NumPy arrays, which every scorer can give."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from treecrf.arrays import Floats, Ints


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of b sentences of at most n words. A chart is (b, n + 1, n + 1) by fencepost.

    A flat chart cell is (sentence * (n + 1) + start) * (n + 1) + end.
    """

    is_crf: bool  # whether the scores are log-potentials of a CRF, which has marginals
    lengths: Ints  # (b,) words
    # (b, n + 1, n + 1); of one-stage models, the logsumexp (CRF) or the maximum (margin) over labels
    spans: Floats
    score_labels: Callable[[Ints], Floats]  # flat chart cells (m,) to label scores (m, labels)
    labels: Floats | None = None  # (b, n + 1, n + 1, labels) of one-stage models
    tags: Floats | None = None  # (b, n, tags)

    def labels_at(self, cells: Ints) -> Floats:
        """The label scores of spans at flat chart cells, (m, labels)."""
        return self.score_labels(cells)

    def check_finite(self) -> "Scores":
        """The same scores; raises a ValueError if one of them is not a finite number, now or when it is computed."""
        if not np.isfinite(self.spans).all():  # padding may have any number
            places = np.arange(self.spans.shape[1])
            is_span = (places[:, None] < places) & (places <= self.lengths[:, None, None])
            _check_finite(self.spans[is_span])
        return replace(self, score_labels=lambda cells: _check_finite(self.score_labels(cells)))


def _check_finite(scores: Floats) -> Floats:
    require_finite(bool(np.isfinite(scores).all()))
    return scores


def require_finite(is_finite: bool) -> None:
    """Raises a ValueError if not all scores of a model are finite numbers."""
    if not is_finite:
        raise ValueError("the model computes scores that are not finite numbers; its weights are damaged or too large")
