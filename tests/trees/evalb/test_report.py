import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treecrf import Tree
from treecrf.trees.evalb import Rules, evaluate, evaluate_lines
from treecrf.trees.evalb.bootstrap import compare, intervals
from treecrf.trees.evalb.report import as_dict, extended_text
from trees.evalb.pairs import pairs

DATA = Path(__file__).parents[2] / "samples" / "evalb"


def read_lines(name):
    return (DATA / name).read_text(encoding="utf-8").split("\n")[:-1]


def test_hand_worked_cases_print_evalbs_output():
    score = evaluate_lines(read_lines("gold.mrg"), read_lines("predicted.mrg"), rules=Rules.read(DATA / "rules.prm"))
    assert str(score).split("\n") == (DATA / "expected.txt").read_text(encoding="utf-8").split("\n")
    assert [message.sentence for message in score.messages] == [9, 10, 11, 16, 17, 19]


def test_no_sentences_print_evalbs_division_by_zero():
    lines = str(evaluate([], [])).split("\n")
    assert lines[2:5] == ["=" * 76, "=" * 76, "      0     0     0.00"]
    assert lines.count("Bracketing FMeasure       =   -nan") == 2


def test_the_second_block_names_the_cutoff():
    assert "\n-- len<=17 --\n" in str(evaluate([], [], rules=Rules(cutoff=17)))


def test_wide_numbers_widen_their_columns():
    leaves = tuple(Tree("NN", (str(number),)) for number in range(12_345))
    tree = Tree("S", (Tree("NP", leaves),))
    assert str(evaluate([tree], [tree])).split("\n")[3] == (
        "   1  12345    0  100.00 100.00     2      2    2      0   12345  12345   100.00"
    )


@pytest.mark.parametrize(("limit", "rows"), [(0, 2), (1, 3), (2, 4)])
def test_only_rows_before_a_fatal_error_are_printed(limit, rows):
    gold, predicted = ["(S (NN cat))"] * 5, ["(S (NN cat))"] + ["(S (NN dog))"] * 4
    whole = str(evaluate_lines(gold, predicted, rules=Rules(max_error=None))).split("\n")
    stopped = str(evaluate_lines(gold, predicted, rules=Rules(max_error=limit))).split("\n")
    assert stopped == [*whole[: 3 + rows], ""]


@settings(max_examples=30)
@given(st.lists(pairs(), min_size=1, max_size=4))
def test_the_dictionary_is_json(samples):
    score = evaluate(*zip(*samples, strict=True))
    found = as_dict(score, intervals(score, resamples=10), compare(score, score, resamples=10))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert len(found["sentences"]) == len(samples)


@settings(max_examples=30)
@given(st.lists(pairs(), max_size=4))
def test_every_label_and_length_has_a_line(samples):
    score = evaluate([gold for gold, _ in samples], [predicted for _, predicted in samples])
    lines = extended_text(score, {}).split("\n")
    by_label = lines[lines.index("-- By label --") + 2 : -1]
    by_length = lines[lines.index("-- By length --") + 2 : lines.index("-- By label --") - 1]
    assert sorted(line.split()[0] for line in by_label) == sorted(label or "(none)" for label in score.labels)
    assert [line.split()[0] for line in by_length] == [f"{first}-{last}" for first, last in score.by_length()]


def test_frequent_labels_come_first():
    lines = ["(S (NP (N a)) (NP (N b)) (VP (N c)))"]
    table = extended_text(evaluate_lines(lines, lines), {}).split("-- By label --\n")[1].split("\n")
    assert [line.split()[0] for line in table[1:4]] == ["NP", "S", "VP"]
