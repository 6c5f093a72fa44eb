"""``evenhand regard``: how texts make others think of the people in them, and the classifiers that tell."""

from __future__ import annotations

from collections.abc import Sequence
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
    STATISTICS,
    Confidence,
    Device,
    Json,
    LabelColumn,
    Resamples,
    SchemeName,
    Seed,
    TextColumn,
    resampling,
)
from evenhand.cli.output import (
    CHECK_FAILED,
    TerminalMonitor,
    plain_table,
    print_json,
    print_lines,
    print_table,
    say,
)
from evenhand.cli.regard_audit import audit_regard_command
from evenhand.cli.regard_content import review_matches_command
from evenhand.cli.regard_evaluation import evaluate_regard_command
from evenhand.cli.regard_training import (
    Group,
    TiesName,
    UnsureColumn,
    label_command,
    train_command,
    training_texts,
)
from evenhand.core.counts import plural
from evenhand.core.errors import EvenhandError, require_extra
from evenhand.twins.noun_list import mention_noun_list

if TYPE_CHECKING:
    from evenhand.regard.bias_check import BiasCheck
    from evenhand.regard.classifier_check import TreatmentResult
    from evenhand.stats.resampling import Resampling
    from evenhand.store.classifier_records import ClassifierCheck

_MOST_REASONS = 3

regard_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Regard: how texts speak of groups, classifiers, their own bias, and balanced texts.",
)


regard_app.command("audit", cls=CommandWithNames)(audit_regard_command)
regard_app.command("train", cls=CommandWithNames)(train_command)
regard_app.command("label", cls=CommandWithNames)(label_command)
regard_app.command("evaluate", cls=CommandWithNames)(evaluate_regard_command)
regard_app.command("review")(review_matches_command)


