"""Two mitigations that differ in anything that decides on the weights are not taken for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import certificates
import pytest
from small_corpus import PROBES

from evenhand.core.experiments import Experiment
from evenhand.core.recipes import Recipe
from evenhand.mitigation import mitigate
from evenhand.mitigation.counterfactual import CounterfactualOptions
from evenhand.mitigation.mitigation import MitigationData, Setting
from evenhand.mitigation.texts import SentenceList
from evenhand.mitigation.training_mitigation import PreparedObjective, TrainingMitigation

CORPUS, HELD_OUT, OTHER = (SentenceList(text, (text,)) for text in ("It rained.", "It snowed.", "It thawed."))
DATA = MitigationData((CORPUS,), PROBES, (Experiment.HE_SHE,), held_out=(HELD_OUT,))


class NamedMitigation(TrainingMitigation[CounterfactualOptions]):
    """A method of which nothing but its name is asked."""

    options_type = CounterfactualOptions
    recipe = Recipe()

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc] # of this one alone

    def prepare(self, *_: object) -> PreparedObjective:
        raise AssertionError("nothing is prepared for a fingerprint")

    def settings(self, options: CounterfactualOptions) -> Mapping[str, Setting]:
        return {"whole_words": options.whole_words}


@dataclass(frozen=True)
class Case:
    """A mitigation: of what, how and with what."""

    weights: str = "sha256 0"
    method: str = "counterfactual"
    data: MitigationData = DATA
    options: CounterfactualOptions = field(default_factory=CounterfactualOptions)
    version: str = "1.0"


@pytest.fixture
def fingerprint(monkeypatch: pytest.MonkeyPatch) -> Callable[[Case], str]:
    def of(case: Case) -> str:
        monkeypatch.setattr(mitigate, "record_of", lambda _: certificates.model("bert", case.weights))
        monkeypatch.setattr(mitigate, "version", lambda _: case.version)
        model: Any = None
        return mitigate.mitigation_fingerprint(model, NamedMitigation(case.method), case.data, case.options)

    return of


def test_the_same_mitigation_is_known_again(fingerprint: Callable[[Case], str]) -> None:
    assert fingerprint(Case()) == fingerprint(Case())


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(Case(weights="sha256 1"), id="weights"),
        pytest.param(Case(method="equalise"), id="method"),
        pytest.param(Case(options=CounterfactualOptions(whole_words=True)), id="settings"),
        pytest.param(Case(data=replace(DATA, sources=(OTHER,))), id="corpus"),
        pytest.param(Case(data=replace(DATA, held_out=(OTHER,))), id="held-out text"),
        pytest.param(Case(data=replace(DATA, held_out=())), id="no held-out text"),
        pytest.param(Case(data=replace(DATA, probes=replace(PROBES, sha256="others"))), id="probes"),
        pytest.param(Case(data=replace(DATA, experiments=(Experiment.NAMES,))), id="experiments"),
        pytest.param(Case(data=replace(DATA, may_read_probes=True)), id="probes may be read"),
        pytest.param(Case(options=CounterfactualOptions(recipe=Recipe(epochs=3))), id="recipe"),
        pytest.param(Case(options=CounterfactualOptions(seeds=(0, 1))), id="seeds"),
        pytest.param(Case(version="1.1"), id="version"),
    ],
)
def test_whatever_differs_makes_another_mitigation(fingerprint: Callable[[Case], str], changed: Case) -> None:
    assert fingerprint(changed) != fingerprint(Case())


def test_where_figures_are_sent_to_does_not(fingerprint: Callable[[Case], str]) -> None:
    reporting = CounterfactualOptions(recipe=Recipe(report_to=("tensorboard",)), on_epoch=lambda *_: None)
    assert fingerprint(Case(options=reporting)) == fingerprint(
        Case(options=CounterfactualOptions(recipe=Recipe()))
    )
