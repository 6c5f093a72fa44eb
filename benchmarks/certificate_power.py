"""How often a certificate calls quality kept where nothing, or exactly the margin, was lost: simulated, no model.

    python benchmarks/certificate_power.py [--studies 1000] [--seed 1] [--page docs/certificate.md]

Each study draws the answers of two models to so many pairs of settled sentences, the items of StereoSet and held-out
text, and asks the functions of a certificate for its rows and its verdict. A share of the pairs and of the items
changes, as many for better as for worse; both sentences of a pair change together. The share of the evidence gap that
is left varies between pairs with a standard deviation of 30%, and perplexity between documents with one of 1%.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from interval_worlds import RESAMPLING, STEREOSET, Documents, Floats
from paired_worlds import Gaps, changed_pairs
from simulation_tables import print_simulation

from evenhand.certificate.margins import Margins
from evenhand.certificate.quality_figures import perplexity_row
from evenhand.data.settled import load_settled
from evenhand.instruments.association.comparison import LMS_MEASURE, LMS_TITLE
from evenhand.instruments.knowledge.quality import EVIDENCE, MEASURE, row_of_pairs
from evenhand.stats.intervals import Interval
from evenhand.stats.score_intervals import effective_items, score_interval
from evenhand.store.certificate_quality import POINTS, QualityRow, QualityVerdict, quality_verdict

FORMER_PAIRS = 165
"""English pairs that decoders were asked up to version 0.2."""

CHANGED = (0.02, 0.05)
DOCUMENTS = 100

_MARGINS = Margins()
_TERMS = np.repeat(np.arange(len(STEREOSET)), 2 * np.array(STEREOSET))
"""Of the items of both tasks."""


def knowledge_row(
    pairs: int, changed: float, generator: np.random.Generator, *, loss: float = 0.0
) -> QualityRow:
    """Knowledge of two models over pairs of which a share changes, and a share is lost besides."""
    changes = changed_pairs(pairs, changed / 2 + loss, changed / 2, together=1.0)(generator)
    before = np.full(pairs, 0.9)
    return row_of_pairs(
        MEASURE, before, before + changes, 2 * pairs, margin=-_MARGINS.knowledge, resampling=RESAMPLING
    )


def evidence_row(pairs: int, generator: np.random.Generator) -> QualityRow:
    """Evidence of two models, which is the same on average."""
    before, after = Gaps(pairs, kept=1.0)(generator)
    return row_of_pairs(EVIDENCE, before, after, 2 * pairs, margin=-_MARGINS.evidence, resampling=RESAMPLING)


def lms_row(changed: float, generator: np.random.Generator) -> QualityRow:
    """LMS of two models over as many items as StereoSet has, of which a share changes."""
    changes = _items_changed(len(_TERMS), changed, generator)
    score = score_interval(changes, confidence=RESAMPLING.confidence, effective=effective_items(_TERMS))
    interval = Interval(100 * score.low, 100 * score.high, score.method)
    difference = interval.around(100 * float(changes.mean()), n=len(_TERMS), clusters=int(_TERMS[-1]) + 1)
    figures = (90.0, 90.0 + difference.value)
    return QualityRow.judged(LMS_MEASURE, LMS_TITLE, figures, difference, unit=POINTS, margin=-_MARGINS.lms)


def _items_changed(items: int, changed: float, generator: np.random.Generator) -> Floats:
    shares = (changed / 2, 1 - changed, changed / 2)
    return generator.choice(np.array([-1.0, 0.0, 1.0]), size=items, p=shares)


def text_row(generator: np.random.Generator) -> QualityRow:
    """Perplexity of two models on documents, which is the same on average."""
    before, after, documents = Documents(DOCUMENTS, "normal", loss=0.0)(generator)
    return perplexity_row(
        before, after, margin=_MARGINS.perplexity, resampling=RESAMPLING, documents=documents
    )


def shares_kept(pairs: int, changed: float, *, studies: int, seed: int) -> tuple[float, float, float]:
    """How often quality and knowledge are called kept without a loss, and knowledge at a loss of its margin."""
    generator = np.random.default_rng(seed)
    kept = np.zeros(3)
    for _ in range(studies):
        knowledge = knowledge_row(pairs, changed, generator)
        at_margin = knowledge_row(pairs, changed, generator, loss=_MARGINS.knowledge / 100)
        rows = (knowledge, evidence_row(pairs, generator), lms_row(changed, generator), text_row(generator))
        kept += [
            verdict is QualityVerdict.KEPT
            for verdict in (quality_verdict(rows), knowledge.verdict, at_margin.verdict)
        ]
    overall, of_knowledge, wrong = (kept / studies).tolist()
    return overall, of_knowledge, wrong


def sizes() -> dict[str, int]:
    """Pairs that decoders are asked, by what they are."""
    bundled = {
        name: len(load_settled(language).read_from_the_left().sentences) // 2
        for name, language in (("English", "en"), ("German", "de"))
    }
    return {"before": FORMER_PAIRS, **bundled}


def table(studies: int, seed: int) -> Iterator[str]:
    """One row per number of pairs and share that changes."""
    yield f"{studies:,} studies each, seed {seed}."
    yield ""
    yield "| settled sentences | change | quality kept | knowledge kept | kept at a loss of the margin |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name, pairs in sizes().items():
        for changed in CHANGED:
            shares = shares_kept(pairs, changed, studies=studies, seed=seed)
            cells = " | ".join(f"{100 * share:.1f}%" for share in shares)
            yield f"| {name}, {pairs} pairs | {changed:.0%} | {cells} |"


if __name__ == "__main__":
    print_simulation(table, description=__doc__, marker="power", studies=1_000)
