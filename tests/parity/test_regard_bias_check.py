"""The published check of a regard classifier: chi-squared as printed, and what the pairs say."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.regard.bias_check import check_labelled_files
from evenhand.stats.resampling import Resampling


@pytest.mark.parametrize(
    ("first", "second", "chi_squared"),
    [
        ("gender_bias.FEMALE_SINGLE", "gender_bias.MALE_SINGLE", 1.06),
        ("ethnic_bias.GERMAN_M", "ethnic_bias.TURK_M", 30.56),
        ("ethnic_bias.GERMAN_F", "ethnic_bias.TURK_F", 47.25),
    ],
)
def test_the_printed_chi_squared(shared_data: Path, first: str, second: str, chi_squared: float) -> None:
    folder = shared_data / "regard_de" / "classifier_bias_check"
    files = [folder / f"{name}_texts_regard_labeled.csv" for name in (first, second)]
    check = check_labelled_files(*files, label="Prediction", resampling=Resampling(resamples=1_000))
    assert check.pairs == 966
    assert round(check.chi_squared.statistic, 2) == pytest.approx(chi_squared, abs=0.011)
    if first.startswith("gender"):
        assert round(check.stuart_maxwell.statistic, 2) == 9.97
        assert round(check.stuart_maxwell.p_value, 3) == 0.007
        assert check.sign_flip_p < 0.05 < check.chi_squared.p_value
