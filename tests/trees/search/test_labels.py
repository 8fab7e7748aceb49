import pytest

from treecrf.trees.search import Pattern
from treecrf.trees.search.labels import Label, label_test
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
