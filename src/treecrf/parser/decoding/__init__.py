"""Decoding: from scores to trees, their probabilities and alternatives."""

from treecrf.parser.decoding.decode import Decoded, decode
from treecrf.parser.decoding.expected_f1 import ExpectedF1

__all__ = ["Decoded", "ExpectedF1", "decode"]
