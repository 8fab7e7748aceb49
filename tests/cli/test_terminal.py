import io
import os
import sys
import warnings

import pytest

from treecrf.cli.terminal import discard_stdout, one_line_warnings, open_standard_streams, paint, print_message


def test_colors_are_for_terminals_and_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    assert paint("a", "red", stream) == "a"
    monkeypatch.setattr(stream, "isatty", lambda: True)
    assert paint("a", "red", stream) == "\x1b[1;31ma\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("a", "red", stream) == "a"


def test_a_warning_of_a_command_is_one_line() -> None:
    before = warnings.formatwarning
    with one_line_warnings("treecrf samples"):
        text = warnings.formatwarning("parsing is slow", RuntimeWarning, "file.py", 7)
    assert text == "treecrf samples: parsing is slow\n" and warnings.formatwarning is before


def test_a_message_has_the_name_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    print_message("treecrf parse", "skipped a.txt")
    assert capsys.readouterr() == ("", "treecrf parse: skipped a.txt\n")


@pytest.mark.parametrize("number", [0, 1])
def test_a_closed_stream_is_an_error_with_its_name(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    real = os.fstat

    def fstat(descriptor: int) -> os.stat_result:
        if descriptor == number:
            raise OSError("closed")
        return real(descriptor)

    monkeypatch.setattr("treecrf.cli.terminal.os.fstat", fstat)
    monkeypatch.setattr("treecrf.cli.terminal.os.open", lambda *_: number)
    for name in ("stdin", "stdout"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    open_standard_streams()
    stream = (sys.stdin, sys.stdout)[number]
    with pytest.raises(OSError, match=f"standard {('input', 'output')[number]} is closed; name a file instead"):
        stream.fileno()
    assert not stream.isatty()
    stream.flush()


def test_output_that_cannot_be_written_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    class FullDisk(io.StringIO):
        def flush(self) -> None:
            raise OSError("no space")

    replaced: list[int] = []
    monkeypatch.setattr(sys, "stdout", FullDisk())
    monkeypatch.setattr("treecrf.cli.terminal.os.dup2", lambda _, number: replaced.append(number))
    discard_stdout()
    assert replaced == [1]
