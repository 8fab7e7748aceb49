import numpy as np
import pytest
import torch

from treecrf.network.data.distances import FARTHEST, distance_buckets, distance_scores

DISTANCES = np.arange(-FARTHEST, FARTHEST + 1)


def test_distances_have_the_buckets_of_mpnet() -> None:
    mpnet = pytest.importorskip("transformers.models.mpnet.modeling_mpnet", reason="transformers is not installed")
    distances = torch.arange(-300, 301)
    for count in range(4, 512):
        expected = mpnet.MPNetEncoder.relative_position_bucket(distances, num_buckets=count)
        actual = distance_buckets(count)[distances.clamp(-FARTHEST, FARTHEST) + FARTHEST]
        assert np.array_equal(actual, expected), count


def test_near_pieces_have_a_bucket_for_each_distance() -> None:
    buckets = dict(zip(DISTANCES.tolist(), distance_buckets(16).tolist(), strict=True))
    assert [buckets[distance] for distance in range(-3, 4)] == [3, 2, 1, 0, 9, 10, 11]
    assert buckets[-FARTHEST] == 7 and buckets[FARTHEST] == 15


def test_each_distance_has_the_score_of_its_bucket_for_each_head() -> None:
    table = np.random.default_rng(0).standard_normal((32, 3)).astype(np.float32)
    scores = distance_scores(table)
    assert scores.shape == (3, len(DISTANCES)) and scores.flags.c_contiguous
    assert np.array_equal(scores.T, table[distance_buckets(32)])
