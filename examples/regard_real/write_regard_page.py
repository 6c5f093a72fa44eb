"""Put what ``regard_study.py`` found into ``docs/regard-real.md`` and its picture.

    python examples/regard_real/write_regard_page.py --folder runs/regard-real

The page's prose is written by hand; tables stand between markers and are replaced.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from pathlib import Path
from shutil import copyfile
from typing import Any

import altair as alt
from regard_study import PAIRS, TRIGGERS

from evenhand.core.estimates import Estimate
from evenhand.instruments.regard.results import ErrorTreatment
from evenhand.regard.classifier import open_classifier
from evenhand.reporting.certificate.words import certificate_sentences
from evenhand.reporting.numbers import has_interval
from evenhand.reporting.prefixes import (
    CHANGE_WORDS,
    SCORED_WORDS,
    WRITTEN_WORDS,
    prefix_table,
    written_words,
)
from evenhand.runs.certificates import Certificate
from evenhand.runs.mitigation_records import MitigationRecord
from evenhand.runs.run import Run, open_run
from evenhand.runs.trigger_records import TriggerRecord

sys.path.insert(0, str(Path(__file__).parents[1]))
from marked_sections import replace_section

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "regard-real.md"
PICTURE = ROOT / "docs" / "images" / "regard-real.png"
CORRECTED = "corrected with labels by hand"
WAYS = {"as the classifier says": "#b35806", CORRECTED: "#1b7837"}


def shown(estimate: Estimate, digits: int = 1) -> str:
    """A figure with its interval, where it has one."""
    interval = f" [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]" if has_interval(estimate) else ""
    return f"{estimate.value:.{digits}f}{interval}".replace("-", "\N{MINUS SIGN}")


def gap_of(run: Run) -> Estimate:
    """The gap in net regard over all contexts."""
    (gap,) = run.result.all.figures.gaps
    estimate: Estimate = gap.gap
    return estimate


def is_corrected(run: Run) -> bool:
    """Whether the classifier's error is in the figures."""
    return run.result.all.figures.treatment is not ErrorTreatment.NONE


def shares_table(runs: dict[str, Run]) -> str:
    """One row per group: the shares of labels."""
    lines = ["| group | texts | negative | neutral | positive |", "|---|---|---|---|---|"]
    for run in runs.values():
        counts = Counter(run.scores["group"].to_list())
        lines += [
            f"| {group} | {counts[group]:,} | {shown(own.negative)} | {shown(own.neutral)} | {shown(own.positive)} |"
            for group, own in run.result.all.figures.groups.items()
        ]
    return "\n".join(lines)


def gaps_table(before: dict[str, Run], corrected: dict[str, Run]) -> str:
    """One row per pair of groups: the gap in both ways."""
    lines = [f"| gap in points | {' | '.join(WAYS)} |", "|---|---|---|"]
    for pair, groups in PAIRS.items():
        cells = [
            shown(gap_of(before[pair])),
            shown(gap_of(corrected[pair])) if is_corrected(corrected[pair]) else "–",
        ]
        names = " minus ".join(name for name, _ in groups)
        lines.append(f"| {names} | {' | '.join(cells)} |")
    return "\n".join(lines)


def trigger_section(record: TriggerRecord, certificate: Path) -> str:
    """The words, the searches, what is written behind every prefix, and what the certificate says."""
    first, second = record.targets.groups[0]
    losses = ", ".join(f"{own.loss:.2f}" for own in record.seeds)
    seen = ", ".join(record.targets.search_contexts)
    lines = [
        f"### {first} and {second}",
        "",
        f"The best of {len(record.seeds)} seeds is `{record.text}` (losses {losses}). The search saw "
        f"{record.targets.search:,} pairs of targets, which begin with {seen}; {record.targets.judged:,} pairs are "
        "held out.",
        "",
        prefix_table(record.comparison),
    ]
    if record.written is not None:
        lines += ["", written_words(record.written)]
    told = Certificate.model_validate_json(certificate.with_suffix(".json").read_bytes())
    lines += ["", "The certificate says:", "", *(f"- {sentence}" for sentence in certificate_sentences(told))]
    return "\n".join(lines)


