import io
import os
import select
import signal
import sys
import threading
import warnings
from collections.abc import Iterator

import pytest

from treecrf.corpus import terminal
from treecrf.corpus.terminal import (
    INTERRUPTED,
    Interrupts,
    ProgressBar,
    defer_interrupts,
    discard_stdout,
    exit_on_interrupt,
    one_line_warnings,
    open_standard_streams,
    paint,
    print_message,
)


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

    monkeypatch.setattr("treecrf.corpus.terminal.os.fstat", fstat)
    monkeypatch.setattr("treecrf.corpus.terminal.os.open", lambda *_: number)
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
    monkeypatch.setattr("treecrf.corpus.terminal.os.dup2", lambda _, number: replaced.append(number))
    discard_stdout()
    assert replaced == [1]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("treecrf.corpus.terminal.time.monotonic", lambda: now[0])
    return now


def test_the_progress_has_a_count_a_speed_and_the_time_left(clock: list[float]) -> None:
    bar = ProgressBar(1000, unit="sentences")
    assert bar.text() == "0 sentences, 0.0 sentences/s, 0 s"
    clock[0] += 4
    bar.add(1200, 200)
    assert bar.text() == "1,200 sentences, 300 sentences/s, 0:00:16 left"
    bar.set(10, 1000)
    assert bar.text() == "10 sentences, 2.5 sentences/s, 0:00:00 left"


def test_work_of_an_earlier_run_does_not_count_as_fast_work(clock: list[float]) -> None:
    bar = ProgressBar(1000, unit="lines")
    bar.add(0, 500)
    clock[0] += 10
    bar.add(20, 100)
    assert bar.text() == "20 lines, 2.0 lines/s, 0:00:40 left"


def test_the_time_left_follows_from_the_first_unit_of_work(clock: list[float]) -> None:
    bar = ProgressBar(10, unit="lines")
    clock[0] += 1
    bar.add(1, 1)
    assert bar.text().endswith("0:00:09 left")
    bar.add(1, 20)  # more work than was estimated
    assert bar.text().endswith("0:00:00 left")


def test_without_a_total_the_time_is_shown(clock: list[float]) -> None:
    bar = ProgressBar(None, unit="lines")
    clock[0] += 2000
    bar.add(100_000, 1)
    assert bar.text() == "100,000 lines, 50 lines/s, 2,000 s"


def test_messages_are_above_the_bar_of_a_terminal(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressBar(10, unit="lines") as bar:
        bar.print_message(print, "no terminal")
    assert capsys.readouterr() == ("no terminal\n", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with ProgressBar(10, unit="lines") as bar:
        bar.add(3, 3)
        assert "3 lines" not in capsys.readouterr().err  # refreshed once a second
        clock[0] += 1
        bar.add(1, 2)
        assert " 50% " in (shown := capsys.readouterr().err) and "4 lines, 4.0 lines/s" in shown
        bar.print_message(print, "a message")
        bar.add(5, 50)
    output, shown = capsys.readouterr()
    assert output == "a message\n" and "100% " in shown and "9 lines" in shown
    with ProgressBar(10, unit="lines", is_shown=False) as bar:
        bar.add(10, 10)
    assert capsys.readouterr().err == ""


def test_an_interrupt_waits_for_the_end_of_a_block() -> None:
    is_complete = False
    with pytest.raises(KeyboardInterrupt), defer_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        is_complete = True
    assert is_complete


def test_a_second_interrupt_acts_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), defer_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("the second interrupt waits")


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_interrupt_is_announced_and_acts_at_the_next_check() -> None:
    messages: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with Interrupts(messages.append) as interrupts:
        interrupts.check()
        press()
        (message,) = messages
        assert message.startswith("interrupted; the current lines are finished first")
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    assert signal.getsignal(signal.SIGINT) == before


def test_an_interrupt_acts_at_once_while_a_line_is_read() -> None:
    def typed() -> Iterator[str]:
        yield "a"
        press()
        pytest.fail("the interrupt waits for the next line")

    with pytest.raises(KeyboardInterrupt), Interrupts(pytest.fail) as interrupts:
        assert list(interrupts.while_reading(iter("ab"))) == ["a", "b"]
        list(interrupts.while_reading(typed()))


def test_a_line_that_was_read_is_parsed_before_the_interrupt() -> None:
    with Interrupts() as interrupts:
        for line in interrupts.while_reading(iter("ab")):
            if line == "a":
                press()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()


def test_ignored_interrupts_stay_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts, defer_interrupts(), exit_on_interrupt("treecrf"):
            press()
            interrupts.check()
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, old)


def test_other_threads_leave_the_handler_alone() -> None:
    before, handlers = signal.getsignal(signal.SIGINT), []

    def run() -> None:
        with Interrupts(), exit_on_interrupt("treecrf"):
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert handlers == [before]


def test_a_command_ends_with_one_line_and_its_status(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with exit_on_interrupt("treecrf parse"):
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
    try:
        with pytest.raises(SystemExit) as ended, exit_on_interrupt("treecrf parse"):
            press()
    finally:
        signal.signal(signal.SIGINT, before)  # the next Ctrl-C would end the process
    assert ended.value.code == INTERRUPTED == 130
    assert capfd.readouterr().err == "treecrf parse: interrupted\n"


def test_a_handler_that_was_set_inside_stays() -> None:
    before = signal.getsignal(signal.SIGINT)

    def other(number: int, frame: object) -> None:
        raise AssertionError

    try:
        with Interrupts():
            assert signal.getsignal(signal.SIGINT) not in (before, other)
            signal.signal(signal.SIGINT, other)
        assert signal.getsignal(signal.SIGINT) is other
    finally:
        signal.signal(signal.SIGINT, before)
    with Interrupts():
        pass
    assert signal.getsignal(signal.SIGINT) == before


def test_control_characters_are_escapes_by_their_last_byte() -> None:
    raw = io.BytesIO()
    buffer = terminal._TerminalBuffer(raw)
    assert buffer.write("a\x07b\x9bc\x1b[1m".encode()) == 10
    buffer.flush()
    assert raw.getvalue() == b"a\\x07b\\x9bc\x1b[1m"


def test_a_line_reaches_a_terminal_at_once(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.openpty()
    before = os.dup(1)
    try:
        with capfd.disabled(), os.fdopen(writer, "w") as stream:
            os.dup2(writer, 1)
            monkeypatch.setattr(sys, "stdout", stream)
            open_standard_streams()
            print("a\x07b")
            assert select.select([reader], [], [], 60)[0] and os.read(reader, 100) == b"a\\x07b\r\n"
    finally:
        os.dup2(before, 1)
        os.close(before)
        os.close(reader)
