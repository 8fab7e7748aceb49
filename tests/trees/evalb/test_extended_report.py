import json

from hypothesis import given, settings
from hypothesis import strategies as st

from treecrf.trees.evalb import evaluate, evaluate_lines
from treecrf.trees.evalb.bootstrap import compare, intervals
from treecrf.trees.evalb.extended_report import as_dict, text
from trees.evalb.pairs import pairs


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
    lines = text(score, {}).split("\n")
    by_label = lines[lines.index("-- By label --") + 2 : -1]
    by_length = lines[lines.index("-- By length --") + 2 : lines.index("-- By label --") - 1]
    assert sorted(line.split()[0] for line in by_label) == sorted(label or "(none)" for label in score.labels)
    assert [line.split()[0] for line in by_length] == [f"{first}-{last}" for first, last in score.by_length()]


def test_frequent_labels_come_first():
    lines = ["(S (NP (N a)) (NP (N b)) (VP (N c)))"]
    table = text(evaluate_lines(lines, lines), {}).split("-- By label --\n")[1].split("\n")
    assert [line.split()[0] for line in table[1:4]] == ["NP", "S", "VP"]
