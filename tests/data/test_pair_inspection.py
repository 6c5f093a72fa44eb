"""Sets of pairs are counted and checked, from Python and from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pair_builders import pair, pair_set, row_of, write_table
from running import Command

from evenhand.data.pair_inspection import PAIR_DEFECT_CLASSES, check_pairs, count_pairs

DEFECTIVE = {
    "missing-sentence": pair("m", less=""),
    "equal-sentences": pair("e", more="The clerk waits.", less="The clerk waits."),
    "one-sided-negation": pair("n", more="The old man can not sing.", less="The young man can well sing."),
    "length-gap": pair("l", more="The old baker of our town forgot the keys.", less="The old baker went."),
    "different-sentences": pair("d", more="Old men forget keys.", less="We saw rain today."),
    "beyond-repair": replace(pair("b", more="A cat sleeps.", less="A dog sleeps."), beyond_repair="a pun"),
}


@pytest.mark.parametrize("name", DEFECTIVE)
def test_a_defect_is_found_in_the_pair_that_has_it_and_in_no_other(name: str) -> None:
    report = check_pairs(pair_set(pair("fine"), DEFECTIVE[name]))

    found = {finding.defect.name: finding.ids for finding in report.findings if finding.ids}
    assert found[name] == (DEFECTIVE[name].id,)
    assert "fine" not in {identifier for ids in found.values() for identifier in ids}
    assert report.flagged_pairs() == {DEFECTIVE[name].id}


def test_pairs_that_occur_twice_are_listed_but_not_flagged() -> None:
    report = check_pairs(pair_set(pair("1"), pair("2"), pair("3", more="She sings.", less="He sings.")))

    (finding,) = [each for each in report.findings if each.ids]
    assert (finding.defect.name, finding.ids) == ("repeated-pair", ("1", "2"))
    assert report.flagged_pairs() == frozenset()


def test_a_check_that_does_not_know_the_language_is_named() -> None:
    report = check_pairs(pair_set(pair(1, language="mt"), language="mt"))

    assert report.unchecked == ("one-sided-negation",)
    assert len(report.findings) == len(PAIR_DEFECT_CLASSES) - 1


def test_pairs_are_counted_by_bias_type_and_direction() -> None:
    counts = count_pairs(
        [pair_set(pair(1), pair(2, less=""), pair(3, bias_type="gender", direction="antistereo"))]
    )

    assert counts.rows() == [("en", "age", 2, 1, 2, 0), ("en", "gender", 1, 1, 0, 1)]


def test_the_commands_know_pairs(run_evenhand_here: Command, tmp_path: Path) -> None:
    path = write_table(tmp_path / "pairs_en.csv", map(row_of, [pair(1), pair(2, less="")]))

    described = run_evenhand_here("data", "describe", path, "--json")
    checked = run_evenhand_here("data", "check", path, "--json")

    assert json.loads(described.stdout)["counts"] == [
        {"language": "en", "bias_type": "age", "pairs": 2, "complete": 1, "stereo": 2, "antistereo": 0}
    ]
    (report,) = json.loads(checked.stdout)["datasets"]
    assert report["flagged_pairs"] == ["2"]
    shown = run_evenhand_here("data", "check", path)
    assert "1 pair has a defect that can move a score" in shown.stdout
    assert "missing-sentence *" in shown.stdout


def test_the_list_names_every_layout(run_evenhand_here: Command) -> None:
    listed = json.loads(run_evenhand_here("data", "list", "--json").stdout)

    layouts = {layout["name"]: layout["fields"] for layout in listed["layouts"]}
    assert {"stereoset", "stereoset-records", "crows-pairs", "shades", "eurogest"} <= layouts.keys()
    assert layouts["eurogest"] == ["gest_id", "stereotype_id", "masculine", "feminine"]


def test_encodings_can_be_named_on_the_command_line(run_evenhand_here: Command, tmp_path: Path) -> None:
    path = write_table(tmp_path / "pairs_fr.csv", [row_of(pair(1, bias_type="âge"))], encoding="mac-roman")

    refused = run_evenhand_here("data", "describe", path)
    described = run_evenhand_here("data", "describe", path, "--encoding", "mac-roman", "--json")

    assert refused.returncode == 2
    assert "MACINTOSH" in refused.stderr
    assert "--encoding" in refused.stderr
    assert json.loads(described.stdout)["counts"][0]["bias_type"] == "âge"
