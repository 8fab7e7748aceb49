"""Control characters in file names and words: on a terminal they are shown as escapes; in files they stay."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees

TITLE = "\x1b]0;changed\x07"  # changes the title of a terminal window
NAME = f"a{TITLE}\x9b2J\rb.mrg"


def run_on_terminal(folder: Path, *arguments: str, text: str = "") -> str:
    """The output of a command on a terminal; its standard error is the same terminal."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "treecrf", *arguments]
    environment = os.environ | {"NO_COLOR": "1", "PYTHONUTF8": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, cwd=folder, env=environment
    ) as process:
        os.close(theirs)
        assert process.stdin is not None
        process.stdin.write(text.encode())
        process.stdin.close()
        output = b""
        try:
            while data := os.read(ours, 1 << 16):
                output += data
        except OSError:  # the end of a terminal on Linux
            pass
    os.close(ours)
    return output.decode().replace("\r\n", "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / NAME).write_text(f"(TOP (NP (DT a{TITLE}) (NN cat)))\n")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "NP", NAME),
        ("search", "NP", NAME, "--show", "words"),
        ("search", "NP", NAME, "--show", "counts"),
        ("search", "NP", f"missing{NAME}"),
        ("search", f"NP{TITLE} < (", NAME),
        ("draw", NAME),
        ("measure", NAME, "--words"),
        ("evaluate", NAME, NAME),
        ("evaluate", NAME, f"missing{NAME}"),
        ("parse", f"missing{NAME}"),
        ("parse", f"--{TITLE}"),
        (TITLE,),
        ("train", NAME, "-o", "out"),
        ("models", NAME),
    ],
)
def test_a_terminal_gets_no_control_characters(folder: Path, arguments: tuple[str, ...]) -> None:
    output = run_on_terminal(folder, *arguments)
    assert output and not set(output) & set("\x1b\x07\r\x9b"), ascii(output)


def test_words_have_no_control_characters_on_a_terminal_and_stay_in_files(tmp_path: Path) -> None:
    model = tmp_path / "model"
    random_parser(toy_trees(30, seed=3), tag_head=True).save(model)
    text = f"a{TITLE} cat sleeps\n"
    for options in ((), ("--format", "pretty"), ("--format", "csv"), ("--format", "json")):
        output = run_on_terminal(tmp_path, "parse", "--tokens", "--model", str(model), *options, text=text)
        assert "cat" in output and not set(output) & set("\x1b\x07"), ascii(output)
    command = [sys.executable, "-m", "treecrf", "parse", "--tokens", "--model", str(model)]
    result = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    assert TITLE.encode() in result.stdout
