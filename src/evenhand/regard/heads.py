"""Heads: from features to probabilities of classes.

Every head takes the same targets: for each row and class a weight. Hard labels have one weight per row, soft labels
share it out by votes, class weights multiply it. So they mean the same for every head, in folds and in the final
training. Another package adds a head with an entry point of the group ``evenhand.regard_heads``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.core.registry import Registry, lacks
from evenhand.regard.features import ComponentState, FittedFeatures, GivesMatrix, Matrix, TextRows
from evenhand.stats.classification import Integers
from evenhand.stats.resampling import Floats


@dataclass(frozen=True, slots=True, eq=False)
class HeadData:
    """What a head is fitted on: inputs as it takes them, and the weight of each class for each row."""

    inputs: Any
    targets: Floats


class FittedHead(Protocol):
    """A head that was trained."""

    def probabilities(self, inputs: Any) -> Floats:
        """One row per text and one column per class; rows add up to 1."""
        ...

    def state(self) -> ComponentState:
        """All that is needed to restore it."""
        ...


class Head(Protocol):
    """An entry of the registry."""

    summary: str
    needs: type
    """What features must give: ``GivesMatrix``, ``GivesSequences`` or ``GivesTokens``."""
    settings_type: type
    """A frozen dataclass."""
    stops_early: bool
    """Whether rows are held back from training, by which it is chosen when to stop."""

    def candidates(self) -> Sequence[Any]:
        """Settings that folds choose among unless more are asked for."""
        ...

    def suggest(self, trial: Any) -> Any:
        """Settings that Optuna's trial proposes."""
        ...

    def inputs(self, features: Any, rows: TextRows) -> Any:
        """What it takes of features."""
        ...

    def fit(
        self,
        data: HeadData,
        *,
        held_back: HeadData | None,
        features: FittedFeatures,
        settings: Any,
        seed: int,
        device: str,
    ) -> FittedHead:
        """A new head, trained on a device (cpu, cuda or auto); nothing is kept from one call to another."""
        ...

    def restore(self, state: ComponentState, features: FittedFeatures, *, device: str) -> FittedHead:
        """A trained head from a classifier's folder, on a device."""
        ...


HEADS: Registry[Head] = Registry(
    "classifier",
    "evenhand.regard_heads",
    order=("logistic", "boosted-trees", "dense", "gru", "fine-tune"),
    check=lambda entry: lacks(
        entry,
        "summary",
        "needs",
        "settings_type",
        "stops_early",
        "candidates",
        "suggest",
        "inputs",
        "fit",
        "restore",
    ),
)


def refuse_unfit_features(head: str, features: Any, *, name: str) -> None:
    """Refuse features that do not give what a head needs.

    Args:
        head: A name of ``HEADS``.
        features: Fitted features.
        name: What they are called.
    """
    needs = HEADS.get(head).needs
    if isinstance(features, needs):
        return
    suited = {"GivesMatrix": "tfidf, embeddings:FILE, vectors:FILE or sentence:MODEL"}
    suited |= {"GivesSequences": "vectors:FILE", "GivesTokens": "encoder:MODEL"}
    raise EvenhandError(
        f"The classifier {head!r} cannot use the features {name!r}. Choose --features "
        f"{suited.get(needs.__name__, needs.__name__)}, or another --classifier."
    )


def by_class(targets: Floats) -> tuple[Integers, Integers, Floats]:
    """Rows, classes and weights of all targets above 0: how libraries with one class per row are given shared votes."""
    rows, classes = np.nonzero(targets)
    if len(np.unique(classes)) < 2:
        raise DatasetError(
            "There is only one class among the rows to train on. Give texts of at least two classes, or fewer folds."
        )
    return rows.astype(np.int64), classes.astype(np.int64), targets[rows, classes]


STANDARDISED = "standardised where dense"
"""Columns of a dense matrix have mean 0 and standard deviation 1 among the training rows; a sparse one stays sparse."""
AS_GIVEN = "as given"
"""Columns stay as features give them."""


@dataclass(frozen=True, slots=True)
class LogisticSettings:
    """C is the inverse of the strength of regularisation; columns are standardised, or taken as they are."""

    C: float = 1.0
    columns: str = STANDARDISED


