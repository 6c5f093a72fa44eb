"""Evaluate logs that hold both items and scores, so that no benchmark is needed."""

from __future__ import annotations

from pathlib import Path

from evenhand.api.measure import kept
from evenhand.core.errors import PredictionsError
from evenhand.core.progress import SILENT, Monitor
from evenhand.core.protocols import DEFAULT_PROTOCOL, Protocol
from evenhand.data.association_logs import read_association_log
from evenhand.instruments.association.evaluation import Evaluation
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run


def evaluate_log(
    path: str | Path,
    *,
    protocol: str | Protocol | None = None,
    resampling: Resampling | None = None,
    name: str | None = None,
    out: Path | None = None,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> Run:
    """Turn a log of Inspect with association items, as ``report`` exports it, into a run. The log holds the items.

    Args:
        path: The log.
        protocol: How scores become numbers; that of the log if not given.
        resampling: Number of resamples, seed and confidence level.
        name: Name of the run; the file's name if not given.
        out: Folder for the run folder; nothing is kept without it.
        fresh: Replace another run in its place.
        monitor: Told what is worth knowing.
    """
    log = read_association_log(Path(path))
    if log is None:
        raise PredictionsError(f"{path} is no log of Inspect.")
    preparation = Evaluation(
        log.predictions,
        log.benchmark,
        protocol=protocol or log.protocol or DEFAULT_PROTOCOL,
        resampling=resampling,
        name=name,
    )
    record = preparation.record
    preparation.record = record.model_copy(
        update={
            "dataset": record.dataset.model_copy(update={"items": log.total}),
            "predictions": record.predictions and record.predictions.model_copy(update={"holds_items": True}),
        }
    )
    return kept(preparation, out=out, fresh=fresh, monitor=monitor)
