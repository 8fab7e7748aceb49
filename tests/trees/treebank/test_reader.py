"""Reading trees from files: their boundaries, and errors with line numbers."""

import gzip
import io
import logging
import pickle
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from strategies import deep_tree, plain_text, trees, wide_tree
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import TreebankError, read_trees, write_trees
from treecrf.trees.treebank.samples import FOLDER
from treecrf.trees.treebank.splitter import ROOTS

forests = st.lists(trees(max_words=6), min_size=1, max_size=6).map(
    lambda forest: [Tree("TOP", (tree,)) for tree in forest]
)
bracket_damages = st.sampled_from(["lacks )", "lacks (", "has )", "has ("])
damages = bracket_damages | st.sampled_from(["is empty", "has no bracket"])


def read(text: str | bytes, **options: str) -> tuple[list[Tree], int]:
    stream = io.StringIO(text) if isinstance(text, str) else io.BytesIO(text)
    reader = read_trees(stream, **options)  # type: ignore[arg-type]
    return list(reader), reader.skipped


def failure(text: str | bytes) -> str:
    """The error message of a file."""
    with pytest.raises(TreebankError) as caught:
        read(text)
    return str(caught.value)


def indented(tree: Tree, depth: int = 0) -> str:
    """The tree over many lines, as in the Penn Treebank."""
    if tree.is_leaf:
        return "  " * depth + str(tree)
    label = str(Tree(tree.label, (Tree("", ("",)),))).removesuffix(r" (\u{} \u{}))")
    return "\n".join(["  " * depth + label, *(indented(child, depth + 1) for child in tree.child_trees)]) + ")"


def damaged(line: str, damage: str, chance: random.Random) -> str:
    """A line whose tree has a mistake in its brackets."""
    places = {bracket: [n for n, character in enumerate(line) if character == bracket] for bracket in "()"}
    if damage == "is empty":
        return "(TOP )"
    if damage == "has no bracket":
        return line.replace("(", "").replace(")", "")
    place = chance.choice(places[damage[-1]])
    shorter = line[:place] + line[place + 1 :]
    return shorter if damage.startswith("lacks") else line[:place] + damage[-1] + line[place:]


@given(forests)
def test_trees_with_one_line_each_are_read(forest: list[Tree]) -> None:
    assert read("".join(f"{tree}\n" for tree in forest)) == (forest, 0)
    assert read("\r\n\r\n".join(map(str, forest)).encode()) == (forest, 0)


@given(forests)
def test_trees_over_many_lines_are_read(forest: list[Tree]) -> None:
    assert read("\n".join(map(indented, forest))) == (forest, 0)
    assert read("\n\n".join(map(indented, forest))) == (forest, 0)


@given(forests)
def test_trees_without_indentation_are_read(forest: list[Tree]) -> None:
    assume(not any(node.label in ROOTS for tree in forest for child in tree.child_trees for node in child.walk()))
    lines = "\n".join(map(indented, forest)).split("\n")
    assert read("\n".join(line.lstrip(" ") for line in lines)) == (forest, 0)


@given(forests)
def test_trees_between_markup_are_read(forest: list[Tree]) -> None:
    sentences = [f"<S ID={number}>\n{indented(tree)}\n</S>\n" for number, tree in enumerate(forest)]
    text = "<DOC>\n<DATE>\n1 May\n</DATE>\n<DOCID> x 1 </DOCID>\n" + "".join(sentences) + "</DOC>\n"
    assert read(text) == (forest, 0)
    assert read(text.replace(">\n(", "> (").replace(")\n</", ") </")) == (forest, 0)


@given(forests, st.data())
def test_only_damaged_trees_are_skipped_with_one_line_each(forest: list[Tree], data: st.DataObject) -> None:
    chance = data.draw(st.randoms(use_true_random=False))
    harm = [data.draw(st.none() | bracket_damages | st.just("is empty")) for _ in forest]
    lines = [damaged(str(t), d, chance) if d else str(t) for t, d in zip(forest, harm, strict=True)]
    intact = [tree for tree, damage in zip(forest, harm, strict=True) if not damage]
    readable, skipped = read("\n".join(lines), on_error="skip")
    assert readable == intact
    assert (skipped > 0) == any(harm)  # two damaged trees may be read as one


@given(forests, st.data())
def test_only_damaged_trees_are_skipped_over_many_lines(forest: list[Tree], data: st.DataObject) -> None:
    chance = data.draw(st.randoms(use_true_random=False))
    harm = [data.draw(st.none() | bracket_damages) for _ in forest]
    texts = []
    for tree, damage in zip(forest, harm, strict=True):
        first, rest = indented(tree).split("\n", 1)
        texts.append(f"{first}\n{damaged(rest, damage, chance) if damage else rest}")
    intact = [tree for tree, damage in zip(forest, harm, strict=True) if not damage]
    readable, skipped = read("\n".join(texts), on_error="skip")
    assert readable == intact
    assert (skipped > 0) == any(harm)


