"""How often intervals hold the truth, where the truth is known: simulated scores, no model.

    python benchmarks/interval_coverage.py [--draws 1000] [--seed 1] [--workers 1] [--page docs/intervals.md]
        [--measure MALoR]

Each row of the table is a world: scores are drawn from it many times, and each time the package computes its interval.
Worlds have random numbers of their own; another seed gives all of them others, and the number of workers none. With
``--measure`` the worlds of one measure are drawn alone, and the other rows of the page stay as they are.
Beside it stands what a plain bootstrap over the same terms, or over occupations and structures, would have held. The
tests of the package run some of these worlds with fewer draws.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from interval_worlds import (
    DOCUMENTS,
    MALOR_GRID,
    MALOR_OTHERS,
    PART_GRID,
    RESAMPLING,
    STEREOSET,
    Documents,
    Ends,
    Scores,
    Terms,
    World,
    beta,
    difference_worlds,
    document_worlds,
    documents_words,
    icat_worlds,
    macro_icat_worlds,
    malor_worlds,
    part_worlds,
    perplexity_interval,
    plain_perplexity_interval,
    share_worlds,
)
from paired_worlds import PAIRED_SIZES, evidence_worlds, knowledge_worlds, shrunk_worlds

from evenhand.stats.significance import clustered_sign_flip, exact_binomial, mcnemar_test

BEGIN, END = "<!-- begin table -->", "<!-- end table -->"


@dataclass(frozen=True)
class Coverage:
    """How often intervals held the truth, and on which side they missed it."""

    draws: int
    below: int
    """Intervals that end below the truth."""
    above: int
    """Intervals that start above the truth."""

    @property
    def share(self) -> float:
        """Intervals that held the truth."""
        return 1 - (self.below + self.above) / self.draws


def coverage(
    world: World[Scores], interval: Callable[[Scores], Ends], *, draws: int, seed: int = 1
) -> Coverage:
    """Draw scores, and count on which side of the truth their intervals lie."""
    generator = np.random.default_rng(seed)
    ends = np.array([interval(world.draw(generator)) for _ in range(draws)])
    slack = 1e-9
    below = int(np.count_nonzero(ends[:, 1] < world.truth - slack))
    return Coverage(draws, below, int(np.count_nonzero(ends[:, 0] > world.truth + slack)))


def false_alarms(correlation: float, *, draws: int, seed: int = 1) -> tuple[float, float]:
    """How often p < 0.05 for a neutral model: the exact binomial test, and the test that respects terms."""
    generator = np.random.default_rng(seed)
    world = Terms(STEREOSET, beta(0.5, correlation))
    alarms = np.zeros(2)
    for _ in range(draws):
        totals = world(generator)
        wins, items = int(totals.stereotype.sum()), int(totals.items.sum())
        net = 2 * totals.stereotype - totals.items
        p_values = exact_binomial(wins, items - wins), clustered_sign_flip(net, resampling=RESAMPLING)
        alarms += np.array(p_values) < 0.05
    binomial, clustered = (alarms / draws).tolist()
    return binomial, clustered


def false_differences(correlation: float, *, draws: int, seed: int = 1) -> tuple[float, float]:
    """How often p < 0.05 for two models that lean alike: McNemar's test, and the test that respects terms.

    A tenth of the items changes sides, to either one with the same chance, correlated within terms.
    """
    generator = np.random.default_rng(seed)
    terms = np.repeat(np.arange(len(STEREOSET)), STEREOSET)
    alarms = np.zeros(2)
    for _ in range(draws):
        first = generator.random(len(terms)) < 0.5
        shared = generator.random(len(terms)) < np.sqrt(correlation)
        upwards = np.where(
            shared, generator.random(len(STEREOSET))[terms] < 0.5, generator.random(len(terms)) < 0.5
        )
        second = np.where(generator.random(len(terms)) < 0.2, upwards, first)
        net = np.bincount(terms, weights=second.astype(float) - first).astype(np.float64)
        p_values = mcnemar_test(first, second), clustered_sign_flip(net, resampling=RESAMPLING)
        alarms += np.array(p_values) < 0.05
    mcnemar, clustered = (alarms / draws).tolist()
    return mcnemar, clustered


def shares_kept(
    count: int, unequal: float, *, draws: int, seed: int = 1
) -> tuple[float, float, float, float]:
    """How often perplexity without any loss is called kept, by the interval of a certificate and by a t interval.

    First of documents whose effects are normal with a standard deviation of the margin, then of documents without any.
    """
    generator = np.random.default_rng(seed)
    kept = np.zeros(4)
    for _ in range(draws):
        for place, effects in enumerate(("normal", "none")):
            losses = Documents(count, effects, unequal, loss=0.0)(generator)
            ends = perplexity_interval(losses), plain_perplexity_interval(losses)
            kept[2 * place : 2 * place + 2] += [high <= 1.0 for _, high in ends]
    first, second, third, fourth = (kept / draws).tolist()
    return first, second, third, fourth


@lru_cache(maxsize=1)
def all_worlds() -> tuple[World[Any], ...]:
    """Every world of the table, in its order."""
    return (
        *icat_worlds(),
        *macro_icat_worlds(),
        *share_worlds(),
        *malor_worlds(*MALOR_GRID, *MALOR_OTHERS),
        *part_worlds(*PART_GRID),
        *difference_worlds(),
        *shrunk_worlds(*PAIRED_SIZES),
        *evidence_worlds(),
        *knowledge_worlds(),
        *document_worlds(),
    )


def coverages(place: int, *, draws: int, seed: int) -> tuple[Coverage, Coverage | None]:
    """Of one world: of its interval, and of the plain one where there is one."""
    world = all_worlds()[place]
    found = coverage(world, world.interval, draws=draws, seed=seed)
    return found, coverage(world, world.plain, draws=draws, seed=seed) if world.plain else None


def world_rows(draws: int, *, seed: int, workers: int = 1, measure: str | None = None) -> list[str]:
    """All worlds as lines of Markdown, or those of one measure."""
    worlds = all_worlds()
    rows: dict[tuple[str, str], list[tuple[Coverage, Coverage | None]]] = {}
    seeds = np.random.SeedSequence(seed).generate_state(len(worlds)).tolist()
    wanted = [place for place, world in enumerate(worlds) if measure in (None, world.measure)]
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        jobs = [
            pool.apply_async(partial(coverages, place, draws=draws, seed=seeds[place])) for place in wanted
        ]
        for place, job in zip(wanted, jobs, strict=True):
            world = worlds[place]
            rows.setdefault((world.measure, world.group or world.scores), []).append(job.get())
    lines = []
    for (name, scores), pairs in rows.items():
        columns = (
            [found.share for found, _ in pairs],
            [found.below / draws for found, _ in pairs],
            [found.above / draws for found, _ in pairs],
            [plain.share for _, plain in pairs if plain],
        )
        lines.append(f"| {name} | {scores} | {' | '.join(map(_percent, columns))} |")
    return lines


def table(draws: int, *, seed: int, workers: int = 1) -> str:
    """All worlds as Markdown, and how often tests raise false alarms."""
    lines = [
        "| interval of | scores | held | ends below | starts above | plain bootstrap held |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
        *world_rows(draws, seed=seed, workers=workers),
    ]
    lines += [
        "",
        "| correlation of items of one term | exact binomial p < 0.05 | clustered p < 0.05 |",
        "| ---: | ---: | ---: |",
    ]
    for correlation in (0.0, 0.05, 0.1, 0.2):
        binomial, clustered = false_alarms(correlation, draws=draws, seed=seed)
        lines.append(f"| {correlation:g} | {_percent([binomial])} | {_percent([clustered])} |")
    lines += [
        "",
        "| correlation of changes within a term | McNemar p < 0.05 | clustered p < 0.05 |",
        "| ---: | ---: | ---: |",
    ]
    for correlation in (0.0, 0.05, 0.1, 0.2):
        mcnemar, clustered = false_differences(correlation, draws=draws, seed=seed)
        lines.append(f"| {correlation:g} | {_percent([mcnemar])} | {_percent([clustered])} |")
    lines += [
        "",
        "| perplexity without any loss | effects of sd 1%: kept | by t | no effects: kept | by t |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for count, unequal in DOCUMENTS:
        shares = shares_kept(count, unequal, draws=draws, seed=seed)
        cells = " | ".join(_percent([share]) for share in shares)
        lines.append(f"| {documents_words(count, unequal)} | {cells} |")
    return "\n".join(lines)


def _percent(shares: list[float]) -> str:
    """One share, or the smallest and the largest of several."""
    if not shares:
        return "–"
    ends = [f"{100 * share:.1f}" for share in (min(shares), max(shares))]
    return f"{ends[0]}%" if len(shares) == 1 else f"{ends[0]}–{ends[1]}%"


def with_rows(text: str, rows: list[str]) -> str:
    """A page with some rows of its table replaced, by what stands in their first two cells."""
    for row in rows:
        beginning = row.split(" | ")[:2]
        old = [line for line in text.splitlines() if line.split(" | ")[:2] == beginning]
        if len(old) != 1:
            raise SystemExit(f"The page has {len(old)} rows that begin with {' | '.join(beginning)}.")
        text = text.replace(old[0], row)
    return text


def main() -> None:
    """Print the table, or put it into a page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="worlds that are drawn at the same time")
    parser.add_argument("--measure", help="draw the worlds of this measure alone, such as MALoR")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if options.measure:
        rows = world_rows(options.draws, seed=options.seed, workers=options.workers, measure=options.measure)
        if not rows:
            raise SystemExit(f"There are no worlds of {options.measure}.")
        print(*rows, sep="\n")
        if options.page:
            page = options.page.read_text(encoding="utf-8")
            options.page.write_text(with_rows(page, rows), encoding="utf-8")
        return
    found = f"{options.draws:,} draws of each world, seed {options.seed}.\n\n"
    found += table(options.draws, seed=options.seed, workers=options.workers)
    if options.page is None:
        print(found)
        return
    text = options.page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    options.page.write_text(f"{before}{BEGIN}\n{found}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
