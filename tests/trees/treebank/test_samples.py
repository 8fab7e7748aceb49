from treecrf.trees.treebank import read_trees, samples


def test_every_sample_is_a_treebank():
    assert samples.names() == ["chinese.fid", "english.mrg", "fifty.mrg"]
    assert [len(list(read_trees(samples.FOLDER / name))) > 1 for name in samples.names()] == [True] * 3
