import gzip
import io
import json
from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.cli import main
from treecrf.parser import Parser
from treecrf.trees import drawing
from treecrf.trees.tree import Tree

TREES = toy_trees(12, seed=5)
TREE = Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))")
NUMBERS = [1.0, 0.9, 0.5, 0.25]
LINE = {"tree": str(TREE), "words": TREE.words, "spans": [{"label": "X", "probability": number} for number in NUMBERS]}


def run(*args: object) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["draw", *map(str, args)])
    return ended.value.code


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in.mrg"
    path.write_text("".join(f"{tree}\n" for tree in TREES))
    return path


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.fixture
def printed(capfdbinary: pytest.CaptureFixture[bytes]):
    return lambda: capfdbinary.readouterr().out.decode()


def test_trees_are_drawn_to_standard_output(file, printed):
    assert not run(file, "--width", 60)
    assert printed() == "\n\n".join(drawing.text(tree, width=60) for tree in TREES) + "\n"


@pytest.mark.parametrize("is_compressed", [False, True])
def test_brackets_are_read_from_files_and_standard_input(file, is_compressed, tmp_path, monkeypatch, printed):
    data = gzip.compress(file.read_bytes()) if is_compressed else file.read_bytes()
    (tmp_path / "other").write_bytes(data)
    assert not run(tmp_path / "other", "--number", 2, "--format", "svg")
    first = printed()
    stdin(monkeypatch, data)
    assert not run("-", "--number", 2, "--format", "svg")
    assert first == printed() == drawing.svg(TREES[1])


def test_files_of_several_trees_are_numbered(file, tmp_path, capsys):
    assert not run(file, "--number", "3", "-o", tmp_path / "one.svg")
    assert (tmp_path / "one.svg").read_text() == drawing.svg(TREES[2])
    assert not run(file, "-o", tmp_path / "tree.svg", "--layout", "aligned", "--theme", "dark", "--transparent")
    names = sorted(path.name for path in tmp_path.glob("tree-*.svg"))
    assert names == [f"tree-{number:02d}.svg" for number in range(1, 13)]
    expected = drawing.svg(TREES[11], layout="aligned", theme="dark", transparent=True)
    assert (tmp_path / "tree-12.svg").read_text() == expected
    assert f"12 trees drawn in {tmp_path / 'tree-01.svg'} to {tmp_path / 'tree-12.svg'}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "options", "start", "count"),
    [
        ("a.png", ["--number", "1", "--scale", "1"], b"\x89PNG", None),
        ("a.pdf", [], b"%PDF", None),
        ("a.html", ["--theme", "dark"], b"<!DOCTYPE html>", b"<svg"),
        ("a.tex", [], b"\\documentclass", b"\\begin{forest}"),
        ("a.tex", ["--format", "tikz-qtree"], b"\\documentclass", b"\\Tree"),
        ("a.txt", [], b"", b"TOP"),
    ],
)
def test_the_suffix_of_the_output_selects_the_format(file, tmp_path, name, options, start, count):
    if name in ("a.png", "a.pdf"):
        pytest.importorskip("vl_convert")
    assert not run(file, "-o", tmp_path / name, *options)
    data = (tmp_path / name).read_bytes()
    assert data.startswith(start)
    assert count is None or data.count(count) == len(TREES)


@pytest.mark.parametrize("shape", ["tokens", "text"])
def test_probabilities_are_read_from_json_lines(shape, tmp_path, printed):
    lines = (
        [LINE, None, LINE] if shape == "tokens" else [{"sentences": [LINE]}, {"sentences": []}, {"sentences": [LINE]}]
    )
    (tmp_path / "in.jsonl").write_text("\n" + "".join(json.dumps(line) + "\n" for line in lines))
    assert not run(tmp_path / "in.jsonl", "--number", "2", "--format", "svg")
    assert printed() == drawing.svg(TREE, NUMBERS)
    assert not run(tmp_path / "in.jsonl", "--number", "2", "--format", "svg", "--no-probs")
    assert printed() == drawing.svg(TREE)


