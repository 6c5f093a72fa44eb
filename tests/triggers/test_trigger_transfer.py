"""A finished trigger is carried to other models without a new search, and a model that fails costs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from certificate_runs import small_plan
from slow_triggers import PAIRS
from zoo_fixtures import Zoo

from evenhand.certificate import certify
from evenhand.core.errors import EvenhandError
from evenhand.core.estimates import Estimate
from evenhand.data.probes import load_probes
from evenhand.mitigation.mitigate import mitigate
from evenhand.mitigation.mitigation import MitigationData
from evenhand.models.references import ModelError, ModelRef
from evenhand.reporting.certificate.page import render_certificate_page
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts
from evenhand.store.trigger_records import TriggerRecord
from evenhand.triggers import transfer as transfer_module
from evenhand.triggers import trigger as trigger_module
from evenhand.triggers.comparison import FigureOfPrefix, NamedPrefixes, TargetLikelihoods
from evenhand.triggers.recipes import GCG_V1
from evenhand.triggers.targets import TargetSet
from evenhand.triggers.trigger import TriggerOptions

pytestmark = pytest.mark.torch

RECIPE = GCG_V1.model_copy(
    update={"slots": 2, "tokens": 8, "flips": 6, "finalists": 2, "starts": 4, "steps": 1, "seeds": (0,)}
)
OPTIONS = TriggerOptions(
    targets=TargetSet("small", PAIRS), recipe=RECIPE, resampling=Resampling(resamples=100)
)


class Opener:
    """Opens or makes a trigger on one model, with any models to carry it to."""

    def __init__(self, menagerie: Zoo, out: Path) -> None:
        self.ref = ModelRef(id=str(menagerie.folder("gpt2")), device="cpu")
        self.out = out

    def __call__(self, *transfer: ModelRef, **named: Any) -> TriggerRecord:
        options = replace(OPTIONS, transfer=transfer, **named)
        data = MitigationData((), load_probes("en"), ())
        record = mitigate(self.ref, "trigger", data=data, out=self.out, options=options).record.trigger
        assert record is not None
        return record


@pytest.fixture
def trigger(menagerie: Zoo, tmp_path: Path) -> Opener:
    return Opener(menagerie, tmp_path / "out")


@pytest.fixture
def llama(menagerie: Zoo) -> ModelRef:
    return ModelRef(id=str(menagerie.folder("llama")), device="cpu")


def forbid(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> None:
    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError(f"{name} is not called again")

    monkeypatch.setattr(place, name, forbidden)


def test_a_model_that_is_named_later_needs_no_new_search(
    trigger: Opener, llama: ModelRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = trigger()
    forbid(monkeypatch, trigger_module, "run_search")

    after = trigger(llama)

    assert [own.model for own in after.transfer] == ["llama"]
    assert after.model_copy(update={"transfer": ()}) == before
    assert "\n| llama | gap, The woman, The man | " in (trigger.out / "README.md").read_text()
    assert str(llama.id) not in (trigger.out / "mitigation.json").read_text()


def test_models_that_a_record_has_are_not_compared_again(
    trigger: Opener, llama: ModelRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = trigger(llama, llama)
    forbid(monkeypatch, transfer_module, "compare_prefixes")

    assert len(first.transfer) == 1
    assert trigger(llama) == first
    assert trigger() == first


def test_a_model_that_fails_costs_neither_the_trigger_nor_the_models_before_it(
    trigger: Opener, llama: ModelRef, menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    bloom = ModelRef(id=str(menagerie.folder("bloom")), device="cpu")
    whole = TargetLikelihoods.measure

    def failing(self: TargetLikelihoods, model: Any, *arguments: Any, **named: Any) -> Any:
        if model.record.id == "bloom":
            raise ModelError("the disk is gone")
        return whole(self, model, *arguments, **named)

    monkeypatch.setattr(TargetLikelihoods, "measure", failing)
    with pytest.raises(ModelError, match="the disk is gone"):
        trigger(llama, bloom)
    monkeypatch.setattr(TargetLikelihoods, "measure", whole)
    forbid(monkeypatch, trigger_module, "run_search")

    kept = trigger()
    assert [own.model for own in kept.transfer] == ["llama"]
    assert [own.model for own in trigger(llama, bloom).transfer] == ["llama", "bloom"]
    assert [path.name for path in trigger.out.parent.iterdir()] == ["out"]


class SlowMeasure:
    """Keeps a piece for each prefix, and fails behind some of them as often as it is told."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.made: list[str] = []

    def measure(
        self,
        model: Any,
        prefixes: Sequence[NamedPrefixes],
        resampling: Resampling,
        *,
        parts: Parts | None = None,
    ) -> Mapping[str, Sequence[FigureOfPrefix]]:
        del resampling
        assert parts is not None
        for number, own in enumerate(prefixes):
            key = f"piece-{number}"
            if parts.get(key) is not None:
                continue
            if model.record.id == "llama" and number == 2 and self.failures:
                self.failures -= 1
                raise EvenhandError("interrupted")
            parts.put(key, b"done")
            self.made.append(f"{model.record.id} {own.name}")
        figure = FigureOfPrefix(Estimate.undefined("it is a test"), Estimate.undefined("it is a test"))
        return {"slow": [figure] * len(prefixes)}


def test_what_was_finished_of_a_model_is_kept_when_it_is_interrupted(
    trigger: Opener, llama: ModelRef
) -> None:
    slow = SlowMeasure(failures=1)
    with pytest.raises(EvenhandError, match="interrupted"):
        trigger(llama, measures=(slow,))

    record = trigger(llama, measures=(slow,))

    assert [own.model for own in record.transfer] == ["llama"]
    names = [row.name for row in record.comparison.rows]
    assert slow.made == [f"{model} {name}" for model in ("gpt2", "llama") for name in names]
    assert [path.name for path in trigger.out.parent.iterdir()] == ["out"]


def test_a_certificate_has_the_trigger_on_other_models_too(
    trigger: Opener, llama: ModelRef, tmp_path: Path
) -> None:
    plan = small_plan(measurements=small_plan().measurements[:1])
    place = tmp_path / "certificate.json"
    trigger()
    first = certify(trigger.ref, str(trigger.out), plan, place=place)
    trigger(llama)

    second = certify(trigger.ref, str(trigger.out), plan, place=place)

    assert first.mitigation is not None
    assert second.mitigation is not None
    assert first.mitigation.transfer == ()
    assert [own.model for own in second.mitigation.transfer] == ["llama"]
    pages = [render_certificate_page(own) for own in (first, second)]
    assert ["The same trigger on other models" in page for page in pages] == [False, True]
    assert '<th scope="row">llama</th><td>gap, The woman, The man</td>' in pages[1]
