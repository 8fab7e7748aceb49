"""The distribution over the bracketings of each sentence, with the labels summed out."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treecrf.arrays import Doubles, Ints, Reals
from treecrf.chart import inside_outside
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding.log_space import logsumexp


@dataclass(frozen=True, kw_only=True)
class BracketDistribution:
    """The bracketings of b sentences. A tree's score is the sum of its spans' scores; charts are (b, n + 1, n + 1).

    Forbidden spans have a score of -inf. The scores of a max-margin model are used as log-potentials.
    """

    scores: Reals
    lengths: Ints  # (b,)
    log_z: Doubles  # (b,)
    marginals: Reals  # the probability of every span

    @staticmethod
    def of(scores: Scores) -> "BracketDistribution":
        """The distribution that a batch's scores define."""
        spans: Reals = scores.spans
        if not scores.is_crf and scores.labels is not None:
            spans = np.where(spans == -np.inf, -np.inf, logsumexp(scores.labels)).astype(spans.dtype)
        _, log_z, marginals = inside_outside(spans, scores.lengths)
        return BracketDistribution(scores=spans, lengths=scores.lengths, log_z=log_z, marginals=marginals)

    def rows(self) -> Iterator[tuple[list[float], ...]]:
        """The marginals of each sentence: row i has the probability of the span `words[i:j]` for every j > i."""
        for chart, length in zip(self.marginals, self.lengths.tolist(), strict=True):
            rows = chart[:length, : length + 1].clip(0, 1).tolist()
            yield tuple(row[start + 1 :] for start, row in enumerate(rows))

    @cached_property
    def entropies(self) -> list[float]:
        """The entropy of each sentence's distribution, in nats."""
        return list(map(self._entropy, range(len(self.lengths))))

    def _entropy(self, sentence: int) -> float:
        length = int(self.lengths[sentence])
        rows, columns = np.triu_indices(length + 1, 1)
        marginals = self.marginals[sentence, rows, columns].astype(np.float64)
        scores = self.scores[sentence, rows, columns].astype(np.float64)
        # A tree has 2n - 1 spans. Dividing log Z among them keeps huge scores from canceling only at the end.
        # Spans of probability 0 contribute nothing, although their score may be -inf.
        surprisal = self.log_z[sentence] / (2 * length - 1) - np.where(marginals > 0, scores, 0.0)
        return max(0.0, float((marginals * surprisal)[marginals > 0].sum()))
