import pytest

from treecrf.trees.search import Pattern
from treecrf.trees.search.labels import Label, LabelTest, basic_category, group_text, label_test, matching_labels
from treecrf.trees.tree import Tree


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


@pytest.mark.parametrize(("text", "words"), [("A|B||", {"A", "B"}), ("|A", {"", "A"}), ("A", {"A"})])
def test_empty_alternatives_at_the_end_do_not_count(text, words):
    assert label_test(Label("literal", text)).literals == words


EIGHT = "A|B|C|D|E|F|G|H"


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("regex", "^NP$", LabelTest(literals=frozenset(["NP"]))),
        ("regex", "^.$", LabelTest(literals=frozenset("."))),
        ("regex", "^[,]$", LabelTest(literals=frozenset(","))),
        ("regex", "^(?i:Np|vP)$", LabelTest(literals=frozenset(["np", "vp"]), ignores_case=True)),
        ("regex", r"^(?:PRP\$|NP)$", LabelTest(literals=frozenset(["PRP$", "NP"]))),
        ("regex", f"^(?:{EIGHT})$", LabelTest(literals=frozenset("ABCDEFGH"))),
        ("regex", "^NP|VP", LabelTest(prefixes=("NP", "VP"))),
        ("regex", "^(?:NP|VP)", LabelTest(prefixes=("NP", "VP"))),
        ("regex", f"^{EIGHT}", LabelTest(prefixes=tuple("ABCDEFGH"))),
        ("regex", ".*", LabelTest()),
        ("regex", "^.*$", LabelTest()),
        ("any", "__", LabelTest()),
        ("literal", EIGHT, LabelTest(literals=frozenset("ABCDEFGH"))),
    ],
)
def test_some_expressions_are_strings(kind, text, expected):
    assert label_test(Label(kind, text)) == expected


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("regex", f"^(?:{EIGHT}|I)$"),
        ("regex", f"^{EIGHT}|I"),
        ("regex", "N.P"),
        ("path_literal", "NP"),
        ("path_regex", "^NP$"),
        ("literal", f"{EIGHT}|I"),
    ],
)
def test_other_expressions_are_searched(kind, text):
    test = label_test(Label(kind, text))
    assert test.literals is test.prefixes is None and test.regex is not None


@pytest.mark.parametrize(
    ("kind", "text", "labels"),
    [
        ("literal", "NP|VP", ["NP", "VP"]),
        ("path_literal", "N.", ["NP"]),
        ("regex", "^(?i:np)$", ["NP", "np"]),
        ("regex", "^N", ["NP", "NP-SBJ"]),
        ("regex", "P-", ["NP-SBJ"]),
        ("path_regex", "^V", ["VP"]),
        ("any", "__", ["NP", "VP", "np", "NP-SBJ"]),
    ],
)
def test_labels_match_by_their_test(kind, text, labels):
    strings = ["NP", "VP", "np", "NP-SBJ"]
    matches = matching_labels(Label(kind, text), strings)
    assert [string for string, is_match in zip(strings, matches, strict=True) if is_match] == labels
    assert matching_labels(Label(kind, text, is_negated=True), strings) == [not is_match for is_match in matches]


def test_basic_labels_are_tested_without_annotations():
    assert matching_labels(Label("literal", "NP", is_basic=True), ["NP-SBJ", "NP", "VP"]) == [True, True, False]


@pytest.mark.parametrize(
    ("label", "category"), [("--", "-"), ("-LRB-", "-LRB-"), ("-LRB-=1", "-LRB-"), ("NP", "NP"), ("", ""), ("--X", "-")]
)
def test_a_basic_category_may_stand_between_hyphens(label, category):
    assert basic_category(label) == category


def test_a_group_is_part_of_a_label_or_the_label():
    assert group_text(Label("regex", "^N(.)(x)?"), 1, "NP-SBJ") == "P"
    assert group_text(Label("regex", "^N(.)(x)?"), 2, "NP-SBJ") is None
    assert group_text(Label("literal", "NP-SBJ"), 3, "NP-SBJ") == "NP-SBJ"
    assert label_test(Label("regex", "^N(.)(x)?")).group_count == 2
    assert label_test(Label("literal", "NP")).group_count == 99


def test_only_literals_without_escapes_are_plain():
    assert label_test(Label("literal", "NP|VP")).plain_literals == {"NP", "VP"}
    for label in (Label("literal", "A*"), Label("literal", "A/B"), Label("regex", "^(?i:np)$"), Label("regex", "^N")):
        assert label_test(label).plain_literals is None