class LogisticHead:
    """Multinomial logistic regression. The penalty is the same for every column, so their scales matter."""

    summary = "logistic regression; C is chosen by folds"
    needs = GivesMatrix
    settings_type = LogisticSettings
    stops_early = False

    def candidates(self) -> Sequence[LogisticSettings]:
        """Half powers of ten, with standardised columns."""
        return [LogisticSettings(float(c)) for c in np.logspace(-4, 1, 11)]

    def suggest(self, trial: Any) -> LogisticSettings:
        """C on a logarithmic scale, and whether columns are standardised."""
        return LogisticSettings(
            trial.suggest_float("C", 1e-4, 1e2, log=True),
            trial.suggest_categorical("columns", (STANDARDISED, AS_GIVEN)),
        )

    def inputs(self, features: GivesMatrix, rows: TextRows) -> Matrix:
        """A matrix."""
        return features.matrix(rows)

    def fit(
        self,
        data: HeadData,
        *,
        held_back: HeadData | None = None,  # noqa: ARG002 # it has no epochs
        features: FittedFeatures | None = None,  # noqa: ARG002
        settings: LogisticSettings,
        seed: int = 0,  # noqa: ARG002 # the optimum does not depend on chance
        device: str = "cpu",  # noqa: ARG002
    ) -> LinearHead:
        """The optimum of the penalised likelihood."""
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits

        rows, classes, weights = by_class(data.targets)
        centre, scale = column_scales(data.inputs, settings.columns)
        inputs: Any = data.inputs if sparse.issparse(data.inputs) else (data.inputs - centre) / scale
        model = LogisticRegression(C=settings.C, max_iter=2_000)
        # The steps are small: several threads would wait for one another, and sums would have no fixed order.
        with threadpool_limits(1):
            model.fit(inputs[rows], classes, sample_weight=weights)
        coefficients, intercepts = model.coef_, model.intercept_
        if len(model.classes_) == 2:
            coefficients = np.vstack([np.zeros_like(coefficients), coefficients])
            intercepts = np.concatenate([[0.0], intercepts])
        count = data.targets.shape[1]
        # A class that is not among the rows is never predicted.
        full, shifts = np.zeros((count, coefficients.shape[1])), np.full(count, -np.inf)
        full[model.classes_] = coefficients / scale
        shifts[model.classes_] = intercepts - (coefficients / scale) @ centre
        return LinearHead(full, shifts)

    def restore(
        self,
        state: ComponentState,
        _features: FittedFeatures,
        *,
        device: str = "cpu",  # noqa: ARG002
    ) -> LinearHead:
        """From coefficients."""
        return LinearHead(state.arrays["coefficients"], state.arrays["intercepts"])


