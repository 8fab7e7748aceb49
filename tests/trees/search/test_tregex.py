"""Stanford Tregex's own answers on two treebanks, and cases of its language that they do not contain."""

from itertools import chain
from pathlib import Path

import pytest

from treecrf.trees.search import Forest, Pattern, PatternError
from treecrf.trees.treebank import read_trees

SHARED = Path(__file__).parents[4] / "shared"


ANSWERS = SHARED / "search" / "tregex.tsv"


FILES = [SHARED / "treebanks" / name / "test.mrg.gz" for name in ("ptb_sample", "masc")]


def count(text: str, forest: Forest) -> tuple[str, ...]:
    try:
        return tuple(map(str, Pattern(text).count(forest)))
    except PatternError:
        return "ERROR", "", ""


@pytest.mark.skipif(not ANSWERS.exists(), reason="the answers of Tregex are not in ../shared/search")
def test_every_answer_of_tregex_is_equal():
    forest = Forest(chain.from_iterable(map(read_trees, FILES)))
    lines = [line.split("\t") for line in ANSWERS.read_text().splitlines() if not line.startswith("#")]
    assert {text: count(text, forest) for text, *_ in lines} == {text: tuple(rest) for text, *rest in lines}
