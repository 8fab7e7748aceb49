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


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("(TOP (A b)\n(TOP (C d))\n", [(1, "(TOP (A b)\n", True), (2, "(TOP (C d))\n", False)]),
        ("(S (A b)\n(S (C d))\n", [(1, "(S (A b)\n", True), (2, "(S (C d))\n", False)]),
        ("(TOP\n(TOP (C d))\n", [(1, "(TOP\n", True), (2, "(TOP (C d))\n", False)]),
        ("(S\n(TOP (C d)))\n", [(1, "(S\n(TOP (C d)))\n", False)]),
        ("(TOP (A b)\n(ROOT (C d))\n", [(1, "(TOP (A b)\n", True), (2, "(ROOT (C d))\n", False)]),
        ("  (A\n  (B c)\n  (D e))\n(F g)\n", [(1, "  (A\n  (B c)\n  (D e))\n", False), (4, "(F g)\n", False)]),
        ("  (A\n    (B c))\n  (D e)\n", [(1, "  (A\n    (B c))\n", False), (3, "  (D e)\n", False)]),
        ("(A (B c)))\n(D e)\n", [(1, "(A (B c)))\n", False), (2, "(D e)\n", False)]),
        ("word\n(A b)\n", [(1, "word\n", False), (2, "(A b)\n", False)]),
        ("(A\n  (B c))\n\n  (D e)\n", [(1, "(A\n  (B c))\n", False), (4, "  (D e)\n", False)]),
        ("   \n(A b)\n", [(2, "(A b)\n", False)]),
        ("(A\n\n (B c))\n(D e)\n", [(1, "(A\n\n (B c))\n", False), (4, "(D e)\n", False)]),
        ("(A\n (B c)\n(D e)\n(F g)\n", [(1, "(A\n (B c)\n", True), (3, "(D e)\n", False), (4, "(F g)\n", False)]),
        ("<S>\nheader\n(A b)\n", [(3, "(A b)\n", False)]),
        ("header\n<S>\n(A b)\n", [(1, "header\n", False), (3, "(A b)\n", False)]),
        ("<S>\na (\n(A b)\n", [(2, "a (\n(A b)\n", True)]),
        ("(A (B c)\n<S> x\n(D e))\n", [(1, "(A (B c)\n<S> x\n", True), (3, "(D e))\n", False)]),
        ("(A\n(B c)\n(D e))\n(F g)", [(1, "(A\n(B c)\n(D e))\n", False), (4, "(F g)", False)]),
        ("(A b) (C d)\n(E f)\n", [(1, "(A b) (C d)\n", False), (2, "(E f)\n", False)]),
        ("(A (B c)\n", [(1, "(A (B c)\n", True)]),
        ("\n", []),
        ("(A\n (B c)) </S>\n(D e)\n", [(1, "(A\n (B c))\n", False), (3, "(D e)\n", False)]),
        ("(A\n(B\n\n(C d)))\n(E f)\n", [(1, "(A\n(B\n\n", True), (4, "(C d)))\n", False), (5, "(E f)\n", False)]),
    ],
)
def test_chunks_have_the_number_of_their_first_line_and_may_be_damaged(text, chunks):
    assert [(number, lines, problem is not None) for number, lines, problem in split(text)] == chunks


def test_a_stream_of_lines_is_split_while_it_is_read():
    def lines():
        yield "(A\n", ""
        yield "(B c))\n", ""
        raise AssertionError("read too far")

    assert next(split_trees(lines())) == (1, "(A\n(B c))\n", None)