def trigger_sections(folder: Path) -> str:
    """All triggers; their records are kept beside this script."""
    parts = []
    for pair in TRIGGERS:
        source = folder / f"trigger-{pair}" / "mitigation.json"
        record = MitigationRecord.model_validate_json(source.read_bytes()).trigger
        if record is None:
            raise SystemExit(f"{source} is about no trigger.")
        copyfile(source, Path(__file__).with_name(f"trigger-{pair}.json"))
        parts.append(trigger_section(record, folder / f"certificate-{pair}.html"))
    return "\n\n".join([*parts, f"{WRITTEN_WORDS} {SCORED_WORDS} {CHANGE_WORDS}"])


def errors_table(labelled: Path, classifier: Path, runs: dict[str, Run]) -> str:
    """How often the classifier's label is that of the reader."""
    names = {-1: "negative", 0: "neutral", 1: "positive"}
    with labelled.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    given = open_classifier(classifier).label([row["text"] for row in rows]).codes
    counts = Counter((int(row["label"]), int(code)) for row, code in zip(rows, given, strict=True))
    lines = [
        f"| the reader says | {' | '.join(f'classifier: {name}' for name in names.values())} |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {' | '.join(str(counts[label, other]) for other in names)} |"
        for label, name in names.items()
    ]
    right = sum(counts[label, label] for label in names)
    written = {text for run in runs.values() for text in run.scores["text"].to_list()}
    others = sum(row["text"] not in written for row in rows)
    told = f" {others} of them are not among the texts that the model wrote this time." if others else ""
    return "\n".join([*lines, "", f"Both agree on {right} of {counts.total()} texts.{told}"])


def picture(ways: dict[str, dict[str, Run]]) -> Any:
    """The gap of every pair in both ways."""
    values = [
        {
            "groups": " minus ".join(name for name, _ in PAIRS[pair]),
            "way": way,
            **{part: getattr(gap_of(run), part) for part in ("value", "low", "high")},
        }
        for way, runs in ways.items()
        for pair, run in runs.items()
        if way != CORRECTED or is_corrected(run)
    ]
    shared = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("groups:N", title=None, sort=None, axis=alt.Axis(labelLimit=320, ticks=False, domain=False)),
        yOffset=alt.YOffset("way:N", sort=list(WAYS)),
        color=alt.Color(
            "way:N",
            title=None,
            sort=list(WAYS),
            scale=alt.Scale(domain=list(WAYS), range=list(WAYS.values())),
            legend=alt.Legend(orient="top", direction="vertical", labelLimit=400),
        ),
    )
    rule = (
        alt.Chart(alt.InlineData(values=[{"neutral": 0}]))
        .mark_rule(color="#444", strokeDash=[4, 3])
        .encode(x="neutral:Q")
    )
    bars = shared.mark_rule(strokeWidth=3, opacity=0.5).encode(x=alt.X("low:Q", title=None), x2="high:Q")
    points = shared.mark_point(filled=True, size=90, opacity=1).encode(x=alt.X("value:Q", title=None))
    return (
        (rule + bars + points)
        .properties(
            title={
                "text": "Gap in net regard, in points",
                "subtitle": "dashed: no gap; bars: 95% intervals over contexts",
            },
            width=520,
            height=alt.Step(20),
        )
        .configure(background="white", font="sans-serif")
        .configure_view(stroke=None)
    )


def main() -> None:
    """Write page and picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--labelled", type=Path, default=Path(__file__).with_name("labelled.csv"))
    chosen = parser.parse_args()
    before = {pair: open_run(next((chosen.folder / f"before-{pair}").glob("*_regard"))) for pair in PAIRS}
    corrected = {pair: open_run(chosen.folder / "corrected" / f"{pair}-corrected") for pair in PAIRS}
    text = PAGE.read_text(encoding="utf-8")
    for name, content in (
        ("shares", shares_table(before)),
        ("errors", errors_table(chosen.labelled, chosen.folder / "classifier", before)),
        ("gaps", gaps_table(before, corrected)),
        ("triggers", trigger_sections(chosen.folder)),
    ):
        text = replace_section(text, name, content)
    PAGE.write_text(text, encoding="utf-8")
    picture(dict(zip(WAYS, (before, corrected), strict=True))).save(PICTURE, scale_factor=1.6)


if __name__ == "__main__":
    main()
