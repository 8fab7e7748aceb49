"""The threshold of expected-F1 decoding that maximizes F1 on a development set."""

from collections.abc import Sequence
from dataclasses import replace

from treecrf.parser import Parser
from treecrf.parser.evaluate import evaluation_tags
from treecrf.trees.evalb import COLLINS, Rules, evaluate
from treecrf.trees.tree import Tree

_ITERATIONS = 2  # the F1 hardly depends on the threshold, so two iterations are enough


def f1_optimal_threshold(parser: Parser, trees: Sequence[Tree], *, rules: Rules = COLLINS) -> float:
    """Half of the F1 that the parser has on these trees at this threshold; 0 if the paper's MBR has a higher F1.

    F1 is that of `rules` over all sentences, with punctuation deleted by the gold tags.
    F1 is 2 * matched / (gold + predicted). One more constituent of probability p adds 2p to the expected numerator and
    1 to the denominator, which raises F1 if p is above F1 / 2.
    """
    words = [tree.words for tree in trees]
    tags = evaluation_tags(parser, trees)
    original_threshold = parser.f1_threshold
    rules = replace(rules, max_error=None)

    def f1_at(threshold: float) -> float:
        parser.f1_threshold = threshold
        return evaluate(trees, parser.parse_many(words, tags=tags), rules=rules, use_gold_tags=True).f1 / 100

    try:
        mbr_f1 = f1 = f1_at(0.0)
        for _ in range(_ITERATIONS):
            threshold = round(f1 / 2, 3)
            f1 = f1_at(threshold)
    finally:
        parser.f1_threshold = original_threshold
    return threshold if f1 > mbr_f1 else 0.0
