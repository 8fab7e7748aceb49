"""What a parser said of gold trees' words, beside what is true: the evidence that calibration is judged by.

A constituent counts as right if the gold tree has it, all words and labels as they stand; the root, which is always
there, is left out. The probability of a tree is that of all binary trees that make it, whatever their parts are called.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.data.batch import Spans
from treecrf.data.bucketing import sorted_batches
from treecrf.decoding import Decoded, decode
from treecrf.decoding.analysis import bracket_crf
from treecrf.nn import Scores
from treecrf.parser import Parser
from treecrf.tree import Span, Tree
from treecrf.treebank.binarize import LabelSet, from_spans, to_spans, unary_chain


@dataclass(frozen=True, kw_only=True)
class Points:
    """Predictions of one kind: how probable each was said to be, and whether it is right."""

    probabilities: list[float] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)

    def add(self, probability: float, right: bool) -> None:
        self.probabilities.append(min(1.0, probability))
        self.right.append(right)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Predictions about sentences: constituents with their labels, without them, and whole trees."""

    labelled: Points = field(default_factory=Points)
    unlabelled: Points = field(default_factory=Points)
    trees: Points = field(default_factory=Points)
    counts: list[tuple[int, int, int]] = field(default_factory=list)  # gold, predicted, matched; of each sentence


def gather(parser: Parser, trees: Sequence[Tree], *, mbr: bool = True) -> Evidence:
    """Parse the words of gold trees, and compare."""
    evidence = Evidence()
    for scores, gold in scored(parser, trees):
        _add_batch(evidence, parser, scores, gold, mbr=mbr)
    return evidence


def scored(parser: Parser, trees: Sequence[Tree]) -> Iterator[tuple[Scores, list[Tree]]]:
    """The network's scores of gold trees' words, batch by batch, with the trees of each."""
    parser.model.eval()
    read_tags = parser.model.config.tag_size > 0
    for members in sorted_batches([len(tree.words) for tree in trees], budget=parser.batching.budget):
        gold = [trees[member] for member in members]
        tags = [tree.tags for tree in gold] if read_tags else None
        batch = parser.numericalizer.collate([tree.words for tree in gold], tags=tags)
        with torch.no_grad():
            scores = parser.model(batch.to(parser.device))
        yield scores, gold


@torch.no_grad()
def _add_batch(evidence: Evidence, parser: Parser, scores: Scores, gold: list[Tree], *, mbr: bool) -> None:
    labels = LabelSet(parser.vocabulary.labels)
    decoded = decode(scores, mbr=mbr, expected_f1=parser.expected_f1)
    crf = bracket_crf(scores)
    size = scores.spans.shape[1]
    owners = torch.repeat_interleave(2 * scores.lengths - 1)
    cells = (owners * size + decoded.starts) * size + decoded.ends
    posteriors = scores.labels_at(Spans.at(cells, size)).softmax(-1)
    marginals = crf.marginals.flatten()[cells]
    held = torch.from_numpy(labels.contains).to(posteriors)[:, :-1]
    named = (marginals[:, None] * (posteriors @ held)).tolist()
    is_chain = torch.tensor([bool(unary_chain(label)) for label in labels.strings], device=cells.device)
    anything = (marginals * (posteriors * is_chain).sum(-1)).tolist()
    predicted = _predicted(decoded.cpu(), gold, labels, parser.root)
    probabilities = tree_log_probs(scores, crf, [tree for _, tree in predicted], labels).exp().tolist()
    columns = {name: column for column, name in enumerate(labels.names)}
    first = 0
    for (spans, tree), truth, probability in zip(predicted, gold, probabilities, strict=True):
        left = _constituents(truth)
        places = {(start, end) for start, end, _ in left}
        size_of_gold, matched = left.total(), 0
        for number, (start, end, label) in enumerate(spans, first):
            for name in unary_chain(label):
                constituent = Span(start, end, name)
                is_right = left[constituent] > 0
                left[constituent] -= is_right
                matched += is_right
                evidence.labelled.add(parser.calibration(named[number][columns[name]]), is_right)
            if unary_chain(label):
                evidence.unlabelled.add(parser.calibration(anything[number]), (start, end) in places)
        first += len(spans)
        evidence.trees.add(probability, _constituents(tree) == _constituents(truth))
        evidence.counts.append((size_of_gold, _constituents(tree).total(), matched))


