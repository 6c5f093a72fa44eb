"""A mitigation of another package, without training: its weights, its record, its card, its mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from fitting_runs import same, weights_of
from zoo_fixtures import Zoo

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.experiments import Experiment
from evenhand.core.progress import Monitor
from evenhand.core.registry import PluginError
from evenhand.lab.items import lab_probes
from evenhand.mitigation.counterfactual import CounterfactualOptions
from evenhand.mitigation.mitigate import mitigate
from evenhand.mitigation.mitigation import (
    MitigatedModel,
    Mitigation,
    MitigationData,
    MitigationOptions,
    MitigationOutcome,
)
from evenhand.mitigation.registry import MITIGATIONS
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.store.jobs import Job

DATA = MitigationData((), lab_probes("en").first(8), (Experiment.HE_SHE,))


@dataclass(frozen=True, kw_only=True)
class ShrinkOptions(MitigationOptions):
    factor: float = field(default=0.5, metadata={"help": "What every weight is multiplied by."})


class Shrink(Mitigation[ShrinkOptions]):
    """Smaller weights, surer of nothing."""

    name = "shrink"
    title = "Shrinking"
    summary = "every weight was made smaller"
    options_type = ShrinkOptions

    def mitigate(
        self,
        model: LanguageModel,
        *,
        data: MitigationData,
        options: ShrinkOptions,
        job: Job,
        monitor: Monitor,
    ) -> MitigationOutcome:
        del data, job
        monitor.note("Shrinking")
        with torch.no_grad():
            for weight in model.loaded.model.parameters():
                weight.mul_(options.factor)
        return MitigationOutcome()


@pytest.fixture
def shrink() -> Iterator[Shrink]:
    yield MITIGATIONS.register("shrink", Shrink())  # type: ignore[misc] # it is what was registered
    MITIGATIONS.unregister("shrink")


def shrunk(menagerie: Zoo, out: Path, options: ShrinkOptions | None = None) -> MitigatedModel:
    ref = ModelRef(id=str(menagerie.folder("bert")), device="cpu")
    return mitigate(ref, "shrink", data=DATA, out=out, options=options, command="evenhand mitigate shrink")


@pytest.mark.usefixtures("shrink")
def test_it_gives_back_a_model_folder_like_any_other(menagerie: Zoo, tmp_path: Path) -> None:
    done = shrunk(menagerie, tmp_path / "out", ShrinkOptions(factor=0.25))
    before = weights_of(load_language_model(str(menagerie.folder("bert")), device="cpu"))
    after = weights_of(load_language_model(done.ref))
    assert same(after, {name: 0.25 * weight for name, weight in before.items()})
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("shrink")
def test_its_record_and_card_speak_of_no_training(menagerie: Zoo, tmp_path: Path) -> None:
    done = shrunk(menagerie, tmp_path / "out")
    assert done.record.settings == {"factor": 0.5}
    assert (done.record.chosen, done.record.recipe, done.record.data) == (None, None, None)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "every weight was made smaller. Nothing was trained." in card
    assert "method: shrink, factor 0.5" in card
    assert "evenhand certify" in card
    assert "epoch" not in card


@pytest.mark.usefixtures("shrink")
def test_it_is_opened_again_and_told_from_others(menagerie: Zoo, tmp_path: Path) -> None:
    first = shrunk(menagerie, tmp_path / "out")
    assert shrunk(menagerie, tmp_path / "out") == first
    with pytest.raises(EvenhandError, match="holds another result"):
        shrunk(menagerie, tmp_path / "out", ShrinkOptions(factor=0.1))


@pytest.mark.usefixtures("shrink")
def test_options_of_another_method_are_refused(menagerie: Zoo, tmp_path: Path) -> None:
    ref = ModelRef(id=str(menagerie.folder("bert")), device="cpu")
    with pytest.raises(EvenhandError, match="shrink takes ShrinkOptions, not CounterfactualOptions"):
        mitigate(ref, "shrink", data=DATA, out=tmp_path / "out", options=CounterfactualOptions())


class Prefix(Mitigation[MitigationOptions]):
    """Words before every prompt; the weights stay."""

    name = "prefix"
    title = "A prefix"
    summary = "it is asked to be fair before every prompt"
    options_type = MitigationOptions

    def mitigate(self, model: LanguageModel, **_: object) -> MitigationOutcome:
        return MitigationOutcome(reference=model.ref.model_copy(update={"prefix": "Be fair. "}))


def test_a_method_may_set_a_prefix_and_leave_the_weights(menagerie: Zoo, tmp_path: Path) -> None:
    ref = ModelRef(id=str(menagerie.folder("gpt2")), device="cpu")
    done = mitigate(ref, Prefix(), data=DATA, out=tmp_path / "out")
    assert done.ref == ModelRef(id=str(tmp_path / "out"), device="cpu", prefix="Be fair. ")
    by_folder = load_language_model(str(tmp_path / "out"), device="cpu")
    assert by_folder.ref == done.ref
    assert same(weights_of(by_folder), weights_of(load_language_model(ref)))
    other = load_language_model(done.ref.model_copy(update={"prefix": "Go on. "}))
    assert other.ref.prefix == "Go on. "


def test_a_method_that_fails_leaves_nothing(menagerie: Zoo, tmp_path: Path) -> None:
    class Failing(Shrink):
        def mitigate(self, *_: object, **__: object) -> MitigationOutcome:
            raise ZeroDivisionError

    ref = ModelRef(id=str(menagerie.folder("bert")), device="cpu")
    with pytest.raises(ZeroDivisionError):
        mitigate(ref, Failing(), data=DATA, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_unknown_methods_are_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'equalise'"):
        MITIGATIONS.get("equalize")


def test_an_entry_that_cannot_mitigate_is_refused() -> None:
    MITIGATIONS.register("broken", object())  # type: ignore[arg-type] # on purpose
    try:
        with pytest.raises(PluginError, match="lacks name, title, summary, options_type, mitigate"):
            MITIGATIONS.get("broken")
    finally:
        MITIGATIONS.unregister("broken")


def test_a_training_without_text_is_refused_before_a_model_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(EvenhandError, match="No corpus was given"):
        mitigate(ModelRef(id="no/such-model"), "equalise", data=DATA, out=tmp_path / "out")
