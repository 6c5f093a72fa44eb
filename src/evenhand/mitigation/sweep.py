"""Equalise with several balances between bias and quality, draw the frontier, and keep the best point of it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import EvenhandError
from evenhand.core.files import folder_written_whole
from evenhand.core.recipes import Recipe
from evenhand.mitigation.equalising.method import EqualiseMethod
from evenhand.mitigation.equalising.objective import Balance
from evenhand.mitigation.mitigate import (
    Material,
    Mitigated,
    MitigationReport,
    fingerprint_of,
    mitigate,
    mitigated_reference,
)
from evenhand.mitigation.model_folder import mitigated_before
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelRef
from evenhand.runs.certificates import FrontierPoint
from evenhand.runs.mitigation_records import MITIGATION_FILE, MitigationRecord, read_mitigation_record


def sweep(
    ref: ModelRef,
    balances: Sequence[Balance],
    *,
    material: Material,
    recipe: Recipe,
    out: Path,
    seeds: Sequence[int] | None = None,
    report: MitigationReport | None = None,
    command: str | None = None,
) -> Mitigated:
    """Equalise once for each balance and keep the lowest MALoR among those within the quality margin.

    Interrupted and called again, it does not repeat the balances that are done.

    Args:
        ref: The original.
        balances: Those to try, with different weights.
        material: Corpus, probes and held-out sentences.
        recipe: How to train.
        out: Folder for the model that is kept.
        seeds: As for ``mitigate``.
        report: Told about progress.
        command: What the card says to repeat it with.
    """
    weights = [balance.weight for balance in balances]
    if len(balances) < 2 or len(set(weights)) != len(weights):
        raise EvenhandError(f"A sweep needs at least two balances, all different, not {weights}.")
    tries = out.absolute().with_name(f".{out.name}.sweep")
    told = report or MitigationReport()
    all_seeds = (recipe.seed,) if seeds is None else tuple(seeds)
    done = _swept_before(ref, balances, material=material, recipe=recipe, out=out, seeds=all_seeds)
    if done is not None:
        return done
    found: dict[float, Mitigated] = {}
    for balance in balances:
        told.stage(f"Balance {balance.weight:g}")
        found[balance.weight] = mitigate(
            ref,
            EqualiseMethod(balance),
            material=material,
            recipe=recipe,
            out=tries / f"balance-{balance.weight:g}",
            seeds=all_seeds,
            report=report,
            command=command,
        )
    chosen = _best({weight: mitigated.record for weight, mitigated in found.items()})
    kept = found[chosen].record.model_copy(
        update={"frontier": tuple(_point(weight, own.record, chosen) for weight, own in found.items())}
    )
    with folder_written_whole(out) as scratch:
        shutil.copytree(found[chosen].ref.location, scratch, dirs_exist_ok=True)
        (scratch / MITIGATION_FILE).write_text(kept.model_dump_json(indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(tries, ignore_errors=True)
    return Mitigated(found[chosen].ref.model_copy(update={"id": str(out)}), kept)


def _swept_before(
    ref: ModelRef,
    balances: Sequence[Balance],
    *,
    material: Material,
    recipe: Recipe,
    out: Path,
    seeds: Sequence[int],
) -> Mitigated | None:
    """What this very sweep left, if it is done; an error if something else is there."""
    if not (out / MITIGATION_FILE).is_file():
        mitigated_before(out, "")
        return None
    found = read_mitigation_record(out)
    chosen = next((point.weight for point in found.frontier if point.chosen), None)
    balance = next((own for own in balances if own.weight == chosen), balances[0])
    asked = fingerprint_of(load_language_model(ref), EqualiseMethod(balance), material, recipe, seeds)
    same = {point.weight for point in found.frontier} == {own.weight for own in balances}
    mitigated_before(out, asked if same else "")
    return Mitigated(mitigated_reference(ref, out), found)


def _best(records: Mapping[float, MitigationRecord]) -> float:
    """By the rule that chooses among epochs and seeds."""
    within = [weight for weight, record in records.items() if record.chosen.keeps_quality]
    if within:
        return min(within, key=lambda weight: _relative_malor(records[weight]))
    return min(records, key=lambda weight: records[weight].perplexity_rise)


def _relative_malor(record: MitigationRecord) -> float:
    return record.chosen.curve.relative_malor(record.chosen.best)


def _point(weight: float, record: MitigationRecord, chosen: float) -> FrontierPoint:
    return FrontierPoint(
        weight=weight,
        malor=dict(record.chosen.best.malor),
        perplexity_change=100 * record.perplexity_rise,
        chosen=weight == chosen,
    )
