"""How a mitigation goes and what it did, as lines and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.cli.output import plain_table, print_table
from evenhand.runs.learning_curves import metric_title

if TYPE_CHECKING:
    from evenhand.runs.mitigation_records import MitigationRecord


def show_mitigation(record: MitigationRecord) -> None:
    """Before and after, and over seeds where there are several."""
    several = len(record.seeds) > 1
    columns = ("measure", "before", "after", "change", *(("mean over seeds",) if several else ()))
    table = plain_table(*columns, right=columns[1:], title=_title(record))
    for key, before in record.before.items():
        after = record.after[key]
        change = f"{after.value / before.value - 1:+.0%}" if before.value else "–"
        over = (str(record.bias_over_seeds(key)),) if several else ()
        table.add_row(metric_title(key), str(before), str(after), change, *over)
    training = record.chosen
    if training:
        for name, value in training.curve.original.quality.items():
            after_training = training.best.quality[name]
            over = (str(record.quality_over_seeds(name)),) if several else ()
            table.add_row(
                f"held-out {name}",
                f"{value:.2f}",
                f"{after_training:.2f}",
                f"{after_training / value - 1:+.2%}",
                *over,
            )
    print_table(table)


def _title(record: MitigationRecord) -> str:
    training = record.chosen
    if training is None:
        return f"{record.model.id}   {record.method}"
    kept = f"epoch {training.best.epoch} of {len(training.curve.trained)}"
    seed = f", seed {record.chosen_seed}" if len(record.seeds) > 1 else ""
    return f"{record.model.id}   {record.method}   {kept}{seed}"
