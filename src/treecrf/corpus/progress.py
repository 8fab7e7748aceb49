"""The progress of a run on a terminal: the part that is done, the speed and the time left."""

import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

_REFRESH_SECONDS = 1.0


class TerminalBar:
    """A bar on standard error, if it is a terminal, with messages above it. `bar_format` is a format of tqdm."""

    def __init__(self, total: int | None, bar_format: str, *, is_shown: bool = True) -> None:
        self._bar: Any = None
        if is_shown and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, bar_format=bar_format, dynamic_ncols=True, mininterval=0)

    def show(self, done: int, total: int | None, text: str, *, title: str = "") -> None:
        """Sets the length of the bar and the texts beside it."""
        if self._bar is not None:
            with self._bar.get_lock():
                self._bar.n, self._bar.total = done, total
                self._bar.set_description_str(title, refresh=False)
                self._bar.set_postfix_str(text, refresh=False)
                self._bar.refresh(nolock=True)

    def print_message(self, print_line: Callable[[str], object], message: str) -> None:
        """Prints a message above the bar."""
        if self._bar is None:
            print_line(message)
            return
        with self._bar.get_lock():
            self._bar.clear(nolock=True)
            print_line(message)
            self._bar.refresh(nolock=True)

    def close(self) -> None:
        """Leaves the bar on the terminal as it is."""
        if self._bar is not None:
            self._bar.close()


class ProgressBar(TerminalBar):
    """Shows a progress bar, which is refreshed once a second.

    `total` is the work of the whole run in some unit, such as bytes; without it, the time left is unknown. `unit` is
    the name of the things that are counted, such as sentences.
    """

    def __init__(self, total: int | None, *, unit: str, is_shown: bool = True) -> None:
        super().__init__(total, "{percentage:3.0f}% {bar} {postfix}" if total else "{postfix}", is_shown=is_shown)
        self._total = total
        self._unit = unit
        self._count = self._work = self._skipped_work = 0
        self._started = self._refreshed = time.monotonic()

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        self._refresh()
        self.close()

    def add(self, count: int, work: int) -> None:
        """Counts sentences and their work. Work without sentences was done by an earlier run."""
        if not count:
            self._skipped_work += work
        self.set(self._count + count, self._work + work)

    def set(self, count: int, work: int) -> None:
        """Sets the numbers of sentences and of work that are done."""
        self._count, self._work = count, work
        if time.monotonic() - self._refreshed >= _REFRESH_SECONDS:
            self._refresh()

    def text(self) -> str:
        """The progress in words: 1,200 sentences, 400 sentences/s, 0:01:01 left."""
        seconds = time.monotonic() - self._started
        own_work, end = self._work - self._skipped_work, f"{round(seconds):,} s"
        if self._total and own_work > 0:
            end = f"{timedelta(seconds=round(max(self._total - self._work, 0) * seconds / own_work))} left"
        rate = self._count / seconds if seconds else 0.0
        return f"{self._count:,} {self._unit}, {rate:,.{0 if rate >= 10 else 1}f} {self._unit}/s, {end}"

    def _refresh(self) -> None:
        self._refreshed = time.monotonic()
        self.show(min(self._work, self._total) if self._total else self._work, self._total, self.text())
