import pytest

from treecrf.trees.search import Pattern
from treecrf.trees.search.labels import Label, basic_category, group_text, label_test, matching_labels
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
    ("kind", "text", "literals"),
    [
        ("regex", "^NP$", ["NP"]),
        ("regex", "^.$", "."),
        ("regex", "^[,]$", ","),
        ("regex", r"^(?:PRP\$|NP)$", ["PRP$", "NP"]),
        ("regex", f"^(?:{EIGHT})$", "ABCDEFGH"),
        ("literal", EIGHT, "ABCDEFGH"),
    ],
)
def test_some_expressions_are_strings(kind, text, literals):
    test = label_test(Label(kind, text))
    assert test.literals == set(literals) and test.regex is None and all(map(test.matches, literals))


@pytest.mark.parametrize(
    ("kind", "text", "labels"),
    [
        ("regex", "^(?i:Np|vP)$", ["NP", "np", "VP"]),
        ("regex", "^NP|VP", ["NP", "NPx", "VP"]),
        ("regex", "^(?:NP|VP)", ["NP", "NPx", "VP"]),
        ("regex", f"^{EIGHT}", ["H", "HI"]),
        ("regex", ".*", ["NP", "np", "NPx", "VP", "H", "HI", "xH"]),
        ("regex", "^.*$", ["NP", "np", "NPx", "VP", "H", "HI", "xH"]),
        ("any", "__", ["NP", "np", "NPx", "VP", "H", "HI", "xH"]),
    ],
)
def test_some_expressions_are_tested_without_a_search(kind, text, labels):
    test = label_test(Label(kind, text))
    assert test.literals is test.regex is None
    assert [label for label in ["NP", "np", "NPx", "VP", "H", "HI", "xH"] if test.matches(label)] == labels


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
    assert test.literals is None and test.regex is not None


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
    ("label", "category"),
    [("--", "-"), ("-LRB-", "-LRB-"), ("-LRB-=1", "-LRB-"), ("NP", "NP"), ("", ""), ("--X", "-"), ("-X-", "-X-")],
)
def test_a_basic_category_may_stand_between_hyphens(label, category):
    assert basic_category(label) == category


def test_a_group_is_part_of_a_label_or_the_label():
    assert group_text(Label("regex", "^N(.)(x)?"), 1, "NP-SBJ") == "P"
    assert group_text(Label("regex", "^N(.)(x)?"), 2, "NP-SBJ") is None
    assert group_text(Label("literal", "NP-SBJ"), 3, "NP-SBJ") == "NP-SBJ"
