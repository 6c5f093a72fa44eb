"""``evenhand regard evaluate``: texts about groups, to shares, gaps, a run folder and a page."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.gates import close_gate, conditions_of, refuse_conditions
from evenhand.cli.options import (
    DATA,
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    EXECUTION,
    MODEL,
    OUTPUT,
    Confidence,
    FailIf,
    Json,
    MinCoverage,
    Resamples,
    Seed,
    TextColumn,
    resampling,
)
from evenhand.cli.output import TerminalMonitor, plain_table, print_json, print_lines, print_table
from evenhand.cli.regard_content import (
    GapMargin,
    Lexicon,
    Occupations,
    Reviewed,
    print_flags,
    print_lexicons,
    print_occupations,
)
from evenhand.cli.results import extent_json

if TYPE_CHECKING:
    from evenhand.data.contexts import ContextList
    from evenhand.instruments.regard.results import ContextRegard, GapEquivalence, RegardResult
    from evenhand.store.run import Run

LabelledSampleFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--labelled",
        help="A random sample of the texts that people labelled, in any layout of annotations (text, label). It "
        "carries the classifier's error through. May be repeated, one file per annotator.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]


def evaluate_regard_command(
    texts: Annotated[
        list[Path],
        typer.Argument(
            help="CSV or TSV files with texts, or .txt with one text per line: one file per group, or any number with "
            "--group."
        ),
    ],
    text: TextColumn = "text",
    label: Annotated[
        str | None,
        typer.Option(
            help="The column of labels: -1, 0 and 1, or 0, 1 and 2. label where there is one if not given.",
            rich_help_panel=DATA,
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(help="The column of groups, for files about several groups.", rich_help_panel=DATA),
    ] = None,
    contexts: Annotated[
        str | None,
        typer.Option(
            help="CSV with context and perhaps kind, or .txt with one context per line; de or en for the published "
            "ones; none if texts have nothing in common. The published ones that fit if not given.",
            rich_help_panel=DATA,
        ),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(
            help="The column of contexts, if they need not be found in the texts.", rich_help_panel=DATA
        ),
    ] = None,
    context_flag: Annotated[
        str | None,
        typer.Option(
            help="The column that says whether a context is about an occupation (true) or about respect (false).",
            rich_help_panel=DATA,
        ),
    ] = None,
    flag: Annotated[
        list[str] | None,
        typer.Option(
            help="A column that says whether texts were flagged for something (true or false), such as for caregiving. "
            "Rates by group are shown. May be repeated.",
            rich_help_panel=DATA,
        ),
    ] = None,
    labelled: LabelledSampleFiles = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            "-l",
            help="Of the texts; that of the published contexts if not given.",
            rich_help_panel=DATA,
        ),
    ] = None,
    classifier: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a classifier that labels texts without a label.",
            file_okay=False,
            rich_help_panel=MODEL,
        ),
    ] = None,
    lexicon: Lexicon = None,
    reviewed: Reviewed = None,
    occupations: Occupations = None,
    margin: GapMargin = 5.0,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write a run folder with its page below this folder.", rich_help_panel=OUTPUT
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the run, if not that of the groups.", rich_help_panel=OUTPUT)
    ] = None,
    json: Json = False,
    fail_if: FailIf = None,
    min_coverage: MinCoverage = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Replace a run folder that holds another run.", rich_help_panel=EXECUTION
        ),
    ] = False,
) -> None:
    """How do texts speak of groups? Shares of negative, neutral and positive texts, gaps between groups, and tests.

    Texts of one context are alike, so intervals resample contexts and tests exchange groups within whole contexts.
    Pearson's chi-squared is shown beside them because it is what is published.

    **Examples**

    `evenhand regard evaluate women.csv men.csv --classifier classifier --labelled sample.csv --out runs`

    `evenhand regard evaluate texts.csv --group group --contexts contexts.csv --fail-if "gap>5"`

    `evenhand regard evaluate FEMALE.csv MALE.csv --text Text --label Prediction --context-flag "OCC context" --json`
    """
    from evenhand.api.regard_evaluation import RegardEvaluationOptions, evaluate_regard
    from evenhand.data.group_text_files import GroupTextColumns, read_group_texts
    from evenhand.instruments.regard.audit import RegardOptions
    from evenhand.instruments.regard.content import ContentFiles
    from evenhand.instruments.regard.instrument import REGARD
    from evenhand.regard.texts import read_regard_texts
    from evenhand.store.conditions import refuse_unknown_figures, with_coverage
    from evenhand.store.coverage import COVERAGE

    conditions = conditions_of(fail_if, measures=(*REGARD.measures, COVERAGE), min_coverage=min_coverage)
    group_texts = read_group_texts(
        texts,
        columns=GroupTextColumns(
            text=text,
            label=label,
            group=group,
            context=context,
            context_flag=context_flag,
            flags=tuple(flag or ()),
        ),
        contexts=_contexts(contexts),
        language=language,
    )
    if conditions:
        planned = REGARD.figure_groups(RegardOptions(data=group_texts, lexicon=lexicon))
        refuse_unknown_figures(conditions, with_coverage(planned), of=REGARD.title)
    run = evaluate_regard(
        group_texts,
        RegardEvaluationOptions(
            classifier=classifier,
            labelled=read_regard_texts(labelled) if labelled else None,
            content=ContentFiles(lexicon=lexicon, occupations=occupations, review=reviewed),
            margin=margin,
            resampling=resampling(resamples, seed, confidence),
        ),
        name=name,
        out=out,
        fresh=fresh,
        monitor=TerminalMonitor(),
    )
    refuse_conditions(conditions, [run], min_coverage=min_coverage)
    if json:
        print_json(regard_json(run.result) | extent_json(run))
    else:
        print_regard(run)
    close_gate(conditions, [run])


def _contexts(source: str | None) -> ContextList | None:
    from evenhand.data.contexts import NO_CONTEXTS, ContextList, load_contexts

    if source is None:
        return None
    return ContextList(()) if source == NO_CONTEXTS else load_contexts(source)


def regard_json(result: RegardResult) -> dict[str, Any]:
    """The figures by contexts as plain values: shares in percent, gaps in points."""
    from evenhand.data.contexts import ALL_CONTEXTS

    parts = {ALL_CONTEXTS: result.all, **result.by_kind}
    return {
        "contexts": {name: _context_json(own) for name, own in parts.items()},
        "groups": list(result.groups),
        "labelled_sample": result.labelled_sample and result.labelled_sample.model_dump(mode="json"),
        "classifier": result.classifier and result.classifier.model_dump(mode="json"),
        **result.model_dump(mode="json", include={"lexicons", "occupations"}),
        **(result.model_dump(mode="json", include={"flags"}) if result.flags else {}),
    }


def _context_json(regard: ContextRegard) -> dict[str, Any]:
    from evenhand.data.group_texts import REGARD_LABELS

    plain = regard.model_dump(mode="json")  # what is undefined is None
    figures = plain["figures"]
    return {
        "n": plain["n"],
        "shares": {
            group: {label: own[label]["value"] for label in REGARD_LABELS.values()}
            for group, own in figures["groups"].items()
        },
        **{name: plain[name] for name in ("chi_squared", "p", "p_clustered", "cramers_v")},
        "gap": {bound: figures["widest_gap"][bound] for bound in ("value", "low", "high")},
        "treatment": figures["treatment"],
        "gaps": figures["gaps"],
    }


def print_regard(run: Run) -> None:
    """The shares and gaps of a run as tables, and what they say."""
    from evenhand.data.contexts import ALL_CONTEXTS
    from evenhand.data.group_texts import REGARD_LABELS
    from evenhand.reporting.numbers import number, show, show_p
    from evenhand.reporting.regard.words import EQUIVALENCE_INTERVAL, interpret_regard

    result: RegardResult = run.result
    parts = {ALL_CONTEXTS: result.all, **result.by_kind}
    names = tuple(REGARD_LABELS.values())
    margin = result.all.figures.gaps[0].equivalence.margin
    shares = plain_table("contexts", "group", "texts", *names, "net regard", right=("texts",))
    gaps = plain_table(
        "contexts",
        "gap in points",
        "",
        "p",
        "p by Holm",
        f"below {margin:g} points [{EQUIVALENCE_INTERVAL}]",
        right=("p", "p by Holm"),
    )
    tests = plain_table(
        "contexts", "texts", "chi-squared", "p", "p by contexts", "Cramér's V",
        right=("texts", "chi-squared", "p", "p by contexts", "Cramér's V"),
    )  # fmt: skip
    for name, part in parts.items():
        for group, own in part.figures.groups.items():
            cells = (show(getattr(own, label), digits=1) for label in names)
            shares.add_row(name, group, f"{own.n:,}", *cells, show(own.net_regard, signed=True, digits=1))
        for gap in part.figures.gaps:
            gaps.add_row(
                name, f"{gap.first} − {gap.second}", show(gap.gap, signed=True, digits=1), show_p(gap.p_value),
                show_p(gap.p_holm), _equivalence_cell(gap.equivalence),
            )  # fmt: skip
        tests.add_row(
            name, f"{part.n:,}", number(part.chi_squared), show_p(part.p), show_p(part.p_clustered),
            number(part.cramers_v, 3),
        )  # fmt: skip
    for table in (shares, gaps, tests):
        print_table(table)
    (interpretation,) = interpret_regard(run)
    print_lines([f"{interpretation.verdict}.", *interpretation.sentences])
    if run.whole_coverage:
        print_lines([f"Coverage: {run.whole_coverage}."])
    if result.lexicons is not None:
        print_lexicons(result.lexicons)
    if result.flags:
        print_flags(result.flags)
    if result.occupations is not None:
        print_occupations(result.occupations)


def _equivalence_cell(tested: GapEquivalence) -> str:
    """Whether a gap is shown to be smaller than the margin, and the interval that says so."""
    verdict = "yes" if tested.holds else "not shown"
    return verdict if math.isnan(tested.low) else f"{verdict} [{tested.low:+.1f}, {tested.high:+.1f}]"
