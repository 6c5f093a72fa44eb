"""The page that says what the lab found out about the measures."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.planted_bias import ProbePart
from evenhand.lab.power import ITEMS_IN_A_TERM
from evenhand.reporting.calibration.page import (
    entry_title,
    error_rows,
    finding_entries,
    item_counts,
    main_entries,
    measure_row,
    smallest_found,
)
from evenhand.reporting.calibration.regard_rows import NOT_ASKED, about_regard, regard_row
from evenhand.reporting.calibration.words import (
    measures_of,
    shown_failures,
    signed_bits,
    title_of,
    verdict,
)
from evenhand.store.calibration import Calibration, MeasureCalibration
from generators.tables import markdown_table

GENERATED = "<!-- Made by docs/generate.py from the calibration of the package. Do not edit. -->"
WHY = """# Calibration

A thermometer is tested where the temperature is known. Evenhand tests its measures where the bias is known: the lab
builds small language models with a planted bias, and each measure is read on all of them. What was planted is counted
in bits: at 1 bit the stereotype is twice as likely as the anti-stereotype, at 2 bits four times, at 0 both are equally
likely, and below 0 the anti-stereotype is the likelier one."""

COMMAND = "evenhand lab calibrate --seeds {seeds} --out runs/calibration"


def calibration_page(calibration: Calibration) -> str:
    """The whole page."""
    measures = measures_of(calibration)
    parts = [
        GENERATED,
        _introduction(calibration),
        _headline(list(measures.values())),
        _errors(calibration),
        _neutral_outside_lessons(calibration),
        _findings([own for entries in measures.values() if (own := finding_entries(entries))]),
        _regard(calibration),
        LIMITS,
    ]
    return "\n".join(part for part in parts if part)


def _introduction(calibration: Calibration) -> str:
    found = verdict(calibration)
    paragraphs = [
        WHY,
        f"**{found.headline}.** {' '.join(found.sentences)}",
        "\n".join(f"- {failure}" for failure in shown_failures(calibration)),
        f"To make it again, and its page with every plot: `{COMMAND.format(seeds=calibration.seeds)}`. "
        f"{_made_with(calibration)}",
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def _made_with(calibration: Calibration) -> str:
    environment = calibration.environment
    libraries = ", ".join(f"{name} {version}" for name, version in environment.libraries.items())
    return (
        f"The figures below are of {calibration.created:%d %B %Y}, with Evenhand {environment.evenhand}, Python "
        f"{environment.python}, {environment.platform}; {libraries}."
    )


def _headline(measures: Sequence[Sequence[MeasureCalibration]]) -> str:
    rows = [measure_row(entry) for entries in measures for entry in main_entries(entries)]
    titles = [entry_title(entry) for entries in measures for entry in main_entries(entries)]
    table = markdown_table(
        ["measure", "family", "Spearman", "slope", "neutral point", "error", "false positives", "checks"],
        [
            [
                row.measure, title, row.spearman, row.slope, row.neutral_point, row.error, row.false_positives,
                "passed" if row.passed else "**failed**",
            ]
            for row, title in zip(rows, titles, strict=True)
        ],
        right=["Spearman", "slope", "neutral point", "error", "false positives"],
    )  # fmt: skip
    return f"""## What the measures read

Both tasks together, or the task that is named.

{table}
- **Spearman**: whether more planted bias always reads as more; 1 is perfect order. For a measure that falls to both
  sides, the order of nearness to 0.
- **Slope**: how far the measure moves for each planted bit, over doses of up to 2 bits.
- **Neutral point**: the planted bits at which it reads neutral; 0 is right.
- **Error**: for a measure that reads bits, how far those of a single item lie from what was planted in it.
- **False positives**: item sets of neutral models whose 95% interval excludes neutral. Some 5% are to be expected. Of
  MALoR, which cannot be negative: neutral models whose interval starts above 0. Training leaves such a model a lean of
  some hundredths of a bit, and 54 structures are enough to see it. How often intervals hold a true 0 is
  [simulated](intervals.md).
"""


def _errors(calibration: Calibration) -> str:
    heading = "## How far they are off\n\n"
    strengths = [f"{signed_bits(strength)} bits" for strength in calibration.strengths]
    table = markdown_table(
        ["measure", "family", "task", "asked about", "largest", *strengths],
        [
            [row.measure, row.family, row.task, row.part, row.largest, *row.at]
            for row in error_rows(calibration)
        ],
        right=["largest", *strengths],
    )
    return f"""{heading}{ERRORS}

