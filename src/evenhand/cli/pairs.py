"""``evenhand data counterfactual``: sentences and their twins from a corpus, to look at or to train on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import DATA, DEFAULT_ON, EXECUTION, OUTPUT, Json, On
from evenhand.cli.output import (
    TerminalMonitor,
    console,
    exit_when_interrupted,
    plain_table,
    print_json,
    print_table,
    say,
    warn,
)
from evenhand.core.errors import EvenhandError, UnknownNameError, require_extra
from evenhand.twins.noun_list import mention_noun_list

if TYPE_CHECKING:
    from evenhand.core.experiments import Experiment
    from evenhand.mitigation.pairs.counts import GenderCounts, OccupationCount, PairCounts, TermCount

ALL = "all"

SHOWN_PAIRS = 3
SHOWN_TERMS = 12
SHOWN_OCCUPATIONS = 10
SHOWN_REASONS = 12


def counterfactual_command(
    more: Annotated[
        list[str] | None,
        typer.Argument(help="More of the corpus.", show_default=False, metavar="[CORPUS]..."),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="Text, JSON Lines, either with .gz, folders of them, or hub:NAME[:CONFIG][@REVISION]. May be "
            "repeated.",
            rich_help_panel=DATA,
        ),
    ] = None,
    language: Annotated[
        str, typer.Option("--language", "-l", help="Of the corpus: en or de.", rich_help_panel=DATA)
    ] = "en",
    experiment: Annotated[
        str,
        typer.Option(
            "--experiment",
            "-e",
            help="Whose terms: he-she, his-her, names, one of --terms, or all.",
            rich_help_panel=DATA,
        ),
    ] = ALL,
    occupations: Annotated[
        Path | None,
        typer.Option(help="CSV with occupation, or a plain list.", dir_okay=False, rich_help_panel=DATA),
    ] = None,
    terms: Annotated[
        Path | None,
        typer.Option(
            help="Pairs of your own: CSV with experiment and the two groups, such as male, female.",
            dir_okay=False,
            rich_help_panel=DATA,
        ),
    ] = None,
    names_sample: Annotated[
        int | None,
        typer.Option(help="The most pairs for names alone; 3,144 if not given.", min=0, rich_help_panel=DATA),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Sentences read of each file.", min=1, rich_help_panel=DATA)
    ] = None,
    split: Annotated[str, typer.Option(help="Of a dataset of the hub.", rich_help_panel=DATA)] = "train",
    column: Annotated[
        str, typer.Option(help="Of a dataset of the hub, the one with the text.", rich_help_panel=DATA)
    ] = "text",
    seed: Annotated[int, typer.Option(help="Seed of the sample of names.", rich_help_panel=DATA)] = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File of pairs to write.", rich_help_panel=OUTPUT)
    ] = Path("pairs.jsonl"),
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace another file at --out.", rich_help_panel=OUTPUT)
    ] = False,
    json: Json = False,
    workers: Annotated[
        int,
        typer.Option(
            help="Processes on this machine; each reads a file at a time.", min=1, rich_help_panel=EXECUTION
        ),
    ] = 1,
    on: On = DEFAULT_ON,
    ray: Annotated[
        bool, typer.Option("--ray", help="The same as --on ray.", rich_help_panel=EXECUTION)
    ] = False,
) -> None:
    """Find sentences with an occupation and a gendered word, and write each with its twin.

    In the twin men and women have changed places, so both sides are equal in number. Sentences whose twin might be
    wrong are left out and counted, and so are sentences that the probes ask. Counts go to `pairs.counts.json` beside
    the pairs. A run that was stopped goes on with the files that it had not finished.

    **Examples**

    `evenhand data counterfactual --corpus novels/ --out pairs.jsonl`

    `evenhand data counterfactual --corpus *.txt.gz --experiment he-she --workers 8`

    `evenhand data counterfactual --corpus hub:Salesforce/wikitext:wikitext-103-raw-v1 --split train --column text`
    """
    places = [*(corpus or ()), *(more or ())]
    if not places:
        raise EvenhandError("No corpus was given. Write --corpus PATH: text files, folders, or hub:NAME.")
    say(f"Searching {', '.join(places[:3])}{' ...' if len(places) > 3 else ''}")
    if language == "en":
        require_extra("train", "lemminflect", purpose="Swapping genders in English")
    mention_noun_list(language)
    from evenhand.api.pairs import build_pairs
    from evenhand.data.probes import PROBE_LANGUAGES, load_probes, with_terms
    from evenhand.mitigation.pairs.building import PairOptions
    from evenhand.mitigation.pairs.joining import NAMES_SAMPLE

    if language not in PROBE_LANGUAGES:
        raise UnknownNameError("language of twins", language, PROBE_LANGUAGES)
    probes = load_probes(language, occupations=occupations)
    if terms is not None:
        probes = with_terms(probes, terms)
    options = PairOptions(
        probes=probes,
        experiments=named_experiments(experiment, probes.terms),
        seed=seed,
        names_sample=NAMES_SAMPLE if names_sample is None else names_sample,
        limit=limit,
    )
    with exit_when_interrupted():
        counts = build_pairs(
            places,
            out,
            options=options,
            split=split,
            column=column,
            workers=workers,
            on="ray" if ray else on,
            replace=replace,
            monitor=TerminalMonitor(),
        )
    _warn(counts)
    if json:
        print_json(counts.model_dump(mode="json"))
    else:
        show_counts(counts)
        show_pairs(out, counts)


def named_experiments(name: str, known: Collection[Experiment]) -> tuple[Experiment, ...]:
    """The experiment of this name, or all."""
    from evenhand.core.experiments import Experiment, in_order

    if name == ALL:
        return in_order(known)
    if name not in set(known):
        raise UnknownNameError("experiment", name, [*(experiment.value for experiment in known), ALL])
    return (Experiment(name),)


def _warn(counts: PairCounts) -> None:
    from evenhand.core.probes import GENDERS

    if counts.overlap:
        warn(
            f"{counts.overlap:,} sentences of the corpus are sentences that the probes ask. They are left out of the "
            "pairs, but a model that has read this corpus knows them."
        )
    for experiment in counts.by_experiment:
        if not experiment.pairs:
            warn(f"No sentence was found for {experiment.experiment}.")
        elif not (experiment.found.male and experiment.found.female):
            names = counts.groups.get(experiment.experiment, GENDERS)
            side = names[0] if experiment.found.male else names[1]
            warn(
                f"All sentences found for {experiment.experiment} are {side}; the other side is made of twins alone."
            )
    if counts.cuts or counts.records_skipped:
        warn(
            f"{counts.cuts:,} cuts through overlong sentences; {counts.records_skipped:,} overlong records skipped."
        )


def show_counts(counts: PairCounts) -> None:
    """Experiments, terms, occupations, and what was left out."""
    sides = _names_of_sides(counts)
    _show_experiments(counts, sides)
    columns = tuple(f"{side} {when}" for when in ("before", "after") for side in sides)
    names = [term for term in counts.terms if term.role == "name"]
    others = [term for term in counts.terms if term.role != "name"]
    rows = [(f"{term.male} / {term.female}", term.role, term) for term in others[:SHOWN_TERMS]]
    terms = plain_table("term", "role", *columns, right=columns)
    for words, role, term in rows:
        terms.add_row(words, role, *_figures([term]))
    for label, role, rest in (("more", "", others[SHOWN_TERMS:]), ("pairs of names", "name", names)):
        if rest:
            terms.add_row(f"{len(rest):,} {label}", role, *_figures(rest))
    print_table(terms)
    jobs = plain_table("occupation", *columns, right=columns)
    for job in counts.occupations[:SHOWN_OCCUPATIONS]:
        jobs.add_row(job.occupation, *_figures([job]))
    if len(counts.occupations) > SHOWN_OCCUPATIONS:
        left = counts.occupations[SHOWN_OCCUPATIONS:]
        jobs.add_row(f"{len(left):,} more", *_figures(left))
    print_table(jobs)
    _show_reasons(counts)


def _names_of_sides(counts: PairCounts) -> tuple[str, str]:
    """What the two sides are called: men and women, the groups of all experiments, or their order."""
    from evenhand.core.probes import GENDERS

    named = {counts.groups.get(experiment, GENDERS) for experiment in counts.experiments}
    return named.pop() if len(named) == 1 else ("first", "second")


def show_pairs(path: Path, counts: PairCounts) -> None:
    """The first few pairs of a file."""
    from evenhand.mitigation.pairs.twin_pairs import read_twin_pairs

    table = plain_table(*_names_of_sides(counts))
    for pair in islice(read_twin_pairs(path), SHOWN_PAIRS):
        table.add_row(pair.male, pair.female)
    print_table(table)


def _show_experiments(counts: PairCounts, names: tuple[str, str]) -> None:
    numbers = ("found", *names, "pairs")
    table = plain_table("experiment", *numbers, right=numbers)
    for row in counts.by_experiment:
        sides = row.found
        table.add_row(
            row.experiment, *_written(sides.male + sides.female, sides.male, sides.female, row.pairs)
        )
    table.add_row("together", f"{counts.found:,}", "", "", f"{counts.pairs:,}", style="bold")
    print_table(table)
    console().print(
        f"{counts.sentences:,} sentences were read. {counts.pairs:,} pairs are {counts.pairs:,} {names[0]} and "
        f"{counts.pairs:,} {names[1]} sentences."
    )


def _show_reasons(counts: PairCounts) -> None:
    table = plain_table("left out", "sentences", right=("sentences",))
    reasons = list(counts.left_out.items())
    for reason, number in reasons[:SHOWN_REASONS]:
        table.add_row(reason, f"{number:,}")
    if len(reasons) > SHOWN_REASONS:
        rest = reasons[SHOWN_REASONS:]
        table.add_row(f"{len(rest):,} more reasons", f"{sum(number for _, number in rest):,}")
    print_table(table)


def _figures(rows: Sequence[TermCount | OccupationCount]) -> tuple[str, ...]:
    def summed(sides: Sequence[GenderCounts]) -> tuple[int, int]:
        return sum(each.male for each in sides), sum(each.female for each in sides)

    return _written(*summed([row.before for row in rows]), *summed([row.after for row in rows]))


def _written(*numbers: int) -> tuple[str, ...]:
    return tuple(f"{number:,}" for number in numbers)
