"""The published generated texts: every printed figure of the three arms, from the files as they stand."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evenhand.cli.regard_evaluation import regard_json
from evenhand.data.group_text_files import GroupTextColumns, read_group_texts
from evenhand.data.group_texts import GroupTexts
from evenhand.instruments.regard.analysis import RegardAnalysisOptions, analyse_regard
from evenhand.instruments.regard.results import RegardResult
from evenhand.stats.resampling import Resampling

ARMS = ("not_triggered", "aschenkeller", "vitamin")
CONTEXTS = ("all", "occupation", "respect")
COLUMNS = GroupTextColumns(text="Text", label="Prediction", context_flag="OCC context")

CHI_SQUARED = {
    "not_triggered": (9.06, 1.04, 19.10),
    "aschenkeller": (0.79, 0.52, 1.37),
    "vitamin": (5.96, 1.09, 12.57),
}
"""As printed, but for respect without a trigger, which is printed as 20.72."""

PRINTED_RESPECT = 20.72


def files(shared_data: Path, arm: str) -> list[Path]:
    return [
        shared_data / "regard_de" / "generated" / arm / f"{group}_SINGLE_texts_regard_qualbias_labeled.csv"
        for group in ("FEMALE", "MALE")
    ]


def read(shared_data: Path, arm: str) -> GroupTexts:
    return read_group_texts(files(shared_data, arm), columns=COLUMNS)


def analysed(shared_data: Path, arm: str) -> RegardResult:
    return analyse_regard(
        read(shared_data, arm), RegardAnalysisOptions(resampling=Resampling(resamples=1_024))
    )


def plain_rows(shared_data: Path, arm: str) -> list[tuple[int, str, bool, int]]:
    """Group, text, flag and label of every row, with nothing of the package."""
    rows = []
    for group, path in enumerate(files(shared_data, arm)):
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                rows.append(
                    (group, row["Text"].strip(), row["OCC context"] == "True", int(float(row["Prediction"])))
                )
    return rows


@pytest.mark.parametrize("arm", ARMS)
def test_printed_chi_squared_to_the_second_decimal(shared_data: Path, arm: str) -> None:
    found = regard_json(analysed(shared_data, arm))["contexts"]
    assert set(found) == set(CONTEXTS)
    assert tuple(round(found[name]["chi_squared"], 2) for name in CONTEXTS) == CHI_SQUARED[arm]


def test_one_printed_figure_differs_from_what_the_files_give(shared_data: Path) -> None:
    found = analysed(shared_data, "not_triggered").by_kind["respect"].chi_squared
    assert found == pytest.approx(19.10, abs=0.005)
    assert abs(found - PRINTED_RESPECT) > 1.6


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("name", CONTEXTS)
def test_counts_shares_and_tests_are_those_of_the_plain_files(shared_data: Path, arm: str, name: str) -> None:
    rows = [row for row in plain_rows(shared_data, arm) if name == "all" or row[2] == (name == "occupation")]
    counts = np.zeros((2, 3))
    for group, _, _, label in rows:
        counts[group, label] += 1
    expected = stats.chi2_contingency(counts, correction=False)
    found = regard_json(analysed(shared_data, arm))["contexts"][name]
    assert found["n"] == len(rows)
    assert found["chi_squared"] == pytest.approx(expected.statistic)
    assert found["p"] == pytest.approx(expected.pvalue)
    assert found["cramers_v"] == pytest.approx(np.sqrt(expected.statistic / len(rows)))
    for called, own in zip(("FEMALE", "MALE"), counts, strict=True):
        assert list(found["shares"][called].values()) == pytest.approx(list(100 * own / own.sum()))


def test_sizes_shares_and_cramers_v_without_a_trigger(shared_data: Path) -> None:
    found = regard_json(analysed(shared_data, "not_triggered"))["contexts"]["all"]
    assert found["n"] == 2_189
    assert round(found["p"], 3) == 0.011
    assert round(found["cramers_v"], 3) == 0.064
    shares = {group: [round(value, 1) for value in own.values()] for group, own in found["shares"].items()}
    assert shares == {"FEMALE": [27.8, 47.7, 24.5], "MALE": [29.5, 51.3, 19.1]}


def test_exact_sign_flips_over_contexts(shared_data: Path) -> None:
    found = regard_json(analysed(shared_data, "not_triggered"))["contexts"]
    assert round(found["all"]["p_clustered"], 2) == 0.27
    assert round(found["respect"]["p_clustered"], 2) == 0.19
    assert found["all"]["p_clustered"] == slow_sign_flips(plain_rows(shared_data, "not_triggered"))


def slow_sign_flips(rows: list[tuple[int, str, bool, int]]) -> float:
    """Over the ten beginnings of texts, each pattern of signs in turn."""
    cells: dict[str, tuple[list[int], list[int]]] = {}
    for group, text, _, label in rows:
        beginning = " ".join(text.replace("Die Frau", "").replace("Der Mann", "").split()[:2])
        cells.setdefault(beginning, ([], []))[group].append(label)
    assert len(cells) == 10
    differences = [float(np.mean(first)) - float(np.mean(second)) for first, second in cells.values()]
    observed = abs(sum(differences)) - 1e-12
    patterns = list(product((1, -1), repeat=len(differences)))
    extreme = sum(
        abs(sum(sign * own for sign, own in zip(signs, differences, strict=True))) >= observed
        for signs in patterns
    )
    return extreme / len(patterns)


def test_contexts_are_found_in_every_text_and_agree_with_the_flag(shared_data: Path) -> None:
    for arm in ARMS:
        flagged = read(shared_data, arm)
        found = read_group_texts(
            files(shared_data, arm), columns=GroupTextColumns(text="Text", label="Prediction")
        )
        assert not found.left_out
        assert found.language == "de"
        assert [own.kind for own in found] == [own.kind for own in flagged]
        assert len({own.context for own in found}) == 10
