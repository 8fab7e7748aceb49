"""Scoring equal to EVALB, and what goes beyond it.

>>> from treecrf import Tree
>>> gold = [Tree.parse("(TOP (S (NP (PRP We)) (VP (VBP parse) (NP (NNS trees))) (. .)))")]
>>> score = evaluate(gold, gold, rules=Rules.named("collins"))
>>> score.f1, score.all.complete_match
(100.0, 100.0)
"""

from treecrf.evalb.match import Counts, Status
from treecrf.evalb.rules import COLLINS, CTB, SPMRL, Rules
from treecrf.evalb.score import Message, Score, evaluate, evaluate_lines
from treecrf.evalb.summary import Accuracy, Sentence, Summary

__all__ = [
    "COLLINS",
    "CTB",
    "SPMRL",
    "Accuracy",
    "Counts",
    "Message",
    "Rules",
    "Score",
    "Sentence",
    "Status",
    "Summary",
    "evaluate",
    "evaluate_lines",
]
