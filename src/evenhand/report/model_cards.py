"""Model cards: the ``model-index`` block that model hubs read, and the card of a mitigated model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from evenhand.core.estimates import Estimate
from evenhand.instruments.association.measures import MEASURES
from evenhand.instruments.association.results import MEASURE_NAMES
from evenhand.report.numbers import has_interval, show
from evenhand.runs.mitigation_records import MitigationRecord, Spread
from evenhand.runs.run import Run

METHODS = {
    "equalise": "its own predictions were taught back to it with the probability of gendered terms shared equally",
    "counterfactual": "it went on learning from sentences and their twins, in which men and women have changed places",
}


def model_card_snippet(runs: Sequence[Run] | Run) -> str:
    """YAML front matter with the results of runs, one entry per run and task."""
    listed = [runs] if isinstance(runs, Run) else list(runs)
    index = [
        {"name": run.name, "results": [_result(run, task) for task in run.result.tasks]} for run in listed
    ]
    body = yaml.safe_dump({"model-index": index}, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{body}---\n"


def _result(run: Run, task: str) -> dict[str, Any]:
    dataset = run.record.dataset
    result = run.result.tasks[task]
    return {
        "task": {"type": "text-generation", "name": f"Context association test, {task}"},
        "dataset": {
            "type": dataset.name,
            "name": f"{dataset.name} ({dataset.language})",
            "config": dataset.language,
            "revision": dataset.sha256,
        },
        "metrics": [
            {
                "type": MEASURES.get(name).version,
                "name": MEASURES.get(name).title,
                "value": round(estimate.value, 2),
                "args": {
                    **_rounded_interval(estimate),
                    "confidence": run.record.statistics.confidence,
                    "n": result.n,
                    "neutral": MEASURES.get(name).neutral,
                    "protocol": run.result.protocol,
                },
            }
            for name in MEASURE_NAMES
            if (estimate := result.estimate(name)).defined
        ],
        "source": {"name": f"Evenhand {run.record.environment.evenhand}"},
    }


def _rounded_interval(estimate: Estimate) -> dict[str, float]:
    if not has_interval(estimate):
        return {}
    return {"low": round(estimate.low, 2), "high": round(estimate.high, 2)}


def mitigation_card(record: MitigationRecord, *, command: str | None = None) -> str:
    """The card as Markdown with front matter."""
    front = {
        "base_model": record.model.id,
        "language": [record.language],
        "library_name": "transformers",
        "tags": ["bias-mitigation", "evenhand", f"evenhand-{record.method}"],
    }
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    body = "\n\n".join(_parts(record, command))
    return f"---\n{head}---\n\n{body}\n"


def _parts(record: MitigationRecord, command: str | None) -> Iterator[str]:
    yield f"# {record.model.id}, gender lean lowered by {record.method}"
    yield _summary(record)
    if not record.chosen.keeps_quality:
        yield (
            f"**No epoch stayed within the quality margin of {record.recipe.quality_margin:.1%}.** The one whose "
            "perplexity rose least was kept."
        )
    yield "## What changed"
    yield _changes(record)
    if len(record.seeds) > 1:
        yield _over_seeds(record)
    yield (
        "MALoR is the mean absolute log2-ratio of P(male term) to P(female term) over occupations; 0 is neutral, and "
        "noise alone makes it positive. It speaks of the occupations, sentences and terms that were asked. A lower "
        "value does not make a model free of bias, and other measures may not have moved: compare the two models with "
        "`evenhand certify`."
    )
    yield "## How it was made"
    yield "\n".join(f"- {line}" for line in _facts(record))
    if record.model.planted:
        yield (
            f"About the original: {record.model.planted.description} What was planted is "
            "no longer what this model has, so its record (`lab.json`) is not carried over."
        )
    yield "## Again"
    told = f"```\n{command}\n```" if command else "The recipe and all digests stand in `mitigation.json`."
    yield f"{told}\n\nVersions: {_versions(record)}."


def _summary(record: MitigationRecord) -> str:
    how = METHODS.get(record.method, record.objective)
    return (
        f"This is {record.model.id} after a mitigation with Evenhand: {how}. Trained for "
        f"{', '.join(record.experiments)}; epoch {record.chosen.best.epoch} of "
        f"{len(record.chosen.curve.trained)} was kept. The weights are in full precision (fp32)."
    )


def _changes(record: MitigationRecord) -> str:
    rows = ["| measure | before | after | change |", "|---|---|---|---|"]
    for experiment in record.experiments:
        before, after = record.before[experiment], record.after[experiment]
        share = f"{after.value / before.value - 1:+.0%}" if before.value else "–"
        rows.append(f"| MALoR, {experiment} | {show(before, digits=3)} | {show(after, digits=3)} | {share} |")
    original, best = record.chosen.curve.original, record.chosen.best
    rows.append(
        f"| held-out perplexity | {original.perplexity:.3f} | {best.perplexity:.3f} | {record.perplexity_rise:+.2%} |"
    )
    return "\n".join(rows)


def _over_seeds(record: MitigationRecord) -> str:
    figures = [
        f"MALoR {experiment} {_over_seeds_words(record.malor_over_seeds(experiment))}"
        for experiment in record.experiments
    ]
    figures.append(f"perplexity {_over_seeds_words(record.perplexity_over_seeds())}")
    return (
        f"Over {len(record.seeds)} seeds (mean ± standard deviation): {'; '.join(figures)}. Seed {record.chosen_seed} "
        "was kept."
    )


def _facts(record: MitigationRecord) -> Iterator[str]:
    recipe = record.recipe
    yield f"original: {record.model.id}, {record.model.architecture}, weights {record.model.weights}"
    objective = "" if record.objective == record.method else f" ({record.objective})"
    yield f"method: {record.method}{objective}"
    yield (
        f"recipe: at most {recipe.epochs} epochs, batches of {recipe.batch_size}, AdamW at {recipe.learning_rate:g} "
        f"with linear decay, {record.precision}, seeds {', '.join(str(known.seed) for known in record.seeds)}"
    )
    if recipe.lora:
        yield (
            f"LoRA: rank {recipe.lora.rank}, alpha {recipe.lora.alpha:g}; folded into the weights, and alone in "
            "`adapter/`"
        )
    for text in record.data.corpus:
        yield f"corpus: {text.name}, {text.sentences:,} sentences, SHA-256 {text.sha256}"
    counts = "".join(f", {count:,} {name}" for name, count in record.data.counts.items())
    yield f"trained on: {record.data.examples:,} examples{counts}, SHA-256 {record.data.sha256}"
    held = record.data.held_out
    yield f"held out: {held.sentences:,} sentences of {held.name}, SHA-256 {held.sha256}"


def _versions(record: MitigationRecord) -> str:
    known = {"evenhand": record.environment.evenhand, **record.libraries}
    return ", ".join(f"{name} {version}" for name, version in known.items())


def _over_seeds_words(spread: Spread) -> str:
    return f"{spread.mean:.3f}" + ("" if spread.deviation is None else f" ± {spread.deviation:.3f}")
