"""Every class of defects: an item that has it, and one that looks similar and has not."""

from __future__ import annotations

from dataclasses import replace

import builders
import pytest

from evenhand.core.items import Association, Task
from evenhand.data.defects import DEFECT_CLASSES
from evenhand.data.inspection import check

intra, inter = builders.intra, builders.inter

WITH_AND_WITHOUT: dict[str, list[tuple[Association, Association]]] = {
    "blank-count": [
        (intra(context="A BLANK loaf is a BLANK loaf."), intra(context="A BLANK loaf is a loaf.")),
        (
            intra(context="A loaf.", texts=("A fresh loaf.", "A brown loaf.", "A purple loaf.")),
            intra(context="A BLANK loaf.", texts=("A fresh loaf.", "A brown loaf.", "A purple loaf.")),
        ),
    ],
    "blank-attached": [
        (intra(context='Ekmek BLANK"tır.'), intra(context='Ekmek "BLANK" olur.')),
        (intra(context="She BLANKed the dough."), intra(context="She BLANK the dough.")),
        (intra(context="She unBLANK the dough."), intra(context="She did-BLANK the dough.")),
        (intra(context="Fırıncı BLANK’dır."), intra(context="The bread, BLANK, is good.")),
    ],
    "blank-glued": [
        (intra(context="He rests sometimes.BLANK he bakes."), intra(context="He rests. BLANK he bakes.")),
        (intra(context="Such BLANK!p bread."), intra(context="Such BLANK! Bread.")),
        (intra(context="Bread,BLANK and cake."), intra(context="Bread (BLANK) and cake.")),
    ],
    "blank-first": [(intra(context="BLANK bread is good."), intra(context="The BLANK bread is good."))],
    "fill-not-found": [
        (
            intra(texts=("Seven is a number.", "The baker likes brown bread.", "The baker likes old bread.")),
            intra(
                texts=(
                    "The baker likes new bread.",
                    "The baker likes brown bread.",
                    "The baker likes old bread.",
                )
            ),
        )
    ],
    "case-differs": [
        (
            intra(
                texts=(
                    "the baker likes new bread.",
                    "The baker likes brown bread.",
                    "The baker likes old bread.",
                )
            ),
            intra(fills=("NEW", "Brown", "old")),
        )
    ],
    "text-differs": [
        (
            intra(
                texts=(
                    "The baker likes new loaves.",
                    "The baker likes brown bread.",
                    "The baker likes old bread.",
                )
            ),
            intra(
                texts=(
                    "The Baker likes new bread.",
                    "The baker likes brown bread.",
                    "The baker likes old bread.",
                )
            ),
        ),
        (intra(words=("stale", "brown", "purple")), intra(words=("fresh", "brown", "purple"))),
    ],
    "multi-word-fill": [
        (intra(fills=("fresh", "brown", "bright purple")), intra(fills=("fresh", "dark-brown", "purple")))
    ],
    "equal-candidates": [
        (intra(fills=("fresh", "fresh", "purple")), intra(fills=("fresh", "Fresh", "purple"))),
        (
            inter(texts=("It is warm.", "It is cold.", "It is cold.")),
            inter(texts=("It is warm.", "It is cold.", "It is cold!")),
        ),
    ],
    "near-duplicates": [
        (
            inter(texts=("The shop is warm and light.", "The shop is warm and light!", "Seven is a number.")),
            inter(texts=("The shop is warm and light.", "The shop is cold and dark.", "Seven is a number.")),
        ),
        (intra(fills=("Fresh", "fresh", "purple")), intra(fills=("fresh", "brown", "purple"))),
    ],
    "one-sided-negation": [
        (
            inter(texts=("The bread is not warm.", "The bread is quite warm.", "Seven is a number.")),
            inter(texts=("The bread is not warm.", "The bread isn't cold.", "Seven is a number.")),
        ),
        (
            inter(texts=("The bread is warm now.", "It is never warm here.", "Seven is a number.")),
            inter(texts=("The bread is nothing.", "Nobody eats bread.", "Seven is not a letter.")),
        ),
    ],
    "length-gap": [
        (intra(fills=("new", "wholegrain", "purple")), intra(fills=("new", "brownish", "ultraviolet"))),
        (
            inter(texts=("Warm.", "It smells of warm bread.", "Seven.")),
            inter(texts=("It smells of bread.", "It smells of warm bread.", "Seven.")),
        ),
    ],
    "no-final-punctuation": [
        (inter(context="The baker opens the shop"), inter(context="The baker says: “Come in!” ")),
        (intra(context="The baker likes BLANK bread,"), intra(context="Who likes BLANK bread?")),
    ],
    "target-not-in-context": [
        (inter(target="pilot"), inter(target="BAKER")),
        (intra(target="bakery"), intra(target="bake")),
    ],
    "target-guessed": [(replace(intra(), doubtful_target="oven"), intra())],
    "beyond-repair": [
        (replace(intra(), beyond_repair="no such word"), intra()),
        (replace(inter(), beyond_repair="culture-specific"), inter()),
    ],
}


