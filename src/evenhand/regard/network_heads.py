"""Heads that are trained by gradients: dense layers, a GRU over word vectors, and an encoder that learns on.

torch is imported when one of them is fitted or restored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.regard.features import (
    ComponentState,
    FittedFeatures,
    GivesMatrix,
    GivesSequences,
    GivesTokens,
    Matrix,
    TextRows,
)
from evenhand.regard.heads import HeadData, column_scales, plain_settings
from evenhand.stats.resampling import Floats

LONGEST_TEXT = 256
"""Words or tokens of a text that a network reads; what comes after them is cut."""

_LABELLED_TOGETHER = 256


class NetworkHead:
    """A network, and how inputs are laid out for it."""

    def __init__(
        self,
        network: Any,
        layout: Callable[[Any], Any],
        *,
        settings: Mapping[str, Any],
        files: Mapping[str, bytes],
    ) -> None:
        self.network = network
        self._layout = layout
        self._settings = settings
        self._files = files

    def probabilities(self, inputs: Any) -> Floats:
        """One row per text."""
        from evenhand.training.classification import class_probabilities

        rows = examples(HeadData(inputs, np.zeros((count_rows(inputs), 1))))
        return class_probabilities(self.network, rows, layout=self._layout, batch_size=_LABELLED_TOGETHER)

    def state(self) -> ComponentState:
        """Weights by name."""
        arrays = {
            name: tensor.detach().cpu().contiguous().numpy()
            for name, tensor in self.network.state_dict().items()
        }
        return ComponentState(settings=self._settings, arrays=arrays, files=self._files)


def count_rows(inputs: Any) -> int:
    """How many texts inputs are of."""
    return int(inputs.shape[0]) if hasattr(inputs, "shape") else len(inputs)


def examples(data: HeadData) -> list[Any]:
    """Inputs and targets, text by text."""
    from evenhand.training.classification import ClassificationExample

    inputs: Any = data.inputs
    targets = data.targets.astype(np.float32)
    if hasattr(inputs, "shape"):
        rows = [inputs[[place]] for place in range(inputs.shape[0])]
        return [ClassificationExample(row, target) for row, target in zip(rows, targets, strict=True)]
    return [
        ClassificationExample(own, target, length=len(own))
        for own, target in zip(inputs, targets, strict=True)
    ]


def _loaded(network: Any, arrays: Mapping[str, npt.NDArray[Any]], *, device: str) -> Any:
    import torch

    from evenhand.models.loading import choose_device

    network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})
    return network.to(choose_device(device)).eval()


def _train(
    network: Any,
    data: HeadData,
    held_back: HeadData | None,
    *,
    layout: Callable[[Any], Any],
    settings: Any,
    seed: int,
    device: str,
) -> None:
    from evenhand.training.classification import ClassificationPlan, fit_classification

    fit_classification(
        network,
        examples(data),
        held_back=examples(data if held_back is None else held_back),
        layout=layout,
        plan=ClassificationPlan(
            epochs=settings.epochs,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            patience=settings.patience,
            seed=seed,
            device=device,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Architecture:
    """A network over vectors whose columns are standardised, and which of its head's settings shape it."""

    network: type
    layout: Callable[[Any], Any]
    shape: tuple[str, ...]

    def fit(
        self,
        data: HeadData,
        held_back: HeadData | None,
        *,
        vectors: Matrix,
        settings: Any,
        seed: int,
        device: str,
    ) -> NetworkHead:
        """A new network, trained. Its first weights come from the seed, whatever was drawn before."""
        import torch

        kept = {"classes": data.targets.shape[1], **plain_settings(settings)}
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network = self._new(kept, *column_scales(vectors))
        _train(network, data, held_back, layout=self.layout, settings=settings, seed=seed, device=device)
        return NetworkHead(network, self.layout, settings=kept, files={})

    def restore(self, state: ComponentState, *, device: str) -> NetworkHead:
        """From weights."""
        network = self._new(state.settings, state.arrays["centre"], state.arrays["scale"])
        loaded = _loaded(network, state.arrays, device=device)
        return NetworkHead(loaded, self.layout, settings=state.settings, files={})

    def _new(self, kept: Mapping[str, Any], centre: npt.NDArray[Any], scale: npt.NDArray[Any]) -> Any:
        return self.network(centre, scale, **{name: kept[name] for name in ("classes", *self.shape)})


@dataclass(frozen=True, slots=True)
class DenseSettings:
    """Layers, and how they are trained."""

    hidden: tuple[int, ...] = (128,)
    dropout: float = 0.3
    activation: str = "relu"
    learning_rate: float = 5e-4
    batch_size: int = 32
    epochs: int = 60
    patience: int = 8


