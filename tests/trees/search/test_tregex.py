"""Stanford Tregex's own answers on two treebanks, and cases of its language that they do not contain."""

from itertools import chain
from pathlib import Path

import pytest

from treecrf.trees.search import Counts, Forest, Pattern, PatternError
from treecrf.trees.tree import Tree
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


TREE = Tree.parse(
    "(TOP (S (NP-SBJ (NP (DT the) (JJ old) (NN cat)) (PP (IN of) (NP (NNP Kim))))"
    " (VP (VBD saw) (NP (NP (DT a) (NN bird)) (CC and) (NP (DT a) (NN mouse)))) (. .)))"
)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("NP", 5),
        ("@NP", 6),
        ("NP | VP", 6),  # alternatives at the root
        ("NP|VP", 6),
        ("(NP < DT) | VP", 4),
        ("/NP/", 7),
        ("/^NP|VP/", 7),  # both are prefixes
        ("/^NP|VP|A|B|C|D|E|F|G/", 12),  # nine alternatives are a regular expression, which finds D in DT
        ("/^.$/", 2),  # a full stop: the tag and the word
        ("/^[.]$/", 2),
        ("/^(?i:np)$/", 5),
        ("/(?i)^np$/", 5),
        ("/^(?:NP|VP)$/", 6),
        ("/^\\p{Lu}{2}$/", 16),
        ("the", 1),
        ("!__", 0),
        ("_ROOT_", 1),
        ("!_ROOT_ < S", 0),
        ("NP ?< DT", 5),
        ("NP ?< NN=n ?< JJ=j", 5),
        ("NP !< DT !< NP", 1),
        ("NP ![< DT | < NP]", 1),
        ("NP ![< DT < JJ]", 4),
        ("NP !!< DT", 2),  # a second '!' changes nothing
        ("NP ?[< DT < NN]", 5),
        ("NP=a $ ~a", 2),
        ("NP=a == !=a", 5),  # Tregex ignores '!' before a reference
        ("@NP=a << @~a", 4),
        ("DT#1%x .. (DT < /^(.)$/#1%y)", 3),
        ("__ <# __ : (DT < the)", 22),
        ("NP-SBJ <<# cat", 1),
        ("cat >># NP-SBJ", 1),
        ("NP < (CC $- NP $+ NP)", 1),
        ("NP <+(NP) DT", 5),
        ("S <+(/^X|P/) DT", 3),  # in a path this is a regular expression, which finds P anywhere
        ("NP < -1 NN", 3),
        ("NP <... { DT ; JJ ; NN }", 1),
        ("NP !<... { DT ; NN }", 3),
        ("NP <= NP", 7),
        ("NP == NP=x == =x", 5),
        ("VBD .+(DT) CC", 0),
        ("DT .+(NN) CC", 1),
        ("DT .+(/^NN$|^bird$/) CC", 1),
    ],
)
def test_cases_that_the_definition_of_tregex_decides(text, matches):
    assert Pattern(text).count(TREE).matches == matches


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        (r"/^1\/2$/", 1),
        (r"/^1\\\/2$/", 0),
        ("*", 1),
        (r"/^\*$/", 1),
        (r"/\//", 1),
        (r"/^(.)\/2$/#1%x", 1),
        ("/^*$/", 1),
    ],
)
def test_escaped_slashes_and_stars_are_read_without_their_backslash(text, matches):
    tree = Tree.parse(r"(TOP (NP (CD 1\/2)) (NP (SYM \*)))")
    assert Pattern(text).count(tree).matches == matches
    assert [match.node for match in tree.search("/^1/")] == [r"1\/2"]


@pytest.mark.parametrize(
    "text",
    [
        "NP <<< NN",  # newer than Tregex 4.2
        "NP < NN=a < NN=a",
        "NP !< NN=a",
        "NP=a | =a < NP=a",
        "NP [< NN=a | < =a]",
        "(NP) < NN",
        "NP < NN | (VP)",
        "(NP | VP) < NN",
        "NP <... {NN}",
        "NP <... { }",
        "NP <0 NN",
        "NP <-0 NN",
        "NP <<2 NN",
        "NP $-1 NN",
        "NP <- -2 NN",
        "NP <99999999999 NN",
        "NP ?!< NN",
        "NP !?< NN",
        "NP ?[!< NN]",
        "NP < !(NN)",
        "NP <+ NP NN",
        "NP <+(NP NN",
        "_ < NN",
        "NP < /NN",
        "NP < /N(N/",
        "/N(.)/#2%x",
        "!/N(.)/#1%x",
        "NP#x%1",
        "NP <",
        "",
        "5",
        "NP)",
        "(NP",
        "NP ~a",
        "(" * 60 + "NP" + ")" * 60,
        "NP" + " < NN" * 200,
    ],
)
def test_patterns_that_do_not_parse_are_errors(text):
    with pytest.raises(PatternError):
        Pattern(text)


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


def test_matches_come_in_the_order_of_tregex():
    tree = Tree.parse("(S (A (B b) (C c)) (D d) (E (F f)))")
    spans = [str(match["x"]) for match in tree.search("B .. __=x")]
    assert spans == ["(D d)", "d", "(E (F f))", "(F f)", "f", "(C c)", "c"]  # sisters of the highest ancestor first
    assert [str(match["x"]) for match in tree.search("A $++ __=x")] == ["(E (F f))", "(D d)"]  # from the right


def test_a_match_has_its_node_its_names_and_its_place():
    [match] = TREE.search("NN=noun , (JJ=adjective < /^(.)/#1%initial)")
    assert (str(match.node), match.span, match.tree_number) == ("(NN cat)", (2, 3), 0)
    assert {name: str(node) for name, node in match.names.items()} == {"noun": "(NN cat)", "adjective": "(JJ old)"}
    assert match.variables == {"initial": "o"}
    [word] = TREE.search("/^mouse$/")
    assert word.node == "mouse"
    with pytest.raises(KeyError, match="the names are noun, adjective"):
        match["verb"]


def test_several_trees_are_counted_together():
    trees = [TREE, Tree.parse("(TOP (NP (NN cat)))")]
    assert Pattern("@NP << NN").count(trees) == Counts(matches=7, nodes=6, trees=2)
    assert Pattern("@NP << NN").count_by_tree(trees).tolist() == [6, 1]
    assert Pattern("ADJP").count(trees) == Counts(0, 0, 0)
    assert Pattern("NP").count([]) == Counts(0, 0, 0)
