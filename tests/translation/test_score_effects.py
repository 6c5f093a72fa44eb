"""How much of a difference between two languages rests on items with a problem."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import builders
import numpy as np
import pytest
from builders import Triple
from running import Command

from evenhand.api.measure import evaluate
from evenhand.core.errors import TranslationError
from evenhand.core.files import sha256_of
from evenhand.core.items import Association
from evenhand.data import load_dataset
from evenhand.data.datasets import example_scores
from evenhand.data.stereoset import STARTER
from evenhand.reporting.association.translation import MOST_DRAWN, problem_plot, problem_rows
from evenhand.reporting.words import translation_sentence
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import TranslationEffect
from evenhand.store.run import Run, open_run
from evenhand.translation.changes import Change, repaired_items, write_changes
from evenhand.translation.folder import SourceRecord, TranslationRecord, write_translation
from evenhand.translation.score_effects import ANY, FLAGGED, REPAIRED, read_repaired_items, translation_effect

QUICK = Resampling(resamples=200)
TERMS = ("baker", "nurse", "smith", "judge", "clerk", "miner")
PER_TERM = 4
LOST_TARGETS = ("intra-2", "inter-5")
REPEATED_CANDIDATES = ("intra-7", "inter-11")
REPAIRED_ITEMS = ("intra-3", "intra-7", "inter-20")

Triples = dict[str, Triple]


TEXTS = {
    "en": ("Bread smells good", "Paint dries soon", "Seven divides nothing"),
    "de": ("Brot riecht gut", "Farbe trocknet bald", "Sieben teilt nichts"),
}


def items_in(language: str) -> list[Association]:
    """Items about six terms; in German two have lost their target, and two have equal candidates."""
    items = []
    for number in range(PER_TERM * len(TERMS)):
        term = TERMS[number % len(TERMS)]
        for task, make in (("intra", builders.intra), ("inter", builders.inter)):
            is_german, identity = language == "de", f"{task}-{number}"
            target = term.capitalize()  # as a name, which is the same in both languages
            named = "jemand" if is_german and identity in LOST_TARGETS else target
            context = f"Da lebt {named} {number}" if is_german else f"There sits {named} {number}"
            texts = [f"{text} {number}." for text in TEXTS[language]]
            if is_german and identity in REPEATED_CANDIDATES:
                texts[1] = texts[0]
            if task == "intra":
                texts = [f"{context} {text.split()[0]}." for text in texts]
                context += " BLANK"
            items.append(
                make(
                    number,
                    cluster=term,
                    target=target,
                    language=language,
                    context=context + "." * (number > 0),
                    texts=texts,
                )
            )
    return items


def triples(seed: int) -> Triples:
    generator = np.random.default_rng(seed)
    return {item.id: (s, a, u) for item in items_in("en") for s, a, u in [generator.uniform(size=3).tolist()]}


def run_in(language: str, scores: Triples) -> Run:
    benchmark = builders.benchmark(*items_in(language), language=language)
    return evaluate(builders.scores(scores), benchmark, name=f"model-{language}", resampling=QUICK)


@pytest.fixture(scope="module")
def scores() -> tuple[Triples, Triples]:
    first, second = triples(1), triples(2)
    # Nonsense wins often in German, so that there is a difference to share out.
    lower = {item: (s / 4, a / 4, u) for item, (s, a, u) in second.items()}
    return first, lower


@pytest.fixture(scope="module")
def effect(scores: tuple[Triples, Triples]) -> TranslationEffect:
    first, second = (run_in(language, own) for language, own in zip(("en", "de"), scores, strict=True))
    found = translation_effect(first, second, repaired={"de": REPAIRED_ITEMS}, resampling=QUICK)
    assert found is not None
    return found


def points(triple: Triple, measure: str) -> float:
    """What one item gives to a measure."""
    stereotype, anti, other = triple
    if measure == "SS":
        return 100.0 * (stereotype > anti)
    return 50.0 * ((stereotype > other) + (anti > other))


@pytest.mark.parametrize("measure", ["SS", "LMS"])
@pytest.mark.parametrize("task", ["intrasentence", "intersentence", "overall"])
def test_a_contribution_is_the_sum_of_what_its_items_give_to_the_difference(
    effect: TranslationEffect, scores: tuple[Triples, Triples], measure: str, task: str
) -> None:
    first, second = scores
    ids = [item for item in first if task == "overall" or item.startswith(task[:5])]
    differences = {item: points(second[item], measure) - points(first[item], measure) for item in ids}
    row = next(
        row for row in effect.shares if (row.task, row.measure, row.problem) == (task, measure, REPAIRED)
    )
    wanted = [item for item in REPAIRED_ITEMS if item in ids]

    assert row.items == len(wanted)
    assert row.of_items == len(ids)
    assert row.difference == pytest.approx(sum(differences.values()) / len(ids))
    assert row.contribution.value == pytest.approx(sum(differences[item] for item in wanted) / len(ids))
    if not math.isnan(row.share):
        assert row.share == pytest.approx(row.contribution.value / row.difference)


def test_a_share_is_told_only_where_the_difference_is_clear(effect: TranslationEffect) -> None:
    shares = {(row.task, row.measure): row.share for row in effect.shares if row.problem == ANY}

    assert not math.isnan(shares["overall", "LMS"])
    assert math.isnan(shares["overall", "SS"])


def test_items_are_counted_once_however_many_problems_they_have(effect: TranslationEffect) -> None:
    counts = {row.problem: row.items for row in effect.shares if (row.task, row.measure) == ("overall", "SS")}

    assert counts[REPAIRED] == 3
    assert counts["target-not-in-context"] == 2
    assert counts[FLAGGED] == 2
    assert counts[ANY] == 6  # one of the repaired ones has equal candidates too


def test_target_terms_come_with_their_problems_the_worst_first(effect: TranslationEffect) -> None:
    worst = effect.terms[0]
    by_term = {row.term: row for row in effect.terms}

    assert len(effect.terms) == len(TERMS)
    assert worst.with_problem == max(row.with_problem for row in effect.terms)
    assert by_term["nurse"].counts["repaired"] == 1
    assert {name for row in effect.terms for name in row.counts} == {
        "repaired",
        "candidates-merged",
        "equal-candidates",
        "target-not-in-context",
    }, "a context without its full stop is no problem"
    assert by_term["nurse"].counts["candidates-merged"] == 1
    assert sum(row.with_problem for row in effect.terms) == 6
    assert all(row.items == 2 * PER_TERM for row in effect.terms)
    rows = problem_rows([effect])
    assert sum(row["count"] for row in rows if row["problem"] == "repaired") == 3


def test_the_plot_draws_terms_with_problems_only(effect: TranslationEffect) -> None:
    spec = problem_plot(effect)

    (values,) = spec["datasets"].values()
    assert [row["term"] for row in values] == [row.term for row in effect.terms if row.with_problem][
        :MOST_DRAWN
    ]
    assert problem_plot(effect.model_copy(update={"terms": ()})) == {}


def test_a_sentence_says_how_much_rests_on_them(effect: TranslationEffect) -> None:
    sentence = translation_sentence(effect)

    assert sentence.startswith(
        "6 of 48 items (12%) have a problem in English or German: the difference in SS is not clear, so no share"
    )
    assert "of the difference in LMS" in sentence


def test_runs_in_one_language_have_no_such_effect(scores: tuple[Triples, Triples]) -> None:
    assert translation_effect(run_in("de", scores[0]), run_in("de", scores[1]), resampling=QUICK) is None


def change(item: str, field: str, before: str, after: str, by: str) -> Change:
    return Change(item, field, before, after, by, "2026-01-01T00:00:00+00:00")


def test_what_was_undone_cleaned_or_rebuilt_is_not_repaired() -> None:
    rows = [
        change("a", "target", "x", "y", "closest"),
        change("b", "target", "x", "y", "closest"),
        change("b", "target", "y", "x", "undo"),
        change("c", "context", "BLANK-x", "BLANK x", "blank.hyphen"),
        change("c", "sentence/1", "u-x", "u x", "rebuild"),
        change("d", "beyond_repair", "", "makes no sense", "Ann"),
        change("e", "word/1", "old", "new", "Ann"),
    ]

    assert repaired_items(rows) == {"a", "e"}


def test_a_published_table_of_changes_says_its_language_by_its_name(tmp_path: Path) -> None:
    write_changes(tmp_path / "de.changes.csv", [change("a", "target", "x", "y", "closest")])
    write_changes(tmp_path / "changes.csv", [])

    assert read_repaired_items(tmp_path / "de.changes.csv") == ("de", frozenset({"a"}))
    with pytest.raises(TranslationError, match="does not say of which language"):
        read_repaired_items(tmp_path / "changes.csv")


SPOILED = {
    "target-not-in-context": "intra-2",
    "candidates-merged": "intra-7",
    "length-ratio": "inter-3",
    "untranslated": "inter-4",
    "concord": "intra-9",
}


def spoiled_items() -> list[Association]:
    """The German items with one more for each check of translations."""
    grammar = "Da lebt judge 9, eine {}."
    contexts = {
        "inter-3": "Da lebt smith 3 " + "und lebt und lebt " * 9 + "dort.",
        "inter-4": "Da lebt clerk 4 there sits very quietly.",
        "intra-9": grammar.format("BLANK"),
    }
    items = [replace(item, context=contexts.get(item.id, item.context)) for item in items_in("de")]
    place = next(place for place, item in enumerate(items) if item.id == "intra-9")
    first, second, third = items[place].candidates
    items[place] = replace(
        items[place],
        candidates=(
            replace(first, text=grammar.format("Frau")),
            replace(second, text=grammar.format("Mann")),
            replace(third, text=grammar.format("Sieben")),
        ),
    )
    return items


@pytest.mark.parametrize("task", ["intrasentence", "intersentence", "overall"])
def test_the_sensitivity_table_of_a_run_leaves_out_what_the_checks_of_translations_flag(task: str) -> None:
    items, source = spoiled_items(), builders.benchmark(*items_in("en"))
    # The source of one item has the words that its translation still has.
    left = {"inter-4": "There sits clerk 4 there sits very quietly."}
    source = replace(
        source, items=tuple(replace(item, context=left.get(item.id, item.context)) for item in source)
    )
    scores = triples(3)

    run = evaluate(
        builders.scores(scores),
        builders.benchmark(*items, language="de"),
        source=source,
        resampling=QUICK,
    )

    result = run.result.tasks[task]
    found = {row["item"]: row["defects"] for row in run.scores.unique("item").iter_rows(named=True)}
    assert all(name in found[item] for name, item in SPOILED.items())
    flagged = {
        defect.name for defect in run.record.defects if defect.flagged and (task in (defect.task, "overall"))
    }
    kept = [item for item in scores if not flagged & set(found[item])]
    own = [item for item in kept if task == "overall" or item.startswith(task[:5])]
    expected = sum(points(scores[item], "SS") for item in own) / len(own)
    assert result.sensitivity.result.n == len(own)
    assert result.sensitivity.result.SS.value == pytest.approx(expected)
    wanted = {name for name, item in SPOILED.items() if task == "overall" or item.startswith(task[:5])}
    assert wanted - {"length-ratio"} <= set(result.sensitivity.defects)
    assert "length-ratio" not in result.sensitivity.defects, "a note leaves no item out"


def test_a_run_without_a_source_is_the_run_that_it_was() -> None:
    items, scores = items_in("de"), builders.scores(triples(3))
    data = builders.benchmark(*items, language="de")

    plain = evaluate(scores, data, resampling=QUICK)
    checked = evaluate(scores, data, source=builders.benchmark(*items_in("en")), resampling=QUICK)

    assert plain.record.data == {}
    assert plain.record.fingerprint != checked.record.fingerprint
    assert "target-not-in-context" not in plain.result.tasks["overall"].sensitivity.defects
    assert checked.result.tasks["overall"].SS == plain.result.tasks["overall"].SS


def test_the_folder_of_a_translation_says_what_it_is_checked_against(
    tmp_path: Path, run_evenhand_here: Command
) -> None:
    source = load_dataset("starter")
    spanish = json.loads(STARTER.file("es").read_bytes())
    spanish["data"]["intrasentence"][0]["target"] = "otra"
    content = json.dumps(spanish).encode()
    english = STARTER.file("en").read_bytes()
    known = SourceRecord(name="starter", language="en", sha256=source.sha256, kept_sha256=sha256_of(english))
    record = TranslationRecord(language="es", untouched_sha256=sha256_of(content), source=known)
    folder = tmp_path / "es"
    folder.mkdir()
    write_translation(folder, content, record, source=english)

    ended = run_evenhand_here(
        "evaluate", example_scores("leaning"), "--data", folder, "--resamples", "100",
        "--out", tmp_path / "runs", "--json",
    )  # fmt: skip
    named = run_evenhand_here("data", "check", folder, "--json")

    assert ended.returncode == 0, ended.stderr
    place = next((tmp_path / "runs").iterdir())
    run = open_run(place)
    assert run.record.data == {"translated from starter (en)": source.sha256}
    assert "with and without flagged items" in (place / "report.html").read_text()
    assert json.loads(named.stdout)["datasets"][0]["flagged_items"]

    (folder / "source.json").unlink()
    warned = run_evenhand_here("evaluate", example_scores("leaning"), "--data", folder, "--resamples", "100")
    assert warned.returncode == 0
    assert "The checks against the source are left out." in " ".join(warned.stderr.split())