@regard_app.command("check")
def check_command(
    folder: Annotated[
        Path | None,
        typer.Argument(help="Folder of a classifier to check. Its result is kept there.", show_default=False),
    ] = None,
    texts: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            help="Instead of a classifier, two CSV files with the same texts about two groups, row by row, and a "
            "classifier's labels.",
            metavar="FILE FILE",
            rich_help_panel=DATA,
        ),
    ] = None,
    label: LabelColumn = "label",
    text: TextColumn = "text",
    scheme: SchemeName = None,
    sentences: Annotated[
        Path | None,
        typer.Option(
            help="For a classifier: texts that begin with The person or Die Person. The starter set if not given.",
            dir_okay=False,
            rich_help_panel=DATA,
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="For a classifier: CSV with the persons to compare (name, first, first_gender, second, "
            "second_gender). Woman and man if not given.",
            dir_okay=False,
            rich_help_panel=DATA,
        ),
    ] = None,
    retrain: Annotated[
        list[Path] | None,
        typer.Option(
            help="For a classifier: the files that it was trained on, or starter. It is trained again with persons "
            "masked and with both genders, to show what lowers its bias and at which cost. May be repeated.",
            rich_help_panel=DATA,
        ),
    ] = None,
    group: Group = None,
    unsure: UnsureColumn = None,
    ties: TiesName = "lowest",
    margin: Annotated[
        float,
        typer.Option(help="The largest gap that does not matter, in points.", rich_help_panel=STATISTICS),
    ] = 5.0,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Check a classifier for a bias of its own: does it label a text differently because of who is in it?

    The same texts are told of two groups, with pronouns and agreement. Whatever differs within a pair is the
    classifier's doing. Pearson's chi-squared takes no notice of the pairs and is shown because it is what is published;
    Stuart-Maxwell and sign flips are the tests to go by. A classifier that fails is marked, and says so whenever it
    labels; the exit code is 3 then. Checks of other texts and persons are kept beside each other.

    **Examples**

    `evenhand regard check classifier`

    `evenhand regard check classifier --pairs nationality.csv --retrain texts.csv --group author`

    `evenhand regard check --texts women.csv men.csv --label Prediction`
    """
    sampling = resampling(resamples, seed, confidence)
    if texts is not None and folder is None:
        _check_files(
            texts, label=label, text=text, scheme=scheme, margin=margin, sampling=sampling, json=json
        )
        return
    if folder is None or texts is not None:
        raise EvenhandError("Give the folder of a classifier, or two files with --texts FILE FILE.")
    from evenhand.regard.classifier_check import CheckOptions, check_classifier
    from evenhand.regard.persons import read_person_pairs
    from evenhand.regard.texts import read_plain_texts

    options = CheckOptions(
        texts=read_plain_texts(sentences, column=text) if sentences else None,
        pairs=read_person_pairs(pairs) if pairs else None,
        margin=margin,
        resampling=sampling,
        device=device,
    )
    check = check_classifier(folder, options, monitor=TerminalMonitor())
    mention_noun_list(check.texts.language)
    treatments: Sequence[TreatmentResult] = ()
    if retrain:
        from evenhand.api.regard import compare_person_treatments

        table = training_texts(
            retrain,
            label=label,
            unsure=unsure,
            text=text,
            scheme=scheme,
            group=group,
            language=check.texts.language,
            ties=ties,
        )
        treatments = compare_person_treatments(folder, table, options, monitor=TerminalMonitor())
    if json:
        print_json(_check_json(check, treatments))
    else:
        _print_classifier_check(folder, check, treatments)
    if check.failed:
        raise typer.Exit(CHECK_FAILED)


def _check_files(
    texts: tuple[Path, Path],
    *,
    label: str,
    text: str,
    scheme: str | None,
    margin: float,
    sampling: Resampling,
    json: bool,
) -> None:
    from evenhand.data.label_schemes import load_scheme
    from evenhand.regard.bias_check import check_labelled_files

    check = check_labelled_files(
        *texts,
        label=label,
        text=text,
        scheme=load_scheme(scheme) if scheme else None,
        margin=margin,
        resampling=sampling,
    )
    if json:
        print_json(check.summary())
    else:
        _print_check(check)


def _check_json(check: ClassifierCheck, treatments: Sequence[TreatmentResult]) -> dict[str, object]:
    return {
        "verdict": check.verdict.value,
        **check.model_dump(mode="json"),
        "treatments": [
            {
                "persons": own.treatment.value,
                "pairs": [pair.model_dump(mode="json") for pair in own.pairs],
                "balanced_accuracy": own.balanced_accuracy.model_dump(mode="json"),
            }
            for own in treatments
        ],
    }


def _print_classifier_check(
    folder: Path, check: ClassifierCheck, treatments: Sequence[TreatmentResult]
) -> None:
    from evenhand.reporting.numbers import number, show, show_p
    from evenhand.reporting.regard.checks import check_words
    from evenhand.store.classifier_records import CheckVerdict

    table = plain_table(
        "persons", "pairs", "gap in points", "Stuart-Maxwell", "p", "sign flips p", "p by Holm", "verdict",
        right=("pairs", "gap in points", "Stuart-Maxwell", "p", "sign flips p", "p by Holm"),
    )  # fmt: skip
    for pair in check.pairs:
        table.add_row(
            f"{pair.first} − {pair.second}", f"{pair.n:,}", show(pair.gap, signed=True, digits=1),
            number(pair.stuart_maxwell), show_p(pair.p), show_p(pair.p_sign_flip), show_p(pair.p_adjusted),
            pair.verdict.value,
        )  # fmt: skip
    print_table(table)
    print_lines([check_words(check)])
    left_out = sum(check.left_out.values())
    if left_out:
        reasons = sorted(check.left_out.items(), key=lambda entry: -entry[1])
        others = sum(count for _, count in reasons[_MOST_REASONS:])
        told = [f"{reason} ({count:,})" for reason, count in reasons[:_MOST_REASONS]]
        say(
            f"{plural(left_out, 'time', 'times')} a text had no certain version and was left out: "
            f"{', '.join(told)}{f' and others ({others:,})' if others else ''}."
        )
    if treatments:
        _print_treatments(treatments)
    elif check.verdict is CheckVerdict.FAILED:
        from evenhand.regard.classifier import read_classifier_record
        from evenhand.regard.classifier_check import advice_after_failure
        from evenhand.regard.persons import PersonTreatment

        treatment = PersonTreatment(read_classifier_record(folder).options["persons"])
        say(advice_after_failure(check, treatment))


def _print_treatments(treatments: Sequence[TreatmentResult]) -> None:
    from evenhand.reporting.numbers import show

    table = plain_table(
        "--persons",
        "gap in points",
        "balanced accuracy in folds",
        right=("gap in points", "balanced accuracy in folds"),
    )
    for own in treatments:
        gaps = "; ".join(show(pair.gap, signed=True, digits=1) for pair in own.pairs)
        table.add_row(own.treatment.value, gaps, show(own.balanced_accuracy, digits=3))
    print_table(table)


@regard_app.command("balance")
def balance_command(
    file: Annotated[
        Path, typer.Argument(help="CSV file with texts about persons, or .txt with one text per line.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="CSV file to write.", rich_help_panel=OUTPUT)
    ] = Path("balanced.csv"),
    language: Annotated[
        str, typer.Option("--language", "-l", help="Of the texts: en or de.", rich_help_panel=DATA)
    ] = "en",
    text: TextColumn = "text",
    both: Annotated[
        bool,
        typer.Option("--both", help="Tell each text of a woman and of a man.", rich_help_panel=DATA),
    ] = False,
    seed: Annotated[int, typer.Option(help="Who is told of whom.", rich_help_panel=DATA)] = 0,
) -> None:
    """Tell texts about "the person" of women and of men, equally often.

    Only the person changes, with pronouns and everything that agrees; all others stay as they are. Texts that tell the
    person's gender already are left as they are, or told of the other. What cannot be told with certainty is left out
    and counted.

    **Example**

    `evenhand regard balance survey.csv --language de --text Text --out balanced.csv`
    """
    if language == "en":
        require_extra("train", "lemminflect", purpose="Telling English texts of women and men")
    mention_noun_list(language)
    from evenhand.regard.gender_balance import BalanceMode, balance_file
    from evenhand.text.person_texts import Gender

    balance = balance_file(
        file,
        out,
        language=language,
        text=text,
        mode=BalanceMode.BOTH if both else BalanceMode.ONCE,
        seed=seed,
    )
    left_out = sum(balance.left_out.values())
    counts = [balance.count(gender) for gender in (Gender.FEMALE, Gender.MALE)]
    print_lines(
        [
            f"{plural(len(balance.texts), 'text')}: {counts[0]:,} told of a woman, {counts[1]:,} told of a man. "
            f"{left_out:,} left out{':' if left_out else '.'}",
            *(f"  {count:,} {reason}" for reason, count in balance.left_out.items()),
        ]
    )


def _print_check(check: BiasCheck) -> None:
    from evenhand.reporting.numbers import number, show, show_p

    first, second = check.groups
    table = plain_table("label", first, second, right=(first, second))
    for index, code in enumerate(check.labels):
        sides = (sum(check.counts[index]), sum(row[index] for row in check.counts))
        table.add_row(code, *(f"{count:,} ({100 * count / check.pairs:.1f}%)" for count in sides))
    print_table(table)
    tests = plain_table("test", "statistic", "p", right=("statistic", "p"))
    for name, test in (
        ("Stuart-Maxwell, for pairs", check.stuart_maxwell),
        ("Pearson's chi-squared, which takes no notice of pairs", check.chi_squared),
    ):
        tests.add_row(name, number(test.statistic), show_p(test.p_value))
    tests.add_row("sign flips of pairs", "", show_p(check.sign_flip_p))
    print_table(tests)
    lines = [
        f"{check.pairs:,} pairs. Gap: {show(check.gap, signed=True, digits=1)} points of net regard, "
        f"{first} minus {second}; 0 is no difference."
    ]
    if check.equivalence is not None:
        verdict = "is" if check.equivalence.holds else "is not"
        tested = check.equivalence.interval
        margin = f"{check.equivalence.margin:g} points"
        lines.append(
            f"The gap {verdict} shown to be smaller than {margin} (two one-sided tests at 5%, whose interval is "
            f"{tested.low:+.1f} to {tested.high:+.1f})."
        )
    print_lines(lines)
