"""Classes of words by their capital letters, for the tag head of networks whose encoder ignores them."""

import numpy as np

from treecrf.arrays import Ints

_NO_CASE, _LOWER, _CAPITALIZED, _UPPER, _INITIAL, _MIXED = range(6)
_CASED_CLASSES = 5  # all but the first
CAPITAL_CLASSES = 1 + 2 * _CASED_CLASSES  # cased words have other classes if they are the first of a sentence


def word_class(word: str) -> int:
    """The class of a word out of context; 0 if it has no letters with case.

    >>> [word_class(word) for word in ["42", "tree", "Tree", "NP", "I", "iPod"]]
    [0, 1, 2, 3, 4, 5]
    """
    if word.lower() == word.upper():
        return _NO_CASE
    if word.islower():
        return _LOWER
    if word.isupper():
        return _UPPER if len(word) > 1 else _INITIAL
    return _CAPITALIZED if word[0].isupper() and word[1:].islower() else _MIXED


def classes_in_context(word_classes: Ints) -> Ints:
    """The classes of the words of sentences, (b, n), from their classes out of context, which are 0 in padding.

    The first cased word of a sentence has another class than elsewhere, because sentences begin with a capital letter.
    If a sentence has no capitals, or nothing else, its capitals mean nothing, and its words have class 0.
    """
    has_capitals = (word_classes > _LOWER).any(1, keepdims=True)
    has_lower_case = np.isin(word_classes, (_LOWER, _CAPITALIZED, _MIXED)).any(1, keepdims=True)
    classes = np.where(has_capitals & has_lower_case, word_classes, _NO_CASE)
    sentences = np.arange(len(classes))
    first = (classes > _NO_CASE).argmax(1)
    classes[sentences, first] += np.where(classes[sentences, first] > _NO_CASE, _CASED_CLASSES, 0)
    return classes
