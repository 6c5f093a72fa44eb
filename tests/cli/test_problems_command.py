"""``evenhand data problems``: defects by target term."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter

from running import run_here

from evenhand.data import check, load_dataset


def test_counts_are_those_of_the_items_one_by_one() -> None:
    told = run_here("data", "problems", "starter", "--language", "de", "--json")
    assert told.returncode == 0, told.stderr
    (rows,) = json.loads(told.stdout)["languages"].values()
    benchmark = load_dataset("starter", language="de")
    defects = check(benchmark).defects_by_item()
    assert sum(row["items"] for row in rows) == len(benchmark)
    assert len(rows) == len({item.cluster for item in benchmark}) < len({item.target for item in benchmark})
    for row in rows:
        own = [
            item for item in benchmark if (item.cluster, item.bias_type) == (row["term"], row["bias_type"])
        ]
        assert row["forms"] == sorted({item.target for item in own})
        assert row["items"] == len(own)
        assert row["with_defect"] == sum(bool(defects.get(item.id)) for item in own)
        assert row["counts"] == Counter(name for item in own for name in defects.get(item.id, ()))
    found = [row["with_defect"] for row in rows]
    assert found == sorted(found, reverse=True)


def test_tables_for_papers_have_the_same_rows() -> None:
    arguments = ("data", "problems", "starter", "--language", "en", "--most", "3", "--format")
    rows = list(csv.DictReader(io.StringIO(run_here(*arguments, "csv").stdout)))
    assert len(rows) == 3
    for form, mark in (("markdown", "| en | "), ("latex", "en & ")):
        lines = [line for line in run_here(*arguments, form).stdout.splitlines() if line.startswith(mark)]
        assert [rows[number]["target term"] in line for number, line in enumerate(lines)] == [True] * 3


def test_a_file_that_is_not_there_is_named() -> None:
    told = run_here("data", "problems", "not-there.json")
    assert told.returncode == 2
    assert "not-there.json" in told.stderr
