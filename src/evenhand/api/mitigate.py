"""Mitigate: a model in, a model folder out, with what suits the model where nothing else was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.api.defaults.mitigating import default_data, default_options, trained_reference
from evenhand.api.models import reference_to
from evenhand.core.progress import SILENT, Monitor
from evenhand.mitigation import mitigate as mitigation_room
from evenhand.mitigation.mitigation import MitigatedModel, Mitigation, MitigationData, MitigationOptions
from evenhand.mitigation.registry import MITIGATIONS
from evenhand.models.references import ModelRef

DEFAULT_METHOD = "equalise"


def mitigate(
    model: str | ModelRef,
    method: str | Mitigation[Any] = DEFAULT_METHOD,
    *,
    out: str | Path,
    corpus: str | Path | Sequence[str | Path] = (),
    data: MitigationData | None = None,
    options: MitigationOptions | None = None,
    fresh: bool = False,
    monitor: Monitor = SILENT,
    command: str | None = None,
) -> MitigatedModel:
    """Lower the bias of a model, and write the result as a model folder.

    Interrupted and called again, it goes on where it was; called again when it is done, it opens the result.

    Args:
        model: The original: a name or folder, or a reference.
        method: A mitigation, or its name.
        out: Folder for the mitigated model; new, empty, or of this very mitigation.
        corpus: Text to learn from: files, folders, ``hub:NAME``, or pairs from ``build_pairs``. Models of the lab have
            a corpus of their own.
        data: Corpus, probes and held-out sentences all together, in the place of ``corpus``.
        options: Of the method's own type; the defaults suit the model.
        fresh: Forget what an earlier mitigation left, and let another mitigated model at ``out`` give way.
        monitor: Told how it goes.
        command: What the model card says to repeat it with.
    """
    ref = reference_to(model)
    mitigation = MITIGATIONS.get(method) if isinstance(method, str) else method
    corpora = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    chosen_data = default_data(ref, corpora) if data is None else data
    chosen_options = default_options(ref, mitigation, options)
    mitigated = mitigation_room.mitigate(
        trained_reference(ref, chosen_options),
        mitigation,
        data=chosen_data,
        out=Path(out),
        options=chosen_options,
        replace=fresh,
        monitor=monitor,
        command=command,
    )
    _warn_of_lost_quality(mitigated, monitor)
    return mitigated


def _warn_of_lost_quality(mitigated: MitigatedModel, monitor: Monitor) -> None:
    """Say so where no epoch kept the quality."""
    record = mitigated.record
    training = record.chosen
    if training is not None and record.recipe is not None and not training.keeps_quality:
        loss = training.curve.quality_loss(training.best)
        monitor.warn(
            f"no epoch stayed within the quality margin of {record.recipe.quality_margin:.1%}; the one whose "
            f"perplexity rose least ({loss:+.1%}) was kept. Try a lower --learning-rate."
        )
