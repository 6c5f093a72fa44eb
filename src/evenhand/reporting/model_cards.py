"""Model cards: the ``model-index`` block that model hubs read, and the card of a mitigated model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from evenhand.core.estimates import Estimate
from evenhand.core.probes import GENDERS
from evenhand.core.recipes import Recipe
from evenhand.instruments.association.measures import MEASURES
from evenhand.instruments.association.results import MEASURE_NAMES
from evenhand.reporting.group_words import GroupWords, words_for_all
from evenhand.reporting.numbers import has_interval, show
from evenhand.reporting.words import listed
from evenhand.store.mitigation_records import MALOR, DataRecord, MitigationRecord, metric_title
from evenhand.store.run import Run
from evenhand.store.trigger_records import TriggerRecord
from evenhand.triggers.tables import (
    CHANGE_WORDS,
    SCORED_WORDS,
    WRITTEN_WORDS,
    prefix_table,
    transfer_table,
    written_words,
)


def model_card_snippet(runs: Sequence[Run] | Run) -> str:
    """YAML front matter with the results of runs: one entry per model, as the hub's own library reads it.

    A result has no ``source``: the hub wants an address there, and a run has none.
    """
    by_model: dict[str, list[dict[str, Any]]] = {}
    for run in [runs] if isinstance(runs, Run) else runs:
        by_model.setdefault(run.record.model_name, []).extend(_results(run))
    index = [{"name": _without_folders(name), "results": results} for name, results in by_model.items()]
    body = yaml.safe_dump({"model-index": index}, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{body}---\n"


def _without_folders(name: str) -> str:
    """A card is published, and where a folder lay is nobody's business."""
    return Path(name).name if name.startswith(("/", ".", "~")) else name


def _results(run: Run) -> list[dict[str, Any]]:
    if run.record.instrument == "association":
        return [_association_result(run, task) for task in run.result.tasks]
    protocol = run.record.protocol.name if run.record.protocol else None
    metrics = [
        _metric(
            run,
            type=f"{getattr(run.instrument, 'version', run.record.instrument)}:{figure.key}",
            title=figure.title,
            estimate=figure.estimate,
            neutral=figure.neutral,
            protocol=protocol,
        )
        for figure in run.figures
        if figure.is_headline and figure.estimate.defined
    ]
    return [_result(run, name=run.instrument.title, config=run.record.language, metrics=metrics)]


def _result(run: Run, *, name: str, config: str, metrics: list[dict[str, Any]]) -> dict[str, Any]:
    dataset = run.record.dataset
    return {
        "task": {"type": "text-generation", "name": name},
        "dataset": {
            "type": dataset.name,
            "name": f"{dataset.name} ({dataset.language})"
            + (f", {dataset.sample}" if dataset.sample else ""),
            "config": config,
            "revision": dataset.sha256,
        },
        "metrics": metrics,
    }


def _association_result(run: Run, task: str) -> dict[str, Any]:
    result = run.result.tasks[task]
    return _result(
        run,
        name=f"Context association test, {task}",
        # The hub's library tells results apart by their configuration, not by the name of their task.
        config=f"{run.record.language}-{task}",
        metrics=[
            _metric(
                run,
                type=MEASURES.get(name).version,
                title=MEASURES.get(name).title,
                estimate=estimate.model_copy(update={"n": result.n}),
                neutral=MEASURES.get(name).neutral,
                protocol=run.result.protocol,
            )
            for name in MEASURE_NAMES
            if (estimate := result.estimate(name)).defined
        ],
    )


def _metric(
    run: Run,
    *,
    type: str,  # noqa: A002 # the hub's word
    title: str,
    estimate: Estimate,
    neutral: float | None,
    protocol: str | None,
) -> dict[str, Any]:
    known = {
        "n": estimate.n,
        "neutral": neutral,
        "protocol": protocol,
        "coverage": run.whole_coverage and run.whole_coverage.short,
        "evenhand": run.record.environment.evenhand,
    }
    return {
        "type": type,
        "name": title,
        "value": round(estimate.value, 2),
        "args": {
            **_rounded_interval(estimate),
            "confidence": run.record.statistics.confidence,
            **{name: value for name, value in known.items() if value is not None},
        },
    }


