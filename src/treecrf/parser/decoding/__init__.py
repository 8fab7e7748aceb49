"""Decoding: from scores to trees, their probabilities and alternatives."""

from treecrf.parser.decoding.decode import decode
from treecrf.parser.decoding.expected_f1 import ExpectedF1

__all__ = ["ExpectedF1", "decode"]
