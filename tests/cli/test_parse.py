import io
from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.cli import main
from treecrf.parser import Parser
from treecrf.tree import Tree
from treecrf.treebank import read_trees

TREES = toy_trees(30, seed=3)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    random_parser(TREES).save(folder)
    return folder


def parse(*args: object) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["parse", *map(str, args)])
    return ended.value.code


@pytest.mark.parametrize("options", [[], ["--no-mbr"]])
def test_a_file_of_sentences_becomes_a_file_of_trees(model: Path, tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "in.txt").write_text("".join(" ".join(tree.words) + "\n" for tree in TREES))
    assert not parse(tmp_path / "in.txt", "-o", tmp_path / "out.mrg", "--model", model, "--device", "cpu", *options)
    expected = Parser.load(model, "cpu").parse_many([tree.words for tree in TREES], mbr=not options)
    assert list(read_trees(tmp_path / "out.mrg")) == list(expected)


def test_standard_input_goes_to_standard_output(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("the cat\nAda sang .\n"))
    assert not parse("--model", model, "--device", "cpu")
    words = [Tree.parse(line).words for line in capsys.readouterr().out.splitlines()]
    assert words == [["the", "cat"], ["Ada", "sang", "."]]


@pytest.mark.parametrize(
    ("text", "message"), [("the cat\n\n", r"in.txt:2: the line has no words"), (None, "No such file")]
)
def test_what_cannot_be_parsed_is_told(model: Path, tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "in.txt").write_text(text)
    assert message in str(parse(tmp_path / "in.txt", "-o", tmp_path / "out", "--model", model, "--device", "cpu"))


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    assert "holds no model" in str(parse("--model", tmp_path))
