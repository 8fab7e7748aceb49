import os
import signal
import threading
from collections.abc import Iterator

import pytest

from treecrf.corpus.interrupts import STATUS, Interrupts, defer_interrupts, exit_on_interrupt


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
    assert ended.value.code == STATUS == 130
    assert capfd.readouterr().err == "treecrf parse: interrupted\n"
