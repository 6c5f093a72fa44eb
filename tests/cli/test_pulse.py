"""A command that waits for long says what it is busy with: on a screen in one line, in a log in lines."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace

import pytest

from evenhand.cli import output, pulse
from evenhand.cli.pulse import PROGRESS_VARIABLE, Pulse, line_of, signs_of_life
from evenhand.core import progress
from evenhand.core.progress import Activity, activities, activity


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=clock))
    return clock


def watched(own: Pulse, clock: Clock, seconds: float) -> Iterator[float]:
    """Let time pass, a look at every quarter of a second."""
    for _ in range(round(seconds * 4)):
        clock.now += 0.25
        own.look()
        yield clock.now


def test_a_log_is_never_silent_for_more_than_two_seconds(clock: Clock) -> None:
    stream = io.StringIO()
    own = Pulse(stream, is_screen=False, clock=clock)
    own.name_command("Auditing gpt2")
    lines: list[float] = [clock.now]
    with activity("loading gpt2"), activity("dequantising the weights"):
        for now in watched(own, clock, 3_600):
            if stream.getvalue().count("\n") >= len(lines):
                lines.append(now)

    gaps = [later - earlier for earlier, later in pairwise(lines)]
    assert len(lines) >= 3_600 / 2
    assert max(gaps) <= 2
    assert stream.getvalue().splitlines()[0] == "loading gpt2, dequantising the weights: 2 s so far"


def test_what_a_command_prints_itself_is_a_sign_of_life(clock: Clock) -> None:
    stream = io.StringIO()
    own = Pulse(stream, is_screen=False, clock=clock)
    for _ in range(20):
        for _ in watched(own, clock, 1.25):
            pass
        own.make_room()
    assert stream.getvalue() == ""


def test_scoring_shows_its_rate_and_the_time_left(clock: Clock) -> None:
    with (
        activity("gpt2_association_stereoset_en", "items") as report,
        activity("scoring", "batches") as inner,
    ):
        inner(0, 40)
        report(1, 400)
        clock.now += 20
        report(101, 400)
        inner(10, 40)
        line = line_of(activities(), command="Auditing gpt2", started=clock.now - 30, now=clock.now)
    # 101 items in 20 s, so 299 / 5.05 = 59 s are left.
    assert (
        line == "gpt2_association_stereoset_en, scoring: 101 of 400 items, 5 items/s, 59 s left, 20 s so far"
    )


def test_a_part_shows_its_rate_while_that_of_the_whole_is_not_known(clock: Clock) -> None:
    with activity("gpt2_regard", "texts") as whole, activity("writing 58 texts at once", "tokens") as part:
        whole(52, 120)
        part(0, 30)
        clock.now += 4
        part(12, 30)
        line = line_of(activities(), command="Auditing gpt2", started=clock.now, now=clock.now)
    # 12 tokens in 4 s, so 18 / 3 = 6 s are left.
    assert line == "gpt2_regard, writing 58 texts at once: 12 of 30 tokens, 3 tokens/s, 6 s left, 4 s so far"


def test_what_an_earlier_process_had_done_is_no_measure_of_the_speed(clock: Clock) -> None:
    resumed = Activity("scoring", "items", clock.now)
    clock.now += 1
    resumed.report(300, 400)
    assert resumed.rate(clock.now) == 0
    clock.now += 60
    resumed.report(330, 400)
    assert resumed.rate(clock.now) == pytest.approx(0.5)
    line = line_of((resumed,), command="Auditing gpt2", started=clock.now, now=clock.now)
    assert line == "scoring: 330 of 400 items, 30.0 items/min, 2 min 20 s left, 1 min 01 s so far"


def test_without_a_stage_the_command_says_what_it_does(clock: Clock) -> None:
    assert line_of((), command="Auditing gpt2", started=clock.now - 3_725, now=clock.now) == (
        "Auditing gpt2: 1 h 02 min so far"
    )


def test_a_screen_has_one_line_that_is_gone_before_anything_is_printed(clock: Clock) -> None:
    stream = io.StringIO()
    own = Pulse(stream, is_screen=True, clock=clock)
    with activity("loading gpt2"):
        for _ in watched(own, clock, 3):
            pass
        assert stream.getvalue().endswith("\r\x1b[2Kloading gpt2: 3 s so far")
        assert "\n" not in stream.getvalue()
        own.make_room()
    assert stream.getvalue().endswith("\r\x1b[2K")
    with own.paused():
        for _ in watched(own, clock, 9):
            pass
        assert stream.getvalue().endswith("so far\r\x1b[2K")


def test_a_slow_stage_of_a_command_is_seen_and_the_thread_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(PROGRESS_VARIABLE, "1")
    monkeypatch.setattr(pulse, "LONGEST_SILENCE", 0.0)
    seen = threading.Event()
    look = Pulse.look

    def look_and_tell(own: Pulse) -> None:
        look(own)
        if "dequantising" in capsys.readouterr().err:
            seen.set()

    monkeypatch.setattr(Pulse, "look", look_and_tell)
    with signs_of_life(), activity("dequantising"):
        assert seen.wait(60)
    assert pulse.running_pulse() is None
    assert "signs of life" not in {thread.name for thread in threading.enumerate()}


def test_a_log_can_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROGRESS_VARIABLE, "0")
    with signs_of_life():
        assert pulse.running_pulse() is None


def test_the_first_message_names_the_command(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    stream = io.StringIO()
    own = Pulse(stream, is_screen=False, clock=clock)
    monkeypatch.setattr(pulse, "_pulse", own)
    output.say("Auditing gpt2")
    output.say("Loading gpt2")
    for _ in watched(own, clock, 2.5):
        pass
    assert stream.getvalue() == "Auditing gpt2: 2 s so far\n"


def test_a_stream_that_nobody_reads_stops_nothing(clock: Clock) -> None:
    closed = io.StringIO()
    closed.close()
    own = Pulse(closed, is_screen=False, clock=clock)
    for _ in watched(own, clock, 3):
        pass
    assert sys.stderr is not closed
