"""``evenhand data counterfactual``: sentences and their twins from a corpus, to look at or to train on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.counterfactual_tables import show_counts, show_pairs
from evenhand.cli.exit_codes import INTERRUPTED
from evenhand.cli.options import Json
from evenhand.cli.output import print_json, say, warn
from evenhand.cli.progress import progress_bar
from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.extras import require_extra

if TYPE_CHECKING:
    from evenhand.core.probes import Experiment
    from evenhand.mitigation.pairs.counts import PairCounts
    from evenhand.mitigation.pairs.searching import SourceSearcher

ALL = "all"


def counterfactual_command(
    more: Annotated[
        list[str] | None,
        typer.Argument(help="More of the corpus.", show_default=False, metavar="[CORPUS]..."),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="Text, JSON Lines, either with .gz, folders of them, or hub:NAME[:CONFIG][@REVISION]. May be repeated."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File of pairs to write.")] = Path("pairs.jsonl"),
    experiment: Annotated[
        str, typer.Option("--experiment", "-e", help="he-she, his-her, names or all.")
    ] = ALL,
    language: Annotated[str, typer.Option("--language", "-l", help="Of the corpus: en or de.")] = "en",
    occupations: Annotated[
        Path | None, typer.Option(help="CSV with occupation, or a plain list.", dir_okay=False)
    ] = None,
    names_sample: Annotated[
        int | None, typer.Option(help="The most pairs for names alone; 3,144 if not given.", min=0)
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Sentences read of each file.", min=1)] = None,
    split: Annotated[str, typer.Option(help="Of a dataset of the hub.")] = "train",
    column: Annotated[str, typer.Option(help="Of a dataset of the hub, the one with the text.")] = "text",
    workers: Annotated[int, typer.Option(help="Processes; each reads a file at a time.", min=1)] = 1,
    ray: Annotated[bool, typer.Option("--ray", help="PairSearch on Ray Data instead.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the sample of names.")] = 0,
    replace: Annotated[bool, typer.Option("--replace", help="Replace another file at --out.")] = False,
    json: Json = False,
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
    if language == "en":
        require_extra("train", "lemminflect", purpose="Swapping genders in English")
    if ray:
        require_extra("ray", purpose="--ray")
    from evenhand.data.corpus_sources import corpus_sources
    from evenhand.data.probes import load_probes
    from evenhand.mitigation.pairs.building import PairOptions, build_pairs, counts_path
    from evenhand.mitigation.pairs.names import NAMES_SAMPLE

    corpora = [*(corpus or ()), *(more or ())]
    if not corpora:
        raise EvenhandError("No corpus was given. Write --corpus PATH: text files, folders, or hub:NAME.")
    options = PairOptions(
        probes=load_probes(language, occupations=occupations),
        experiments=named_experiments(experiment),
        seed=seed,
        names_sample=NAMES_SAMPLE if names_sample is None else names_sample,
        limit=limit,
    )
    listing = corpus_sources(corpora, split=split, column=column)
    if listing.files_left_out:
        say(f"{len(listing.files_left_out):,} files are not named like text and are left alone.")
    try:
        with progress_bar(out.name, "bytes") as report:
            counts = build_pairs(
                listing.sources,
                out,
                options=options,
                searcher=_searcher(workers=workers, ray=ray),
                replace=replace,
                report=report,
            )
    except KeyboardInterrupt:
        say("Stopped. Give the same command again to go on from here.")
        raise typer.Exit(INTERRUPTED) from None
    say(f"{out} and {counts_path(out)} hold {counts.pairs:,} pairs.")
    _warn(counts)
    if json:
        print_json(counts.model_dump(mode="json"))
    else:
        show_counts(counts)
        show_pairs(out)


def named_experiments(name: str) -> tuple[Experiment, ...]:
    """The experiment of this name, or all."""
    from evenhand.core.probes import Experiment

    if name == ALL:
        return tuple(Experiment)
    if name not in set(Experiment):
        raise UnknownNameError("experiment", name, [*(known.value for known in Experiment), ALL])
    return (Experiment(name),)


def _searcher(*, workers: int, ray: bool) -> SourceSearcher:
    from evenhand.mitigation.pairs.searching import in_processes, in_this_process

    if ray:
        from evenhand.mitigation.pairs.ray_search import on_ray

        return on_ray
    return in_processes(workers) if workers > 1 else in_this_process


def _warn(counts: PairCounts) -> None:
    if counts.overlap:
        warn(
            f"{counts.overlap:,} sentences of the corpus are sentences that the probes ask. They are left out of the "
            "pairs, but a model that has read this corpus knows them."
        )
    for experiment in counts.by_experiment:
        if not experiment.pairs:
            warn(f"No sentence was found for {experiment.experiment}.")
        elif not (experiment.found.male and experiment.found.female):
            side = "male" if experiment.found.male else "female"
            warn(
                f"All sentences found for {experiment.experiment} are {side}; the other side is made of twins alone."
            )
    if counts.cuts or counts.records_skipped:
        warn(
            f"{counts.cuts:,} cuts through overlong sentences; {counts.records_skipped:,} overlong records skipped."
        )
