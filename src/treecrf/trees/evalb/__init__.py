"""Bracketing scores equal to EVALB's, with unlabeled scores, bootstrap intervals and paired tests.

Every number equals EVALB's, also for malformed trees, with these exceptions. There is no limit on length or depth.
`DEBUG` in a parameter file has no effect. EVALB reads memory outside the tree if a line ends with an opening bracket,
and after lines with more closing than opening brackets; this package does not.

>>> from treecrf import Tree
>>> gold = [Tree.parse("(TOP (S (NP (PRP We)) (VP (VBP parse) (NP (NNS trees))) (. .)))")]
>>> score = evaluate(gold, gold, rules=Rules.named("collins"))
>>> score.f1, score.all.complete_match
(100.0, 100.0)
"""

from treecrf.trees.evalb.match import BracketCounts, Status
from treecrf.trees.evalb.rules import COLLINS, CTB, SPMRL, Rules, find_rules
from treecrf.trees.evalb.score import Accuracy, Message, Score, SentenceScore, Summary, evaluate, evaluate_lines

__all__ = [
    "COLLINS",
    "CTB",
    "SPMRL",
    "Accuracy",
    "BracketCounts",
    "Message",
    "Rules",
    "Score",
    "SentenceScore",
    "Status",
    "Summary",
    "evaluate",
    "evaluate_lines",
    "find_rules",
]
