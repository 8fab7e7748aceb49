"""Stanford Tregex's own answers on two treebanks, and cases of its language that they do not contain."""

from itertools import chain, islice
from pathlib import Path

import pytest

from treecrf.trees.search import Forest, Pattern, PatternError
from treecrf.trees.search.naive import find_matches
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


FULL_FILE = SHARED / "treebanks" / "ptb_sample" / "test.full.mrg.gz"
# function tags, empty elements and indices, as in the trees of the Penn Treebank
FULL_PATTERNS = r"""
NP-SBJ
@NP
/^NP-SBJ/
/-SBJ/
/^NP-SBJ-[0-9]+$/
/-TMP/ !>> @SBAR
/^PP-LOC|^ADVP-LOC/
/^PP.*-CLR/
@NP == /^[^-]+$/ < -NONE-
/=[0-9]$/
-NONE-
-NONE- < /^\*T\*/
-NONE- < /^\*-[0-9]+$/
-NONE- < /^0$/
-NONE- < /^\*U\*$/
/^\*ICH\*/
/^\*(T|ICH|EXP)\*-[0-9]+$/
@NP < -NONE-
@NP <: -NONE-
@NP <: (-NONE- < /^\*T\*/)
@NP-SBJ
/^NP-SBJ/ <: (-NONE- < /^\*/)
/^NP-SBJ/ !<: -NONE-
@S < (/^NP-SBJ/ <: -NONE-)
@S < (/^NP-SBJ/=subject $+ @VP)
@SBAR < (-NONE- < /^0$/)
@SBAR < (-NONE- $+ @S)
@SBAR <, (/^WH.*-[0-9]+$/ $+ @S)
/^WH.*-([0-9]+)$/#1%i $++ (@S << (/^\*T\*-([0-9]+)$/#1%i))
/^WHNP-([0-9]+)$/#1%i $+ (@S < (/^NP-SBJ/ <: (-NONE- < /^\*T\*-([0-9]+)$/#1%i)))
/^NP-SBJ-([0-9]+)$/#1%i $++ (@VP << (-NONE- < /^\*-([0-9]+)$/#1%i))
/^NP-SBJ-([0-9]+)/#1%i $++ (@VP < (@VP < (@NP <: (-NONE- < /^\*-([0-9]+)$/#1%i))))
/-([0-9]+)$/#1%i .. (/^\*ICH\*-([0-9]+)$/#1%i)
/-([0-9]+)$/#1%i ,, (/^\*ICH\*-([0-9]+)$/#1%i)
/^S.*-([0-9]+)$/#1%i $++ (__ << /^\*T\*-([0-9]+)$/#1%i)
@VP < (/^VB/ $+ (@NP <: -NONE-))
@VP < (VBN $+ (@NP <: (-NONE- < /^\*/)))
@VP < (@S < (/^NP-SBJ/ <: (-NONE- < /^\*-/)))
@VP < /-PRD$/
@VP < (/^VB/ < /^(is|was|are|were)$/) < /-PRD/
@VP <# VBN << /-LGS/
/-LGS/ > (@PP < (IN < by))
/-TPC/ $++ /^NP-SBJ/
/-TPC-([0-9]+)/#1%i $++ (@VP << (-NONE- < /^\*T\*-([0-9]+)$/#1%i))
/-ADV/ > @S
/-NOM/
@NP-TMP
NP-TMP $ /-SBJ/
@NP <- (@SBAR < (/^WH/ < -NONE-))
@NP < (@NP $+ (@SBAR << /^\*T\*/))
@NP !< -NONE- > @PP
__ !< __ > -NONE-
-NONE- > (@NP !> @S)
-NONE- $ __
-NONE- !$ __
-NONE- <<, /^\*/
@VP <+(@VP) (@VP <: -NONE-)
@S !< /-SBJ/ < @VP
@QP|NP < (-NONE- < /^\*U\*$/) < /^\$$/
@SINV < /-SBJ/ < (@S <: -NONE-)
/^[A-Z]+-[A-Z]+-[A-Z]+/
/^(ADVP|PP)-(TMP|LOC|MNR)$/ !<< -NONE-
@S=a << (-NONE-=b < /^\*/) !<< (@SBAR << =b)
""".strip().splitlines()


@pytest.mark.skipif(not FULL_FILE.exists(), reason="the treebanks are not in ../shared/treebanks")
@pytest.mark.parametrize("text", FULL_PATTERNS)
def test_functions_and_empty_elements_are_matched_as_defined(text: str, full_forest: Forest) -> None:
    pattern = Pattern(text)
    by_definition = [node for node, _ in find_matches(pattern.expression, full_forest)]
    assert sorted(match.position for match in pattern.find(full_forest)) == sorted(by_definition)
    assert pattern.count(full_forest).matches == len(by_definition)


@pytest.fixture(scope="module")
def full_forest() -> Forest:
    return Forest(islice(read_trees(FULL_FILE), 80))


@pytest.mark.skipif(not FULL_FILE.exists(), reason="the treebanks are not in ../shared/treebanks")
def test_most_patterns_of_functions_and_empty_elements_find_something(full_forest: Forest) -> None:
    assert sum(Pattern(text).count(full_forest).matches > 0 for text in FULL_PATTERNS) > 50


@pytest.mark.skipif(not FULL_FILE.exists(), reason="the treebanks are not in ../shared/treebanks")
def test_labels_are_counted_as_trees_have_them() -> None:
    trees = list(read_trees(FULL_FILE))
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
