"""The published translations of StereoSet: the German repair, stage by stage, and what was never repaired elsewhere."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from running import Command

from evenhand.core.items import Label, Task
from evenhand.data import load_dataset, read_predictions, read_stereoset
from evenhand.data.inspection import check, check_translation
from evenhand.data.stereoset import STEREOSET
from evenhand.stats.resampling import Resampling
from evenhand.translation import (
    Changes,
    Document,
    RepairOptions,
    bundled_term_table,
    read_document,
    read_people_tables,
    repair,
    replay,
)
from evenhand.translation.changes import repaired_items
from evenhand.translation.score_effects import ANY, translation_effect
from evenhand.workflows.measure import evaluate


@pytest.fixture(scope="module")
def repaired(shared_data: Path) -> Changes[Document]:
    document = read_document(shared_data / "stereoset" / "de.untouched.json")
    people = read_people_tables(shared_data / "stereoset" / "fixes_de", document)
    changes = Changes(document)
    repair(changes, RepairOptions(terms=bundled_term_table("de"), people=people))
    return changes


def test_the_counts_after_each_stage_are_the_published_ones(
    shared_data: Path, run_evenhand_here: Command
) -> None:
    folder = shared_data / "stereoset"
    start = time.monotonic()

    ended = run_evenhand_here(
        "data", "repair", folder / "de.untouched.json", "--fixes", folder / "fixes_de", "--json"
    )

    assert time.monotonic() - start < 20
    assert json.loads(ended.stdout) == {
        "stages": [
            {"name": "untouched", "intrasentence": 562, "intersentence": 535},
            {"name": "terms", "intrasentence": 378, "intersentence": 352},
            {"name": "closest", "intrasentence": 57, "intersentence": 41},
            {"name": "people", "intrasentence": 4, "intersentence": 5},
        ]
    }


def test_the_repaired_file_is_the_untouched_one_and_its_rows(
    repaired: Changes[Document], shared_data: Path
) -> None:
    again = replay(read_document(shared_data / "stereoset" / "de.untouched.json"), repaired.rows)

    assert again.document.to_bytes() == repaired.document.to_bytes()


def test_all_but_sixteen_items_are_those_that_were_published(
    repaired: Changes[Document], shared_data: Path
) -> None:
    published = read_document(shared_data / "stereoset" / "de.json")

    differing = [
        item
        for item in published
        if any(item[name] != repaired.document.items[item.id][name] for name in item.fields())
    ]

    # Ten words that the authors stripped of hyphens, commas and accents; four contexts in which they made Leonee of
    # Leone; two targets that are not in their contexts. docs/translation.md tells each.
    assert len(differing) == 16
    assert sum(item["context"] != repaired.document.items[item.id]["context"] for item in differing) == 4
    assert sum(item["target"] != repaired.document.items[item.id]["target"] for item in differing) == 2


def test_the_items_beyond_repair_are_those_that_the_authors_left_out(
    repaired: Changes[Document], shared_data: Path
) -> None:
    published = read_document(shared_data / "stereoset" / "de.json")

    marked = {item.id for item in repaired.document if item.is_beyond_repair}

    assert marked == repaired.document.items.keys() - published.items.keys()
    assert len(marked) == 3


@pytest.mark.parametrize(("language", "counts"), [("es", (520, 496)), ("fr", (372, 333)), ("tr", (427, 457))])
def test_targets_that_are_missing_in_languages_that_were_never_repaired(
    shared_data: Path, language: str, counts: tuple[int, int]
) -> None:
    document = read_document(shared_data / "stereoset" / f"{language}.json")

    assert tuple(document.missing_targets(task) for task in Task) == counts


def test_the_documentation_counts_the_changes_of_the_german_repair(repaired: Changes[Document]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "translation.md").read_text(encoding="utf-8")
    doubtful = sum(row.field == "doubtful_target" for row in repaired.rows)

    assert f"{len(repaired.rows) - doubtful:,} changes; {doubtful} targets" in page


@pytest.mark.parametrize("language", ["de", "es", "fr", "tr"])
def test_the_documentation_counts_the_items_that_are_left_out(shared_data: Path, language: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "translation.md").read_text(encoding="utf-8")
    name = {"de": "German, repaired", "es": "Spanish", "fr": "French", "tr": "Turkish"}[language]
    source, translation = (
        read_stereoset(shared_data / "stereoset" / f"{tag}.json") for tag in ("en", language)
    )

    (row,) = (line for line in page.splitlines() if line.startswith(f"| {name} | {len(translation):,} |"))

    left_out = [len(check(translation, source=own).flagged_items()) for own in (None, source)]
    assert [row.split("|")[place].strip() for place in (5, 8)] == [f"{count:,}" for count in left_out]


@pytest.mark.parametrize("language", ["de", "es", "fr", "tr"])
def test_a_copy_of_a_published_translation_has_a_name(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))
    place = STEREOSET.translation_path(language)
    place.parent.mkdir(parents=True)
    place.symlink_to(shared_data / "stereoset" / f"{language}.json")

    benchmark = load_dataset("stereoset", language=language)

    assert (benchmark.name, len(benchmark)) == ("stereoset", 4226 if language == "de" else 4229)


@pytest.mark.parametrize(
    ("language", "counts"),
    [
        ("es", {"concord": 108, "candidates-merged": 4, "untranslated": 17, "untranslated-word": 46}),
        ("fr", {"concord": 72, "candidates-merged": 2, "untranslated": 21, "untranslated-word": 126}),
        ("tr", {"candidates-merged": 12, "untranslated": 14}),
    ],
)
def test_what_the_checks_of_translations_find(
    shared_data: Path, language: str, counts: dict[str, int]
) -> None:
    folder = shared_data / "stereoset"
    findings = check_translation(
        read_stereoset(folder / f"{language}.json"), read_stereoset(folder / "en.json")
    ).findings

    found = {finding.defect.name: 0 for finding in findings}
    for finding in findings:
        found[finding.defect.name] += finding.count
    assert {name: found.get(name) for name in counts} == counts
    assert ("concord" in found) == ("concord" in counts)


@pytest.mark.parametrize(
    ("model", "task", "scores"),
    [
        (
            "dbmdz_bert-base-german-cased_BertLM_BertNextSentence",
            Task.INTRASENTENCE,
            (54.1, 55.9, 68.6, 73.0),
        ),
        (
            "dbmdz_bert-base-german-cased_BertLM_BertNextSentence",
            Task.INTERSENTENCE,
            (54.7, 56.1, 80.1, 79.5),
        ),
        (
            "bert-base-multilingual-cased_BertLM_BertNextSentence",
            Task.INTRASENTENCE,
            (48.4, 49.3, 65.7, 65.1),
        ),
        (
            "bert-base-multilingual-cased_BertLM_BertNextSentence",
            Task.INTERSENTENCE,
            (56.9, 58.4, 76.0, 77.7),
        ),
        ("google_mt5-base_mT5LM_ModelNSP", Task.INTRASENTENCE, (56.6, 53.4, 74.0, 74.0)),
        ("google_mt5-base_mT5LM_ModelNSP", Task.INTERSENTENCE, (52.9, 55.5, 83.4, 81.5)),
    ],
)
def test_scores_of_repaired_items_beside_the_others(
    repaired: Changes[Document], shared_data: Path, model: str, task: Task, scores: tuple[float, ...]
) -> None:
    mended = repaired_items(repaired.rows)
    items = read_stereoset(shared_data / "stereoset" / "de.json").of_task(task)
    published = read_predictions(shared_data / "predictions" / f"{model}_de.json.gz").scores
    shares: list[tuple[float, float]] = []
    for is_mended in (True, False):
        chosen = [
            [published[item.candidate(label).id].value for label in Label]
            for item in items
            if (item.id in mended) is is_mended
        ]
        wins = sum(stereotype > anti for stereotype, anti, _ in chosen)
        sense = sum((stereotype > other) + (anti > other) for stereotype, anti, other in chosen)
        shares.append((round(100 * wins / len(chosen), 1), round(50 * sense / len(chosen), 1)))

    assert (shares[0][0], shares[1][0], shares[0][1], shares[1][1]) == scores
    assert sum(item.id in mended for item in items) == (580 if task is Task.INTRASENTENCE else 541)


@pytest.mark.parametrize(
    ("language", "with_problem", "differences", "lms_share"),
    [
        ("de", 1876, (-1.59, -5.12), 0.42),
        ("es", 1906, (-0.38, -7.99), 0.35),
        ("fr", 1702, (-0.43, -6.51), 0.32),
        ("tr", 1871, (-3.35, -7.51), 0.47),
    ],
)
def test_the_share_of_a_difference_between_languages_that_rests_on_problems(
    repaired: Changes[Document],
    shared_data: Path,
    language: str,
    with_problem: int,
    differences: tuple[float, float],
    lms_share: float,
) -> None:
    runs = [
        evaluate(
            shared_data
            / "predictions"
            / f"bert-base-multilingual-cased_BertLM_BertNextSentence_{tag}.json.gz",
            shared_data / "stereoset" / f"{tag}.json",
            language=tag,
            resampling=Resampling(resamples=100),
        )
        for tag in ("en", language)
    ]

    effect = translation_effect(
        *runs, repaired={"de": repaired_items(repaired.rows)}, resampling=Resampling(resamples=400)
    )

    assert effect is not None
    rows = [row for row in effect.shares if (row.task, row.problem) == ("overall", ANY)]
    assert [row.items for row in rows] == [with_problem] * 2
    assert tuple(round(row.difference, 2) for row in rows) == differences
    assert rows[1].share == pytest.approx(lms_share, abs=0.005)
