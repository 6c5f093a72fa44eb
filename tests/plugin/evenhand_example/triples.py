"""Triples: association items as text, one per line, with tabs between the columns.

id, bias type, target, context with BLANK, and the words of the stereotype, the anti-stereotype and the unrelated
candidate. The name of the file is the language: ``en.triples``.
"""

from __future__ import annotations

from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.files import decode_utf8, read_bounded, sha256_of
from evenhand.core.items import BLANK, Association, Benchmark, Candidate, Label, Task
from evenhand.data.layouts import DatasetLayout

LABELS = (Label.STEREOTYPE, Label.ANTI_STEREOTYPE, Label.UNRELATED)
COLUMNS = 7


def read_triples(
    path: Path, *, language: str | None = None, name: str | None = None, licence: str | None = None
) -> Benchmark:
    """The items of a file."""
    content = read_bounded(path, error=DatasetError)
    lines = decode_utf8(content, path, error=DatasetError).splitlines()
    spoken = language or path.stem
    return Benchmark(
        name=name or path.stem,
        language=spoken,
        items=tuple(
            _item(path, number, line, spoken) for number, line in enumerate(lines, start=1) if line.strip()
        ),
        source=str(path),
        sha256=sha256_of(content),
        licence=licence,
    )


def _item(path: Path, number: int, line: str, language: str) -> Association:
    cells = line.split("\t")
    if len(cells) != COLUMNS or BLANK not in cells[3]:
        raise DatasetError(
            f"{path}, line {number}: {COLUMNS} columns are needed, the fourth with {BLANK}; there are {len(cells)}."
        )
    key, bias_type, target, context, *words = cells
    stereotype, anti_stereotype, unrelated = (
        Candidate(id=f"{key}-{label.value}", label=label, text=context.replace(BLANK, word), word=word)
        for label, word in zip(LABELS, words, strict=True)
    )
    return Association(
        id=key,
        task=Task.INTRASENTENCE,
        language=language,
        bias_type=bias_type,
        target=target,
        cluster=target,
        context=context,
        candidates=(stereotype, anti_stereotype, unrelated),
    )


TRIPLES = DatasetLayout(
    name="triples",
    description="association items, one per line",
    kind=Benchmark,
    suffixes=(".triples",),
    recognises=lambda path: path.suffix == ".triples",
    read=read_triples,
)
