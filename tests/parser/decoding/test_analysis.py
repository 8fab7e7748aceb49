"""Analyses against the enumeration of all labeled binary trees."""

import pytest

from parser.decoding.analyses import analyze, analyze_all, check, few_derivations, few_scores
from parser.decoding.random_scores import (
    LABELS,
    LOSSES,
    REPEATED,
    random_scores,
    select_sentence,
)
from treecrf.trees.treebank.binarize import LabelSet


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("labels", [LABELS, REPEATED], ids=["labels", "repeated names"])
@pytest.mark.parametrize("loss", LOSSES)
def test_an_analysis_equals_enumeration(loss: str, labels: tuple[str, ...], length: int) -> None:
    all_derivations = few_derivations(loss, length, labels)
    k = min(30, len(all_derivations))
    analysis = analyze(few_scores(loss, length, labels), labels=LabelSet(labels), k=k)
    check(analysis, all_derivations)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mbr", [True, False])
def test_an_analysis_is_the_same_alone_and_in_a_batch(loss: str, mbr: bool) -> None:
    together = random_scores([4, 9, 1], labels=len(LABELS), loss=loss)
    sentences = [select_sentence(together, number) for number in range(3)]
    assert analyze_all(together, k=3, mbr=mbr) == [analyze(sentence, k=3, mbr=mbr) for sentence in sentences]


def test_a_flat_tree_is_one_alternative() -> None:
    labels = LabelSet(["(TOP)"])
    analysis = analyze(random_scores([12], labels=1), labels=labels, k=5)
    assert [alternative.tree for alternative in analysis.alternatives] == [analysis.tree]
    assert analysis.log_prob == pytest.approx(0.0, abs=1e-5)
    assert analysis.constituents[0].probability == 1.0 and len(analysis.constituents) == 1


def test_without_alternatives_an_analysis_is_exact() -> None:
    analysis = analyze(random_scores([4], labels=len(LABELS)), k=0)
    assert analysis.alternatives_exact and not analysis.alternatives
