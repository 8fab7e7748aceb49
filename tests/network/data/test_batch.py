from network.nn.batches import TREES, host_batch_of
from treecrf.network.data.batch import BOS, EOS, PAD, SPECIAL, UNK


def test_special_ids_come_first():
    assert (PAD, UNK, BOS, EOS) == (0, 1, 2, 3) and len(SPECIAL) == 4


def test_a_batch_counts_the_labels_of_its_loss():
    trees = TREES[:4]
    batch = host_batch_of(trees)
    assert batch.longest == max(len(tree.words) for tree in trees) == batch.words.shape[1] - 2
    assert batch.total_labels == sum(2 * len(tree.words) - 1 for tree in trees) == len(batch.labels)