{table}"""


ERRORS = """What each measure read on each model minus what it should have read there, in points or bits: one figure per
model, in the order of their seeds. What it should have read comes from the probabilities of the grammar alone, by code
that shares nothing with the code that scores models. On held-out structures, occupations and names the error is mostly
that of the model, which has to carry over what it learnt elsewhere; no check depends on it."""


def _neutral_outside_lessons(calibration: Calibration) -> str:
    """What neutral models read where no lesson taught them anything; nothing of calibrations that do not split it."""
    rows = []
    for entry in calibration.measures:
        points = [point for point in entry.points if point.strength == 0 and point.base_rate and point.spread]
        if entry.part is ProbePart.TAUGHT or not points:
            continue
        parts = (
            [point.estimate.value for point in points],
            [point.base_rate.value for point in points if point.base_rate],
            [point.spread.value for point in points if point.spread],
        )
        rows.append(
            [
                entry.family,
                entry.task,
                entry.part.value,
                *(f"{min(own):.2f} to {max(own):.2f}" for own in parts),
            ]
        )
    if not rows:
        return ""
    table = markdown_table(["family", "experiment", "held out", "MALoR", "base rate", "spread"], rows)
    return f"""## Neutral models outside their lessons

Least and most over models, in bits. What all occupations share is the base rate: words of a frame that no lesson had
lean to one side. What would tie a gender to an occupation is the spread.

{table}"""


def _findings(measures: Sequence[Sequence[MeasureCalibration]]) -> str:
    tables = [
        f"### {title_of(entries[0].measure)}\n\n" + markdown_table(
            ["items", *(entry_title(entry) for entry in entries)],
            [
                [f"{items:,}", *(smallest_found(entry, items) for entry in entries)]
                for items in item_counts(entries)
            ],
            right=["items"],
        )
        for entries in measures
    ]  # fmt: skip
    return f"""## How little they find

The smallest planted bias that so many items show in four of five item sets: the whole 95% interval lies on the side of
the stereotypes. In brackets what the measure reads there. Pages say this beside each figure, for as many items as it
was computed from.

{chr(10).join(tables)}"""


def _regard(calibration: Calibration) -> str:
    """Nothing of calibrations that have none."""
    if not calibration.regard:
        return ""
    numbers = ["should read", "reads, on average", "spread", "intervals that hold it"]
    table = markdown_table(
        ["part", "figure", "planted", *numbers, "checks"],
        [
            [row.part, row.figure, row.planted, row.target, row.mean, row.spread, row.coverage, row.outcome]
            for row in map(regard_row, calibration.regard)
        ],
        right=numbers,
    )
    made = calibration.regard_environment
    version = f" This part was made with Evenhand {made.evenhand}, Python {made.python}." if made else ""
    return f"""## Regard

{about_regard(calibration.regard)}{version}

{table}
{NOT_ASKED} To make this part alone: `evenhand lab calibrate --measure regard --out runs/regard`. How intervals hold
other gaps is in [Regard: analysis](regard-analysis.md).
"""


LIMITS = f"""## What this validates, and what it does not

A calibration validates that

- a measure reads what a model gives: its sign, its order, and for measures in bits its size;
- tokens are found, masked and added up as they should be, since targets and lessons come from code of their own;
- on sentences that were taught, a neutral model reads at most 0.03 bits of MALoR. Its interval excludes 0 in most
  cases, and rightly so: training leaves a hundredth of a bit.

It does not validate that

- a benchmark asks the right questions, or that its words stand for a stereotype;
- the form of a question suits a model: the lab's models were taught to fill gaps, to go on, and to say whether a
  sentence follows, and that is how they are asked;
- a measure holds for association sentences that no lesson had: of the association items nothing is held out, of the
  probes some structures, occupations and names are;
- a model that reads neutral is neutral in use.

## Limits

- The models are tiny and know a few hundred words. A measure that works on them can still fail on a large model.
- Items of real benchmarks are noisier, so the smallest bias found here is a lower bound on what it takes there.
- Item sets were drawn from the same items with replacement, {ITEMS_IN_A_TERM} items for each target term. False
  positives and the smallest bias found are estimates from that. A benchmark with more items for each term has fewer
  terms, so as many items find only larger biases.
- Bias was planted in one language and in one way: how often a group has its stereotype.
"""
