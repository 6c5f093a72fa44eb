"""A page holds as many items as it can be sent with; the others stand beside it."""

from __future__ import annotations

import io
from pathlib import Path

import builders
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.items import Task
from evenhand.reporting import page_files
from evenhand.reporting.association import items as page_items_module
from evenhand.reporting.association.items import fits_page, page_items
from evenhand.reporting.association.view import association_data
from evenhand.reporting.plotting import shown_runs
from evenhand.store.run import open_run

N = 60


def scored(name: str = "scores", sign: int = 1) -> eh.Run:
    """Items whose lean grows with their number, to either side in turn."""
    items = [
        make(number, cluster=f"term {number % 5}")
        for number in range(N)
        for make in (builders.intra, builders.inter)
    ]
    triples = {
        item.id: (2.0 ** (sign * (number // 2) * (-1) ** (number // 4) / 10), 1.0, 0.5)
        for number, item in enumerate(items)
    }
    return eh.evaluate(
        builders.scores(triples),
        builders.benchmark(*items),
        name=name,
        resampling=eh.Resampling(resamples=100),
    )


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """A page that holds a third of the items."""
    (whole,) = page_items([scored()]).values()
    assert len(whole.texts) == whole.total == 2 * N
    monkeypatch.setattr(page_items_module, "MOST_BYTES", whole.size // 3)
    return whole.size // 3


def test_the_most_telling_items_stay_in_their_order(small: int) -> None:
    (held,) = page_items([scored()]).values()

    assert held.size <= small
    assert 0.9 * small < held.size
    assert 30 < len(held.texts) <= 45
    assert held.total == 2 * N
    for task in Task:
        own = [scores[4] for text, scores in zip(held.texts, held.scores[0], strict=True) if text[1] == task]
        assert max(map(abs, own)) == 5.9
        assert min(map(abs, own)) == 0
    order = [text[0] for text in held.texts]
    assert order == [item for item in scored().items()["item"].to_list() if item in set(order)]


def test_runs_that_share_texts_share_what_is_left_out(small: int) -> None:
    (held,) = page_items([scored("one"), scored("two", sign=-1)]).values()

    assert len(held.scores) == 2
    assert {len(scores) for scores in held.scores} == {len(held.texts)}
    assert [one[4] for one in held.scores[0]] == [-two[4] for two in held.scores[1]]
    assert held.size <= small


@pytest.mark.usefixtures("small")
def test_all_items_stand_beside_a_page_that_cannot_hold_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = scored()
    monkeypatch.setattr(page_items_module, "_TABLE_ROWS", 50)
    files = {name: "".join(text) for name, text in page_files(run)}
    table = pl.read_csv(io.StringIO(files["items.csv"]))
    run.save(tmp_path / "run", pages=files)

    assert list(files) == ["report.html", "items.csv", "items-1.html"]
    assert table["item"].to_list() == run.items()["item"].to_list()
    assert table["stereotype"].to_list() == pytest.approx(run.items()["stereotype"].to_list())
    assert "stereotype text" in table.columns
    assert {"items.csv", "items-1.html"} <= open_run(tmp_path / "run").record.files.keys()

    monkeypatch.undo()
    assert [name for name, _ in page_files(run)] == ["report.html"]


def test_pages_of_items_are_written_only_where_a_page_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    run = scored()
    (whole,) = page_items([run]).values()
    for size, fits in ((whole.size, True), (whole.size - 1, False)):
        monkeypatch.setattr(page_items_module, "MOST_BYTES", size)
        assert fits_page(run) is fits
        (held,) = page_items([run]).values()
        assert (len(held.texts) == held.total) is fits


def test_a_page_of_many_terms_and_of_long_items_is_small_enough_to_send() -> None:
    """The items that lean most are by far the longest, and every item has a term of its own."""
    number_of, long = 5_000, 4_000
    items = [
        builders.intra(
            number, cluster=f"term {number}", context="x" * (long if number % 5 == 0 else 1) + " BLANK."
        )
        for number in range(number_of)
    ]
    triples = {
        item.id: (1e6 if number % 5 == 0 else 0.5 + number / 1e6, 0.5, 0.1)
        for number, item in enumerate(items)
    }
    run = eh.evaluate(
        builders.scores(triples),
        builders.benchmark(*items),
        name="long",
        resampling=eh.Resampling(resamples=100),
    )
    files = dict(page_files(run))

    assert len(str(files["report.html"]).encode()) < 5_000_000
    (held,) = page_items([run]).values()
    assert held.size <= page_items_module.MOST_BYTES
    assert any(len(text[5]) > long for text in held.texts)
    assert any(len(text[5]) < long for text in held.texts)
    (table,) = association_data(shown_runs([run]), ["intrasentence"])["runs"]
    pulls = {one.target: abs(one.pull) for one in run.result.tasks["intrasentence"].by_target}
    shown = {row[0] for row in table["targets"]["intrasentence"]}
    assert table["terms"]["intrasentence"] == number_of > len(shown) > 1_000
    assert min(pulls[term] for term in shown) >= max(pulls[term] for term in pulls.keys() - shown)
