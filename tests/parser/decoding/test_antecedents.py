"""Templates of empty elements, and the antecedents that they name."""

import gzip
from pathlib import Path

import pytest

from treecrf.parser.decoding.antecedents import check_template, index_antecedents, to_templates
from treecrf.parser.decoding.constituents import DecodedBatch, FullTrees, full_lines
from treecrf.trees.evalb.full_score import score_full_trees
from treecrf.trees.notation import split_label
from treecrf.trees.tree import Tree, parse_trees

CATEGORIES = ["ADJP", "NP", "PRN", "S", "SBAR", "VP"]
TREEBANKS = Path(__file__).parents[4] / "shared" / "treebanks"
CASES = {
    "passive": (
        "(S (NP-SBJ-1 (NN it)) (VP (VBD was) (VP (VBN seen) (NP (-NONE- *-1)))))",
        ["(NP (-NONE- *@<NP0))"],
    ),
    "control by the object": (
        "(S (NP-SBJ (PRP we)) (VP (VBD told) (NP-1 (PRP her)) (S (NP-SBJ (-NONE- *PRO*-1)) (VP (VB go)))))",
        ["(NP-SBJ (-NONE- *PRO*@<NP0))"],
    ),
    "control by the second noun phrase": (
        "(S (NP-SBJ-1 (PRP we)) (VP (VBD told) (NP (PRP her)) (S (NP-SBJ (-NONE- *PRO*-1)) (VP (VB go)))))",
        ["(NP-SBJ (-NONE- *PRO*@<NP1))"],
    ),
    "an antecedent that is inserted": (
        "(NP (NP (NN man)) (SBAR (WHNP-1 (-NONE- 0)) (S (NP-SBJ (PRP we)) (VP (VBD met) (NP (-NONE- *T*-1))))))",
        ["(WHNP (-NONE- 0))", "(NP (-NONE- *T*@<WHNP0))"],
    ),
    "extraposition into the verb phrase": (
        "(S (NP-SBJ (NP (PRP it)) (SBAR (-NONE- *EXP*-1))) (VP (VBZ is) (ADJP (JJ sad)) (SBAR-1 (IN that) (S (VP (VB "
        "go))))))",
        ["(SBAR (-NONE- *EXP*@>SBAR0))"],
    ),
    "a clause around its trace": (
        "(S-1 (NP-SBJ (PRP it)) (PRN (S (NP-SBJ (PRP he)) (VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*-1)))))) (VP "
        "(VBD failed)))",
        ["(SBAR (-NONE- 0) (S (-NONE- *T*@^S1)))"],
    ),
    "no antecedent in the tree": (
        "(S (NP-SBJ (-NONE- *PRO*-7)) (VP (VBG going)))",
        ["(NP-SBJ (-NONE- *PRO*))"],
    ),
}


@pytest.mark.parametrize("brackets, templates", CASES.values(), ids=CASES)
def test_a_template_names_the_place_of_the_antecedent(brackets: str, templates: list[str]) -> None:
    full = FullTrees.of([Tree.parse(brackets)], CATEGORIES)
    assert [row.brackets for row in to_templates(full, ["SBJ"])] == templates


@pytest.mark.parametrize(
    "text", ["", "(NP (-NONE- *@<NP0))", "(SBAR (-NONE- 0) (S (-NONE- *T*@^S1)))", "(-NONE- 0) (-NONE- 1)"]
)
def test_templates_have_empty_elements_alone(text: str) -> None:
    assert check_template(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "(NP (NN cat))",
        "(NP (-NONE- *) (NN cat))",
        "(NP (-NONE- *@cat))",
        "(NP (-NONE- \\u{2a}))",
        " ",
        "(NP\t(-NONE- *))",
        "(NP (-NONE- *))" * 1000,
    ],
)
def test_other_text_is_no_template(text: str) -> None:
    with pytest.raises(ValueError, match="is no template of empty elements"):
        check_template(text)


def restored(trees: list[Tree]) -> tuple[FullTrees, list[Tree]]:
    """The trees after a conversion to templates and back, without functions of constituents with words."""
    full = FullTrees.of(trees, sorted({node.category for tree in trees for node in tree.walk()}))
    labels = [split_label(label).category for label in full.labels]
    labels, empties = index_antecedents(full.constituents, labels, to_templates(full, ["SBJ"]))
    words, tags = ([item for tree in trees for item in getattr(tree, name)] for name in ("words", "tags"))
    columns = {"words": words, "tags": tags, "vectors": None, "rules": None}
    batch = DecodedBatch(constituents=full.constituents, **columns)  # type: ignore[arg-type]
    return full, [Tree.parse(line) for line in full_lines(batch, labels, empties)]


def test_indices_are_numbered_in_each_sentence() -> None:
    trees = [Tree.parse(brackets) for brackets, _ in CASES.values()]
    _, back = restored(trees)
    assert [sorted({node.index for node in tree.walk() if node.index}) for tree in back] == [[1]] * 6 + [[]]
    score = score_full_trees(trees[:6], back[:6])
    assert score.total("empties_with_antecedents").f1 == 100


@pytest.mark.parametrize("treebank", ["masc", "ptb_sample"])
def test_templates_name_the_antecedents_of_treebanks(treebank: str) -> None:
    path = TREEBANKS / treebank / "dev.full.mrg.gz"
    if not path.exists():
        pytest.skip("needs the treebanks in ../shared/treebanks")
    trees = list(parse_trees(gzip.decompress(path.read_bytes()).decode()))
    score = score_full_trees(trees, restored(trees)[1])
    assert score.total("empties_in_phrases").f1 == 100
    assert score.total("empties_with_antecedents").f1 > 99
