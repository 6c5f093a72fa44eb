"""What a certificate says about the trivial baseline: a shift of a few output biases, without any training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evenhand.reporting.certificate.untrained import wholes
from evenhand.reporting.numbers import signed, unsigned
from evenhand.reporting.words import in_brackets, listed
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificates import Certificate, TrivialBaseline

OUTCOMES = {1: "better", 0: "not clearly better", -1: "worse"}
"""What the interval of the difference says of the mitigated model."""


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """One measure: what the baseline would have reached, and how the mitigated model compares with it."""

    reached: BiasRow
    against: BiasRow

    @property
    def outcome(self) -> str:
        """Better, worse, or not clearly either."""
        return OUTCOMES[self.against.movement]


def baseline_rows(certificate: Certificate) -> list[BaselineRow]:
    """One row per measure, where there is a baseline."""
    baseline = certificate.baseline
    if baseline is None:
        return []
    against = {row.measure: row for row in baseline.against}
    return [BaselineRow(row, against[row.measure]) for row in baseline.reached if row.measure in against]


def baseline_words(certificate: Certificate) -> str:
    """What a trivial baseline would have reached, and where the mitigation is better; nothing where nothing changed."""
    baseline = certificate.baseline
    if baseline is None:
        return ""
    if not baseline.reached:
        return f"There is no trivial baseline to compare with: {baseline.reason}."
    rows = baseline_rows(certificate)
    measures = [row for row in rows if row.reached in wholes(baseline.reached)]
    groups = {
        says: [row.reached.measure for row in rows if row.outcome == says and _is_judged(row.reached)]
        for says in OUTCOMES.values()
    }
    verdicts = [f"{says} in {listed(names)}" for says, names in groups.items() if names]
    return " ".join(
        [
            f"A trivial baseline, a constant added to the output biases of the words of each side "
            f"({listed(list(_shift_words(baseline)))}; fitted on {baseline.fitted_on}), would have reached "
            f"{listed([_reached_words(row, rows) for row in measures])}{_perplexity_words(baseline)}.",
            f"Compared with that, the mitigated model is {'; '.join(verdicts)}.",
            *(
                f"For {shift.experiment} none was fitted: {shift.reason}."
                for shift in baseline.shifts
                if shift.reason
            ),
        ]
    )


def _is_judged(row: BiasRow) -> bool:
    """MALoR and its spread: a base rate alone is what the baseline is made to take away."""
    return row.part_of is None or row.measure.startswith("spread")


def _shift_words(baseline: TrivialBaseline) -> Iterator[str]:
    for shift in baseline.shifts:
        if shift.reason is None:
            yield f"{shift.experiment} {signed(shift.bits)} bits"


def _reached_words(row: BaselineRow, rows: list[BaselineRow]) -> str:
    whole = row.reached
    parts = [
        f"{part.reached.measure.removesuffix(f' {whole.experiment}')} {unsigned(part.reached.after)}"
        for part in rows
        if part.reached.part_of == whole.measure
    ]
    return f"{whole.measure} {unsigned(whole.after)}{in_brackets(', '.join(parts))}"


def _perplexity_words(baseline: TrivialBaseline) -> str:
    row = baseline.perplexity
    if row is None or not row.difference.defined:
        return ""
    return f" at a perplexity of {row.after:.2f} ({signed(row.difference.value)}%)"
