"""Results of knowledge: typed, frozen, and equal to the JSON that is printed; and how answers add up to them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.core.frozen import FrozenModel
from evenhand.core.settled import PronounRole, SettledBy
from evenhand.instruments.instrument import MOST_EXAMPLES, Skipped, skipped_rows
from evenhand.instruments.settled_scoring import WHOLE, SettledAnswer
from evenhand.instruments.vectors import mean_estimate
from evenhand.stats.resampling import Resampling

SHARE_RIGHT, GAP, SENSE, AGREEMENT = "share_right", "gap", "sense", "agreement"

TITLES = {
    SHARE_RIGHT: "Share of settled sentences that are right",
    GAP: "Evidence gap",
    SENSE: "Share in which a pronoun beats nonsense",
    AGREEMENT: "Share of continuations that agree",
}

DOES_NOT_WRITE = "the model does not write on after an opening"
NO_ROOM = "the model has no room to write on after the opening; the pronoun itself was asked"

_WORD = re.compile(r"[^\W\d_]+")


class KnowledgeResult(FrozenModel):
    """What a model knows of the gender of pronouns that another word settles."""

    kind: Literal["knowledge"] = "knowledge"
    method: str
    n: int
    """Sentences that could be scored."""
    share_right: Estimate
    """100 x share of sentences in which the right pronoun is the likelier; guessing gives 50."""
    gap: Estimate
    """Mean of log2 P(right) - log2 P(wrong)."""
    sense: Estimate
    """100 x share in which the right pronoun beats a nonsense word."""
    agreement: Estimate
    """100 x share of continuations whose first pronoun is of the settled gender, of those that have one."""
    by_gender: dict[str, Estimate]
    by_settling: dict[str, Estimate]
    """Shares right by the kind of word that settles the gender."""
    by_role: dict[str, Estimate]
    """Shares right by what the pronoun is in its sentence."""
    skipped: tuple[Skipped, ...] = ()


SCORES_SCHEMA: Mapping[str, pl.DataType] = {
    "sentence": pl.String(),
    "pair": pl.String(),
    "gender": pl.String(),
    "settled_by": pl.String(),
    "role": pl.String(),
    "text": pl.String(),
    "right": pl.String(),
    "wrong": pl.String(),
    "nonsense": pl.String(),
    "gap": pl.Float64(),
    "is_right": pl.Float64(),
    "beats_nonsense": pl.Float64(),
    "continuation": pl.String(),
    "agrees": pl.Float64(),
    "skipped_reason": pl.String(),
}
"""Columns of the scores, one row per sentence. ``gap`` is in bits. ``agrees`` has no value where the model wrote no
pronoun."""


def knowledge_frame(
    answers: Sequence[SettledAnswer], continuations: Mapping[str, str], *, genders: Mapping[str, bool]
) -> pl.DataFrame:
    """One row per sentence with the model's answer, which is missing where there is a reason to skip it.

    Args:
        answers: To every sentence.
        continuations: What the model wrote, by opening.
        genders: Whether a pronoun is of a man, by pronoun.
    """
    rows = []
    for answer in answers:
        sentence = answer.sentence
        continuation = None if sentence.is_settled_later else continuations.get(sentence.opening)
        first = first_gender(continuation or "", genders)
        rows.append(
            {
                "sentence": sentence.id,
                "pair": sentence.pair,
                "gender": "male" if sentence.is_male else "female",
                "settled_by": sentence.settled_by.value,
                "role": sentence.role.value,
                "text": sentence.text,
                "right": sentence.right,
                "wrong": sentence.wrong,
                "nonsense": sentence.nonsense,
                "gap": _or_null(answer.gap),
                "is_right": _or_null(answer.is_right),
                "beats_nonsense": _or_null(answer.beats_nonsense),
                "continuation": continuation,
                "agrees": None if first is None else float(first is sentence.is_male),
                "skipped_reason": answer.problem,
            }
        )
    return pl.DataFrame(rows, schema=SCORES_SCHEMA)


def first_gender(text: str, genders: Mapping[str, bool]) -> bool | None:
    """Whether the first pronoun of a text is of a man; None if it has no pronoun."""
    return next((genders[word] for word in map(str.casefold, _WORD.findall(text)) if word in genders), None)


def knowledge_result(
    frame: pl.DataFrame,
    *,
    method: str,
    sense: Estimate,
    resampling: Resampling,
    without_continuation: Sequence[str] = (),
) -> KnowledgeResult:
    """What the answers add up to.

    Args:
        frame: One row per sentence.
        method: How words were scored.
        sense: The share in which the right pronoun beats nonsense.
        resampling: Resamples, seed and confidence level.
        without_continuation: Sentences whose opening is too long to write on after it.
    """

    def share(rows: pl.DataFrame) -> Estimate:
        return pair_mean(rows, "is_right", scale=WHOLE, resampling=resampling)

    wrote = frame["continuation"].drop_nulls()
    return KnowledgeResult(
        method=method,
        n=frame["is_right"].drop_nulls().len(),
        share_right=share(frame),
        gap=pair_mean(frame, "gap", resampling=resampling),
        sense=sense,
        agreement=pair_mean(frame, "agrees", scale=WHOLE, resampling=resampling)
        if len(wrote)
        else Estimate.undefined(NO_ROOM if without_continuation else DOES_NOT_WRITE),
        by_gender=_parts(frame, "gender", ("male", "female"), share),
        by_settling=_parts(frame, "settled_by", tuple(SettledBy), share),
        by_role=_parts(frame, "role", tuple(PronounRole), share),
        skipped=(*skipped_rows(frame, "sentence"), *_no_room(frame, without_continuation)),
    )


def _no_room(frame: pl.DataFrame, sentences: Sequence[str]) -> tuple[Skipped, ...]:
    """Sentences without a continuation that count as skipped for no other reason."""
    known = set(frame.filter(pl.col("skipped_reason").is_null())["sentence"])
    own = [sentence for sentence in sentences if sentence in known]
    if not own:
        return ()
    return (Skipped(reason=NO_ROOM, count=len(own), examples=tuple(own[:MOST_EXAMPLES])),)


def pair_mean(
    frame: pl.DataFrame, column: str, *, resampling: Resampling, scale: float | None = None
) -> Estimate:
    """The mean over pairs of twins of a column, with an interval that resamples pairs.

    Args:
        frame: Rows with a column ``pair``.
        column: What is averaged.
        resampling: Resamples, seed and confidence level.
        scale: What a share of one is written as; None for what is no share.
    """
    known = frame.drop_nulls(column)
    means = known.group_by("pair", maintain_order=True).agg(pl.col(column).mean())[column]
    return mean_estimate(
        [(scale or 1.0) * mean for mean in means],
        unit="pair of sentences",
        n=len(known),
        resampling=resampling,
        lowest=0.0 if scale else -math.inf,
        highest=scale or math.inf,
    )


def _parts(
    frame: pl.DataFrame, column: str, names: Sequence[str], share: Callable[[pl.DataFrame], Estimate]
) -> dict[str, Estimate]:
    present = set(frame[column].to_list())
    return {str(name): share(frame.filter(pl.col(column) == name)) for name in names if name in present}


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value
