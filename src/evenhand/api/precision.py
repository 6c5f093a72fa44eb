"""Half precision: a sample is asked in fp32 too, so that records say how far scores are off and what that decides.

The sample comes first. Its model is given up before the one in half precision is loaded, so that no two copies of the
weights stand in memory.
"""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from evenhand.api.measurement_jobs import reference_of
from evenhand.core.memory import free_memory, show_memory
from evenhand.core.progress import Monitor, activity
from evenhand.core.recipes import Precision
from evenhand.core.sampling import SAMPLE_SEED
from evenhand.instruments.instrument import Instrument, InstrumentOptions, ScoresLayout
from evenhand.models.backends import backend_of
from evenhand.models.references import ModelError, ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.records import PrecisionCheck
from evenhand.store.run import Run

SAMPLE_SIZE = 4
"""How many times as many items are asked both ways as are asked again of answers that are kept: 64 for most."""

FEWEST_RESAMPLES = 100
"""The intervals of the sample are shown nowhere."""

LOADING = 1.25
"""Memory that loading takes, as a multiple of the weights."""


def exact_sample(
    model: str | ModelRef | Any,
    instrument: Instrument[Any],
    options: InstrumentOptions,
    *,
    load: Callable[..., Any],
    monitor: Monitor,
) -> Run | str | None:
    """A sample of what a model in half precision will be asked, answered in fp32; or why there is none.

    None for models in fp32 and outside this process, and for instruments whose answers are no probabilities.
    """
    ref, layout = reference_of(model), instrument.scores_layout
    has_weights = hasattr(backend_of(ref.id), "weights")
    if ref.precision is Precision.FP32 or layout is None or not layout.bits or not has_weights:
        return None
    from evenhand.models.engine.halving import NOT_ENOUGH_MEMORY
    from evenhand.models.engine.memory import is_out_of_memory

    exact = ref.model_copy(update={"precision": Precision.FP32})
    monitor.note(f"Asking a sample in fp32 first, to see how far scores in {ref.precision.value} are off")
    few_resamples = dataclasses.replace(options, resampling=Resampling(resamples=FEWEST_RESAMPLES))
    with activity("asking a sample in fp32"):
        try:
            return _lack_of_memory(exact) or _answers(load(exact, monitor=monitor), instrument, few_resamples)
        except ModelError as problem:
            return str(problem)
        except (RuntimeError, MemoryError) as problem:
            if is_out_of_memory(problem):
                return NOT_ENOUGH_MEMORY
            raise
        finally:
            gc.collect()  # models refer to themselves


def _answers(model: Any, instrument: Instrument[Any], options: InstrumentOptions) -> Run | None:
    generator = np.random.default_rng(SAMPLE_SEED)
    few = instrument.prepare(model, options).sample(generator, times=SAMPLE_SIZE)
    return few.measure() if few else None


def _lack_of_memory(ref: ModelRef) -> str | None:
    """Why a model cannot be loaded beside what stands in memory; None if it can."""
    from evenhand.models.engine.memory import free_on
    from evenhand.models.loading import choose_device, weights_size

    free, needed = min(free_on(choose_device(ref.device)), free_memory()), LOADING * weights_size(ref)
    if needed <= free:
        return None
    return f"that takes {show_memory(round(needed))} of memory, and {show_memory(free)} are free"


def with_precision_check(run: Run, *, exact: Run | str | None, layout: ScoresLayout | None) -> Run:
    """A run whose record says how far its scores are from those of a sample in fp32."""
    if exact is None or layout is None:
        return run
    check = PrecisionCheck(reason=exact) if isinstance(exact, str) else _compared(run, exact, layout)
    return dataclasses.replace(run, record=run.record.model_copy(update={"precision_check": check}))


def _compared(run: Run, exact: Run, layout: ScoresLayout) -> PrecisionCheck:
    bits = {f"bits_{number}": answer for number, answer in enumerate(layout.bits)}
    own, other = (each.scores.select(*layout.key, **bits) for each in (exact, run))
    differences = [np.abs(here - there) for here, there in _paired(own, other, layout.key, list(bits))]
    apart = np.concatenate(differences)
    if not len(apart):
        return PrecisionCheck(reason="no score of the sample is known both ways")
    columns = [name for names in layout.decisions for name in names]
    rows, all_rows = (each.items() for each in (exact, run)) if columns else (own, other)
    key = tuple(name for name in layout.key if name in rows.columns)
    decided = [
        (np.sign(first - second), np.sign(first_there - second_there))
        for (first, first_there), (second, second_there) in (
            _paired(rows.drop_nulls(names), all_rows.drop_nulls(names), key, list(names))
            for names in layout.decisions
        )
    ]
    return PrecisionCheck(
        scores=len(apart),
        median=float(np.median(apart)),
        largest=float(np.max(apart)),
        decisions=sum(len(here) for here, _ in decided),
        flipped=sum(int(np.count_nonzero(here != there)) for here, there in decided),
    )


def _paired(
    own: pl.DataFrame, other: pl.DataFrame, key: tuple[str, ...], columns: list[str]
) -> list[tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]]:
    """The values of columns in rows that both frames have, where they are known in both."""
    both = own.select(*key, *columns).join(other.select(*key, *columns), on=list(key), suffix="_other")
    known = both.drop_nulls([name for column in columns for name in (column, f"{column}_other")])
    return [(known[column].to_numpy(), known[f"{column}_other"].to_numpy()) for column in columns]
