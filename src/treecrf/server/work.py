"""Estimates the work of parsing a sentence, in units of one word of a short sentence."""

_CUBIC_WORDS = 100  # sentence length at which the cubic part of parsing takes as long as the linear part
_KBEST_FACTOR = 10  # a search for alternatives takes this much longer than a parse
_ALTERNATIVE_WORK = 5  # of each alternative, also in the shortest sentence


def sentence_work(words: int, *, k: int = 0, marginals: bool = False) -> float:
    """The estimated work: linear in short sentences, cubic in long ones, and more for k-best trees and marginals.

    >>> [round(sentence_work(words)) for words in (1, 10, 100, 300)]
    [1, 10, 200, 3000]
    >>> round(sentence_work(100, k=20))
    6300
    """
    passes = 1 + marginals + (_KBEST_FACTOR + k if k else 0)
    return words * (1 + (words / _CUBIC_WORDS) ** 2) * passes + _ALTERNATIVE_WORK * k
