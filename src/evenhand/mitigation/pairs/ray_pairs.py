"""The same search on Ray Data, for corpora that one machine is too small for.

Every machine must be able to read the sources (a shared disk, or the hub) and must have Evenhand. What is found comes
back to the process that asked, and that alone writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.core.extras import require_extra
from evenhand.core.progress import Progress
from evenhand.data.corpus_sources import CorpusSource
from evenhand.mitigation.pairs.matching import Matcher
from evenhand.mitigation.pairs.parts import SourceTally, lines_of_pairs
from evenhand.mitigation.pairs.searching import SourceSearch, Work

Batch = dict[str, list[Any]]


def on_ray(work: Work, report: Progress) -> None:
    """Search on the Ray cluster that this process is connected to, or else on a local one."""
    data = _ray_data()
    sources = dict(work.sources)
    total = sum(source.size for source in sources.values())
    done = 0
    items = [{"number": number} for number in sources]
    with _without_bars(data):
        found = data.from_items(items, override_num_blocks=len(items)).map_batches(
            _BatchSearch(work), batch_size=1, batch_format="numpy"
        )
        for row in found.iter_rows():
            document = json.loads(row["outcome"])
            if "error" in document:
                raise DatasetError(document["error"])
            number = int(row["number"])
            work.store.write(number, [row["lines"]])
            work.store.finish(number, document["source"], tally=SourceTally.from_json(document["tally"]))
            done += sources[number].size
            report(done, total)


class _BatchSearch:
    """Searches sources by their numbers; what it needs is made where it runs, once a process."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._sources = dict(work.sources)
        self._matcher: Matcher | None = None

    def __call__(self, batch: Batch) -> Batch:
        numbers = [int(number) for number in batch["number"]]
        found = [self._searched(self._sources[number]) for number in numbers]
        return {
            "number": numbers,
            "lines": [lines for lines, _ in found],
            "outcome": [json.dumps(outcome, ensure_ascii=False) for _, outcome in found],
        }

    def _searched(self, source: CorpusSource) -> tuple[bytes, dict[str, Any]]:
        """Lines of pairs, and the tally or the error, which Ray would bury in tracebacks of its own."""
        self._matcher = self._matcher or Matcher(self._work.search)
        try:
            searched = SourceSearch(source, self._matcher, limit=self._work.limit, report=None)
            lines = b"".join(lines_of_pairs(searched.pairs()))
        except EvenhandError as problem:
            return b"", {"error": str(problem)}
        return lines, {"source": searched.identity, "tally": searched.tally.to_json()}


@contextmanager
def _without_bars(data: Any) -> Iterator[None]:
    """Progress is told by ``report``; Ray's own bars would be drawn over it."""
    context = data.DataContext.get_current()
    shown, context.enable_progress_bars = context.enable_progress_bars, False
    try:
        yield
    finally:
        context.enable_progress_bars = shown


def _ray_data() -> Any:
    require_extra("ray", purpose="--ray")
    import ray.data

    return ray.data
