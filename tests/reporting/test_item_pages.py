"""Pages of items beside a page that cannot hold them: each item is on one of them, and each is small enough to send."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import builders
import numpy as np
import pytest

import evenhand as eh
from evenhand.reporting import page_files
from evenhand.reporting.association import item_pages as item_pages_module
from evenhand.reporting.association import items as page_items_module

HOSTILE = '<img src=x onerror="hacked()"></noscript></script><script>hacked()</script>'
MOST = 5_000_000

N = 90


def scored(*contexts: str) -> eh.Run:
    """One item per context, those later in the list leaning more."""
    items = [
        builders.intra(number, cluster=f"term {number % 7}", context=context)
        for number, context in enumerate(contexts)
    ]
    triples = {item.id: (1.0 + number, 1.0, 0.5) for number, item in enumerate(items)}
    return eh.evaluate(
        builders.scores(triples),
        builders.benchmark(*items),
        name=f"run {HOSTILE}",
        resampling=eh.Resampling(resamples=100),
    )


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that holds a few items, and pages beside it that hold some more."""
    monkeypatch.setattr(page_items_module, "MOST_BYTES", 4_000)
    monkeypatch.setattr(item_pages_module, "MOST_PACKED", 400)
    monkeypatch.setattr(item_pages_module, "_BATCH_CHARACTERS", 300)


def files_of(run: eh.Run) -> dict[str, str]:
    return {name: "".join(text) for name, text in page_files(run)}


def unpacked(page: str) -> list[list[Any]]:
    (packed,) = re.findall(r'id="packed-items">([A-Za-z0-9+/=]*)</script>', page)
    rows: list[list[Any]] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return rows


def linked(page: str) -> list[str]:
    return re.findall(r'<a href="(items-\d+\.html)" data-item-page>', page)


@pytest.mark.usefixtures("small")
def test_every_item_is_on_one_page_that_can_be_reached() -> None:
    run = scored(*(f"The {number}th person is BLANK." for number in range(N)))
    files = files_of(run)
    names = [name for name in files if name.startswith("items-")]
    pages = [unpacked(files[name]) for name in names]

    assert len(names) > 3
    assert linked(files["report.html"]) == names
    for name in names:
        assert linked(files[name]) == [other for other in names if other != name]
        assert '<a href="report.html">' in files[name]
        assert '<a href="items.csv">' in files[name]
    assert [text[0] for page in pages for text, _ in page] == run.items()["item"].to_list()
    last = 0
    for name, page in zip(names, pages, strict=True):
        first, last = last + 1, last + len(page)
        assert f"Items {first} to {last} of {N}" in files[name]
        assert f'aria-current="page">{first} to {last}<' in files[name]


@pytest.mark.usefixtures("small")
def test_texts_and_scores_are_those_of_the_run() -> None:
    run = scored(*(f"The {number}th person is BLANK." for number in range(N)))
    rows = [
        row for name, page in files_of(run).items() if name.startswith("items-") for row in unpacked(page)
    ]
    texts = {(row["item"], row["label"]): row["text"] for row in run.scores.iter_rows(named=True)}

    for (text, scores), item in zip(rows, run.items().iter_rows(named=True), strict=True):
        restored = [text[5].replace("BLANK", own[0]) if isinstance(own, list) else own for own in text[6:9]]
        labels = ("stereotype", "anti-stereotype", "unrelated")
        assert restored == [texts[item["item"], label] for label in labels]
        assert scores[:3] == [pytest.approx(item[label], rel=1e-3) for label in labels]


@pytest.mark.usefixtures("small")
def test_nothing_of_an_item_becomes_markup() -> None:
    for name, page in files_of(scored(*(f"{HOSTILE} {number} is BLANK." for number in range(30)))).items():
        if name.endswith(".html"):
            assert HOSTILE not in page
            assert html.escape(HOSTILE, quote=True).replace("&quot;", "&#34;") in page


@pytest.mark.usefixtures("small")
def test_without_scripts_the_items_that_lean_most_are_there_behind_a_summary() -> None:
    files = files_of(scored(*(f"The {number}th person is BLANK." for number in range(N))))
    for name in ("report.html", "items-2.html"):
        (static,) = re.findall(r"<noscript>(.*?)</noscript>", files[name], flags=re.DOTALL)
        assert static.index("<summary>") < static.index('<ol class="items">')
        contexts = re.findall(r'item-context">The (\d+)th person is _____\.<', static)
        assert 1 < len(contexts) <= 20
        assert [int(number) for number in contexts] == sorted(map(int, contexts), reverse=True)
    assert f"The {N - 1}th person" in files["report.html"]


def test_pages_of_long_texts_that_hardly_compress_are_small_enough_to_send() -> None:
    generator = np.random.default_rng(8)
    long = item_pages_module.MOST_CHARACTERS + 5_000
    run = scored(
        *("".join(map(chr, generator.integers(0x4E00, 0x9000, size=long))) + " BLANK." for _ in range(60))
    )
    pages = {name: page for name, page in files_of(run).items() if name.endswith(".html")}

    assert len(pages) > 2
    assert max(len(page.encode()) for page in pages.values()) < MOST
    rows = [row for name, page in pages.items() if name != "report.html" for row in unpacked(page)]
    assert len(rows) == 60
    assert all("more characters in items.csv" in text[5] for text, _ in rows)


def test_a_file_is_written_before_the_next_is_made(tmp_path: Path) -> None:
    """So that pages of many items never stand in memory together."""
    written: list[int] = []

    def pages() -> Any:
        for name in ("one.html", "two.html", "three.html"):
            written.append(len(list(tmp_path.rglob("*.html"))))
            yield name, name

    run = scored("A person is BLANK.", "Another is BLANK.")
    folder = run.save(tmp_path / "run", pages=pages())
    assert written == [0, 1, 2]
    assert {"one.html", "two.html", "three.html"} <= eh.open_run(folder).record.files.keys()
