import pytest

from parser.decoding.analyses import analyze, constrain, few_derivations, few_scores, satisfies
from parser.decoding.random_scores import (
    LABELS,
    REPEATED,
    random_scores,
    tree_probabilities,
)
from treecrf.parser.decoding.constraints import Constraints
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import LabelSet, repeating_labels


def test_label_scores_in_blocks_give_the_same_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = Constraints(require=[(3, 7, "NP")], forbid=[(0, 1), (0, 2, "NP")])
    scores = constrain(random_scores([12], labels=len(LABELS), seed=6), constraint)
    whole = analyze(scores, k=8)
    monkeypatch.setattr("treecrf.parser.decoding.label_chart._BLOCK", 5)
    assert analyze(scores, k=8) == whole
    assert all(satisfies(alternative.tree, constraint) for alternative in whole.alternatives)


def test_excluded_labels_are_in_no_alternative() -> None:
    labels = LabelSet(REPEATED)
    scores = few_scores("two-stage", 3, REPEATED)
    log_probs = tree_probabilities(few_derivations("two-stage", 3, REPEATED))
    analysis = analyze(scores, labels=labels, k=40, excluded=repeating_labels(labels))
    allowed = [tree for tree in log_probs if not is_repeating(tree)]
    assert [alternative.tree for alternative in analysis.alternatives] == allowed[:40]
    assert [alternative.log_prob for alternative in analysis.alternatives] == pytest.approx(
        [log_probs[tree] for tree in allowed[:40]], abs=1e-5
    )


def is_repeating(tree: Tree) -> bool:
    nodes = [node for node in tree.walk() if len(node.child_trees) == 1]
    return any(node.label == node.child_trees[0].label for node in nodes)
