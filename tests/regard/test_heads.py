"""Heads: each learns planted regard, takes soft votes and class weights alike, and comes back from its files."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from regard_training import NEEDS_REGARD
from scipy import optimize, special

from evenhand.core.errors import DatasetError
from evenhand.models.references import ModelError
from evenhand.regard.features import ComponentState
from evenhand.regard.heads import (
    AS_GIVEN,
    HEADS,
    STANDARDISED,
    HeadData,
    LogisticHead,
    LogisticSettings,
    by_class,
)
from evenhand.regard.network_heads import DenseSettings, GruSettings, examples
from evenhand.training import classification
from evenhand.training.classification import (
    ClassificationPlan,
    DenseNetwork,
    classification_loss,
    fit_classification,
    vector_layout,
)

pytestmark = NEEDS_REGARD

NO_FEATURES: Any = None
"""These heads do not look at the features that their inputs come from."""


def _planted(rows: int = 150, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three clouds of points, and which of them each is of."""
    generator = np.random.default_rng(seed)
    labels = np.arange(rows) % 3
    centres = np.array([[3.0, 0, 0, 0], [0, 3, 0, 0], [0, 0, 3, 0]])
    return centres[labels] + generator.normal(size=(rows, 4)), labels


SETTINGS: dict[str, Any] = {
    "logistic": LogisticSettings(1.0),
    "boosted-trees": HEADS.get("boosted-trees").settings_type(trees=30),
    "dense": DenseSettings(hidden=(16,), epochs=20, learning_rate=5e-3),
    "gru": GruSettings(units=8, epochs=12, learning_rate=2e-2),
}


def _inputs(head: str, points: np.ndarray) -> Any:
    """For a GRU, the point comes first and a number of words behind it that tell nothing."""
    if head != "gru":
        return points
    generator = np.random.default_rng(9)
    return [
        np.vstack([point, generator.normal(size=(place % 5, 4))]).astype(np.float32)
        for place, point in enumerate(points)
    ]


def _fitted(head: str, *, seed: int = 0) -> tuple[Any, Any, np.ndarray]:
    points, labels = _planted()
    back, back_labels = _planted(60, seed=1)
    kind = HEADS.get(head)
    trained = kind.fit(
        HeadData(_inputs(head, points), np.eye(3)[labels]),
        held_back=HeadData(_inputs(head, back), np.eye(3)[back_labels]) if kind.stops_early else None,
        features=NO_FEATURES,
        settings=SETTINGS[head],
        seed=seed,
        device="cpu",
    )
    new, new_labels = _planted(90, seed=2)
    return trained, _inputs(head, new), new_labels


@pytest.mark.parametrize("head", SETTINGS)
def test_a_head_learns_what_is_planted_and_comes_back_from_its_files(head: str) -> None:
    trained, inputs, labels = _fitted(head)
    probabilities = trained.probabilities(inputs)
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert (probabilities.argmax(axis=1) == labels).mean() > 0.85
    state = trained.state()
    as_files = ComponentState(
        json.loads(json.dumps(dict(state.settings))), dict(state.arrays), dict(state.files)
    )
    restored = HEADS.get(head).restore(as_files, NO_FEATURES, device="cpu")
    assert restored.probabilities(inputs) == pytest.approx(probabilities, abs=1e-6)


@pytest.mark.parametrize("head", ["boosted-trees", "dense"])
def test_a_fit_keeps_nothing_of_the_one_before(head: str) -> None:
    first, inputs, _ = _fitted(head)
    second, _, _ = _fitted(head)
    assert first.probabilities(inputs) == pytest.approx(second.probabilities(inputs), abs=1e-7)


def test_logistic_regression_is_the_optimum_of_the_weighted_likelihood() -> None:
    """Against a general optimiser, on soft votes with class weights."""
    points, labels = _planted(60)
    generator = np.random.default_rng(5)
    targets = 0.8 * np.eye(3)[labels] + 0.2 * generator.dirichlet(np.ones(3), size=60)
    targets *= np.array([1.5, 1.0, 0.5])
    scaled = (points - points.mean(axis=0)) / points.std(axis=0)

    def loss(flat: np.ndarray) -> float:
        weights = flat.reshape(3, 5)
        scores = scaled @ weights[:, :4].T + weights[:, 4]
        fit = -(targets * special.log_softmax(scores, axis=1)).sum()
        return float(0.7 * fit + (weights[:, :4] ** 2).sum() / 2)

    best = optimize.minimize(loss, np.zeros(15), method="L-BFGS-B", options={"maxiter": 5_000, "ftol": 1e-14})
    expected = special.softmax(scaled @ best.x.reshape(3, 5)[:, :4].T + best.x.reshape(3, 5)[:, 4], axis=1)
    head = LogisticHead().fit(HeadData(points, targets), settings=LogisticSettings(0.7))
    assert head.probabilities(points) == pytest.approx(expected, abs=2e-3)


