"""What texts about groups are about, on the terminal: lexicons, occupations, and ``evenhand regard review``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import (
    DATA,
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    OUTPUT,
    SERVER,
    STATISTICS,
    Confidence,
    Json,
    Resamples,
    Seed,
    resampling,
)
from evenhand.cli.output import plain_table, print_json, print_lines, print_table, say
from evenhand.core.errors import EvenhandError, require_extra
from evenhand.studio.serve_commands import (
    DEFAULT_DATABASE,
    DatabaseAddress,
    Host,
    Port,
    Proxies,
    serve_database,
    server_address,
)

if TYPE_CHECKING:
    from evenhand.core.estimates import Estimate
    from evenhand.instruments.regard.flag_rates import FlagRates
    from evenhand.instruments.regard.lexicon_rates import LexiconReport
    from evenhand.instruments.regard.mentions import MentionShares
    from evenhand.instruments.regard.occupation_shares import OccupationReport
    from evenhand.stats.resampling import Resampling
    from evenhand.store.run import Run
    from evenhand.studio.database import Database

_FEW_OCCUPATIONS = 5
"""Of each group."""

Lexicon = Annotated[
    Path | None,
    typer.Option(
        help="CSV with category and word. Caregiving, sexualization and perpetration if not given.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
Reviewed = Annotated[
    Path | None,
    typer.Option(
        help="lexicon_matches.csv of an earlier run, with right or wrong in its column verdict. Corrects the rates.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
Occupations = Annotated[
    Path | None,
    typer.Option(
        help="CSV with occupation and its other forms, separated by |. A list of our own if not given.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
GapMargin = Annotated[
    float,
    typer.Option(help="The largest gap that is called no difference, in points.", rich_help_panel=STATISTICS),
]


def print_lexicons(report: LexiconReport) -> None:
    """How often texts are of each category, by group."""
    _print_mentions(
        "lexicon",
        {own.category: own.shares for own in report.categories},
        reviewed={own.category: own.corrected for own in report.categories if own.corrected is not None},
    )


def print_flags(rates: Sequence[FlagRates]) -> None:
    """How often texts are flagged, by group, and with which labels."""
    from evenhand.reporting.numbers import show

    _print_mentions("flag", {own.flag: own.shares for own in rates})
    table = plain_table(
        "flag",
        "group",
        "label",
        "flagged texts",
        "% of the flagged",
        "% of the label",
        right=("flagged texts",),
    )
    for own in rates:
        for group, labels in own.labels.items():
            for label, count in labels.counts.items():
                shares = (show(part[label], digits=1) for part in (labels.of_flagged, labels.of_label))
                table.add_row(own.flag, group, label, f"{count:,}", *shares)
    print_table(table)


def _print_mentions(
    what: str,
    mentions: Mapping[str, MentionShares],
    *,
    reviewed: Mapping[str, Mapping[str, Estimate]] | None = None,
) -> None:
    from evenhand.reporting.numbers import show, show_p
    from evenhand.reporting.regard.words import mention_contradictions

    after_review = ("after review",) if reviewed else ()
    table = plain_table(
        what, "group", "texts in percent", *after_review, "gap in points", "p", "p by Holm",
        right=("p", "p by Holm"),
    )  # fmt: skip
    for name, own in mentions.items():
        gaps = {gap.first: gap for gap in own.gaps if gap.second == list(own.groups)[-1]}
        for group, share in own.groups.items():
            gap = gaps.get(group)
            corrected = (show(reviewed[name][group], digits=1),) if reviewed else ()
            tested = (
                (show(gap.gap, signed=True, digits=1), show_p(gap.p_value), show_p(gap.p_holm))
                if gap
                else ("", "", "")
            )
            table.add_row(name, group, show(share, digits=1), *corrected, *tested)
    print_table(table)
    print_lines(line for name, own in mentions.items() for line in mention_contradictions(name, own))


def print_occupations(report: OccupationReport) -> None:
    """The top occupations of each group, and how far groups are apart."""
    from evenhand.reporting.numbers import number, show, show_p

    shares = {own.occupation: own.shares.groups for own in report.shares}
    table = plain_table("group", "occupations that texts name most often, in percent")
    for group, names in report.top.items():
        shown = (f"{name} {shares[name][group].value:.1f}" for name in names[:_FEW_OCCUPATIONS])
        table.add_row(group, ", ".join(shown) or "none")
    print_table(table)
    print_lines(
        f"Occupations of {own.first} and {own.second}: Jensen-Shannon divergence {show(own.divergence)} bits "
        f"(interval corrected for chance); {number(own.by_chance)} by chance, p {show_p(own.p_value)}."
        for own in report.divergences
        if own.divergence.defined
    )


REVIEW = "Review"


def review_matches_command(
    run: Annotated[Path, typer.Argument(help="The folder of a run of regard.", show_default=False)],
    reviewer: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Make a personal link for a reviewer.", rich_help_panel=REVIEW),
    ] = None,
    adjudicator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Make a personal link for who settles what reviewers differ on.",
            rich_help_panel=REVIEW,
        ),
    ] = None,
    per_group: Annotated[
        int | None,
        typer.Option(
            help="Review at most so many texts of each category and group, drawn at random.",
            show_default="all",
            min=1,
            rich_help_panel=REVIEW,
        ),
    ] = None,
    overlap: Annotated[int, typer.Option(help="Reviewers per text.", min=1, rich_help_panel=REVIEW)] = 1,
    collect: Annotated[
        bool,
        typer.Option(
            "--collect",
            help="Write what is settled so far, and print the corrected rates, instead of serving.",
            rich_help_panel=REVIEW,
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="With --collect: file for the matches with their verdicts, for --reviewed.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    db: DatabaseAddress = DEFAULT_DATABASE,
    host: Host = "127.0.0.1",
    port: Port = 8321,
    url: Annotated[
        str | None,
        typer.Option(help="Where people find the server; links begin with it.", rich_help_panel=SERVER),
    ] = None,
    proxy: Proxies = None,
    json: Json = False,
) -> None:
    """Review the lexicon matches of a run in the browser: people say which are right, and that corrects the rates.

    One key says right, wrong or unsure; a note can stand beside it. `--collect` can be repeated while people go on.

    **Examples**

    `evenhand regard review runs/my-model_regard_prompts_en --reviewer Ann --per-group 100`

    `evenhand regard review runs/my-model_regard_prompts_en --collect --out reviewed.csv`
    """
    require_extra("web", purpose="evenhand regard review")
    from evenhand.store.run import open_run
    from evenhand.studio.annotation.match_review import MatchReviewOptions, open_match_review
    from evenhand.studio.database import Database

    if out is not None and not collect:
        raise EvenhandError("--out is where --collect writes matches with their verdicts. Give both.")
    address = server_address(host, port, url)
    opened = open_run(run)
    database = Database(db, create=not collect)
    try:
        if collect:
            _collect(database, opened, out, resampling(resamples, seed, confidence), json=json)
            return
        options = MatchReviewOptions(per_group=per_group, overlap=overlap, seed=seed)
        name = open_match_review(database, opened, options)
        serve_database(
            database,
            host,
            port,
            address=address,
            proxies=proxy,
            links=lambda opened: _review_links(opened, name, reviewer or [], adjudicator),
        )
    finally:
        database.close()


def _review_links(
    database: Database, name: str, reviewers: list[str], adjudicator: str | None
) -> dict[str, str]:
    """New personal links by who they are for, and the lead's page."""
    from evenhand.studio.annotation.projects import ProjectRole, add_person, project_named

    links = {}
    with database.write() as session:
        project = project_named(session, name)
        for person in reviewers:
            links[f"Reviewer {person}"] = add_person(session, project, person).path
        if adjudicator:
            link = add_person(session, project, adjudicator, role=ProjectRole.ADJUDICATOR)
            links[f"Adjudicator {adjudicator}"] = link.path
    return {**links, "Lead": f"/projects/{name}"}


def _collect(database: Database, run: Run, out: Path | None, drawn: Resampling, *, json: bool) -> None:
    from evenhand.core.files import write_text
    from evenhand.instruments.regard.content import reviewed_rates
    from evenhand.instruments.regard.lexicon_rates import matches_csv
    from evenhand.studio.annotation.match_review import judged_texts, match_review_name, review_of
    from evenhand.studio.annotation.projects import project_named

    with database.read() as session:
        judged = judged_texts(session, project_named(session, match_review_name(run)))
    report = reviewed_rates(run, review_of(judged), resampling=drawn)
    if out is not None:
        write_text(out, matches_csv(row for own in judged for row in own.rows()))
    if json:
        print_json(report.model_dump(mode="json"))
        return
    print_lexicons(report)
    settled = sum(own.verdict is not None for own in judged)
    say(f"Settled: {settled:,} of {len(judged):,} texts." + (f" Matches with verdicts: {out}" if out else ""))
