"""What is printed on screens of different widths, and into pipes."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from rich.table import Table

import evenhand as eh
from evenhand.cli.data import check_command
from evenhand.cli.options import TableChoice
from evenhand.cli.output import (
    console,
    plain_table,
    print_lines,
    print_table,
    progress_bar,
    say,
    warn,
)
from evenhand.cli.results import show_results

SENTENCE = (
    "Perplexity rose, difference −1.89 (95% interval −2.34 to −1.44), which is within the margin of 1%."
)
LONG_PATH = "/" + "/".join(["folder"] * 20)
ROWS = {"intrasentence": "100.0 [79.4, 100.0]", "intersentence": "91.7 [89.1, 94.3]"}


class Screen(io.StringIO):
    """Output that claims to be a terminal."""

    def isatty(self) -> bool:
        return True

    def getvalue(self) -> str:
        """What is seen: without the codes for bold and dim."""
        return re.sub(r"\x1b\[\d*m", "", super().getvalue())


@contextlib.contextmanager
def shown_on(stream: io.StringIO, columns: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield stream


def lines_on_a_screen(columns: int, monkeypatch: pytest.MonkeyPatch, *tables: Table) -> list[str]:
    with shown_on(Screen(), columns, monkeypatch) as screen:
        for table in tables:
            print_table(table)
    return screen.getvalue().splitlines()


def estimates_table(columns: int = 3) -> Table:
    names = [f"measure {number}" for number in range(columns)]
    table = plain_table("task", *names, right=names)
    for name, estimate in ROWS.items():
        table.add_row(name, *[estimate] * columns)
    return table


@pytest.mark.parametrize(
    "tell", [say, warn, lambda text: print_lines([text])], ids=["say", "warn", "print_lines"]
)
@pytest.mark.parametrize("columns", [30, 80, 81, 82, 83])
def test_sentences_break_between_words_on_a_screen(
    monkeypatch: pytest.MonkeyPatch, tell: object, columns: int
) -> None:
    assert callable(tell)
    with shown_on(Screen(), columns, monkeypatch) as screen:
        tell(SENTENCE)
    lines = screen.getvalue().splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= columns
    assert " ".join(lines).split()[-len(SENTENCE.split()) :] == SENTENCE.split()


def test_a_path_that_is_longer_than_the_screen_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    with shown_on(Screen(), 80, monkeypatch) as screen:
        say(f"Wrote {LONG_PATH}")
    assert LONG_PATH in screen.getvalue().splitlines()


@pytest.mark.parametrize(
    "tell", [say, warn, lambda text: print_lines([text])], ids=["say", "warn", "print_lines"]
)
def test_sentences_stay_on_one_line_in_a_pipe(monkeypatch: pytest.MonkeyPatch, tell: object) -> None:
    assert callable(tell)
    long = " ".join([SENTENCE] * 4)
    with shown_on(io.StringIO(), 80, monkeypatch) as pipe:
        tell(long)
    assert pipe.getvalue().removeprefix("Warning: ") == f"{long}\n"


def test_a_table_that_fits_is_printed_as_rich_prints_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with shown_on(Screen(), 120, monkeypatch) as plain:
        console().print(estimates_table())
    assert "\n".join(lines_on_a_screen(120, monkeypatch, estimates_table())) == plain.getvalue().rstrip("\n")


def test_a_table_that_nearly_fits_loses_space_between_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_on_a_screen(76, monkeypatch, estimates_table())
    for name, estimate in ROWS.items():
        assert [name, *[estimate] * 3] in [re.split(r"\s{2,}", line.strip()) for line in lines]


@pytest.mark.parametrize("columns", range(46, 90, 3))
def test_no_word_of_a_table_breaks_while_there_is_room_for_it(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    lines = lines_on_a_screen(columns, monkeypatch, estimates_table())
    words = {word for line in lines for word in line.split()}
    wanted = {word for text in (*ROWS, *ROWS.values()) for word in text.split()}
    assert wanted <= words
    assert words - wanted <= {"task", "measure", "0", "1", "2"} | {
        word for word in words if set(word) == {"─"}
    }
    assert max(map(len, lines)) <= columns


def audited(name: str) -> eh.Run:
    return eh.evaluate(
        eh.example_scores(name),
        eh.load_dataset("starter", language="en"),
        resampling=eh.Resampling(resamples=100, seed=1),
    )


@pytest.mark.parametrize(("columns", "width"), [(160, 25), (112, 25), (108, 21), (80, None)])
def test_the_strip_is_as_wide_as_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, columns: int, width: int | None
) -> None:
    with shown_on(Screen(), columns, monkeypatch) as screen:
        show_results([audited("leaning")], form=TableChoice.TABLE, json=False)
    strips = re.findall(r"[·━┊┿●]{3,}", screen.getvalue())
    assert [len(strip) for strip in strips] == ([] if width is None else [width] * 3)
    assert all(strip[len(strip) // 2] in "┊┿●" for strip in strips)
    assert re.search(r"^\s*intrasentence\s+\d.*\]\s+48\s*$", screen.getvalue(), re.MULTILINE)
    assert "Coverage: 100% (96 of 96 items)." in screen.getvalue().splitlines()


@pytest.mark.parametrize(("columns", "there"), [(160, True), (112, True), (80, False)])
def test_a_check_has_whole_ids_or_none(monkeypatch: pytest.MonkeyPatch, columns: int, there: bool) -> None:
    with shown_on(Screen(), columns, monkeypatch) as screen:
        check_command("starter", language="en")
    assert ("first ids" in screen.getvalue()) is there
    assert set(re.findall(r"starter\S*", screen.getvalue())) == {
        "starter",
        *(("starter-intra-002", "starter-intra-033") if there else ()),
    }


_WAITING = """
import sys, time
from evenhand import cli
from evenhand.cli.output import progress_bar

def wait():
    with progress_bar("Waiting") as progress:
        progress(1, 2)
        time.sleep(60)

cli.app = wait
cli.main()
"""


def test_the_cursor_is_given_back_when_a_command_is_terminated() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", _WAITING], stderr=theirs, stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        while b"\x1b[?25l" not in shown:
            shown += os.read(ours, 4096)
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(OSError):  # the other end is closed
            while piece := os.read(ours, 4096):
                shown += piece
        assert process.wait(timeout=20) == 128 + signal.SIGTERM
    os.close(ours)
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l")


def test_a_bar_says_when_only_what_has_no_count_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    with shown_on(Screen(), 120, monkeypatch) as screen, progress_bar("scores") as report:
        report(1, 2)
        assert "finishing" not in screen.getvalue()
        report(2, 2)

    assert "scores, finishing" in screen.getvalue()