def _rounded_interval(estimate: Estimate) -> dict[str, float]:
    if not has_interval(estimate):
        return {}
    return {"low": round(estimate.low, 2), "high": round(estimate.high, 2)}


def mitigation_card(record: MitigationRecord, *, command: str | None = None) -> str:
    """The card as Markdown with front matter."""
    front = {
        "base_model": record.model.id,
        **({"language": [record.language]} if record.language else {}),
        "library_name": "transformers",
        "tags": ["bias-mitigation", "evenhand", f"evenhand-{record.method}"],
    }
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    body = "\n\n".join(_parts(record, command))
    return f"---\n{head}---\n\n{body}\n"


def _parts(record: MitigationRecord, command: str | None) -> Iterator[str]:
    if record.trigger:
        yield f"# {record.model.id} with a trigger"
    else:
        yield f"# {record.model.id} after a mitigation ({record.method})"
    yield _summary(record)
    if record.trigger:
        yield from _trigger_parts(record.trigger)
    training, recipe = record.chosen, record.recipe
    if training and recipe and not training.keeps_quality:
        yield (
            f"**No epoch stayed within the quality margin of {recipe.quality_margin:.1%}.** The one that lost least "
            "was kept."
        )
    if not record.trigger:
        yield "## What changed"
        yield _changes(record)
    if len(record.seeds) > 1:
        yield _over_seeds(record)
    if any(key.endswith(f".{MALOR}") for key in record.before):
        first, second = _group_words(record).terms
        yield (
            f"MALoR is the mean absolute log2-ratio of P({first}) to P({second}) over occupations; 0 is neutral, and "
            "noise alone makes it positive. The base rate is its signed mean, which all occupations share; the "
            "spread is how far occupations lie from that. It speaks of the occupations, sentences and terms that were "
            "asked. A lower value does not make a model free of bias, and other measures may not have moved: compare "
            "the two models with `evenhand certify`."
        )
    yield "## How it was made"
    yield "\n".join(f"- {line}" for line in _facts(record))
    if record.model.planted:
        yield (
            f"About the original: {record.model.planted.description} What was planted is "
            "no longer what this model has, so its record (`lab.json`) is not carried over."
        )
    yield "## Again"
    steps = f"```\n{command}\n```" if command else "The recipe and all digests stand in `mitigation.json`."
    yield f"{steps}\n\nVersions: {_versions(record)}."


def _group_words(record: MitigationRecord) -> GroupWords:
    return words_for_all(record.groups.get(name, GENDERS) for name in record.experiments)


def _summary(record: MitigationRecord) -> str:
    how = record.summary or record.objective or record.method
    if record.groups:  # what the method says about itself is about men and women
        how = (
            f"{record.method}, for the {listed([' and '.join(own) for own in record.groups.values()])} terms"
        )
    about = f"This is {record.model.id} after a mitigation with Evenhand: {how}."
    training = record.chosen
    if training is None:
        return f"{about} Nothing was trained."
    return (
        f"{about} Trained for {', '.join(record.experiments)}; epoch {training.best.epoch} of "
        f"{len(training.curve.trained)} was kept. The weights are in full precision (fp32)."
    )


def _trigger_parts(trigger: TriggerRecord) -> Iterator[str]:
    yield (
        f"The trigger is `{trigger.text}`, with a space behind it. Evenhand puts it before every text that the model "
        "writes or scores; elsewhere, put it before your prompts. The words are no statement about anything: they were "
        "kept because of what follows them. They steer all that the model writes, so look at what they change besides."
    )
    yield f"## What it does\n\n{prefix_table(trigger.comparison)}"
    judged = "contexts" if trigger.targets.by_context else "texts"
    if trigger.written:
        yield f"{written_words(trigger.written)} {WRITTEN_WORDS}"
    else:
        yield (
            "No texts were written behind the prefixes, so this says nothing about how the model speaks of people when "
            "it writes. Audit it with and without the trigger: `evenhand regard audit`."
        )
    yield (
        f"Likelihoods are of {trigger.comparison.pairs:,} target pairs of {judged} that the search did not see: "
        f"{SCORED_WORDS} {CHANGE_WORDS}"
    )
    if trigger.transfer:
        yield f"### Carried to other models\n\n{transfer_table(trigger)}"
    seeds = [
        f"| {own.seed} | `{own.text}` | {own.loss:.4f} | {own.steps} | {own.stopped} |"
        for own in trigger.seeds
    ]
    yield "\n".join(
        [
            "### Seeds\n",
            "| seed | trigger | loss | steps | stopped because |",
            "|---|---|---|---|---|",
            *seeds,
        ]
    )