def _predicted(decoded: Decoded, gold: Iterable[Tree], labels: LabelSet, root: str) -> list[tuple[list[Span], Tree]]:
    strings = [labels.strings[label] for label in decoded.labels.tolist()]
    spans = list(map(Span, decoded.starts.tolist(), decoded.ends.tolist(), strings))
    found, first = [], 0
    for tree in gold:
        leaves = tree.leaves()
        own = spans[first : first + 2 * len(leaves) - 1]
        found.append((own, from_spans(own, leaves, root)))
        first += len(own)
    return found


def _constituents(tree: Tree) -> Counter[Span]:
    """A tree's constituents below its root."""
    found = Counter(tree.spans())
    found[Span(0, len(tree.words), tree.label)] -= not tree.is_leaf
    return +found


def tree_log_probs(scores: Scores, crf: SpanCRF, trees: Sequence[Tree], labels: LabelSet) -> Tensor:
    """The log-probability of each tree: of all labelled binary trees that make it, (b,).

    Those are the trees of a smaller chart. A constituent of the tree is there with its very label, and any other span
    that crosses none is there, if at all, with the label of a part.
    """
    size, device = scores.spans.shape[1], scores.spans.device
    ids = {label: number for number, label in enumerate(labels.strings)}
    known = [
        (sentence * size * size + start * size + end, ids.get(label, -1))
        for sentence, tree in enumerate(trees)
        for start, end, label in to_spans(tree)
        if unary_chain(label)
    ]
    cells = torch.tensor([cell for cell, _ in known], dtype=torch.int64, device=device)
    chosen = torch.tensor([label for _, label in known], dtype=torch.int64, device=device)
    open_cells = _open_cells(trees, size).to(device)
    parts = torch.tensor([not unary_chain(label) for label in labels.strings], device=device)
    chart = torch.full_like(scores.spans, -torch.inf).flatten()
    free = scores.labels_at(Spans.at(open_cells, size)).log_softmax(-1)
    chart[open_cells] = free.masked_fill(~parts, -torch.inf).logsumexp(-1)
    named = scores.labels_at(Spans.at(cells, size)).log_softmax(-1)
    exact = named.gather(1, chosen.clamp(min=0)[:, None])[:, 0]
    chart[cells] = exact.masked_fill(chosen < 0, -torch.inf)
    own = SpanCRF(chart.view_as(scores.spans) + crf.scores, scores.lengths, validate=False)
    return (own.log_partition - crf.log_partition).clamp(max=0.0)


def _open_cells(trees: Sequence[Tree], size: int) -> Tensor:
    """The cells of spans that cross no constituent: those between two children of one node, and single words."""
    cells: set[int] = set()
    for sentence, tree in enumerate(trees):
        base = sentence * size * size
        for node, start in _nodes(tree):
            fences = [start]
            for child in node.subtrees:
                fences.append(fences[-1] + len(child.words))
            cells |= {base + i * size + j for place, i in enumerate(fences) for j in fences[place + 1 :]}
        cells |= {base + i * size + i + 1 for i in range(len(tree.words))}
    return torch.tensor(sorted(cells), dtype=torch.int64)


def _nodes(tree: Tree) -> Iterator[tuple[Tree, int]]:
    """The constituents of a tree, and where each starts."""
    todo = [(tree, 0)]
    while todo:
        node, start = todo.pop()
        if node.is_leaf:
            continue
        yield node, start
        for child in node.subtrees:
            todo.append((child, start))
            start += len(child.words)