@given(forests, damages, st.randoms(use_true_random=False), st.integers(0, 5))
def test_the_error_names_the_damaged_line(forest: list[Tree], damage: str, chance: random.Random, number: int) -> None:
    lines = [str(tree) for tree in forest]
    number %= len(lines)
    lines[number] = damaged(lines[number], damage, chance)
    assert failure("\n".join(lines)).startswith(f"<stream>:{number + 1}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(A a)\n(B (C c)\n(D d)\n", "2: 1 ')' missing; the tree that starts here is still open at line 3"),
        ("(A a)\n(B (C c)\n", "2: 1 ')' missing; the tree that starts here is still open at the end of the file"),
        ("(A\n  (B b)\n\n(C c)\n", "1: 1 ')' missing; the tree that starts here is still open at line 4"),
        ("(A\n(B b)\n\n(C (D d))\n", "1: 1 ')' missing; the tree that starts here is still open at line 4"),
        ("<S>\n(A\n(B b)\n</S>\n(C c)\n", "2: 1 ')' missing; the tree that starts here is still open at line 4"),
        ("(TOP\n(TOP (B b))\n", "1: 1 ')' missing; the tree that starts here is still open at line 2"),
        ("(A\n  (B b))\n  (C c))\n", "3: the tree of line 1 is closed before this line"),
        ("(A a)\n\n(B b))\n", "3: ')' without its '('"),
        ("(A\n  (B b)\n  (C))\n", "3: 'C' is empty; expected a word or constituents in it"),
        ("(A a)\n()\n", "2: a constituent is empty; expected a word or constituents in it"),
        ("A a\n", "1: expected '(', found 'A'"),
        ("(A a)\n(A a b)\n", "2: 'A' contains 2 words; expected one"),
    ],
)
def test_the_message_has_the_line_and_the_reason(text: str, message: str) -> None:
    assert failure(text) == failure(text.encode()) == f"<stream>:{message}"


def test_undecodable_bytes_are_an_error_with_a_line_number(tmp_path: Path) -> None:
    path = tmp_path / "bad.mrg"
    path.write_bytes("(NN é)\n".encode() + b"(NN \xff)\n" + "(NN ü)\n".encode())
    with pytest.raises(TreebankError, match=r"bad\.mrg:2: .*0xff.*encoding"):
        list(read_trees(path))
    reader = read_trees(path, on_error="skip")
    assert ([tree.words for tree in reader], reader.skipped) == ([["é"], ["ü"]], 1)


def test_an_encoding_can_be_named() -> None:
    raw = "(NN café)\n".encode("latin-1")
    with pytest.raises(TreebankError, match="name it"):
        read(raw)
    assert read(raw, encoding="latin-1") == ([Tree("NN", ("café",))], 0)


def test_damaged_compression_is_an_error_that_cannot_be_skipped() -> None:
    lines = "".join(f"(NN w{number})\n" for number in range(1000)).encode()
    packed = gzip.compress(lines)
    for broken in (packed[:-20], packed[:30] + b"\0" * 30 + packed[60:]):
        with pytest.raises(TreebankError, match="compressed data is damaged"):
            read(broken, on_error="skip")


def test_skipped_trees_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        read("(A a)\n(B b\n", on_error="skip")
    assert "skipped <stream>:2: 1 ')' missing" in caplog.text


def test_errors_can_be_pickled() -> None:
    error = TreebankError("a.mrg", 3, "reason")
    assert str(pickle.loads(pickle.dumps(error))) == "a.mrg:3: reason"


def test_an_unknown_on_error_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected 'raise' or 'skip'"):
        read_trees("x", on_error="ignore")  # type: ignore[arg-type]


def test_the_sample_treebanks_are_read() -> None:
    assert len(list(read_trees(FOLDER / "english.mrg"))) == 12
    chinese = list(read_trees(FOLDER / "chinese.fid"))
    assert [tree.words[-1] for tree in chinese] == ["早晨", "。", "？"]


fragments = st.sampled_from(
    [
        *(
            b"(",
            b")",
            b"(TOP ",
            b"(NP (DT the))",
            b"\n",
            b"\n\n",
            b"\n  ",
            b" ",
            b"<S ID=1>",
            b"</S>",
            b"<",
            b">",
            b"word",
        ),
        *(b"\xff", b"\xb2\xbb", "树".encode(), b"\xef\xbb\xbf", b"\r\n", b"\0", b"\\u{d800}", b"\x1f\x8b", b"-NONE-"),
    ]
)
soup = st.lists(fragments, max_size=30).map(b"".join)
encodings = st.sampled_from([None, "utf-8", "gb18030", "latin-1", "big5"])


