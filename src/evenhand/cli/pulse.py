"""Signs of life: a command that would be silent for two seconds says what it is busy with.

On a screen it is one line that is drawn anew, and gone before anything else is printed. In a log it is a line every two
seconds. ``EVENHAND_PROGRESS=0`` keeps them out of a log.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from evenhand.core.progress import Activity, activities

PROGRESS_VARIABLE = "EVENHAND_PROGRESS"

LONGEST_SILENCE = 2.0
"""Seconds."""

_BETWEEN_LOOKS = 0.25

_MINUTE = 60.0

_CLEAR_LINE = "\r\x1b[2K"


class Pulse:
    """Looks again and again whether it is time for a sign of life."""

    def __init__(
        self, stream: TextIO, *, is_screen: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._is_screen = is_screen
        self._clock = clock
        self._lock = threading.Lock()
        self._started = self._last = clock()
        self._is_drawn = False
        self._is_paused = False
        self._command: str | None = None

    def name_command(self, message: str) -> None:
        """What the command does, of which its first message counts."""
        self._command = self._command or message

    def make_room(self) -> None:
        """Something else is about to be printed."""
        with self._lock:
            self._erase()
            self._last = self._clock()

    def look(self) -> None:
        """Write what is under way if nothing was printed for long."""
        with self._lock:
            now = self._clock()
            waited = now - self._last + 2 * _BETWEEN_LOOKS  # the next look would be too late if it came late
            if self._is_paused or waited < LONGEST_SILENCE:
                return
            line = line_of(activities(), command=self._command or "Starting", started=self._started, now=now)
            if self._is_screen:
                width = shutil.get_terminal_size().columns - 1
                self._write(_CLEAR_LINE + (line if len(line) <= width else f"{line[: width - 3]}..."))
                self._is_drawn = True
            else:
                self._write(f"{line}\n")
                self._last = now

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is written during the block: it shows itself, or somebody is asked."""
        self.make_room()
        was_paused, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = was_paused
            self.make_room()

    def _erase(self) -> None:
        if self._is_drawn:
            self._write(_CLEAR_LINE)
            self._is_drawn = False

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # nobody reads on: whoever prints a result finds out
            self._stream.write(text)
            self._stream.flush()


def line_of(under_way: tuple[Activity, ...], *, command: str, started: float, now: float) -> str:
    """What is under way, how much of it is done, how fast, and how long it has taken and will take."""
    titles = ", ".join(dict.fromkeys(own.title for own in under_way)) or command
    counted = _most_telling([own for own in under_way if own.done < own.total], now)
    since = under_way[0].started if under_way else started
    facts = [*_counts(counted, now), f"{_duration(now - since)} so far"]
    return f"{titles}: {', '.join(facts)}"


def _most_telling(counted: Sequence[Activity], now: float) -> Activity | None:
    """The whole if its speed is known, otherwise the first part of it whose speed is."""
    return next((own for own in counted if own.rate(now) > 0), counted[0] if counted else None)


def _counts(counted: Activity | None, now: float) -> list[str]:
    if counted is None:
        return []
    facts = [f"{counted.done:,} of {counted.total:,} {counted.unit}".rstrip()]
    rate = counted.rate(now)
    if rate > 0:
        left = (counted.total - counted.done) / rate
        facts += [speed_words(rate, counted.unit), f"{_duration(left)} left"]
    return facts


def speed_words(rate: float, unit: str) -> str:
    """How fast something goes, per second or per minute."""
    return f"{rate:,.0f} {unit}/s" if rate >= 1 else f"{_MINUTE * rate:.1f} {unit}/min"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
    )


_pulse: Pulse | None = None


def running_pulse() -> Pulse | None:
    """That of the command which runs, if it has one."""
    return _pulse


@contextmanager
def signs_of_life() -> Iterator[None]:
    """Give signs of life during the block."""
    global _pulse  # noqa: PLW0603 # a process has one command
    is_screen = sys.stderr.isatty()
    if _pulse is not None or (not is_screen and os.environ.get(PROGRESS_VARIABLE) == "0"):
        yield
        return
    pulse = _pulse = Pulse(sys.stderr, is_screen=is_screen)
    ended = threading.Event()

    def look_again() -> None:
        while not ended.wait(_BETWEEN_LOOKS):
            pulse.look()

    thread = threading.Thread(target=look_again, name="signs of life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        pulse.make_room()
        _pulse = None
