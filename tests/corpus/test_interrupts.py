import os
import signal

import pytest

from treecrf.corpus.interrupts import defer_interrupts


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
