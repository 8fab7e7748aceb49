"""Decoding: from scores to trees, their probabilities and alternatives."""

from treecrf.decoding.decode import Decoded, decode
from treecrf.decoding.expected_f1 import ExpectedF1

__all__ = ["Decoded", "ExpectedF1", "decode"]
