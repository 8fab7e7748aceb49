"""The distances between two pieces: the attention of an MPNet has a score for each bucket of them."""

import math

import numpy as np

from treecrf.arrays import Floats, Ints

FARTHEST = 128  # distance from which all are in the last bucket


def distance_buckets(count: int) -> Ints:
    """The buckets of the distances from -FARTHEST to FARTHEST.

    Half of them are for pieces to the left. A quarter is for one small distance each, and the rest for larger and
    larger ranges.
    """
    half, exact = count // 2, count // 4
    distances = np.arange(-FARTHEST, FARTHEST + 1)
    sizes = np.abs(distances)
    logarithms = np.log(np.maximum(sizes, exact).astype(np.float32) / np.float32(exact))
    steps = logarithms / np.float32(math.log(FARTHEST / exact)) * np.float32(half - exact)
    far = np.minimum(exact + steps.astype(np.int64), half - 1)
    buckets: Ints = np.where(sizes < exact, sizes, far) + half * (distances > 0)
    return buckets


def distance_scores(table: Floats) -> Floats:
    """The scores (heads, 2 * FARTHEST + 1) of the same distances, given those (buckets, heads) of their buckets."""
    return np.ascontiguousarray(table[distance_buckets(len(table))].T)
