import pytest

from treecrf.trees.treebank.splitter import split_trees


def split(text: str, problems: dict[int, str] | None = None):
    lines = enumerate(text.splitlines(keepends=True), 1)
    return list(split_trees((line, (problems or {}).get(number, "")) for number, line in lines))


def test_a_tree_ends_with_its_brackets():
    assert split("(A (B c))\n\n(A\n  (B c))\n(D e)") == [
        (1, "(A (B c))\n", None),
        (3, "(A\n  (B c))\n", None),
        (5, "(D e)", None),
    ]


def test_markup_and_headers_between_trees_are_dropped():
    text = "header (\n<DOC>\nsome header\n<S ID=1>\n(A\n (B c)) </S>\n</S>\n<P>(D e)\n<P> (F g)"
    chunks = split(text)
    assert [chunk[1].strip() for chunk in chunks if not chunk[2]] == ["(A\n (B c))", "(D e)", "(F g)"]
    assert chunks[0][0] == 1 and chunks[0][2]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(TOP (A b)\n(TOP (C d))\n", (1, "1 ')' missing; the tree that starts here is still open at line 2")),
        ("(A (B\n <S>\n", (1, "2 ')' missing; the tree that starts here is still open at the end of the file")),
        ("(A (B c)\n<S>\n(D e)\n", (1, "1 ')' missing; the tree that starts here is still open at line 2")),
        ("(A\n  (B c))\n  (D e)\n", (3, "the tree of line 1 is closed before this line")),
        ("(A (B c)\n\n(D e)\n", (1, "1 ')' missing; the tree that starts here is still open at line 3")),
    ],
)
def test_the_layout_decides_where_a_damaged_tree_ends(text, problem):
    assert [chunk[2] for chunk in split(text) if chunk[2]][:1] == [problem]


def test_lines_without_indentation_belong_to_the_tree_if_it_has_no_words():
    assert split("(A\n(B\n(C d)\n(E f)))\n(G h)") == [(1, "(A\n(B\n(C d)\n(E f)))\n", None), (5, "(G h)", None)]


def test_a_problem_of_a_line_is_a_problem_of_its_tree():
    assert split("(A\n (B c))\n(D e)", {2: "odd bytes"}) == [(1, "(A\n (B c))\n", (2, "odd bytes")), (3, "(D e)", None)]
    assert split("(D e)", {1: "odd bytes"}) == [(1, "(D e)", (1, "odd bytes"))]