def test_folders_patterns_and_the_texts_of_tables_are_drawn(tmp_path, printed):
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "a.mrg").write_text(f"{TREE}\n")
    (tmp_path / "trees" / "b.mrg.gz").write_bytes(gzip.compress(f"{TREES[0]}\n".encode()))
    for argument in (tmp_path / "trees", tmp_path / "trees" / "*"):
        assert not run(argument, "--width", 60)
        assert printed() == "\n\n".join(drawing.text(tree, width=60) for tree in (TREE, TREES[0])) + "\n"
    (tmp_path / "d.csv").write_text('id,body,text\n1,no,"She sang, too. He left."\n2,,\n')
    (tmp_path / "d.jsonl").write_text('{"id": 1, "text": "She sang, too. He left."}\n')
    for name in ("d.csv", "d.jsonl"):
        assert not run(tmp_path / name, "--no-probs")
        words = printed().split()
        assert words.count("TOP") == 2 and "She" in words and "id,body,text" not in words
    assert not run(tmp_path / "d.csv", "--field", "body")
    assert "TOP" in printed()
    assert run(tmp_path / "d.csv", "--field", "title") == "treecrf draw: " + (
        f"{tmp_path}/d.csv has no column 'title'; choose one with --field: id, body, text"
    )


def test_the_output_of_parse_can_be_drawn(tmp_path, printed):
    random_parser(TREES, tag_head=True).save(tmp_path / "model")
    (tmp_path / "in.txt").write_text("the ( old ) cat sees a garden .\n\nwe waited .\n")
    options = ["--tokens", "--model", tmp_path / "model"]
    with pytest.raises(SystemExit):
        main(
            [
                "parse",
                *map(str, options),
                str(tmp_path / "in.txt"),
                "--format",
                "json",
                "--probs",
                "-o",
                str(tmp_path / "p"),
            ]
        )
    assert not run(tmp_path / "p", "--format", "html")
    page = printed()
    assert page.count("<svg") == 2 and "probability" in page
    assert not run(tmp_path / "in.txt", *options, "--format", "html")
    assert printed().count("<svg") == 2


def test_raw_text_is_parsed_first(tmp_path, printed):
    random_parser(TREES, tag_head=True).save(tmp_path / "model")
    (tmp_path / "in.txt").write_text("The old cat sees a garden. We waited.\n")
    assert not run(tmp_path / "in.txt", "--model", tmp_path / "model", "--number", "2", "--format", "svg")
    analysis = Parser.load(tmp_path / "model", "cpu").analyze("We waited.")
    assert printed() == drawing.svg(analysis.tree, [constituent.calibrated for constituent in analysis.constituents])


def test_raw_text_is_recognized(monkeypatch, printed):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"She sang.\n"))))
    assert not run("--no-probs", "--format", "svg")
    assert printed() == drawing.svg(Parser.load("en", "cpu").parse("She sang."))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("(A (B b)", [], r"in.mrg:1: 1 '\)' missing"),
        ("", [], "has no tree to draw"),
        ("(A (B b))", ["--number", "2"], "--number asks for 2; .*in.mrg has trees 1 to 1"),
        ("(A (B b))", ["--number", "x"], "--number is 'x'; expected numbers and ranges"),
        ("(A (B b))", ["-o", "a.gif"], r"a.gif: no format has the suffix '.gif'; expected one of .svg"),
        ("(A (B b))", ["--scale", "2"], "--scale needs the format png; this is text"),
        ("(A (B b))", ["--tokens"], "--tokens needs a parser; add --model M"),
        ("(A (B b))", ["--width", "0"], "--width is 0; expected 1 or more"),
        ("(A (B b)) (C (D d))", ["--format", "svg"], "2 pictures do not fit on standard output"),
        ('{"tree": "(A (B b))"}\n{"trees": 1}', [], "in.mrg:2: no 'tree'; expected a line of `treecrf parse"),
        ('{"tree": "(A (B b)"}', [], "in.mrg:1: .* missing .*; expected a line of `treecrf parse"),
        (
            '{"tree": "(A (B b))", "spans": [{"probability": 7}]}',
            [],
            "in.mrg:1: probability 0 is 7; expected a number",
        ),
    ],
)
def test_invalid_inputs_and_options_are_errors(text, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.mrg").write_text(text)
    code = run("in.mrg", *options)
    assert isinstance(code, str)
    with pytest.raises(ValueError, match=message):
        raise ValueError(code)


def test_the_input_is_never_overwritten(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_text(str(TREE))
    assert "is the input and would be overwritten" in str(run(path, "-o", path))
    assert path.read_text() == str(TREE)


def test_characters_without_a_font_cause_a_warning(tmp_path, capsys):
    pytest.importorskip("vl_convert")
    (tmp_path / "in.mrg").write_text("(NP (NN \U0010fffc\U0010fffb))")
    assert not run(tmp_path / "in.mrg", "-o", tmp_path / "a.png")
    assert "and 1 more, which are drawn as boxes; install a font that has them" in capsys.readouterr().err
