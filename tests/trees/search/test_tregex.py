"""Stanford Tregex's own answers on treebanks, and cases of its language that they do not contain."""

from itertools import chain, islice
from pathlib import Path

import pytest

from treecrf.trees.search import Forest, Pattern, PatternError
from treecrf.trees.search.naive import find_matches
from treecrf.trees.treebank import read_trees

SHARED = Path(__file__).parents[4] / "shared"
ANSWERS = SHARED / "search" / "tregex.tsv"
FILES = [SHARED / "treebanks" / name / "test.mrg.gz" for name in ("ptb_sample", "masc")]
# function tags, empty elements and indices, as in the trees of the Penn Treebank
FULL_ANSWERS = Path(__file__).parents[2] / "samples" / "tregex_full.tsv"
FULL_FILES = [SHARED / "treebanks" / "ptb_sample" / f"{part}.full.mrg.gz" for part in ("dev", "test")]


def count(text: str, forest: Forest) -> tuple[str, ...]:
    try:
        return tuple(map(str, Pattern(text).count(forest)))
    except PatternError:
        return "ERROR", "", ""


def read_answers(file: Path) -> dict[str, tuple[str, ...]]:
    lines = [line.split("\t") for line in file.read_text().splitlines() if not line.startswith("#")]
    return {text: tuple(answer) for text, *answer in lines}


@pytest.mark.skipif(not ANSWERS.exists(), reason="the answers of Tregex are not in ../shared/search")
@pytest.mark.parametrize(("answers", "files"), [(ANSWERS, FILES), (FULL_ANSWERS, FULL_FILES)], ids=["plain", "full"])
def test_every_answer_of_tregex_is_equal(answers: Path, files: list[Path]) -> None:
    forest = Forest(chain.from_iterable(map(read_trees, files)))
    expected = read_answers(answers)
    assert {text: count(text, forest) for text in expected} == expected


FULL_PATTERNS = [text for text, (matches, *_) in read_answers(FULL_ANSWERS).items() if matches != "ERROR"]


@pytest.mark.skipif(not FULL_FILES[1].exists(), reason="the treebanks are not in ../shared/treebanks")
@pytest.mark.parametrize("text", FULL_PATTERNS)
def test_functions_and_empty_elements_are_matched_as_defined(text: str, full_forest: Forest) -> None:
    pattern = Pattern(text)
    by_definition = [node for node, _ in find_matches(pattern.expression, full_forest)]
    assert sorted(match.position for match in pattern.find(full_forest)) == sorted(by_definition)
    assert pattern.count(full_forest).matches == len(by_definition)


@pytest.fixture(scope="module")
def full_forest() -> Forest:
    return Forest(islice(read_trees(FULL_FILES[1]), 80))


@pytest.mark.skipif(not FULL_FILES[1].exists(), reason="the treebanks are not in ../shared/treebanks")
def test_labels_are_counted_as_trees_have_them() -> None:
    trees = list(read_trees(FULL_FILES[1]))
    forest = Forest(trees)
    nodes = [node for tree in trees for node in tree.subtrees()]
    constituents = [node for node in nodes if not node.is_leaf]
    counts = {
        "-NONE-": sum(node.is_empty for node in nodes),
        "/^NP-SBJ/": sum(node.label.startswith("NP-SBJ") for node in nodes),
        "-NONE- < /^\\*T\\*/": sum(node.kind == "*T*" for node in nodes),
        "@NP <: -NONE-": sum(node.category == "NP" and node[0].is_empty and len(node) == 1 for node in constituents),
        "__ !< __ !> -NONE-": sum(len(tree.words) for tree in trees),
    }
    assert {text: Pattern(text).count(forest).matches for text in counts} == counts
