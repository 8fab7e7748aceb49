from small import random_parser
from toygrammar import toy_trees
from treecrf.training.reproduce.breakdown import by_genre, by_label, by_length, by_width
from treecrf.trees.evalb import COLLINS, evaluate
from treecrf.trees.evalb.score import summarize

GOLD = toy_trees(30, seed=2)
PARSER = random_parser(GOLD)
PREDICTED = list(PARSER.parse_many([tree.words for tree in GOLD], tags=[tree.tags for tree in GOLD]))
SCORE = evaluate(GOLD, PREDICTED)


def test_perfect_trees_have_f1_100_in_every_group():
    score = evaluate(GOLD, GOLD)
    groups = [by_length([score]), by_label([score]), by_genre([score], [("a", 10), ("b", 20)])]
    groups.append(by_width(GOLD, [GOLD], [score], COLLINS))
    assert all(group["f1"] == 100 for table in groups for group in table)
    assert sum(group["sentences"] for group in groups[0]) == 30
    assert [group["sentences"] for group in groups[2]] == [10, 20]


def test_widths_and_labels_add_up_to_all_constituents():
    total = summarize(SCORE.sentences).brackets
    widths = by_width(GOLD, [PREDICTED], [SCORE], COLLINS)
    assert sum(group["gold"] for group in widths) == total.gold
    recalled = sum(group["gold"] * group["recall"] / 100 for group in widths)
    assert round(recalled) == total.recalled
    assert sum(group["gold"] for group in by_label([SCORE])) == total.gold


def test_equal_runs_do_not_change_the_groups():
    once, twice = by_width(GOLD, [PREDICTED], [SCORE], COLLINS), by_width(GOLD, [PREDICTED] * 2, [SCORE] * 2, COLLINS)
    assert once == twice
    assert by_length([SCORE]) == by_length([SCORE, SCORE])
    assert by_label([SCORE]) == by_label([SCORE, SCORE])