class DenseHead:
    """Dense layers over one vector per text."""

    summary = "dense layers"
    needs = GivesMatrix
    settings_type = DenseSettings
    stops_early = True

    def candidates(self) -> Sequence[DenseSettings]:
        """The defaults."""
        return [DenseSettings()]

    def suggest(self, trial: Any) -> DenseSettings:
        """One or two layers."""
        layers = trial.suggest_int("layers", 1, 2)
        return DenseSettings(
            hidden=tuple(
                trial.suggest_categorical(f"width_{layer}", (64, 128, 256, 512)) for layer in range(layers)
            ),
            dropout=trial.suggest_float("dropout", 0.0, 0.5),
            activation=trial.suggest_categorical("activation", ("relu", "tanh")),
            learning_rate=trial.suggest_float("learning_rate", 1e-5, 5e-3, log=True),
        )

    def inputs(self, features: GivesMatrix, rows: TextRows) -> Matrix:
        """A matrix."""
        return features.matrix(rows)

    def fit(
        self,
        data: HeadData,
        *,
        held_back: HeadData | None,
        features: FittedFeatures | None = None,  # noqa: ARG002
        settings: DenseSettings,
        seed: int = 0,
        device: str = "auto",
    ) -> NetworkHead:
        """New layers, trained."""
        return self._architecture().fit(
            data, held_back, vectors=data.inputs, settings=settings, seed=seed, device=device
        )

    def restore(
        self, state: ComponentState, _features: FittedFeatures, *, device: str = "auto"
    ) -> NetworkHead:
        """From weights."""
        return self._architecture().restore(state, device=device)

    def _architecture(self) -> _Architecture:
        from evenhand.training.classification import DenseNetwork, vector_layout

        return _Architecture(DenseNetwork, vector_layout, ("hidden", "dropout", "activation"))


@dataclass(frozen=True, slots=True)
class GruSettings:
    """Layers of a GRU, and how they are trained."""

    units: int = 128
    layers: int = 1
    directions: int = 2
    dropout: float = 0.3
    learning_rate: float = 1e-3
    batch_size: int = 32
    epochs: int = 40
    patience: int = 6


class GruHead:
    """A GRU over word vectors."""

    summary = "a GRU over word vectors"
    needs = GivesSequences
    settings_type = GruSettings
    stops_early = True

    def candidates(self) -> Sequence[GruSettings]:
        """The defaults."""
        return [GruSettings()]

    def suggest(self, trial: Any) -> GruSettings:
        """Up to four layers, as published."""
        return GruSettings(
            units=trial.suggest_categorical("units", (64, 128, 256)),
            layers=trial.suggest_int("layers", 1, 4),
            directions=trial.suggest_int("directions", 1, 2),
            dropout=trial.suggest_float("dropout", 0.0, 0.5),
            learning_rate=trial.suggest_float("learning_rate", 1e-4, 5e-3, log=True),
        )

    def inputs(self, features: GivesSequences, rows: TextRows) -> list[npt.NDArray[np.float32]]:
        """One array per text, cut where it is very long."""
        return [words[:LONGEST_TEXT] for words in features.sequences(rows)]

    def fit(
        self,
        data: HeadData,
        *,
        held_back: HeadData | None,
        features: FittedFeatures | None = None,  # noqa: ARG002
        settings: GruSettings,
        seed: int = 0,
        device: str = "auto",
    ) -> NetworkHead:
        """A new GRU, trained."""
        words = np.concatenate(data.inputs)
        return self._architecture().fit(
            data, held_back, vectors=words, settings=settings, seed=seed, device=device
        )

    def restore(
        self, state: ComponentState, _features: FittedFeatures, *, device: str = "auto"
    ) -> NetworkHead:
        """From weights."""
        return self._architecture().restore(state, device=device)

    def _architecture(self) -> _Architecture:
        from evenhand.training.classification import GruNetwork, word_layout

        return _Architecture(GruNetwork, word_layout, ("units", "layers", "directions", "dropout"))


@dataclass(frozen=True, slots=True)
class FineTuneSettings:
    """How an encoder learns on."""

    learning_rate: float = 5e-5
    batch_size: int = 16
    epochs: int = 6
    patience: int = 2


class FineTuneHead:
    """An encoder with a new head, all of whose weights are trained."""

    summary = "an encoder that is trained further"
    needs = GivesTokens
    settings_type = FineTuneSettings
    stops_early = True

    def candidates(self) -> Sequence[FineTuneSettings]:
        """The defaults."""
        return [FineTuneSettings()]

    def suggest(self, trial: Any) -> FineTuneSettings:
        """Rates and sizes that are usual for encoders."""
        return FineTuneSettings(
            learning_rate=trial.suggest_float("learning_rate", 1e-5, 2e-4, log=True),
            batch_size=trial.suggest_categorical("batch_size", (8, 16, 32)),
            epochs=trial.suggest_int("epochs", 2, 10),
        )

    def inputs(self, features: GivesTokens, rows: TextRows) -> list[list[int]]:
        """Tokens, cut where the encoder takes no more."""
        return features.tokens(rows)

    def fit(
        self,
        data: HeadData,
        *,
        held_back: HeadData | None,
        features: Any,
        settings: FineTuneSettings,
        seed: int = 0,
        device: str = "auto",
    ) -> NetworkHead:
        """A classifier from the encoder as it was loaded."""
        from evenhand.training.classification import new_classifier, token_layout

        network = new_classifier(features.model, data.targets.shape[1], seed=seed)
        layout = token_layout(int(network.config.pad_token_id))
        _train(network, data, held_back, layout=layout, settings=settings, seed=seed, device=device)
        config = network.config.to_json_string(use_diff=False).encode()
        return NetworkHead(network, layout, settings={}, files={"encoder.json": config})

    def restore(
        self, state: ComponentState, _features: FittedFeatures, *, device: str = "auto"
    ) -> NetworkHead:
        """From the encoder's configuration and weights."""
        import json

        from transformers import AutoConfig, AutoModelForSequenceClassification

        from evenhand.training.classification import token_layout

        config = AutoConfig.for_model(**json.loads(state.files["encoder.json"]))
        network = _loaded(AutoModelForSequenceClassification.from_config(config), state.arrays, device=device)
        return NetworkHead(
            network, token_layout(int(config.pad_token_id)), settings={}, files=dict(state.files)
        )


DENSE = DenseHead()
GRU = GruHead()
FINE_TUNE = FineTuneHead()
