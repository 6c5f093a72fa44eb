"""How a mitigation goes and what it did, as lines and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.cli.output import plain_table, print_table

if TYPE_CHECKING:
    from evenhand.runs.learning_curves import LearningCurve
    from evenhand.runs.mitigation_records import MitigationRecord, Spread


def epoch_line(curve: LearningCurve) -> str:
    """The last judgement of a learning curve, in a line."""
    last = curve.judgements[-1]
    malor = ", ".join(f"{experiment} {value:.3f}" for experiment, value in last.malor.items())
    if last.epoch == 0:
        return f"original: MALoR {malor}; perplexity {last.perplexity:.2f}"
    return (
        f"epoch {last.epoch}: MALoR {malor}; perplexity {last.perplexity:.2f} "
        f"({curve.perplexity_rise(last):+.2%})"
    )


def show_mitigation(record: MitigationRecord) -> None:
    """Before and after, and over seeds where there are several."""
    several = len(record.seeds) > 1
    columns = ("measure", "before", "after", "change", *(("mean over seeds",) if several else ()))
    table = plain_table(*columns, right=columns[1:], title=_title(record))
    for experiment in record.experiments:
        before, after = record.before[experiment], record.after[experiment]
        change = f"{after.value / before.value - 1:+.0%}" if before.value else "–"
        over = (_spread(record.malor_over_seeds(experiment)),) if several else ()
        table.add_row(f"MALoR, {experiment}", str(before), str(after), change, *over)
    original, best = record.chosen.curve.original, record.chosen.best
    over = (_spread(record.perplexity_over_seeds()),) if several else ()
    table.add_row(
        "held-out perplexity",
        f"{original.perplexity:.2f}",
        f"{best.perplexity:.2f}",
        f"{record.perplexity_rise:+.2%}",
        *over,
    )
    print_table(table)


def _title(record: MitigationRecord) -> str:
    kept = f"epoch {record.chosen.best.epoch} of {len(record.chosen.curve.trained)}"
    seed = f", seed {record.chosen_seed}" if len(record.seeds) > 1 else ""
    return f"{record.model.id}   {record.method}   {kept}{seed}"


def _spread(spread: Spread) -> str:
    return f"{spread.mean:.3f}" + ("" if spread.deviation is None else f" ± {spread.deviation:.3f}")
