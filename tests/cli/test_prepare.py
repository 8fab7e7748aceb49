"""Tests of `treecrf prepare`."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from treecrf.cli import main
from treecrf.trees.treebank.samples import FOLDER

DATA = Path(__file__).parents[1] / "samples"
TREE = "( (S (NP-SBJ (NN cat)) (VP (VBZ runs))))\n"
CLEAN = "(TOP (S (NP (NN cat)) (VP (VBZ runs))))\n"


def run(*arguments: object) -> str | int | None:
    with pytest.raises(SystemExit) as caught:
        main(["prepare", *map(str, arguments)])
    return caught.value.code


@pytest.fixture
def ptb(tmp_path: Path) -> Path:
    for article in ("0200", "2200", "2300"):
        path = tmp_path / f"parsed/mrg/wsj/{article[:2]}/wsj_{article}.mrg"
        path.parent.mkdir(parents=True)
        path.write_text(TREE)
    return tmp_path


def test_a_release_is_written_as_three_files_with_a_report(ptb: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ptb", ptb, ptb / "out") is None
    assert [(ptb / "out" / f"{part}.mrg").read_text() for part in ("train", "dev", "test")] == [CLEAN] * 3
    assert capsys.readouterr().out.splitlines() == [
        "Penn Treebank, Wall Street Journal (LDC99T42): train 02-21, dev 22, test 23",
        "part   sentences   paper  tokens  labels  paper  binarized  paper",
        "train          1  39,832       2       3     26          3    138",
        "dev            1   1,700       2       3                 3",
        "test           1   2,416       2       3                 3",
        "missing: WSJ sections 3-21",
        "differs: 1 sentences of train, 39,832 in the paper",
        "differs: 1 sentences of dev, 1,700 in the paper",
        "differs: 1 sentences of test, 2,416 in the paper",
        "differs: 3 labels, 26 in the paper",
        "differs: 3 binarized labels, 138 in the paper",
    ]


def test_sizes_that_agree_with_the_paper_are_reported(
    ptb: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treecrf.trees.treebank.releases.count_sizes", lambda parts: (39_832, 1_700, 2_416, 26, 138))
    run("ptb", ptb, ptb / "out")
    assert "all numbers agree with the paper" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["english.mrg", "chinese.fid"])
@pytest.mark.parametrize("suffix", ["mrg", "mrg.gz"])
def test_any_file_is_cleaned(tmp_path: Path, name: str, suffix: str) -> None:
    out = tmp_path / f"out.{suffix}"
    assert run("trees", FOLDER / name, out) is None
    raw = out.read_bytes()
    clean = (DATA / name).with_suffix(".clean.mrg").read_bytes()
    assert (gzip.decompress(raw) if suffix.endswith("gz") else raw) == clean


def test_trees_are_split_into_three_parts_with_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("split", FOLDER / "fifty.mrg", tmp_path / "out", "--dev", "0.2") is None
    counts = [len((tmp_path / "out" / f"{part}.mrg").read_text().splitlines()) for part in ("train", "dev", "test")]
    assert counts == [35, 10, 5]
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in out[1:4]] == [["train", "35"], ["dev", "10"], ["test", "5"]]
    assert out[-1] == "runs of consecutive trees were put into one part as a whole"


def test_several_files_are_written_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("trees", FOLDER / "english.mrg", FOLDER / "chinese.fid", "-o", tmp_path / "out.mrg") is None
    assert len((tmp_path / "out.mrg").read_text(encoding="utf-8").splitlines()) == 14
    assert "dropped, because no words were left: 1 trees" in capsys.readouterr().out


def test_trees_are_read_from_standard_input_and_written_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TREE.encode()))))
    assert run("trees", "-", "-o", "-") is None
    assert capsys.readouterr().out == CLEAN


def test_a_bad_tree_is_an_error_or_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in.mrg", tmp_path / "out.mrg"
    source.write_text(f"(S (NN x)\n{TREE}")
    message = run("trees", source, out)
    assert str(message) == (
        f"treecrf prepare: {source}:1: 1 ')' missing; the tree that starts here is still open at line 2"
    )
    assert not out.exists()
    assert run("trees", source, out, "--skip-bad") is None
    assert out.read_text() == CLEAN
    assert "skipped, because they could not be read: 1 trees" in capsys.readouterr().out


def test_labels_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "in.mrg").write_text("(ROOT (hd-cmp_u_c (v go)))\n")
    run("trees", tmp_path / "in.mrg", tmp_path / "out.mrg", "--keep-labels")
    assert (tmp_path / "out.mrg").read_text() == "(TOP (hd-cmp_u_c (v go)))\n"


def test_the_encoding_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "in.mrg").write_bytes("(S (NN café))\n".encode("latin-1"))
    assert "0xe9" in str(run("trees", tmp_path / "in.mrg", tmp_path / "out.mrg"))
    assert run("trees", tmp_path / "in.mrg", tmp_path / "out.mrg", "--encoding", "latin-1") is None
    assert (tmp_path / "out.mrg").read_text(encoding="utf-8") == "(TOP (S (NN café)))\n"


def test_a_file_is_only_replaced_with_the_output_option(tmp_path: Path) -> None:
    for name in ("a.mrg", "b.mrg"):
        (tmp_path / name).write_text(TREE)
    assert f"{tmp_path / 'b.mrg'} exists; replace it with -o" in str(
        run("trees", tmp_path / "a.mrg", tmp_path / "b.mrg")
    )
    assert (tmp_path / "b.mrg").read_text() == TREE
    assert run("trees", tmp_path / "a.mrg", "-o", tmp_path / "b.mrg") is None
    assert (tmp_path / "b.mrg").read_text() == CLEAN


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trees", "in.mrg"], "there is no output"),
        (["ptb", "a", "b", "c"], "takes one SOURCE folder"),
        (["ptb", "a", "b", "--keep-labels"], "not --keep-labels"),
        (["ptb", "absent", "out"], "is not a folder"),
        (["trees", "absent.mrg", "out.mrg"], "there is no file absent.mrg"),
        (["split", "absent.mrg", "out"], "there is no file absent.mrg"),
        (["split", str(FOLDER / "english.mrg"), "out", "--dev", "2"], "the shares of dev and test are 2.0 and 0.1"),
        (["trees", "a.mrg", "b.mrg", "--seed", "2"], "are for `treecrf prepare split`"),
        (["trees", str(DATA), "out.mrg"], "is a folder; expected a file"),
        (["trees", str(FOLDER / "english.mrg"), "out.mrg", "--encoding", "nonsense"], "unknown encoding"),
    ],
)
def test_errors_have_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code = run(*arguments)
    assert isinstance(code, str)
    assert message in code
    assert not list(tmp_path.iterdir())
