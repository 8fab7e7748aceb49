import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.trees.evalb import COLLINS, CTB, SPMRL, Rules, find_rules

FILE = """\
## a comment
# DELETE_LABEL commented
DEBUG 2
MAX_ERROR 7
CUTOFF_LEN 25
LABELED 0
DELETE_LABEL TOP
DELETE_LABEL   -NONE-  \t
DELETE_LABEL_FOR_LENGTH\t-NONE-
QUOTE_LABEL ''
EQ_LABEL ADVP \t PRT
EQ_WORD This this
"""


def read(tmp_path, text):
    path = tmp_path / "rules.prm"
    path.write_text(text, encoding="utf-8")
    return Rules.read(path)


def test_every_keyword_of_a_parameter_file_is_read(tmp_path):
    assert read(tmp_path, FILE) == Rules(
        delete_labels={"TOP", "-NONE-"},
        delete_labels_for_length={"-NONE-"},
        quote_labels={"''"},
        equal_labels={("ADVP", "PRT")},
        equal_words={("This", "this")},
        labeled=False,
        cutoff=25,
        max_error=7,
    )


def test_an_empty_parameter_file_gives_the_defaults(tmp_path):
    assert read(tmp_path, "\n# nothing\nab\n") == Rules()


def test_the_last_of_several_numbers_is_used(tmp_path):
    assert read(tmp_path, "CUTOFF_LEN 10\nCUTOFF_LEN 20\n").cutoff == 20


@pytest.mark.parametrize(("text", "number"), [("12x", 12), ("-3", -3), ("+4 # four", 4), ("many", 0)])
def test_only_leading_digits_of_a_number_are_read(tmp_path, text, number):
    assert read(tmp_path, f"MAX_ERROR {text}\n").max_error == number


def test_a_label_extends_to_the_end_of_its_line(tmp_path):
    assert read(tmp_path, "DELETE_LABEL TOP # the root\n").delete_labels == {"TOP # the root"}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("CUTOF_LEN 40", "unknown keyword 'CUTOF_LEN'"),
        ("  LABELED 0", "unknown keyword"),
        ("DELETE_LABELS TOP", "unknown keyword 'DELETE_LABELS'"),
        ("EQ_LABEL NP", "EQ_LABEL takes two values, found 1"),
        ("EQ_WORD a b c", "EQ_WORD takes two values, found 3"),
        ("DELETE_LABEL", "DELETE_LABEL without a label"),
    ],
)
def test_ignored_lines_are_logged_with_their_number(tmp_path, caplog, line, problem):
    with caplog.at_level(logging.WARNING):
        assert read(tmp_path, f"LABELED 1\n{line}\n") == Rules()
    assert "rules.prm, line 2: " + problem in caplog.text


def test_built_in_rules_have_names():
    assert [Rules.named(name) for name in ("collins", "ctb", "spmrl")] == [COLLINS, CTB, SPMRL]


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"'colins'; expected one of collins, ctb, spmrl"):
        Rules.named("colins")


def test_rules_are_found_by_name_or_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my.prm"
    path.write_text("CUTOFF_LEN 7\n")
    assert find_rules("ctb") == CTB
    assert find_rules(str(path)) == find_rules("my.prm") == Rules(cutoff=7)


def test_a_builtin_name_takes_precedence_over_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "collins").write_text("CUTOFF_LEN 7\n")
    assert find_rules("collins") == COLLINS
    assert find_rules("./collins") == Rules(cutoff=7)


def test_rules_that_are_neither_a_name_nor_a_file_are_an_error():
    with pytest.raises(ValueError, match=r"no rules are named 'no\.prm'; expected one of collins, ctb, spmrl, or a"):
        find_rules("no.prm")


def test_chinese_rules_delete_an_empty_root_but_not_punctuation():
    assert "" in CTB.delete_labels
    assert "PU" not in CTB.delete_labels


@given(st.sets(st.sampled_from("ABC")))
def test_rules_copy_their_sets(labels):
    rules = Rules(delete_labels=labels)
    assert hash(rules) == hash(Rules(delete_labels=frozenset(labels)))
    labels.add("D")
    assert "D" not in rules.delete_labels
