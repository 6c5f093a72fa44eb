"""Search for pairs on Ray Data, for corpora that are too large for one machine.

Every machine must be able to read the sources (a shared disk, or the hub) and must have Evenhand. The pairs come back
to the process that started the search, and only that process writes.
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
from evenhand.mitigation.pairs.searching import SearchJob, SourceSearch, SourceTally

Batch = dict[str, list[Any]]


def on_ray(job: SearchJob, report: Progress) -> None:
    """Search on the Ray cluster that this process is connected to, or else on a local one."""
    data = _ray_data()
    sources = dict(job.sources)
    total = sum(source.size for source in sources.values())
    done = 0
    items = [{"number": number} for number in sources]
    with _without_bars(data):
        outcomes = data.from_items(items, override_num_blocks=len(items)).map_batches(
            _BatchSearch(job), batch_size=1, batch_format="numpy"
        )
        for row in outcomes.iter_rows():
            outcome = json.loads(row["outcome"])
            if "error" in outcome:
                raise DatasetError(outcome["error"])
            number = int(row["number"])
            digest = job.parts.write_pairs(number, [row["lines"]])
            tally = SourceTally.from_json(outcome["tally"])
            job.parts.finish(number, outcome["source"], tally=tally, digest=digest)
            done += sources[number].size
            report(done, total)


class _BatchSearch:
    """Searches sources by their numbers; what it needs is made where it runs, once per process."""

    def __init__(self, job: SearchJob) -> None:
        self._job = job
        self._sources = dict(job.sources)
        self._matcher: Matcher | None = None

    def __call__(self, batch: Batch) -> Batch:
        numbers = [int(number) for number in batch["number"]]
        searched = [self._search(self._sources[number]) for number in numbers]
        return {
            "number": numbers,
            "lines": [lines for lines, _ in searched],
            "outcome": [json.dumps(outcome, ensure_ascii=False) for _, outcome in searched],
        }

    def _search(self, source: CorpusSource) -> tuple[bytes, dict[str, Any]]:
        """Lines of pairs, and the tally or the error, which Ray would bury in tracebacks of its own."""
        self._matcher = self._matcher or Matcher(self._job.search)
        try:
            search = SourceSearch(source, self._matcher, limit=self._job.limit, report=None)
            lines = b"".join(search.lines())
        except EvenhandError as problem:
            return b"", {"error": str(problem)}
        return lines, {"source": search.identity, "tally": search.tally.to_json()}


@contextmanager
def _without_bars(data: Any) -> Iterator[None]:
    """Progress goes through ``report``; Ray's own bars would be drawn over it."""
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
