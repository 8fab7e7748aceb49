"""`treecrf check`: lines on the screen and the exit status."""

import pytest

from treecrf.cli import main

TREES = "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .)))\n"


def run(*arguments):
    with pytest.raises(SystemExit) as error:
        main(["check", *map(str, arguments)])
    return error.value.code


def test_the_status_tells_errors_from_unseen_productions(tmp_path, capsys):
    original, edited = tmp_path / "original.mrg", tmp_path / "edited.mrg"
    original.write_text(TREES)
    edited.write_text(TREES)
    assert run(edited, "--against", original) == 0
    assert capsys.readouterr().out == "everything is known, and the words are equal\n"
    edited.write_text(TREES.replace("(NN cat)", "(NP (NN cat))"))
    assert run(edited, "--against", original) == 0
    assert "edited.mrg:1: production: NP -> DT NP is unseen" in capsys.readouterr().out
    edited.write_text(TREES.replace("cat", "c\x1b[31mat"))
    assert run(edited, "--against", original) == 1
    out = capsys.readouterr().out
    assert "edited.mrg:1: words: " in out and "\x1b" not in out and "found: 1 words" in out


def test_without_an_original_the_model_decides(tmp_path, capsys):
    edited = tmp_path / "edited.mrg"
    edited.write_text(TREES.replace("(VP ", "(QQ "))
    assert run(edited) == 1
    assert "edited.mrg:1: label: the label QQ over 'sleeps' is not known" in capsys.readouterr().out
    edited.write_text(TREES)
    assert run(edited, "--model", "en") == 0


def test_two_standard_inputs_are_an_error():
    assert "both standard input" in run("-", "--against", "-")
