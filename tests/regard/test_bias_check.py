"""The check of a classifier on counterfactual pairs: files, codes, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from running import Command

from evenhand.core.errors import DatasetError
from evenhand.data.label_schemes import load_scheme
from evenhand.regard.bias_check import check_labelled_files, check_labelled_pairs
from evenhand.stats.resampling import Resampling

QUICK = Resampling(resamples=200)
REGARD = load_scheme("regard")
ENDS = (
    "laughs",
    "sings",
    "lies",
    "helps",
    "steals",
    "walks",
    "wins",
    "waits",
    "cooks",
    "fights",
    "reads",
    "rests",
)


def write(path: Path, subject: str, labels: str, *, ends: tuple[str, ...] = ENDS) -> Path:
    lines = [f"The {subject} {end} a lot.,{label}" for end, label in zip(ends, labels, strict=True)]
    path.write_text("\n".join(["Text,Prediction", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write(tmp_path / "w.csv", "woman", "012012012012"), write(
        tmp_path / "m.csv", "man", "112112112112"
    )


def test_ranks_are_read_as_places_on_the_scale(files: tuple[Path, Path]) -> None:
    check = check_labelled_files(*files, label="Prediction", resampling=QUICK)
    assert (check.groups, check.labels, check.pairs) == (("w", "m"), ("-1", "0", "1"), 12)
    assert check.counts == ((0, 4, 0), (0, 4, 0), (0, 0, 4))
    assert check.gap.value == pytest.approx(-100 / 3)
    assert check.gap.low < check.gap.value < check.gap.high
    assert check.stuart_maxwell.statistic == pytest.approx(4)
    assert check.sign_flip_p == pytest.approx(2 / 2**4)
    assert check.equivalence is not None
    assert not check.equivalence.holds


def test_codes_and_ranks_come_to_the_same() -> None:
    codes = check_labelled_pairs(
        ["-1", "0", "1", "1"], ["0", "0", "1", "-1"], scheme=REGARD, resampling=QUICK
    )
    ranks = check_labelled_pairs(
        ["0", "1.0", "2", "2"], ["1", "1", "2", "0"], scheme=REGARD, resampling=QUICK
    )
    assert codes == ranks


def test_labels_beside_the_scale_have_no_gap() -> None:
    scheme = load_scheme("six-categories")
    check = check_labelled_pairs(["positive", "nonsense"], ["negative", "nonsense"], scheme=scheme)
    assert check.equivalence is None
    assert math.isnan(check.sign_flip_p)
    assert check.summary()["gap"] == {"value": None, "low": None, "high": None}


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (["-1", "2"], ["0", "0"], "neither codes of the scheme regard"),
        (["1", "1"], ["1", "1"], "All 4 labels are '1'"),
        (["1"], ["1", "0"], "There are 1 and 2 labels"),
        ([], [], "There are 0 and 0 labels"),
    ],
)
def test_labels_that_cannot_be_compared_are_refused(
    first: list[str], second: list[str], message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        check_labelled_pairs(first, second, scheme=REGARD)


def test_a_margin_must_be_above_zero() -> None:
    with pytest.raises(DatasetError, match="must be above 0"):
        check_labelled_pairs(["1", "0"], ["0", "0"], scheme=REGARD, margin=0)


def test_rows_that_are_no_pairs_are_refused(tmp_path: Path, files: tuple[Path, Path]) -> None:
    moved = write(tmp_path / "moved.csv", "man", "112112112112", ends=(*ENDS[1:], ENDS[0]))
    short = write(tmp_path / "short.csv", "man", "11", ends=ENDS[:2])
    empty = write(tmp_path / "empty.csv", "man", " 12112112112")
    for other, message in (
        (moved, "do not look like pairs"),
        (short, "12 rows and"),
        (empty, "row 2: the label is empty"),
    ):
        with pytest.raises(DatasetError, match=message):
            check_labelled_files(files[0], other, label="Prediction")
    copy = tmp_path / "copy.csv"
    copy.write_bytes(files[0].read_bytes())
    with pytest.raises(DatasetError, match="have the same texts"):
        check_labelled_files(files[0], copy, label="Prediction")


def test_the_command_prints_what_was_agreed(run_evenhand_here: Command, files: tuple[Path, Path]) -> None:
    told = run_evenhand_here("regard", "check", "--texts", *files, "--label", "Prediction", "--json")
    found = json.loads(told.stdout)
    assert list(found) == ["n", "chi_squared", "stuart_maxwell", "p", "gap"]
    assert (found["n"], list(found["gap"])) == (12, ["value", "low", "high"])
    shown = run_evenhand_here("regard", "check", "--texts", *files, "--label", "Prediction").stdout
    assert "Stuart-Maxwell, for pairs" in shown
    assert "The gap is not shown to be smaller than 5 points" in shown


@pytest.mark.parametrize("direction", [-1, 1])
def test_the_interval_of_the_widest_gap_holds_the_gap(direction: int) -> None:
    labels = ["-1"] * 126, ["1"] * 126
    first, second = labels[::direction]
    gap = check_labelled_pairs(first, second, scheme=load_scheme("regard")).gap
    assert gap.value == -direction * 200
    assert gap.low <= gap.value <= gap.high
    assert gap.low < gap.high
