import gzip
import json

import pytest

from treecrf.trees.drawing.tree_files import DrawableTree, begins_with_trees, read_drawable_trees, select_trees
from treecrf.trees.tree import Tree

TREES = [Tree.parse(f"(S (NN {word}))") for word in "abcdefg"]


def test_brackets_are_read_plain_or_compressed(tmp_path):
    text = "\n".join(map(str, TREES)).encode()
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text))
    for name in ("plain", "packed"):
        assert list(read_drawable_trees(str(tmp_path / name))) == [DrawableTree(tree) for tree in TREES]


def test_json_lines_have_sentences_and_prefer_calibrated_probabilities(tmp_path):
    spans = [{"probability": 0.9, "calibrated": 0.6}]
    lines = [
        {"tree": str(TREES[0]), "spans": spans},
        None,
        {"sentences": [{"tree": str(TREES[1]), "spans": [{"probability": 0.5}]}, {"tree": str(TREES[2])}]},
    ]
    path = tmp_path / "trees.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    assert list(read_drawable_trees(str(path))) == [(TREES[0], [0.6]), (TREES[1], [0.5]), (TREES[2], None)]


@pytest.mark.parametrize("line", ['{"words": []}', "{", '{"tree": "(S (NN a))", "spans": [{"probability": 2}]}'])
def test_a_line_that_is_not_the_output_of_parse_is_an_error_with_its_number(tmp_path, line):
    path = tmp_path / "trees.jsonl"
    path.write_text(json.dumps({"tree": str(TREES[0])}) + "\n" + line + "\n")
    with pytest.raises(ValueError, match=r"trees\.jsonl:2: .*; expected a line of `treecrf parse --format json`"):
        list(read_drawable_trees(str(path)))


def test_trees_are_selected_by_numbers_and_ranges():
    drawable = [DrawableTree(tree) for tree in TREES]
    assert select_trees(drawable, "2, 5-7", "file") == [drawable[1], *drawable[4:]]
    assert select_trees(drawable, "1", "file") == drawable[:1] and select_trees(drawable, "1-7", "file") == drawable


@pytest.mark.parametrize(
    ("numbers", "message"),
    [("0", "has trees 1 to 7"), ("5-8", "has trees 1 to 7"), ("3-2", "asks for 3-2"), ("x", "--number is 'x'")],
)
def test_numbers_outside_of_the_file_are_errors(numbers, message):
    with pytest.raises(ValueError, match=message):
        select_trees([DrawableTree(tree) for tree in TREES], numbers, "file")


@pytest.mark.parametrize(("line", "reason"), [('{"words": []}', "no 'tree'"), ("{", "Expecting property name")])
def test_a_missing_field_is_named(tmp_path, line, reason):
    path = tmp_path / "trees.jsonl"
    path.write_text(line)
    with pytest.raises(ValueError, match=rf"trees\.jsonl:1: {reason}"):
        list(read_drawable_trees(str(path)))


def test_brackets_and_json_begin_like_trees_and_text_does_not(tmp_path):
    for text, expected in (("(S (A a))", True), ('{"tree": 1}', True), ("The cat.", False)):
        (tmp_path / "input").write_text(text)
        assert begins_with_trees(str(tmp_path / "input")) is expected


@pytest.mark.parametrize("line", ["(S (N a))\n", '{"tree": "(S (N a))"}\n'])
def test_damaged_compressed_trees_are_an_error_with_the_file(tmp_path, line):
    path = tmp_path / "trees.gz"
    path.write_bytes(gzip.compress(line.encode())[:-9])
    for read in (begins_with_trees, lambda source: list(read_drawable_trees(source))):
        with pytest.raises(ValueError, match=r"trees\.gz: the compressed data is damaged"):
            read(str(path))
