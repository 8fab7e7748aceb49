import pickle

import pytest

from treecrf.trees.search import Pattern, PatternError


def test_errors_can_be_pickled():
    error = PatternError("wrong", "NP <", 3)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("text", "column"),
    [("NP < (NN", 8), ("NP & VP", 3), ("S < =n", 5), ("NP < /a(b/", 7), ("名詞 < (", 6), ("S <\nNP <0 NN", 8)],
)
def test_an_error_has_a_caret_under_the_place(text, column):
    with pytest.raises(PatternError) as raised:
        Pattern(text)
    error = raised.value
    assert error.offset == column
    *_, line, caret = str(error).split("\n")
    before = text[:column].rpartition("\n")[2]
    assert line.startswith(f"  {before}") and caret.strip() == "^"
    assert len(caret) - 1 == 2 + len(before) + sum(character > "\u2e80" for character in before)
