"""``evenhand lab``: models with planted bias, and what the measures make of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.help import CommandWithNames
from evenhand.cli.options import DATA, EXECUTION, OUTPUT, SCORING, Json
from evenhand.cli.output import (
    CHECK_FAILED,
    INTERRUPTED,
    TerminalMonitor,
    console,
    exit_when_interrupted,
    plain_table,
    print_json,
    print_table,
    say,
)
from evenhand.core.errors import UnknownNameError, require_extra

if TYPE_CHECKING:
    from evenhand.lab.building import LabFamily
    from evenhand.store.calibration import Calibration

lab_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Build models with planted bias; calibrate measures on them.",
)

Language = Annotated[str, typer.Option("--language", "-l", help="en or de.", rich_help_panel=DATA)]
Out = Annotated[
    Path,
    typer.Option(
        "--out", "-o", help="Folder for the result; new or empty for a model.", rich_help_panel=OUTPUT
    ),
]


@lab_app.command("build")
def build_command(
    out: Out,
    family: Annotated[
        str, typer.Option(help="masked, decoder or encoder-decoder.", rich_help_panel=DATA)
    ] = "masked",
    strength: Annotated[
        float,
        typer.Option(
            help="Bits by which stereotypes are more likely; negative for the reverse.", rich_help_panel=DATA
        ),
    ] = 2.0,
    language: Language = "en",
    seed: Annotated[int, typer.Option(help="Seed of weights and lessons.", rich_help_panel=DATA)] = 0,
    regard_gap: Annotated[
        float | None,
        typer.Option(
            help="Teach a decoder to write about women and men, with this gap in regard: points by which it speaks "
            "better of women; negative for the reverse.",
            show_default="nothing of regard",
            rich_help_panel=DATA,
        ),
    ] = None,
) -> None:
    """Build a small model whose bias is known, because it is planted. Takes about a minute.

    The folder is an ordinary model folder: `evenhand audit DIR` measures it on the lab's own items.

    **Examples**

    `evenhand lab build --out models/biased`

    `evenhand lab build --family decoder --strength -1 --language de --seed 7 --out models/reversed`

    `evenhand lab build --family decoder --regard-gap -15 --out models/regard`
    """
    say(f"Building {out}")
    require_extra("hf", purpose="evenhand lab build")
    from evenhand.lab.building import LabSpec, build_model

    spec = LabSpec(_family(family), strength, language, seed, regard_gap)
    try:
        with TerminalMonitor().stage(f"{family} at {strength:+g} bits", "steps") as progress:
            build_model(spec, out, progress=progress)
    except KeyboardInterrupt:
        say("Stopped. Nothing was written.")
        raise typer.Exit(INTERRUPTED) from None
    say(f"Wrote {out}. {spec.planted.description}")
    say(f"Measure it with: evenhand audit {out}")
    if regard_gap is not None:
        say(
            f"And how it speaks of women and men: evenhand regard audit {out} --language {language} --temperature 1 "
            "--top-p 1"
        )


@lab_app.command("calibrate", cls=CommandWithNames)
def calibrate_command(
    out: Out,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            help="Only this one: $measures, MALoR, regard. May be repeated.",
            rich_help_panel=SCORING,
        ),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(
            "--family",
            help="Only this one: masked, decoder or encoder-decoder. May be repeated.",
            rich_help_panel=DATA,
        ),
    ] = None,
    doses: Annotated[
        int, typer.Option(help="Strengths from -3 to 3 bits; an odd number.", rich_help_panel=DATA)
    ] = 7,
    seeds: Annotated[int, typer.Option(help="Models of each strength.", rich_help_panel=DATA)] = 5,
    language: Language = "en",
    workers: Annotated[
        int | None,
        typer.Option(
            help="Models built at a time; one for each core if not given.", min=1, rich_help_panel=EXECUTION
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Build models of many strengths and compare what the measures read with what was planted.

    With the defaults 105 models are built and measured, one to two minutes each on one core. A stopped calibration goes
    on where it was when the same command is given again. The exit code is 3 when a measure does not do what it should.

    Regard is calibrated on texts with planted regard, annotators with planted errors and classifiers with a planted
    bias; that takes a minute and builds no model.

    **Examples**

    `evenhand lab calibrate --out runs/calibration`

    `evenhand lab calibrate --measure regard --out runs/regard`

    `evenhand lab calibrate --family masked --measure SS --doses 5 --seeds 2 --out runs/quick`
    """
    say("Calibrating")
    require_extra("hf", purpose="evenhand lab calibrate")
    from evenhand.api.calibrate import calibrate
    from evenhand.lab.building import LabFamily
    from evenhand.lab.doses import DosePlan

    families = tuple(_family(name) for name in family) if family else tuple(LabFamily)
    with exit_when_interrupted():
        calibration = calibrate(
            DosePlan(families, doses, seeds, language),
            out=out,
            measures=measure,
            workers=workers,
            monitor=TerminalMonitor(),
        )
    if json:
        print_json(calibration.model_dump(mode="json"))
    else:
        show_calibration(calibration)
    if not calibration.passed:
        raise typer.Exit(CHECK_FAILED)