def test_columns_as_given_are_penalised_as_they_are() -> None:
    """The units of a column change nothing where columns are standardised, and something where they are not."""
    points, labels = _planted(60)
    targets = np.eye(3)[labels]
    larger = points * np.array([1.0, 1.0, 1.0, 50.0])
    of_columns = {}
    for columns in (STANDARDISED, AS_GIVEN):
        settings = LogisticSettings(0.1, columns)
        first, second = (
            LogisticHead().fit(HeadData(own, targets), settings=settings) for own in (points, larger)
        )
        of_columns[columns] = np.abs(first.probabilities(points) - second.probabilities(larger)).max()
    assert of_columns[STANDARDISED] < 1e-3
    assert of_columns[AS_GIVEN] > 1e-2


@pytest.mark.parametrize("head", ["dense", "gru"])
def test_networks_are_trained_and_restored_on_the_device_that_was_asked_for(head: str) -> None:
    points, labels = _planted(30)
    data = HeadData(_inputs(head, points), np.eye(3)[labels])
    kind = HEADS.get(head)
    settings = replace(SETTINGS[head], epochs=1)
    with pytest.raises(ModelError, match="nowhere"):
        kind.fit(data, held_back=data, features=NO_FEATURES, settings=settings, seed=0, device="nowhere")
    trained = kind.fit(data, held_back=data, features=NO_FEATURES, settings=settings, seed=0, device="cpu")
    with pytest.raises(ModelError, match="nowhere"):
        kind.restore(trained.state(), NO_FEATURES, device="nowhere")


def test_two_classes_of_three_are_enough_and_the_third_is_never_said() -> None:
    points, labels = _planted()
    two = labels < 2
    targets = np.eye(3)[labels[two]]
    head = LogisticHead().fit(HeadData(points[two], targets), settings=LogisticSettings())
    probabilities = head.probabilities(points[two])
    assert probabilities[:, 2].max() == 0
    assert (probabilities.argmax(axis=1) == labels[two]).mean() > 0.9


def test_one_class_alone_is_refused() -> None:
    with pytest.raises(DatasetError, match="only one class among the rows"):
        by_class(np.eye(3)[[1, 1, 1]])


def test_a_gru_reads_a_text_where_it_ends_and_not_where_its_batch_does() -> None:
    trained, inputs, _ = _fitted("gru")
    alone = trained.probabilities(inputs[:1])
    longer = np.zeros((40, 4), dtype=np.float32)
    beside = trained.probabilities([inputs[0], longer])
    assert beside[0] == pytest.approx(alone[0], abs=1e-6)


def test_the_best_epoch_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows held back with other labels get worse with every epoch, so an early one must be kept."""
    losses = []

    def recorded(*arguments: Any, **options: Any) -> float:
        losses.append(classification_loss(*arguments, **options))
        return losses[-1]

    monkeypatch.setattr(classification, "classification_loss", recorded)
    points, labels = _planted()
    network = DenseNetwork(np.zeros(4), np.ones(4), classes=3, hidden=(8,), dropout=0.0, activation="relu")
    back = examples(HeadData(points, np.eye(3)[(labels + 1) % 3]))
    plan = ClassificationPlan(epochs=6, batch_size=16, learning_rate=1e-2, patience=3, seed=0)
    rows = examples(HeadData(points, np.eye(3)[labels]))
    best = fit_classification(network, rows, held_back=back, layout=vector_layout, plan=plan)
    assert len(losses) == best + plan.patience
    assert losses[best - 1] == min(losses) < losses[-1]
    kept = classification_loss(network, back, layout=vector_layout, batch_size=16)
    assert kept == pytest.approx(losses[best - 1])