def column_scales(inputs: Matrix, columns: str = STANDARDISED) -> tuple[Floats, Floats]:
    """What each column is centred and divided by; a sparse matrix stays as it is, or it would not be sparse."""
    if sparse.issparse(inputs) or columns == AS_GIVEN:
        return np.zeros(inputs.shape[1]), np.ones(inputs.shape[1])
    scale = inputs.std(axis=0)
    return inputs.mean(axis=0), np.where(scale > 0, scale, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class LinearHead:
    """Coefficients and intercepts of every class, for inputs as they come."""

    coefficients: Floats
    intercepts: Floats

    def probabilities(self, inputs: Matrix) -> Floats:
        """The softmax of linear scores."""
        scores: Floats = special.softmax(inputs @ self.coefficients.T + self.intercepts, axis=1)
        return scores

    def state(self) -> ComponentState:
        """Two arrays."""
        return ComponentState(arrays={"coefficients": self.coefficients, "intercepts": self.intercepts})


@dataclass(frozen=True, slots=True)
class BoostedTreesSettings:
    """What XGBoost calls n_estimators, max_depth, eta, subsample, colsample_bytree, min_child_weight and lambda."""

    trees: int = 400
    depth: int = 4
    learning_rate: float = 0.1
    rows: float = 0.8
    columns: float = 0.5
    smallest_leaf: float = 1.0
    penalty: float = 1.0


class BoostedTreesHead:
    """Gradient boosted trees of XGBoost, stopped where the rows that are held back get no better."""

    summary = "gradient boosted trees (XGBoost)"
    needs = GivesMatrix
    settings_type = BoostedTreesSettings
    stops_early = True
    patience = 40

    def candidates(self) -> Sequence[BoostedTreesSettings]:
        """The defaults."""
        return [BoostedTreesSettings()]

    def suggest(self, trial: Any) -> BoostedTreesSettings:
        """Around what was published for sentences like these."""
        return BoostedTreesSettings(
            trees=trial.suggest_int("trees", 50, 800, step=50),
            depth=trial.suggest_int("depth", 2, 8),
            learning_rate=trial.suggest_float("learning_rate", 0.01, 0.5, log=True),
            rows=trial.suggest_float("rows", 0.5, 1.0),
            columns=trial.suggest_float("columns", 0.1, 1.0),
            smallest_leaf=trial.suggest_float("smallest_leaf", 0.5, 10.0, log=True),
            penalty=trial.suggest_float("penalty", 0.1, 10.0, log=True),
        )

    def inputs(self, features: GivesMatrix, rows: TextRows) -> Matrix:
        """A matrix."""
        return features.matrix(rows)

    def fit(
        self,
        data: HeadData,
        *,
        held_back: HeadData | None = None,
        features: FittedFeatures | None = None,  # noqa: ARG002
        settings: BoostedTreesSettings,
        seed: int = 0,
        device: str = "cpu",  # noqa: ARG002 # trees of a thousand texts are quicker on a processor
    ) -> BoostedTrees:
        """The trees up to the best round."""
        import xgboost

        count = data.targets.shape[1]
        parameters = {
            "objective": "multi:softprob",
            "num_class": count,
            "max_depth": settings.depth,
            "eta": settings.learning_rate,
            "subsample": settings.rows,
            "colsample_bytree": settings.columns,
            "min_child_weight": settings.smallest_leaf,
            "lambda": settings.penalty,
            "tree_method": "hist",
            "seed": seed,
            "verbosity": 0,
        }
        watched = [(_tree_data(held_back), "validation")] if held_back is not None else []
        booster = xgboost.train(
            parameters,
            _tree_data(data),
            num_boost_round=settings.trees,
            evals=watched,
            early_stopping_rounds=self.patience if watched else None,
            verbose_eval=False,
        )
        best = booster.best_iteration + 1 if watched else settings.trees
        return BoostedTrees(booster[:best], count)

    def restore(
        self,
        state: ComponentState,
        _features: FittedFeatures,
        *,
        device: str = "cpu",  # noqa: ARG002
    ) -> BoostedTrees:
        """From XGBoost's JSON."""
        import xgboost

        booster = xgboost.Booster()
        booster.load_model(bytearray(state.files["trees.json"]))
        return BoostedTrees(booster, int(state.settings["classes"]))


def _tree_data(data: HeadData) -> Any:
    import xgboost

    rows, classes, weights = by_class(data.targets)
    return xgboost.DMatrix(_for_trees(data.inputs)[rows], label=classes, weight=weights)


def _for_trees(inputs: Matrix) -> Any:
    return inputs.astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """Trees, and how many classes they tell apart."""

    booster: Any
    classes: int

    def probabilities(self, inputs: Matrix) -> Floats:
        """As the trees say."""
        import xgboost

        values: npt.NDArray[Any] = self.booster.predict(xgboost.DMatrix(_for_trees(inputs)))
        table: Floats = values.reshape(-1, self.classes).astype(np.float64)
        shares: Floats = table / table.sum(axis=1, keepdims=True)
        return shares

    def state(self) -> ComponentState:
        """XGBoost's own JSON."""
        content = bytes(self.booster.save_raw(raw_format="json"))
        json.loads(content)  # never anything but JSON
        return ComponentState(settings={"classes": self.classes}, files={"trees.json": content})


def plain_settings(settings: Any) -> dict[str, Any]:
    """Settings as a record holds them."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()
    }


LOGISTIC = LogisticHead()
BOOSTED_TREES = BoostedTreesHead()
