"""A small classifier of regard that tests share."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from evenhand.api.regard import RegardTrainingOptions, train_regard_classifier
from evenhand.lab.regard import PlantedRegard, plant_texts
from evenhand.regard.classifier import RegardClassifier, open_classifier
from evenhand.regard.texts import RegardTexts
from evenhand.stats.resampling import Resampling

NEEDS_REGARD = pytest.mark.skipif(find_spec("sklearn") is None, reason="the extra regard is not installed")

SMALL = RegardTrainingOptions(folds=3, size_seeds=2, resampling=Resampling(resamples=200))


@pytest.fixture(scope="session")
def planted() -> RegardTexts:
    """Texts of the lab whose annotators are wrong in one case of ten."""
    return plant_texts(PlantedRegard(texts=180, authors=18, error=0.1, seed=7)).texts


@pytest.fixture(scope="session")
def trained_folder(planted: RegardTexts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a classifier; tests that change it copy it first."""
    folder = tmp_path_factory.mktemp("regard") / "lab-classifier"
    train_regard_classifier(planted, SMALL, out=folder)
    return folder


@pytest.fixture(scope="session")
def trained(trained_folder: Path) -> RegardClassifier:
    """The classifier in it."""
    return open_classifier(trained_folder)
