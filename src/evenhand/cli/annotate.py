"""``evenhand annotate``: how far annotators agree, and files of annotations from one layout to another."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.help import CommandWithNames
from evenhand.cli.options import (
    DATA,
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    OUTPUT,
    Confidence,
    Json,
    LabelColumn,
    Replace,
    Resamples,
    SchemeName,
    Seed,
    TextColumn,
    resampling,
)
from evenhand.cli.output import plain_table, print_json, print_lines, print_table, say, warn
from evenhand.core.counts import plural
from evenhand.core.errors import EvenhandError, require_extra
from evenhand.core.files import refuse_to_replace, write_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.data.annotations import AnnotationTable
    from evenhand.regard.agreement import AnnotatorAgreement

annotate_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Annotations: how far people agree, and their files.",
)

Files = Annotated[
    list[Path],
    typer.Argument(help="One long table, one file per annotator with aligned rows, or a tool's export."),
]
LayoutName = Annotated[
    str | None,
    typer.Option(
        "--layout",
        help="How the files hold annotations: $annotations. Told from the files if not given.",
        rich_help_panel=DATA,
    ),
]
UnsureColumn = Annotated[
    str | None,
    typer.Option(
        "--unsure",
        help="The column that is ticked if the annotator was unsure; unsure where there is one.",
        rich_help_panel=DATA,
    ),
]


@annotate_app.command("agreement", cls=CommandWithNames)
def agreement_command(
    files: Files,
    label: LabelColumn = "label",
    unsure: UnsureColumn = None,
    text: TextColumn = "text",
    scheme: SchemeName = None,
    layout: LayoutName = None,
    complete: Annotated[
        bool,
        typer.Option(
            "--complete",
            help="Leave out texts that somebody was unsure about or did not label.",
            rich_help_panel=DATA,
        ),
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="CSV to write with the mode, the consensus and the vote shares of each text.",
            dir_okay=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="With --labels, also the labels of a model of annotators: dawid-skene or mace.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    replace: Replace = False,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    json: Json = False,
) -> None:
    """Measure how far annotators agree: Cohen's kappa of every two, and Krippendorff's alpha of all.

    The mean of kappa leaves out the diagonal, where everybody agrees with themselves. Unsure is an answer of its own in
    kappa and no label in alpha.

    **Examples**

    `evenhand annotate agreement annotator_*.csv --label Label --unsure Unsicher`

    `evenhand annotate agreement annotations.csv --labels labels.csv --json`
    """
    from evenhand.regard.agreement import annotator_agreement, write_labels

    if model and labels is None:
        raise EvenhandError(
            "--model says how labels are made that --labels FILE writes. Give both, or neither."
        )
    if model:
        require_extra("crowd", purpose="A model of annotators")
    if labels is not None:
        refuse_to_replace(labels, inputs=files, replace=replace, option="--labels")
    table = _read(files, label=label, unsure=unsure, text=text, scheme=scheme, layout=layout)
    if complete:
        table = table.labelled_by_all()
    agreement = annotator_agreement(table, resampling=resampling(resamples, seed, confidence))
    if labels is not None:
        write_labels(table, labels, model=model, seed=seed)
        say(f"Labels of {plural(len(table.texts), 'text')}: {labels}")
    if json:
        print_json(agreement.summary())
    else:
        _print_agreement(agreement)


@annotate_app.command("import", cls=CommandWithNames)
def import_command(
    files: Files,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Table to write, one row per annotation.", rich_help_panel=OUTPUT),
    ] = Path("annotations.csv"),
    label: LabelColumn = "label",
    unsure: UnsureColumn = None,
    text: TextColumn = "text",
    scheme: SchemeName = None,
    layout: LayoutName = None,
    replace: Replace = False,
) -> None:
    """Read annotations in any layout and write one long table.

    **Example**

    `evenhand annotate import project-1-export.json --out annotations.csv`
    """
    from evenhand.data.annotation_files import write_annotations

    refuse_to_replace(out, inputs=files, replace=replace)
    table = _read(files, label=label, unsure=unsure, text=text, scheme=scheme, layout=layout)
    write_annotations(table, out)
    say(_told(table, [out]))


@annotate_app.command("export", cls=CommandWithNames)
def export_command(
    files: Files,
    to: Annotated[str, typer.Option(help="The layout to write: $annotations.", rich_help_panel=OUTPUT)],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="File to write, or folder where the layout has one file per annotator.",
            rich_help_panel=OUTPUT,
        ),
    ],
    label: LabelColumn = "label",
    unsure: UnsureColumn = None,
    text: TextColumn = "text",
    scheme: SchemeName = None,
    layout: LayoutName = None,
    replace: Replace = False,
) -> None:
    """Read annotations in any layout and write them in another.

    **Example**

    `evenhand annotate export annotations.csv --to label-studio --out tasks.json`
    """
    table = _read(files, label=label, unsure=unsure, text=text, scheme=scheme, layout=layout)
    say(_told(table, write_new_annotations(table, out, layout=to, inputs=files, replace=replace)))


def write_new_annotations(
    table: AnnotationTable, out: Path, *, layout: str, inputs: Sequence[Path] = (), replace: bool
) -> tuple[Path, ...]:
    """Write annotations where no other file is, unless it may be replaced; the files of the layout."""
    from evenhand.data.annotation_csv import about_formulas
    from evenhand.data.annotation_files import ALIGNED, LONG, write_annotations

    with tempfile.TemporaryDirectory(prefix="evenhand-annotations-") as folder:
        # Which files a layout has is known once they are written.
        drafts = write_annotations(table, Path(folder) / out.name, layout=layout)
        places = [out.parent / draft.relative_to(folder) for draft in drafts]
        for place in places:
            refuse_to_replace(place, inputs=inputs, replace=replace)
        for draft, place in zip(drafts, places, strict=True):
            write_bytes(place, draft.read_bytes())
    if layout in (LONG, ALIGNED):
        for note in about_formulas(table):
            warn(note)
    return tuple(places)


def _read(
    files: list[Path], *, label: str, unsure: str | None, text: str, scheme: str | None, layout: str | None
) -> AnnotationTable:
    from evenhand.data.annotation_files import AnnotationColumns, read_annotations
    from evenhand.data.label_schemes import load_scheme

    missing = next((file for file in files if not file.exists()), None)
    if missing is not None and len(missing.parts) == 1 and not missing.suffix:
        raise EvenhandError(
            f"There is no file {missing}. If it is a project on a server, write its votes to a file with: evenhand "
            f"annotate collect {missing} --out {missing}.csv"
        )
    table = read_annotations(
        files,
        scheme=load_scheme(scheme) if scheme else None,
        columns=AnnotationColumns(text=text, label=label, unsure=unsure),
        layout=layout,
    )
    for warning in table.warnings:
        warn(warning)
    return table


def _told(table: AnnotationTable, files: list[Path] | tuple[Path, ...]) -> str:
    return (
        f"{plural(len(table), 'annotation')} of {plural(len(table.texts), 'text')} by "
        f"{plural(len(table.annotators), 'annotator')}: {', '.join(map(str, files))}"
    )


def _print_agreement(agreement: AnnotatorAgreement) -> None:
    from evenhand.reporting.numbers import NOT_THERE, number, number_or_dash, show
    from evenhand.stats.agreement import AgreementBand

    pairs = len(agreement.annotators) * (len(agreement.annotators) - 1) // 2
    numbers = [str(place) for place in range(1, len(agreement.annotators) + 1)]
    table = plain_table("", "annotator", *numbers, right=numbers, title="Cohen's kappa")
    for row, annotator in enumerate(agreement.annotators):
        kappas = [
            NOT_THERE if row == column else number(kappa)
            for column, kappa in enumerate(agreement.pairwise_kappa[row].tolist())
        ]
        table.add_row(numbers[row], annotator, *kappas)
    print_table(table)
    mean = agreement.mean_kappa
    band = "" if math.isnan(mean) else f", {AgreementBand.of(mean)} by McHugh's bands"
    lines = [
        f"Mean kappa of {plural(pairs, 'pair')}: {number_or_dash(mean, 3)}{band}.",
        f"Krippendorff's alpha: {show(agreement.alpha.nominal, digits=3)} nominal, "
        f"{show(agreement.alpha.ordinal, digits=3)} ordinal.",
        f"{plural(agreement.texts, 'text')}: all agree on {len(agreement.consensus):,}, labels tie in "
        f"{len(agreement.ambiguous):,}, somebody was unsure about {len(agreement.unsure):,}.",
    ]
    if agreement.single:
        lines.append(
            f"{plural(len(agreement.single), 'text has', 'texts have')} one vote only, with which nobody can agree."
        )
    complete = agreement.complete
    if complete is not None and complete.texts < agreement.texts:
        lines.append(
            f"On the {plural(complete.texts, 'text')} that all labelled: mean kappa "
            f"{number_or_dash(complete.mean_kappa, 3)}, alpha {number_or_dash(complete.alpha_nominal, 3)} nominal, "
            f"{number_or_dash(complete.alpha_ordinal, 3)} ordinal."
        )
    print_lines(lines)