@given(st.binary(max_size=80) | soup, encodings, st.booleans())
def test_any_bytes_give_trees_or_the_error(raw: bytes, encoding: str | None, packed: bool) -> None:
    raw = gzip.compress(raw) if packed else raw
    try:
        assert all(isinstance(tree, Tree) for tree in read_trees(io.BytesIO(raw), encoding=encoding))
    except TreebankError as error:
        assert 1 <= error.line <= gzip.decompress(raw).count(b"\n") + 1 if packed else error.line >= 1


@given(soup, encodings)
def test_skipping_leaves_only_errors_of_the_stream(raw: bytes, encoding: str | None) -> None:
    readable, skipped = read(b"\n" + raw, on_error="skip", **({"encoding": encoding} if encoding else {}))
    try:
        assert read(b"\n" + raw, **({"encoding": encoding} if encoding else {})) == (readable, 0)
        assert not skipped
    except TreebankError:
        assert skipped


@given(st.binary(max_size=60), st.integers(0, 40))
def test_any_damage_to_compressed_bytes_gives_trees_or_the_error(noise: bytes, place: int) -> None:
    packed = gzip.compress(b"(TOP (NN cat))\n" * 3)
    broken = packed[:place] + noise + packed[place + len(noise) :]
    try:
        read(broken)
    except TreebankError:
        return


@given(soup.map(lambda raw: raw.decode(errors="surrogateescape")))
def test_any_text_gives_trees_or_the_error(text: str) -> None:
    try:
        read(text)
    except TreebankError:
        return


@pytest.mark.parametrize("tree", [deep_tree(5_000), wide_tree(10_000)], ids=["deep", "wide"])
def test_huge_trees_are_read(tmp_path: Path, tree: Tree) -> None:
    write_trees(tmp_path / "huge.mrg.gz", [tree, tree])
    assert list(read_trees(tmp_path / "huge.mrg.gz")) == [tree, tree]


def test_a_file_is_read_as_a_stream() -> None:
    class Endless(io.RawIOBase):
        """A file that never ends: reading it whole would never return."""

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            line = b"(TOP\n  (NN cat))\n"
            buffer[: len(line)] = line
            return len(line)

    reader = read_trees(io.BufferedReader(Endless()))
    tracemalloc.start()
    for _ in range(200_000):
        next(reader)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


HOSTILE = {
    "opening": lambda n: b"(" * n,
    "opening lines": lambda n: b"(\n" * n,
    "closing lines": lambda n: b")\n" * n,
    "an open tree": lambda n: b"(A\n" + b" (B b)\n" * n,
    "markup": lambda n: b"<S ID=1>\n" * n,
    "tags on one line": lambda n: b"<S>" * n,
    "half tags": lambda n: b"<" * n,
    "tags after a tree": lambda n: b"(A a)" + b"</S> " * n,
    "brackets and spaces": lambda n: b") " * n + b">",
    "blank lines": lambda n: b"\n" * n,
    "undecodable bytes": lambda n: b"\xff" * n,
    "undecodable lines": lambda n: b"(A \xff)\n" * n,
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
def test_memory_is_linear_in_the_file(raw: Iterator[bytes], caplog: pytest.LogCaptureFixture) -> None:
    def peak(count: int) -> int:
        stream = io.BytesIO(raw(count))  # type: ignore[operator]
        tracemalloc.start()
        for _ in read_trees(stream, on_error="skip"):
            pass
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    caplog.set_level(logging.ERROR)
    assert peak(40_000) < 5 * peak(10_000) + 2_000_000


@given(st.lists(trees(plain_text, max_words=4), min_size=1, max_size=3))
def test_a_line_may_contain_several_trees(forest: list[Tree]) -> None:
    assert read(" ".join(map(str, forest))) == (forest, 0)


def test_trees_are_read_from_the_lines_of_parse_with_format_json(tmp_path: Path) -> None:
    lines = ['{"tree": "(S (X x))"}', '{"sentences": [{"tree": "(A a)"}, {"tree": null}, {"tree": "(B b)"}]}']
    (tmp_path / "trees.jsonl").write_text("\n".join([*lines, '{"tree": null}', ""]))
    assert list(map(str, read_trees(tmp_path / "trees.jsonl"))) == ["(S (X x))", "(A a)", "(B b)"]
    (tmp_path / "trees.jsonl").write_text('{"words": []}\n')
    with pytest.raises(TreebankError, match="expected a tree in brackets, or a line of `treecrf parse --format json`"):
        list(read_trees(tmp_path / "trees.jsonl"))
