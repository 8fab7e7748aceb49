import signal
import threading

import pytest

from treecrf.trees.search import time_limit

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no alarm signal")


def test_a_block_that_takes_too_long_is_interrupted_and_the_alarm_is_removed():
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeoutError, match=r"more than 0\.01 seconds"), time_limit(0.01):
        while True:
            pass
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_quick_block_is_not_interrupted():
    with time_limit(60):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_a_limit_is_a_positive_number(seconds):
    with pytest.raises(ValueError, match="expected a positive number"), time_limit(seconds):
        pass


def test_a_limit_needs_the_main_thread():
    errors = []

    def search():
        try:
            with time_limit(1):
                pass
        except ValueError as error:
            errors.append(str(error))

    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    assert "main thread" in errors[0]
