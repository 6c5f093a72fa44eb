"""Answers that lie in the folder of a certificate are believed only where a sample of them, asked again, is the same.

A run or a figure lies there under a fingerprint of the model and of all that determines it. That says what it is to be,
not what it is: whoever puts the answers of another model there can give them the right fingerprint.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from evenhand.core.errors import RunError
from evenhand.instruments.instrument import SAMPLED, Preparation, drawn
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.held_out import HeldOutRows
from evenhand.models.references import ModelError
from evenhand.stats.resampling import Floats
from evenhand.store.held_out_losses import HeldOutFigures
from evenhand.store.run import Run
from evenhand.training.perplexity import HeldOut

ROUNDING = {torch.float32: 1e-3, torch.float16: 0.05, torch.bfloat16: 0.2}
"""How far apart two answers to one question may be: batches and devices round differently. A tenth of it, as a share
of the answer, comes on top."""

MOST_APART = 0.1
"""The share of answers that may be farther apart: one that is close to a tie may fall to the other side."""

MEASURE_ANEW = "Measure everything anew with --fresh."


def refuse_other_answers(
    run: Run, preparation: Preparation, model: LanguageModel, *, place: Path, generator: np.random.Generator
) -> int:
    """Ask a few questions of a run again.

    Returns:
        How many; 0 where answers of the instrument cannot be asked for by themselves.

    Raises:
        RunError: If the answers are others.
    """
    layout = run.instrument.scores_layout
    few = preparation.sample(generator)
    if few is None or layout is None:
        return 0
    try:
        own = few.measure().scores
    except ModelError:  # none of these few can be asked
        return 0
    again = own.join(run.scores, on=list(layout.key), how="left", suffix="_kept")
    for column in (name for name, kind in layout.columns.items() if kind.is_float()):
        answered = again.drop_nulls(column)
        kept, new = (
            answered[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
            for name in (f"{column}_kept", column)
        )
        _refuse_apart(kept, new, model, place=place, about=column)
    return len(again)


def refuse_other_losses(
    kept: HeldOutFigures,
    texts: tuple[str, ...],
    rows: HeldOutRows,
    model: LanguageModel,
    *,
    text_tokens: npt.NDArray[np.int64],
    place: Path,
    generator: np.random.Generator,
) -> int:
    """Let a model read a few held-out texts again.

    Args:
        kept: What is kept of all texts.
        texts: All of them.
        rows: What is asked of each.
        model: Which is said to have read them.
        text_tokens: Tokens that texts are made of.
        place: Where the figures lie, for the message.
        generator: Draws the texts.

    Returns:
        How many.

    Raises:
        RunError: If it is surprised otherwise.
    """
    asked = [number for number, row in enumerate(rows.rows) if row.places]
    chosen = list(drawn(asked, SAMPLED, generator))
    few = HeldOutRows(tuple(rows.rows[number] for number in chosen), rows.whole[chosen])
    questions = HeldOut([texts[number] for number in chosen], model, rows=few)
    new = questions.figures(model.loaded.model, text_tokens=text_tokens)
    tokens = new.loss.tokens.astype(np.float64)
    # Sums over the tokens of a text are held against the same per token.
    for about, sums, new_sums in (
        ("surprise per token", kept.loss.nats, new.loss.nats),
        ("share of unused and special tokens", kept.special, new.special),
    ):
        _refuse_apart(sums[chosen] / tokens, new_sums / tokens, model, place=place, about=about)
    counted = kept.loss.tokens[chosen].astype(np.float64)
    _refuse_apart(counted, tokens, model, place=place, about="number of tokens")
    return len(chosen)


def _refuse_apart(kept: Floats, new: Floats, model: LanguageModel, *, place: Path, about: str) -> None:
    """Refuse answers of which more differ than rounding explains; one that is missing differs."""
    rounding = ROUNDING[model.loaded.dtype]
    apart = ~np.isclose(kept, new, rtol=rounding / 10, atol=rounding)
    if np.count_nonzero(apart) <= MOST_APART * len(new):
        return
    worst = int(np.argmax(np.where(apart, np.nan_to_num(np.abs(kept - new), nan=np.inf), -1)))
    raise RunError(
        f"{place} does not hold the answers of {model.ref.id}: asked again, {np.count_nonzero(apart)} of {len(new)} "
        f"differ ({about}: {kept[worst]:.4g} there, {new[worst]:.4g} now). {MEASURE_ANEW}"
    )
