"""A small grammar over labels and tags."""

import numpy as np

from treecrf.parser.decoding import ExpectedF1
from treecrf.parser.decoding.grammar import Grammar
from treecrf.parser.decoding.label_grammar import NO_LABEL, NO_TAG, CandidateSpans, LabelGrammar
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import LabelSet
from treecrf.trees.treebank.well_formed import count_productions

TREES = [
    "(TOP (S (NP (DT the) (NN cat)) (VP (VB saw) (NP (DT a) (NN dog)))))",
    "(TOP (S (NP (NN cat)) (VP (VB sat))))",
    "(TOP (NP (NP (NN cat)) (NP (DT a) (NN dog))))",
    "(TOP (S (VP (VB sit)) (NP (NN cat))))",
    "(TOP (NN cat) (VB sat))",
]
COUNTS = count_productions(list(map(Tree.parse, TREES)))
LABELS = ("S", "NP", "(NP)", "S VP", "VP", "")
TAGS = ("DT", "NN", "VB")
LENGTHS = [7, 1, 12, 3, 2, 20]


def productions_log_prob(grammar: Grammar, tree: Tree) -> float:
    nodes = [node for node in tree.walk() if not node.is_leaf]
    return sum(grammar.children_log_prob(node.label, [child.label for child in node.child_trees]) for node in nodes)


def make_label_grammar(grammar: Grammar, weight: float) -> LabelGrammar:
    return LabelGrammar(grammar, LABELS, TAGS, root="TOP", empty_label=2, weight=weight)


def with_grammar(grammar: Grammar | None, threshold: float = 0.3) -> ExpectedF1:
    utility = ExpectedF1.for_labels(LabelSet(LABELS), threshold)
    label_grammar_ = None if grammar is None else make_label_grammar(grammar, 0.05)
    return ExpectedF1.for_labels(LabelSet(LABELS), threshold, label_grammar_) if grammar else utility


def random_candidates(generator: np.random.Generator, length: int) -> CandidateSpans:
    cells = [(start, end) for start in range(length) for end in range(start + 1, length + 1)]
    spans = [cell for cell in cells if cell == (0, length) or generator.random() < 0.6]
    chosen = [generator.choice([0, 1, 3, 4], 2, replace=False) for _ in spans]
    has_free_root = generator.random() < 0.5
    if has_free_root:
        place = spans.index((0, length))
        del spans[place], chosen[place]
    labels = np.array(chosen, np.int64).reshape(-1, 2)
    labels[generator.random(labels.shape) < 0.2] = NO_LABEL
    if not has_free_root:
        labels[spans.index((0, length)), 0] = 1
    required: list[tuple[int, int]] = []
    for place in np.flatnonzero((labels != NO_LABEL).any(1) & (generator.random(len(spans)) < 0.3)).tolist():
        required += [spans[place]] if not any(cross(spans[place], span) for span in required) else []
    kept = [not any(cross(span, other) for other in required) for span in spans]
    spans, labels = [span for span, is_kept in zip(spans, kept, strict=True) if is_kept], labels[kept]
    tags = np.array([generator.permutation(len(TAGS))[:2] for _ in range(length)], np.int64)
    tags[generator.random(length) < 0.5, 1] = NO_TAG
    return CandidateSpans(
        lengths=np.array([length]),
        tags=tags,
        tag_utility=generator.normal(0, 0.5, tags.shape).astype(np.float32),
        size=length + 1,
        cells=np.array([start * (length + 1) + end for start, end in spans], np.int64),
        labels=labels,
        utility=generator.normal(0, 0.5, labels.shape).astype(np.float32),
        sentence_labels=np.array([2 if has_free_root else NO_LABEL]),
        required=np.array([span in required for span in spans], np.bool_),
    )


def cross(span: tuple[int, int], other: tuple[int, int]) -> bool:
    return span[0] < other[0] < span[1] < other[1] or other[0] < span[0] < other[1] < span[1]
