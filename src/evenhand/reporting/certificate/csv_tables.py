"""The tables of a certificate's page as CSV, to take away."""

from __future__ import annotations

from evenhand.reporting.views import estimate_columns, rows_csv
from evenhand.store.certificates import Certificate


def csv_tables(certificate: Certificate) -> dict[str, str]:
    """Bias, quality and occupations."""
    bias = [
        {
            "measure": row.measure, "part_of": row.part_of, "trained_on": trained, "neutral": row.neutral,
            "unit": row.unit,
            "before": row.before, "before_low": row.before_interval.low, "before_high": row.before_interval.high,
            "after": row.after, "after_low": row.after_interval.low, "after_high": row.after_interval.high,
            "difference": row.difference.value, "difference_low": row.difference.low,
            "difference_high": row.difference.high,
            "distance": row.distance.value if row.distance else None,
            "distance_low": row.distance.low if row.distance else None,
            "distance_high": row.distance.high if row.distance else None,
        }
        for trained, rows in (
            ("yes", certificate.trained), ("no", certificate.untrained), ("in part", certificate.whole),
        )
        for row in rows
    ]  # fmt: skip
    quality = [
        {
            "measure": row.measure, "unit": row.unit, "before": row.before, "after": row.after,
            "margin": row.margin, "verdict": row.verdict.value, **estimate_columns(row.difference),
        }
        for row in certificate.quality
    ]  # fmt: skip
    occupations = [
        {
            "experiment": change.experiment, "occupation": change.occupation, "before": change.before.value,
            "after": change.after.value, "after_low": change.after.low, "after_high": change.after.high,
        }
        for change in certificate.occupations
    ]  # fmt: skip
    return {"bias": rows_csv(bias), "quality": rows_csv(quality), "occupations": rows_csv(occupations)}
