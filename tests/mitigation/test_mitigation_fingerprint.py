"""Two mitigations that differ in anything that decides on the weights are not taken for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import certificates
import pytest
from evenhand.mitigation.method import Prepared
from small_corpus import PROBES

from evenhand.core.probes import Experiment
from evenhand.core.recipes import Recipe
from evenhand.mitigation import mitigate as pipeline
from evenhand.mitigation.mitigate import Material, fingerprint_of
from evenhand.mitigation.texts import SentenceList

CORPUS, HELD_OUT, OTHER = (SentenceList(text, (text,)) for text in ("It rained.", "It snowed.", "It thawed."))
MATERIAL = Material((CORPUS,), PROBES, (Experiment.HE_SHE,), held_out=(HELD_OUT,))


@dataclass(frozen=True)
class NamedMethod:
    """A method of which nothing but its name and settings is asked."""

    name: str = "counterfactual"
    settings: dict[str, float | int | str | bool] = field(default_factory=lambda: {"whole_words": False})

    def prepare(self, *_: object) -> Prepared:
        raise AssertionError("nothing is prepared for a fingerprint")


@dataclass(frozen=True)
class Case:
    """A mitigation: of what, how and with what."""

    weights: str = "sha256 0"
    method: NamedMethod = field(default_factory=NamedMethod)
    material: Material = MATERIAL
    recipe: Recipe = field(default_factory=Recipe)
    seeds: tuple[int, ...] = (0,)
    version: str = "1.0"


@pytest.fixture
def fingerprint(monkeypatch: pytest.MonkeyPatch) -> Callable[[Case], str]:
    def found(case: Case) -> str:
        monkeypatch.setattr(pipeline, "record_of", lambda _: certificates.model("bert", case.weights))
        monkeypatch.setattr(pipeline, "version", lambda _: case.version)
        model: Any = None
        return fingerprint_of(model, case.method, case.material, case.recipe, case.seeds)

    return found


def test_the_same_mitigation_is_known_again(fingerprint: Callable[[Case], str]) -> None:
    assert fingerprint(Case()) == fingerprint(Case())


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(Case(weights="sha256 1"), id="weights"),
        pytest.param(Case(method=NamedMethod("equalise")), id="method"),
        pytest.param(Case(method=NamedMethod(settings={"whole_words": True})), id="settings"),
        pytest.param(Case(material=replace(MATERIAL, sources=(OTHER,))), id="corpus"),
        pytest.param(Case(material=replace(MATERIAL, held_out=(OTHER,))), id="held-out text"),
        pytest.param(Case(material=replace(MATERIAL, held_out=())), id="no held-out text"),
        pytest.param(Case(material=replace(MATERIAL, probes=replace(PROBES, sha256="others"))), id="probes"),
        pytest.param(Case(material=replace(MATERIAL, experiments=(Experiment.NAMES,))), id="experiments"),
        pytest.param(Case(material=replace(MATERIAL, may_read_probes=True)), id="probes may be read"),
        pytest.param(Case(recipe=Recipe(epochs=3)), id="recipe"),
        pytest.param(Case(seeds=(0, 1)), id="seeds"),
        pytest.param(Case(version="1.1"), id="version"),
    ],
)
def test_whatever_differs_makes_another_mitigation(fingerprint: Callable[[Case], str], changed: Case) -> None:
    assert fingerprint(changed) != fingerprint(Case())
