from toygrammar import toy_trees
from treecrf.training.reproduce import speed


def test_speed_table_has_both_parsers_with_and_without_mbr(report):
    lines = {line["name"]: line for line in report["tables"]["speed"]["lines"]}
    for name in ("two-stage, without MBR", "two-stage, with MBR", "one-stage-crf, with MBR"):
        assert lines[name]["sentences_per_second"] > 0 and "network" in lines[name]["parts"]
    assert lines["two-stage, with MBR"]["paper"] == 743


def test_a_sample_has_all_trees_about_equally_often():
    trees = toy_trees(7, seed=1)
    sampled = speed.sample(trees, 17)
    assert len(sampled) == 17 and sampled == speed.sample(trees, 17)
    assert {sampled.count(tree) for tree in trees} == {2, 3}
