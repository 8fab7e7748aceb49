"""Scoring equal to EVALB, and what goes beyond it.

Every number that EVALB prints is the same here, for broken trees too, with these exceptions: nothing is too long or too
deep; `DEBUG` in a parameter file prints nothing more; and where EVALB reads memory that is none of the tree's (past the
end of a line that stops at an opening bracket, or below its stack after lines that closed more than they opened), we do
not.

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
