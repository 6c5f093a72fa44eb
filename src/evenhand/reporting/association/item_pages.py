"""Pages of items beside the page of a run that has more of them than fit: together they hold every item.

Items lie in such a page as compressed JSON, which a script unpacks when a reader asks for them. So a page holds twice
as many, and a search goes through them all.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.reporting.association.item_cards import ItemCard, item_card, most_leaning
from evenhand.reporting.association.items import ItemRow, all_positive, item_rows, shortened
from evenhand.reporting.rendering import render_page_template
from evenhand.reporting.words import TASK_TITLES, language_name, task_title
from evenhand.store.records import PAGE_FILE
from evenhand.store.run import Run, run_label

ITEMS_FILE = "items.csv"
"""All items as a table."""

MOST_PACKED = 2_900_000
"""Bytes of compressed items after which a page is full. They are a third larger in the page, and a batch may follow."""

MOST_CHARACTERS = 20_000
"""Of a text of an item in a page; texts that are longer are never scored."""

_BATCH_CHARACTERS = 100_000
"""Items are compressed in batches of about this size, and after each it is known how large a page is."""


@dataclass(frozen=True, slots=True)
class ItemPage:
    """A page of items: its file, the numbers of its first and last item, and the items themselves, packed."""

    name: str
    first: int
    last: int
    packed: bytes
    cards: Sequence[ItemCard]
    """Of some items, for readers without scripts."""


def item_pages(run: Run) -> list[ItemPage]:
    """All items of a run, in the order of the data, on as few pages as hold them."""
    pages: list[ItemPage] = []
    batches = _batches((text, scores) for text, (scores,) in item_rows([run]))
    batch = next(batches, None)
    while batch is not None:
        first = last = pages[-1].last if pages else 0
        stream = io.BytesIO()
        leaning: list[ItemRow] = []
        with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as packer:
            while batch is not None and stream.tell() < MOST_PACKED:
                packer.write(b"[" if last == first else b",")
                packer.write(",".join(map(_json, batch)).encode())
                packer.flush()
                leaning = most_leaning([*leaning, *batch])
                last += len(batch)
                batch = next(batches, None)
            packer.write(b"]")
        pages.append(
            ItemPage(
                name=f"items-{len(pages) + 1}.html",
                first=first + 1,
                last=last,
                packed=stream.getvalue(),
                cards=tuple(map(item_card, leaning)),
            )
        )
    return pages


def render_item_page(run: Run, page: ItemPage, pages: Sequence[ItemPage]) -> str:
    """One page of the items of a run as HTML, with links to the others."""
    record = run.record
    total = pages[-1].last
    tasks = [task for task in TASK_TITLES if task in run.result.tasks]
    return render_page_template(
        "items.html.j2",
        data={
            "tasks": [[task, task_title(task)] for task in tasks],
            "run": {
                "ratios": all_positive(run.items()),
                "scoring": record.scoring.descriptions if record.scoring else {},
            },
        },
        scripts=("items.js", "item_page.js"),
        version=record.environment.evenhand,
        head_title=f"{run_label(record.name, record.language)}, items {page.first:,} to {page.last:,}",
        title=run_label(record.name, record.language),
        kicker=f"Items {page.first:,} to {page.last:,} of {total:,}",
        facts=[
            *([("Model", record.model.id)] if record.model else []),
            ("Data", record.dataset.title),
            ("Language", language_name(record.language)),
        ],
        contents=[("items", "Items")],
        cards=page.cards,
        pages=pages,
        here=page.name,
        total=total,
        table=ITEMS_FILE,
        report=PAGE_FILE,
        packed=base64.b64encode(page.packed).decode(),
    )


def _batches(rows: Iterable[ItemRow]) -> Iterator[list[ItemRow]]:
    batch: list[ItemRow] = []
    size = 0
    for text, scores in rows:
        own = shortened([_cut(part) for part in text])
        batch.append((own, scores))
        size += sum(len(part) for part in own if isinstance(part, str))
        if size > _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _cut(part: Any) -> Any:
    """A part of an item; of a text that is too long its beginning."""
    if not isinstance(part, str) or len(part) <= MOST_CHARACTERS:
        return part
    return f"{part[:MOST_CHARACTERS]} ... ({len(part) - MOST_CHARACTERS:,} more characters in {ITEMS_FILE})"


def _json(row: ItemRow) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