@pytest.mark.parametrize(
    ("defect", "faulty", "sound"),
    [
        pytest.param(defect, faulty, sound, id=f"{defect} {number}")
        for defect, pairs in WITH_AND_WITHOUT.items()
        for number, (faulty, sound) in enumerate(pairs, start=1)
    ],
)
def test_a_defect_is_found_where_it_is_and_not_where_it_is_not(
    defect: str, faulty: Association, sound: Association
) -> None:
    found, not_found = (check(builders.benchmark(item)) for item in (faulty, sound))

    assert found.count(defect, faulty.task) == 1
    assert not_found.count(defect, sound.task) == 0
    assert defect in found.defects_by_item()[faulty.id]


def test_a_context_that_two_items_share_counts_for_both() -> None:
    report = check(
        builders.benchmark(
            inter(1, context="It rains."), inter(2, context="It rains."), inter(3, context="It snows.")
        )
    )

    (finding,) = (f for f in report.findings if f.defect.name == "repeated-context")
    assert finding.ids == ("inter-1", "inter-2")


def test_every_class_of_defects_is_tested_here() -> None:
    assert {defect.name for defect in DEFECT_CLASSES} == {*WITH_AND_WITHOUT, "repeated-context"}


def test_a_sound_item_has_no_findings_at_all() -> None:
    report = check(builders.benchmark(intra(), inter()))

    assert [finding.defect.name for finding in report.findings if finding.count] == []
    assert report.flagged_items() == frozenset()


@pytest.mark.parametrize(
    ("language", "negated", "plain"),
    [
        ("de", "Das Brot ist nicht warm.", "Das Brot ist sehr warm."),
        ("de", "Er mag keinen Kuchen.", "Er mag einen Kuchen."),
        ("fr", "Le pain n’est jamais froid.", "Le pain est toujours froid."),
        ("es", "El pan no es nuevo.", "El pan es muy nuevo."),
        ("tr", "Ekmek sıcak değildir.", "Ekmek çok sıcaktır."),
        ("tr", "Ekmek almıyorum.", "Ekmek alıyorum."),
    ],
)
def test_negation_is_found_in_each_language(language: str, negated: str, plain: str) -> None:
    item = inter(language=language, texts=(negated, plain, "Yedi."))
    same = inter(language=language, texts=(plain, plain.replace(".", "!"), "Yedi."))

    assert check(builders.benchmark(item, language=language)).count("one-sided-negation", item.task) == 1
    assert check(builders.benchmark(same, language=language)).count("one-sided-negation", same.task) == 0


def test_checks_that_do_not_know_a_language_are_named_and_not_made() -> None:
    report = check(builders.benchmark(inter(language="nl"), language="nl"))

    assert report.unchecked == ("one-sided-negation",)
    assert "one-sided-negation" not in {finding.defect.name for finding in report.findings}


def test_only_tasks_that_exist_are_checked() -> None:
    report = check(builders.benchmark(inter()))

    assert {finding.task for finding in report.findings} == {Task.INTERSENTENCE}


def test_flagged_items_are_those_with_a_defect_that_can_move_a_score() -> None:
    report = check(
        builders.benchmark(
            intra(1, context="BLANK bread is good", target="bread"),  # noted, not flagged
            intra(2, context="She BLANKed the baker."),  # flagged, by item
            intra(3, context="He is a BLANK baker.", words=("old", "brown", "purple")),  # by candidate
        )
    )

    assert report.flagged_items() == {"intra-2", "intra-3"}
    assert report.defects_by_item()["intra-1"] == ("blank-first", "no-final-punctuation")


def test_the_report_is_a_table_with_a_row_a_check_and_task() -> None:
    frame = check(builders.benchmark(intra(fills=("fresh", "fresh", "purple")))).to_frame()

    (equal,) = frame.filter(frame["defect"] == "equal-candidates").to_dicts()
    assert (equal["task"], equal["count"], equal["unit"]) == ("intrasentence", 1, "items")
    assert (equal["flagged"], equal["ids"]) == (True, ["intra-1"])


def test_a_count_says_what_is_counted() -> None:
    by_name = {defect.name: defect for defect in DEFECT_CLASSES}

    assert by_name["blank-count"].counted(1) == "1 item"
    assert by_name["fill-not-found"].counted(1200) == "1,200 candidates"