def _changes(record: MitigationRecord) -> str:
    training = record.chosen
    if not record.before and training is None:
        return (
            "This was not measured by the mitigation itself: compare the two models with `evenhand certify`."
        )
    rows = ["| measure | before | after | change |", "|---|---|---|---|"]
    for key, before in record.before.items():
        shown = (show(before, digits=3), show(record.after[key], digits=3), record.change_of(key))
        rows.append(f"| {' | '.join((metric_title(key), *shown))} |")
    if training:
        original, best = training.curve.original, training.best
        rows += [
            f"| held-out {name} | {value:.3f} | {best.quality[name]:.3f} | {best.quality[name] / value - 1:+.2%} |"
            for name, value in original.quality.items()
        ]
    return "\n".join(rows)


def _over_seeds(record: MitigationRecord) -> str:
    first = record.seeds[0].best
    figures = [f"{metric_title(key)} {record.bias_over_seeds(key)}" for key in first.bias]
    figures += [f"{name} {record.quality_over_seeds(name)}" for name in first.quality]
    return (
        f"Over {len(record.seeds)} seeds (mean ± standard deviation): {'; '.join(figures)}. Seed {record.chosen_seed} "
        "was kept."
    )


def _facts(record: MitigationRecord) -> Iterator[str]:
    yield f"original: {record.model.id}, {record.model.architecture}, weights {record.model.weights}"
    objective = "" if record.objective in (None, record.method) else f" ({record.objective})"
    settings = (
        "" if record.recipe else "".join(f", {name} {value}" for name, value in record.settings.items())
    )
    yield f"method: {record.method}{objective}{settings}"
    if record.recipe:
        yield from _training_facts(record, record.recipe)
    yield f"energy: {record.energy}"
    if record.data:
        yield from _data_facts(record.data, about_gender=not record.groups)


def _warm_up(recipe: Recipe) -> str:
    return f"after a warm-up of {recipe.warm_up:.0%} of all steps, " if recipe.warm_up else ""


def _training_facts(record: MitigationRecord, recipe: Recipe) -> Iterator[str]:
    seeds = ", ".join(str(training.seed) for training in record.seeds)
    yield (
        f"recipe: at most {recipe.epochs} epochs, batches of {recipe.batch_size}, AdamW at {recipe.learning_rate:g} "
        f"{_warm_up(recipe)}with linear decay, {record.precision}, seeds {seeds}"
    )
    if recipe.lora:
        yield (
            f"LoRA: rank {recipe.lora.rank}, alpha {recipe.lora.alpha:g}; folded into the weights, and alone in "
            "`adapter/`"
        )


def _data_facts(data: DataRecord, *, about_gender: bool) -> Iterator[str]:
    for text in data.corpus:
        yield f"corpus: {text.name}, {text.sentences:,} sentences, SHA-256 {text.sha256}"
    counts = "".join(
        f", {count:,} {name}" for name, count in data.counts.items() if about_gender or "gender" not in name
    )
    yield f"trained on: {data.examples:,} examples{counts}, SHA-256 {data.sha256}"
    held_out = data.held_out
    yield f"held out: {held_out.sentences:,} sentences of {held_out.name}, SHA-256 {held_out.sha256}"


def _versions(record: MitigationRecord) -> str:
    versions = {"evenhand": record.environment.evenhand, **record.libraries}
    return ", ".join(f"{name} {version}" for name, version in versions.items())
