from small import random_parser
from toygrammar import toy_trees
from treecrf.evalb import COLLINS, evaluate
from treecrf.evalb.summary import summarize
from treecrf.reproduce.breakdown import by_genre, by_label, by_length, by_width

GOLD = toy_trees(30, seed=2)
PARSER = random_parser(GOLD)
FOUND = list(PARSER.parse_many([tree.words for tree in GOLD], tags=[tree.tags for tree in GOLD]))
SCORE = evaluate(GOLD, FOUND)


def test_a_perfect_parser_is_perfect_everywhere():
    score = evaluate(GOLD, GOLD)
    groups = [by_length([score]), by_label([score]), by_genre([score], [("a", 10), ("b", 20)])]
    groups.append(by_width(GOLD, [GOLD], [score], COLLINS))
    assert all(group["f1"] == 100 for some in groups for group in some)
    assert sum(group["sentences"] for group in groups[0]) == 30
    assert [group["sentences"] for group in groups[2]] == [10, 20]


def test_widths_and_labels_add_up_to_all_constituents():
    total = summarize(SCORE.sentences).brackets
    widths = by_width(GOLD, [FOUND], [SCORE], COLLINS)
    assert sum(group["gold"] for group in widths) == total.gold
    right = sum(group["gold"] * group["recall"] / 100 for group in widths)
    assert round(right) == total.recalled
    assert sum(group["gold"] for group in by_label([SCORE])) == total.gold


def test_several_runs_are_taken_together():
    once, twice = by_width(GOLD, [FOUND], [SCORE], COLLINS), by_width(GOLD, [FOUND] * 2, [SCORE] * 2, COLLINS)
    assert once == twice
    assert by_length([SCORE]) == by_length([SCORE, SCORE])
    assert by_label([SCORE]) == by_label([SCORE, SCORE])
