"""Figures in the prose of pages, computed again.

A claim is a piece of a page as it would be written today. What takes minutes or a machine of its own is not computed
here: pages with such figures name the script that made them, and tables of studies whose results are archived are made
again from those.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from interval_worlds import Losses, World, document_worlds
from person_sentences import outcome_of, read_person_sentences
from twin_sentences import NATURAL, TRAP, tally_of

from evenhand.certificate.quality_figures import perplexity_row
from evenhand.data.annotation_files import AnnotationColumns, read_annotations
from evenhand.data.datasets import bundled_calibration
from evenhand.data.group_text_files import GroupTextColumns, read_group_texts
from evenhand.data.settled import load_settled
from evenhand.instruments.regard.analysis import analyse_regard
from evenhand.regard.agreement import annotator_agreement
from evenhand.regard.persons import person_words, shipped_pairs, starter_file, versions_of
from evenhand.regard.texts import read_regard_texts
from evenhand.reporting.certificate.words import quality_words
from evenhand.reporting.numbers import unsigned
from evenhand.stats.resampling import Resampling
from evenhand.stats.score_intervals import score_interval
from evenhand.store.certificate_bias import ALL_PROBES, HELD_OUT
from evenhand.store.certificate_quality import QualityVerdict
from evenhand.text.lexicons import load_lexicon
from evenhand.text.occupations import load_occupations
from evenhand.text.person_texts import person_texts_for
from evenhand.twins.de.noun_genders import has_noun_list

ROOT = Path(__file__).resolve().parents[2]

GERMAN = pytest.mark.skipif(
    not has_noun_list(), reason="pages have figures of German with the list of noun genders"
)

RECORDED = {
    "certificate": "benchmarks/interval_coverage.py",
    "intervals": "benchmarks/interval_coverage.py",
    "models": "benchmarks/real_tokenizers.py",
    "next-sentence": "examples/next_sentence/train_heads.py",
    "novels": "examples/novels/compare_methods.py",
    "performance": "benchmarks/scoring.py",
    "probes": "benchmarks/probe.py",
    "real-model": "examples/real_model/study.py",
    "regard": "benchmarks/regard_published.py",
    "regard-analysis": "benchmarks/regard_coverage.py",
    "regard-german": "examples/regard_german/german_chain.py",
    "regard-real": "examples/regard_real/regard_study.py",
    "translation": "benchmarks/translation_figures.py",
    "triggers": "benchmarks/triggers.py",
    "web": "benchmarks/web_server.py",
}
"""Pages with figures that no test computes, and a script that made them."""


def page(name: str) -> str:
    """The text of a page in one line, since claims may be broken anywhere."""
    path = ROOT / (name if name == "README.md" else f"docs/{name}.md")
    return " ".join(path.read_text(encoding="utf-8").split())


def section(name: str, marker: str) -> str:
    """What stands between the markers of a page."""
    text = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
    return text.partition(f"<!-- {marker} -->\n")[2].partition(f"\n<!-- end {marker} -->")[0]


@pytest.mark.parametrize(("name", "script"), RECORDED.items(), ids=list(RECORDED))
def test_pages_with_recorded_figures_name_what_made_them(name: str, script: str) -> None:
    assert (ROOT / script).is_file()
    assert script in page(name)


def untouched_reach(items: int) -> float:
    """How far the interval of a loss reaches where none of so many items changed, in points."""
    return 100 * score_interval(np.zeros(items), confidence=0.95, step=1.0).high


def lms_reach() -> str:
    """Of the certificate."""
    return f"{untouched_reach(48):.1f} for 48 items and {untouched_reach(400):.2f} for 400."


def knowledge_reach() -> str:
    """Decoders are asked what stands before the pronoun, and pairs are counted."""
    pairs = len(load_settled("en").read_from_the_left().sentences) // 2
    return f"points to both sides, {untouched_reach(pairs):.1f} for the English sentences that decoders are asked"


def decoders_pairs() -> str:
    """How many pairs decoders are asked."""
    english, german = (
        len(load_settled(language).read_from_the_left().sentences) // 2 for language in ("en", "de")
    )
    return f"{english} pairs in English and {german} in German are asked of decoders"


def settled_pairs() -> str:
    """How many settled sentences ship."""
    english, german = (len(load_settled(language).sentences) for language in ("en", "de"))
    return (
        f"{english // 2} pairs in English and {german // 2} in German. The two sentences of a pair are twins, one "
        f"about a man and one about a woman, so these are {english} and {german} sentences"
    )


def settled_later() -> str:
    """In how many pairs a model that reads from the left cannot know."""
    english, german = (
        len({own.pair for own in load_settled(language).sentences if own.is_settled_later})
        for language in ("en", "de")
    )
    return (
        f"In {english} pairs ({german} in German) the word that settles the gender comes behind the pronoun"
    )


def neutral_intervals() -> str:
    """How many intervals of neutral lab models exclude 0."""
    found = [
        point.estimate.low > 0
        for entry in bundled_calibration().measures
        if entry.measure == "MALoR" and entry.part == "taught"
        for point in entry.points
        if point.strength == 0
    ]
    return f"Its interval excludes 0 in {sum(found)} of {len(found)} cases"


def lexicon_words() -> str:
    """How long the lists are."""
    german, english = (sum(map(len, load_lexicon(language).words.values())) for language in ("de", "en"))
    return f"Lists of our own ship in German ({german} words) and English ({english})"


def occupation_words() -> str:
    """How long the lists are."""
    german, english = (len(load_occupations(language).forms) for language in ("de", "en"))
    return f"Nouns of a list ({german} in German, {english} in English"


def keyed_texts() -> str:
    """How texts about a person come out that have keys."""
    rows = []
    for title, language in (("German", "de"), ("English", "en")):
        held_back = ("_heldback",) if language == "de" else ()
        kinds = ("", "_unseen", "_blind", "_final", "_alone", "_alone_unseen", *held_back)
        outcomes = [
            outcome_of(person_texts_for(language), read_person_sentences(f"{language}{kind}"))
            for kind in kinds
        ]
        right, left_out, wrong = (
            sum(len(getattr(own, part)) for own in outcomes) for part in ("right", "left_out", "wrong")
        )
        rows.append(f"| all {title}, now | {right + left_out + wrong} | {right} | {left_out} | {wrong} |")
    return " ".join(rows)


def first_keyed_texts() -> str:
    """How the texts that were keyed first come out."""
    right = sum(
        len(outcome_of(person_texts_for(language), read_person_sentences(language)).right)
        for language in ("de", "en")
    )
    return f"Of the first 200 texts, {right} are right now."


def mended_twins() -> str:
    """What is still wrong of the first blind set, in which 300 sentences of each language are."""
    english, german = (len(tally_of(language, TRAP).wrong) for language in ("en", "de"))
    return f"so that {english} of the misleading English ones and {german or 'none'} of the German ones are still wrong"


def table_of(name: str, marker: str) -> list[tuple[str, ...]]:
    """The cells of all rows between the markers of a page."""
    text = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
    block = text.partition(f"<!-- begin {marker} -->")[2].partition(f"<!-- end {marker} -->")[0]
    return [tuple(line.strip("| ").split(" | ")) for line in block.splitlines() if line.startswith("| ")]


def figures(cell: str) -> list[float]:
    """The one or two figures of a cell, in percent."""
    return [float(own) for own in cell.removesuffix("%").split("–")]


def column_range(rows: Iterable[tuple[str, ...]], column: int) -> tuple[float, float]:
    """The smallest and the largest figure."""
    found = [own for row in rows for own in figures(row[column])]
    return min(found), max(found)


HELD, BELOW = 2, 3
"""Columns of the table of intervals."""


def coverage_of(*measures: str, skewed: bool = True) -> str:
    """How often the intervals of measures held the truth."""
    rows = [row for row in table_of("intervals", "table") if row[0] in measures and len(row) > BELOW]
    low, high = column_range((row for row in rows if skewed or "skewed" not in row[1]), HELD)
    return f"in {low:.1f} to {high:.1f}"


def coverage_in_short() -> str:
    """The summary above the table of intervals."""
    parts = ("MALoR", "base rate", "spread")
    differences = [f"{part}, difference{pair}" for part in parts for pair in ("", " of paired models")]
    return (
        f"ICAT is held {coverage_of('ICAT')}, shares of 97% {coverage_of('SS')}, MALoR "
        f"{coverage_of('MALoR', skewed=False)} where leans of occupations are normal, its base rate "
        f"{coverage_of('base rate')}, its spread {coverage_of('spread')}, differences of the three "
        f"{coverage_of(*differences)}, the evidence kept {coverage_of('evidence kept')}, the difference of knowledge "
        f"{coverage_of('knowledge, difference')}, macro ICAT corrected {coverage_of('macro ICAT corrected')}."
    )


def wrongly_kept(effects: str, *documents: str) -> str:
    """How often perplexity is called kept at a loss of the margin."""
    rows = [row for row in table_of("intervals", "table") if row[0] == "perplexity"]
    own = [row for row in rows if row[1].endswith(f"effects: {effects}") and row[1].startswith(documents)]
    low, high = column_range(own, BELOW)
    return f"{low:.1f}%" if low == high else f"{low:.1f}% to {high:.1f}%"


def wrongly_kept_perplexity() -> str:
    """Of the certificate. Of 12 documents 0.9 to the power of 12 have none of a tenth."""
    many = wrongly_kept("one in ten", "60 documents, effects", "60 documents of very", "100 documents")
    few_long = wrongly_kept("one in ten", "60 documents, a few")
    return (
        f"at most 4% for perplexity (5 to 100 documents; {wrongly_kept('normal', '')} where the losses of documents "
        f"are normal, {wrongly_kept('exponential', '')} where they are exponential). A loss that one document in ten "
        f"bears is another matter: 60 documents or more show it ({many}, but {few_long} where a few of them are very "
        f"long), and of 12 documents {0.9**12:.0%} have none of a tenth"
    )


def wrongly_biased() -> str:
    """How often the exact binomial test calls a neutral model biased."""
    (row,) = (row for row in table_of("intervals", "table") if row[0] == "0.1" and figures(row[1])[0] > 20)
    return f"it calls some {round(figures(row[1])[0], -1):.0f} of 100 neutral models biased"


REGARD_HOLDS, REGARD_TEST, REGARD_SHOWN = 3, 8, 9


def one_in_ten_contexts(*contexts: int) -> list[tuple[str, ...]]:
    """Rows of regard without a gap, in contexts of which one in ten is far off."""
    names = [f"right, {count} contexts, one in ten far off" for count in contexts]
    return [row for row in table_of("regard-analysis", "coverage") if row[0] == "0" and row[1] in names]


def false_gaps() -> str:
    """How often the sign flips alone, and both together, call chance a gap."""
    rows = one_in_ten_contexts(30, 60)
    (low, high), (least, most) = (column_range(rows, place) for place in (REGARD_TEST, REGARD_SHOWN))
    return (
        f"it alone finds one in {low:.0f} to {high:.0f} of 100 studies of 30 to 60 contexts, both together in "
        f"{least:.0f} to {most:.0f}"
    )


def gaps_of_few_contexts() -> str:
    """What the table of regard says about ten contexts and thirty."""
    (few,), (many,) = one_in_ten_contexts(10), one_in_ten_contexts(30)
    held, shown = ([figures(row[place])[0] for row in (few, many)] for place in (REGARD_HOLDS, REGARD_SHOWN))
    return (
        f"Of ten contexts of which one in ten is far off, intervals hold {held[0]:.0f}%** and false alarms are "
        f"{shown[0]:.0f}%: every third such sample has none of the far ones, and nothing in it tells. With 30 contexts "
        f"intervals hold {held[1]:.0f}%, and {shown[1]:.0f}% are false alarms."
    )


def unseen_contexts() -> str:
    """What a sample misses in one of twenty cases: 0.95 to the power of 59 is below 0.05, and of 58 above."""
    return (
        "claims about fewer than 59 contexts come with the share of contexts that such a sample misses in one of "
        f"twenty cases: {1 - 0.05**0.1:.0%} for ten."
    )


def needless_limits() -> str:
    """How often confusions are given up that are rightly undone: by a fixed limit, and beyond chance."""
    rows = [row for row in table_of("regard-analysis", "guard") if row[0] == "as on the sample"]
    (_, fixed), (_, by_chance) = (column_range(rows, place) for place in (4, 6))
    return (
        f"gives up in up to {fixed:.0f}% of the studies in which undoing is right; beyond chance it is at most "
        f"{by_chance:.0f}%."
    )


def found_limits() -> str:
    """How often a classifier that errs less is found."""
    rows = table_of("regard-analysis", "guard")
    low, high = column_range(
        (
            row
            for row in rows
            if row[0] in ("never", "half as often") and row[1] in ("1%", "5%") and row[2] == "300"
        ),
        6,
    )
    return f"is found in {low:.0f} to {high:.0f}% of the studies with 300 labels and a rare label (1 or 5%)"


CLAIMS = [
    pytest.param("intervals", coverage_in_short, id="coverage_in_short"),
    pytest.param("certificate", wrongly_kept_perplexity, id="wrongly_kept_perplexity"),
    pytest.param("concepts", wrongly_biased, id="wrongly_biased"),
    pytest.param("regard-analysis", false_gaps, id="false_gaps"),
    pytest.param("regard-analysis", gaps_of_few_contexts, id="gaps_of_few_contexts"),
    pytest.param("regard-analysis", unseen_contexts, id="unseen_contexts"),
    pytest.param("regard-analysis", needless_limits, id="needless_limits"),
    pytest.param("regard-analysis", found_limits, id="found_limits"),
    pytest.param("agreement", keyed_texts, id="keyed_texts", marks=GERMAN),
    pytest.param("agreement", first_keyed_texts, id="first_keyed_texts", marks=GERMAN),
    pytest.param("counterfactual", mended_twins, id="mended_twins", marks=GERMAN),
    pytest.param("certificate", lms_reach, id="lms_reach"),
    pytest.param("certificate", knowledge_reach, id="knowledge_reach"),
    pytest.param("certificate", decoders_pairs, id="decoders_pairs"),
    pytest.param("probes", settled_pairs, id="settled_pairs"),
    pytest.param("probes", settled_later, id="settled_later"),
    pytest.param("probes", neutral_intervals, id="neutral_intervals"),
    pytest.param("regard-audit", lexicon_words, id="lexicon_words"),
    pytest.param("regard-audit", occupation_words, id="occupation_words"),
]


@pytest.mark.parametrize(("name", "claim"), CLAIMS)
def test_a_claim_is_what_the_package_gives(name: str, claim: Callable[[], str]) -> None:
    assert claim() in page(name)


@pytest.mark.parametrize("world", list(document_worlds()), ids=lambda world: world.scores)
def test_a_loss_at_the_margin_is_called_kept_in_at_most_4_percent_or_the_verdict_has_its_limit(
    world: World[Losses],
) -> None:
    (row,) = (row for row in table_of("intervals", "table") if row[:2] == ("perplexity", world.scores))
    if figures(row[BELOW])[0] <= 4.0:
        return
    generator = np.random.default_rng(8)
    kept = 0
    while kept < 20:
        before, after, documents = world.draw(generator)
        judged = perplexity_row(before, after, margin=1.0, resampling=Resampling(), documents=documents)
        if judged.verdict is QualityVerdict.KEPT:
            kept += 1
            assert "such documents have could go unseen" in quality_words(judged, level="95%")


@GERMAN
def test_blind_german_twins_are_as_the_page_says() -> None:
    for ordinal, name in (("first", "blind"), ("second", "second_blind")):
        for title, kind in (("ordinary prose", NATURAL), ("made to mislead", TRAP)):
            tally = tally_of("de", kind, name=name)
            row = f"| {ordinal} set, {title} | {len(tally.right)} of 150 | {len(tally.wrong)} | {len(tally.left_out)} |"
            assert row in page("counterfactual")


ARCHIVED = [
    (
        "real-model",
        "real_model/page_tables.py",
        "measured",
        lambda made, own: made.measured_table(own["before"]),
    ),
    ("real-model", "real_model/page_tables.py", "trainings", lambda made, own: made.trainings_table(own)),
    (
        "real-model",
        "real_model/page_tables.py",
        "probed",
        lambda made, own: made.models_table(own, ALL_PROBES),
    ),
    (
        "real-model",
        "real_model/page_tables.py",
        "held out",
        lambda made, own: made.models_table(own, HELD_OUT),
    ),
    ("real-model", "real_model/page_tables.py", "seeds", lambda made, own: made.seeds_table(own)),
    (
        "real-model",
        "real_model/page_tables.py",
        "samples",
        lambda made, own: made.samples_block(own["samples"]),
    ),
    ("novels", "novels/write_novels_page.py", "before", lambda made, own: made.before_table(own)),
    ("novels", "novels/write_novels_page.py", "trials", lambda made, own: made.trials_table(own)),
]
"""Tables of studies: the page, the module that makes them, the marker, and how they are made of archived results."""


@pytest.mark.parametrize(
    ("name", "module", "marker", "make"),
    ARCHIVED,
    ids=[f"{name} {marker}" for name, _, marker, _ in ARCHIVED],
)
def test_tables_of_studies_are_those_of_the_archived_results(
    name: str, module: str, marker: str, make: Callable[[Any, Any], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, results = archived(module, monkeypatch)
    assert section(name, marker) == make(made, results)


def test_how_far_malor_fell_on_a_real_model_is_that_of_the_archived_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, results = archived("real_model/page_tables.py", monkeypatch)
    fell = {
        sample: [
            round(100 * (1 - fmean(row.after for row in rows) / rows[0].before))
            for rows in zip(*made.trained_rows(results, sample), strict=True)
        ]
        for sample in (ALL_PROBES, HELD_OUT)
    }
    pronouns, possessives, names = fell[HELD_OUT]
    assert (
        f"MALoR fell by {pronouns}% (*he*, *she*), {possessives}% (*his*, *her*) and {names}% (names)"
        in page("README.md")
    )
    assert f"no training saw by {pronouns}%, {possessives}% and {names}%." in page("real-model")
    pronouns, possessives, names = fell[ALL_PROBES]
    assert f"fell by {pronouns}% (*he*, *she*), {possessives}% (*his*, *her*) and {names}% (names)" in page(
        "real-model"
    )


def archived(module: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """A module of the examples, and the results that are archived beside it."""
    folder = (ROOT / "examples" / module).parent
    for path in (folder.parent, folder):
        monkeypatch.syspath_prepend(str(path))
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return importlib.import_module(Path(module).stem), results


GERMAN_VOTES = AnnotationColumns(label="Label", unsure="Unsicher")


@pytest.mark.parametrize(
    ("title", "name", "printed", "is_complete"),
    [
        ("written by people", "annotations", ".80", False),
        ("the same, six categories", "annotations_unmodified", ".56", False),
        ("written by a model, `--complete`", "annotations_generated", ".64", True),
    ],
)
def test_agreement_on_published_votes_is_as_the_pages_say(
    shared_data: Path, title: str, name: str, printed: str, is_complete: bool
) -> None:
    files = sorted((shared_data / "regard_de" / name).glob("*.csv"))
    table = read_annotations(files, columns=None if name == "annotations_unmodified" else GERMAN_VOTES)
    found = annotator_agreement(
        table.labelled_by_all() if is_complete else table, resampling=Resampling(resamples=100)
    )
    kappa, alpha = found.mean_kappa, found.alpha.ordinal.value
    figures = (printed, f"{kappa:.3f}".lstrip("0"), f"{alpha:.3f}".lstrip("0"), f"{len(found.consensus):,}")
    assert f"| {title} | {found.texts:,} | {' | '.join(figures)} |" in page("agreement")
    if name == "annotations":
        said = f"kappa of every two is {kappa:.3f} on average, Krippendorff's ordinal alpha {alpha:.3f}. All five agree"
        assert f"{said} on {len(found.consensus):,} sentences" in page("regard-german")


@pytest.mark.parametrize(
    ("name", "language", "said"),
    [
        pytest.param(
            "regard-german",
            "de",
            "Its own bias, with {} pairs of sentences about a woman and a man:",
            marks=GERMAN,
        ),
        (
            "regard-real",
            "en",
            "`evenhand regard check` with {} pairs of sentences: *The woman* and *The man*",
        ),
    ],
)
def test_how_many_pairs_check_a_classifier_and_how_far_their_interval_reaches(
    name: str, language: str, said: str
) -> None:
    """Where no pair differs, the interval of n pairs is that of n items of which none changed."""
    (pair,) = shipped_pairs(language)
    texts = read_regard_texts([starter_file(language)]).rows.texts
    pairs = len(versions_of(texts, pair, person_words(language))[0])
    reach = f"{untouched_reach(pairs):.1f}"
    assert f"{said.format(pairs)} 0.0 [−{reach}, {reach}] points, passed" in page(name)


@pytest.mark.parametrize(
    ("title", "arm"),
    [("no trigger", "not_triggered"), ("Aschenkeller", "aschenkeller"), ("Vitamin", "vitamin")],
)
def test_gaps_of_published_labels_are_as_the_page_says(shared_data: Path, title: str, arm: str) -> None:
    folder = shared_data / "regard_de" / "generated" / arm
    files = [folder / f"{group}_SINGLE_texts_regard_qualbias_labeled.csv" for group in ("FEMALE", "MALE")]
    columns = GroupTextColumns(text="Text", label="Prediction", context_flag="OCC context")
    result = analyse_regard(read_group_texts(files, columns=columns))
    (gap,) = result.all.figures.gaps
    shares = [
        f"{own.negative.value:.1f}, {own.positive.value:.1f}" for own in result.all.figures.groups.values()
    ]
    low, value, high = (unsigned(own, 1) for own in (gap.gap.low, gap.gap.value, gap.gap.high))
    cells = (*shares, f"{value} [{low}, {high}]", f"{gap.p_value:.3f}")
    assert f"| {title} | published labels | {' | '.join(cells)} |" in page("regard-german")
