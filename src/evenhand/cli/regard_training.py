"""``evenhand regard train`` and ``label``: make a classifier of regard, and use it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from evenhand.cli.options import (
    DATA,
    DEFAULT_CONFIDENCE,
    EXECUTION,
    MODEL,
    OUTPUT,
    STATISTICS,
    TRAINING,
    Confidence,
    Device,
    Fresh,
    Json,
    LabelColumn,
    SchemeName,
    TextColumn,
    resampling,
)
from evenhand.cli.output import (
    TerminalMonitor,
    exit_when_interrupted,
    plain_table,
    print_json,
    print_lines,
    print_table,
    print_text,
    say,
    warn,
)
from evenhand.twins.noun_list import mention_noun_list

if TYPE_CHECKING:
    from evenhand.regard.classifier import RegardClassifier
    from evenhand.regard.texts import RegardTexts

_DIGITS = 4
"""Of probabilities in a CSV file."""

STARTER = "starter"
"""Stands for the starter set where files of texts are named."""

TrainingTexts = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Annotations: one table, one file per annotator, or a tool's export. The starter set if not given."
    ),
]
LabelsName = Annotated[
    str,
    typer.Option("--labels", help="What is learnt: mode, consensus or soft votes.", rich_help_panel=TRAINING),
]
FeaturesName = Annotated[
    str, typer.Option("--features", help="How texts become numbers: $features.", rich_help_panel=TRAINING)
]
HeadName = Annotated[
    str, typer.Option("--classifier", help="What is trained on them: $heads.", rich_help_panel=TRAINING)
]
Tune = Annotated[
    int,
    typer.Option(
        help="Settings that Optuna tries; 0 for a few that are usual.", min=0, rich_help_panel=TRAINING
    ),
]
Folds = Annotated[int, typer.Option(help="Folds that choose the settings.", min=2, rich_help_panel=TRAINING)]
ClassWeightsName = Annotated[
    str,
    typer.Option(
        "--class-weights", help="balanced: all classes weigh the same; or none.", rich_help_panel=TRAINING
    ),
]
PersonsName = Annotated[
    str,
    typer.Option(
        "--persons",
        help="What is done about the person of a text: keep, mask, or counterfactual (trained on both genders).",
        rich_help_panel=TRAINING,
    ),
]
TiesName = Annotated[
    str,
    typer.Option(
        "--ties", help="Votes that tie: lowest takes the lowest label, drop none.", rich_help_panel=TRAINING
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        help="The column that names the author of each text, or FILE:COLUMN with one row per text. No author is on "
        "both sides of a fold.",
        rich_help_panel=DATA,
    ),
]
UnsureColumn = Annotated[
    str | None,
    typer.Option(
        "--unsure", help="The column that is ticked if the annotator was unsure.", rich_help_panel=DATA
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        "-l",
        help="Of the texts; told from their words if not given. Of the starter set, en or de.",
        rich_help_panel=DATA,
    ),
]
TestRows = Annotated[
    Path | None,
    typer.Option(
        help="JSON list of the row numbers to keep for the test; a fifth of the authors if not given.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
SharedAuthorsName = Annotated[
    str,
    typer.Option(
        "--shared-authors",
        help="If those rows share authors with the others: refuse, or warn and go on.",
        rich_help_panel=DATA,
    ),
]
SizeSeeds = Annotated[
    int,
    typer.Option(
        help="Draws of each size for training on fewer texts; 0 leaves that out.",
        min=0,
        rich_help_panel=EXECUTION,
    ),
]
TrainingSeed = Annotated[
    int, typer.Option("--seed", help="Of test rows, folds and training.", min=0, rich_help_panel=EXECUTION)
]
ClassifierResamples = Annotated[
    int, typer.Option("--resamples", help="Bootstrap resamples.", rich_help_panel=STATISTICS)
]
ClassifierFolder = Annotated[
    Path, typer.Option("--out", "-o", help="Folder for the classifier.", rich_help_panel=OUTPUT)
]


def train_command(
    texts: TrainingTexts = None,
    label: LabelColumn = "label",
    unsure: UnsureColumn = None,
    text: TextColumn = "text",
    scheme: SchemeName = None,
    group: Group = None,
    language: Language = None,
    test_rows: TestRows = None,
    shared_authors: SharedAuthorsName = "refuse",
    labels: LabelsName = "mode",
    ties: TiesName = "lowest",
    features: FeaturesName = "tfidf",
    classifier: HeadName = "logistic",
    tune: Tune = 0,
    folds: Folds = 5,
    class_weights: ClassWeightsName = "balanced",
    persons: PersonsName = "keep",
    resamples: ClassifierResamples = 2_000,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    size_seeds: SizeSeeds = 5,
    seed: TrainingSeed = 0,
    device: Device = "auto",
    fresh: Fresh = False,
    out: ClassifierFolder = Path("classifier"),
    json: Json = False,
) -> None:
    """Train a classifier of regard and measure it on texts that it never saw.

    Test rows are fixed first, folds of the others choose the settings, and the folder holds the classifier, its
    figures and a page. Without texts, the starter set of the language is used: a toy.

    **Examples**

    `evenhand regard train --language de --out toy`

    `evenhand regard train annotator_*.csv --label Label --unsure Unsicher --group survey.csv:case --language de`

    `evenhand regard train texts.csv --group author --labels soft --features sentence:MODEL --tune 100`
    """
    from evenhand.api.regard import RegardTrainingOptions, read_test_rows, train_regard_classifier
    from evenhand.regard.fitting import ClassWeights
    from evenhand.regard.persons import PersonTreatment
    from evenhand.regard.splits import SharedAuthors
    from evenhand.regard.texts import LabelKind
    from evenhand.stats.resampling import Resampling

    table = training_texts(
        texts, label=label, unsure=unsure, text=text, scheme=scheme, group=group, language=language, ties=ties
    )
    options = RegardTrainingOptions(
        labels=choice_of(LabelKind, labels, kind="kind of labels"),
        features=features,
        classifier=classifier,
        tune=tune,
        folds=folds,
        class_weights=choice_of(ClassWeights, class_weights, kind="class weights"),
        persons=choice_of(PersonTreatment, persons, kind="treatment of persons"),
        language=language,
        test_rows=read_test_rows(test_rows) if test_rows else None,
        shared_authors=choice_of(SharedAuthors, shared_authors, kind="answer to shared authors"),
        size_seeds=size_seeds,
        seed=seed,
        resampling=resampling(resamples, Resampling().seed, confidence),
        device=device,
    )
    with exit_when_interrupted():
        trained = train_regard_classifier(table, options, out=out, fresh=fresh, monitor=TerminalMonitor())
    if options.persons is PersonTreatment.COUNTERFACTUAL:
        mention_noun_list(trained.record.dataset.language)
    if json:
        print_json(
            {
                "classifier": str(out),
                "settings": trained.record.settings,
                "counts": trained.record.counts,
                **trained.report.model_dump(mode="json"),
            }
        )
    else:
        print_figures(trained)
    say(f"{out} has the classifier and its page. Check it for a bias of its own: evenhand regard check {out}")


def training_texts(
    paths: list[Path] | None,
    *,
    label: str,
    unsure: str | None,
    text: str,
    scheme: str | None,
    group: str | None,
    language: str | None,
    ties: str,
) -> RegardTexts:
    """The texts that were named, or the starter set with its authors."""
    from evenhand.data.annotation_files import AnnotationColumns
    from evenhand.data.label_schemes import load_scheme
    from evenhand.regard.persons import starter_file
    from evenhand.regard.texts import read_regard_texts
    from evenhand.stats.vote_aggregation import TieRule

    if not paths or paths == [Path(STARTER)]:
        chosen = language or "en"
        say(f"The texts are those of the starter set ({chosen}): enough for a toy.")
        return read_regard_texts([starter_file(chosen)], group="author")
    return read_regard_texts(
        paths,
        scheme=load_scheme(scheme) if scheme else None,
        columns=AnnotationColumns(text=text, label=label, unsure=unsure),
        group=group,
        ties=choice_of(TieRule, ties, kind="rule for ties"),
    )


Choice = TypeVar("Choice", bound=StrEnum)


def choice_of(choices: type[Choice], text: str, *, kind: str) -> Choice:
    """The choice of this name."""
    from evenhand.core.errors import UnknownNameError

    if text not in set(choices):
        raise UnknownNameError(kind, text, [own.value for own in choices])
    return choices(text)


def print_figures(trained: RegardClassifier) -> None:
    """The figures of a classifier as tables."""
    from evenhand.reporting.numbers import show
    from evenhand.reporting.regard.page import FIGURES, evaluations, reading

    report, record = trained.report, trained.record
    parts = evaluations(report)
    headers = [f"{title} ({part.rows:,})" for title, part in parts.items()]
    table = plain_table("figure", *headers, right=headers)
    for name, title in FIGURES.items():
        table.add_row(title, *(show(getattr(part, name), digits=3) for part in parts.values()))
    print_table(table)
    titles = [trained.scheme.option(code).title_in("en") for code in record.classes]
    figures = ("precision", "recall", "F1")
    classes = plain_table("test rows", "texts", *figures, right=("texts", *figures))
    for title, own in zip(titles, report.test.classes, strict=True):
        cells = (show(estimate, digits=3) for estimate in (own.precision, own.recall, own.f1))
        classes.add_row(title, f"{own.rows:,}", *cells)
    print_table(classes)
    given = [f"labelled {title}" for title in titles]
    confusion = plain_table("test rows", *given, right=given)
    for title, row in zip(titles, report.test.confusion, strict=True):
        confusion.add_row(title, *(f"{count:,}" for count in row))
    print_table(confusion)
    print_lines(reading(record, report, titles))


def label_command(
    texts: Annotated[
        list[Path],
        typer.Argument(help="CSV or TSV files with a column of texts, or .txt with one text per line."),
    ],
    classifier: Annotated[
        Path, typer.Option(help="Folder of a classifier.", file_okay=False, rich_help_panel=MODEL)
    ],
    text: TextColumn = "text",
    embeddings: Annotated[
        Path | None,
        typer.Option(
            help="Embeddings of the texts, for a classifier over embeddings that were computed elsewhere.",
            dir_okay=False,
            rich_help_panel=DATA,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="CSV to write; standard output if not given.", rich_help_panel=OUTPUT
        ),
    ] = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Label texts with a classifier of regard: the label of each, and the probability of every label.

    What a check found about the classifier's own bias is said again.

    **Example**

    `evenhand regard label texts.csv --classifier classifier --out labelled.csv`
    """
    from evenhand.core.files import write_text
    from evenhand.regard.classifier import open_classifier
    from evenhand.regard.texts import read_plain_texts

    opened = open_classifier(classifier, device=device)
    rows = [own for path in texts for own in read_plain_texts(path, column=text)]
    labelled = opened.label(rows, embeddings=embeddings)
    if opened.bias_warning:
        warn(opened.bias_warning)
    frame = labelled.to_frame(rows)
    if json:
        print_json({"classifier": str(classifier), "warning": opened.bias_warning, "texts": frame.to_dicts()})
    elif out is None:
        print_text(frame.write_csv(float_precision=_DIGITS))
    else:
        write_text(out, frame.write_csv(float_precision=_DIGITS))
        say(f"Labelled {len(rows):,} texts: {out}")