@lab_app.command("check")
def check_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Embedded models, such as lab:masked. All if not given.")
    ] = None,
) -> None:
    """Build the embedded models again and compare them with those that ship.

    On the platform on which they were built and with the same versions of the libraries, scores may differ by at most
    0.0001. Elsewhere the difference is only shown. The exit code is 3 when they differ more than they may.

    **Examples**

    `evenhand lab check`

    `evenhand lab check lab:decoder`
    """
    say("Building the embedded models again")
    require_extra("hf", purpose="evenhand lab check")
    import tempfile

    from evenhand.lab.embedded_models import rebuild
    from evenhand.models.backends.lab import embedded_folder, embedded_names

    chosen = names or list(embedded_names())
    for name in chosen:
        embedded_folder(name)
    agree = True
    for name in chosen:
        with tempfile.TemporaryDirectory() as scratch:
            found = rebuild(name.removeprefix("lab:"), Path(scratch) / "model")
        agree = agree and found.agrees
        same = (
            "the same files"
            if found.same_files
            else f"scores differ by at most {found.largest_difference:.2g}"
        )
        if not found.same_platform:
            how = "; it was built on another platform"
        elif not found.same_libraries:
            how = "; it was built with other versions of the libraries"
        else:
            how = ""
        say(f"{name}: {same}{how}. {'Fine.' if found.agrees else 'That is too much.'}")
    if not agree:
        raise typer.Exit(CHECK_FAILED)


def _family(name: str) -> LabFamily:
    from evenhand.lab.building import LabFamily

    if name not in set(LabFamily):
        raise UnknownNameError("family", name, [known.value for known in LabFamily])
    return LabFamily(name)


def show_calibration(calibration: Calibration) -> None:
    """Print how each measure did, a row for each family and task, and how regard did."""
    if calibration.measures:
        _show_measures(calibration)
    if calibration.regard:
        _show_regard(calibration)


def _show_regard(calibration: Calibration) -> None:
    from evenhand.reporting.calibration.regard_rows import regard_row

    table = plain_table(
        "regard", "figure", "planted", "should read", "reads", "spread", "held by", "",
        right=("should read", "reads", "spread", "held by"),
    )  # fmt: skip
    for row in map(regard_row, calibration.regard):
        table.add_row(
            row.part, row.figure, row.planted, row.target, row.mean, row.spread, row.coverage, row.outcome
        )
    print_table(table)
    for check in calibration.regard_failures:
        console().print(f"{check.name} is {check.found:.3g}; {check.wanted} is wanted.")


def _show_measures(calibration: Calibration) -> None:
    table = plain_table(
        "measure", "family", "task", "Spearman", "slope", "neutral at", "error", "false positives", "",
        right=("Spearman", "slope", "neutral at", "error", "false positives"),
    )  # fmt: skip
    for entry in calibration.measures:
        table.add_row(
            entry.measure,
            entry.family,
            entry.task,
            _shown(entry.spearman, ".3f"),
            _shown(entry.slope, "+.2f"),
            _shown(entry.neutral_point, "+.2f"),
            _shown(entry.error, ".2f"),
            _shown(entry.false_positives, ".1%"),
            "passed" if entry.passed else "FAILED",
        )
    print_table(table)
    for entry, check in calibration.failures:
        where = f"{entry.measure}, {entry.family}, {entry.task}"
        console().print(f"{where}: {check.name} is {check.found:.3g}; {check.wanted} is wanted.")


def _shown(value: float, form: str) -> str:
    return format(value, form) if value == value else "–"  # noqa: PLR0124  NaN is not itself
