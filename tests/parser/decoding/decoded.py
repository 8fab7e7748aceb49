import torch

from kernels import DEVICE
from parser.decoding.random_scores import LABELS
from treecrf.network import nn
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding import ExpectedF1
from treecrf.trees.treebank.binarize import LabelSet
from treecrf.trees.treebank.bracket_writer import FlatTrees


def utility(threshold: float | None) -> ExpectedF1 | None:
    return threshold and ExpectedF1.for_labels(LabelSet(LABELS), threshold)


def parts(decoded: FlatTrees) -> list[list[int] | None]:
    arrays = (decoded.starts, decoded.ends, decoded.labels, decoded.tags)
    return [None if array is None else array.tolist() for array in arrays]


def to_torch(scores: Scores) -> nn.TensorScores:
    """The same scores as tensors, on a GPU if there is one."""

    class TableScorer:
        def at(self, left, right, spans):
            return torch.from_numpy(scores.labels_at(spans.cells.cpu().numpy())).to(DEVICE)

    spans, labels, tags = (
        None if array is None else torch.from_numpy(array).to(DEVICE)
        for array in (scores.spans, scores.labels, scores.tags)
    )
    boundaries = torch.zeros(*scores.spans.shape[:2], 1, device=DEVICE)
    return nn.TensorScores(
        total_words=int(scores.lengths.sum()),
        is_crf=scores.is_crf,
        lengths=torch.from_numpy(scores.lengths).to(DEVICE),
        spans=spans,
        left=boundaries,
        right=boundaries,
        label_scorer=TableScorer(),
        labels=labels,
        tags=tags,
    )
