"""The model card of a mitigated model: what was done to which model with what, and what it changed."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from evenhand.core.estimates import Estimate
from evenhand.runs.mitigation_records import MitigationRecord, Spread

METHODS = {
    "equalise": "its own predictions were taught back to it with the probability of gendered terms shared equally",
    "counterfactual": "it went on learning from sentences and their twins, in which men and women have changed places",
}


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
        rows.append(f"| MALoR, {experiment} | {_interval(before)} | {_interval(after)} | {share} |")
    original, best = record.chosen.curve.original, record.chosen.best
    rows.append(
        f"| held-out perplexity | {original.perplexity:.3f} | {best.perplexity:.3f} | {record.perplexity_rise:+.2%} |"
    )
    return "\n".join(rows)


def _over_seeds(record: MitigationRecord) -> str:
    figures = [
        f"MALoR {experiment} {_spread(record.malor_over_seeds(experiment))}"
        for experiment in record.experiments
    ]
    figures.append(f"perplexity {_spread(record.perplexity_over_seeds())}")
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


def _interval(estimate: Estimate) -> str:
    if estimate.low != estimate.low:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _spread(spread: Spread) -> str:
    return f"{spread.mean:.3f}" + ("" if spread.deviation is None else f" ± {spread.deviation:.3f}")
