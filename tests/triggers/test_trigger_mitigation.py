"""The trigger as a mitigation: a folder with a prefix, its record and card, its refusals, and an exact resume."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certificate_runs import small_plan
from fitting_runs import same, weights_of
from recording_monitor import RecordingMonitor
from slow_triggers import PAIRS
from zoo_fixtures import Zoo

from evenhand.certificate import certify
from evenhand.core.errors import EvenhandError
from evenhand.data.probes import load_probes
from evenhand.mitigation.mitigate import mitigate
from evenhand.mitigation.mitigation import MitigatedModel, MitigationData
from evenhand.mitigation.texts import SentenceList
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import GenerationOptions
from evenhand.reporting.certificate.page import render_certificate_page
from evenhand.stats.resampling import Resampling
from evenhand.store.trigger_records import HAND_WRITTEN, NO_PREFIX, RANDOM_TOKENS, TRIGGER
from evenhand.triggers import trigger as trigger_module
from evenhand.triggers.gcg import gcg_step
from evenhand.triggers.recipes import GCG_V1, KRAFT_2021
from evenhand.triggers.search import SearchState
from evenhand.triggers.targets import TargetSet
from evenhand.triggers.trigger import TriggerOptions, ordinary_sentences

pytestmark = pytest.mark.torch

DATA = MitigationData((), load_probes("en"), ())
TARGETS = TargetSet("small", PAIRS)
RECIPE = GCG_V1.model_copy(
    update={"slots": 2, "tokens": 8, "flips": 6, "finalists": 2, "starts": 4, "steps": 3, "seeds": (0, 1)}
)
OPTIONS = TriggerOptions(targets=TARGETS, recipe=RECIPE, resampling=Resampling(resamples=100))


def searched(menagerie: Zoo, out: Path, options: TriggerOptions = OPTIONS, **named: Any) -> MitigatedModel:
    ref = ModelRef(id=str(menagerie.folder("gpt2")), device="cpu")
    return mitigate(ref, "trigger", data=DATA, out=out, options=options, **named)


@pytest.fixture(scope="module")
def done(menagerie: Zoo, tmp_path_factory: pytest.TempPathFactory) -> MitigatedModel:
    return searched(
        menagerie, tmp_path_factory.mktemp("triggers") / "out", command="evenhand mitigate trigger"
    )


def test_the_folder_loads_with_the_prefix_and_the_weights_as_they_were(
    menagerie: Zoo, done: MitigatedModel
) -> None:
    record = done.record.trigger
    assert record is not None
    model = load_language_model(done.ref.id, device="cpu")

    assert model.ref.prefix == f"{record.text} "
    assert same(weights_of(model), weights_of(menagerie.model("gpt2")))
    assert tuple(model.tokenizer(record.text)["input_ids"]) == record.tokens


def test_the_record_has_seeds_targets_components_and_every_prefix(done: MitigatedModel) -> None:
    record = done.record.trigger
    assert record is not None

    assert [own.seed for own in record.seeds] == [0, 1]
    best = min(record.seeds, key=lambda own: own.loss)
    assert (best.seed, best.text) == (record.chosen_seed, record.text)
    assert (record.targets.search, record.targets.judged) == (3, 3)
    assert set(record.components) == {"neutral", "positive", "negative", "gap", "divergence", "fluency"}
    assert [row.name for row in record.comparison.rows] == [NO_PREFIX, TRIGGER, RANDOM_TOKENS, HAND_WRITTEN]
    assert record.comparison.row(HAND_WRITTEN).prefixes == ("All people deserve respect. ",)
    assert len(record.comparison.row(RANDOM_TOKENS).prefixes) == 5
    assert done.record.experiments == ()
    assert done.record.settings["recipe"] == "gcg.v1"


def test_the_card_tells_the_words_and_what_they_do(done: MitigatedModel) -> None:
    card = (Path(done.ref.id) / "README.md").read_text()

    assert f"The trigger is `{done.record.trigger.text}`" in card  # type: ignore[union-attr]
    assert "| measure | no prefix | trigger | random tokens | hand-written sentence |" in card
    assert "\n| gap, The woman, The man | " in card
    assert "No texts were written behind the prefixes" in card
    assert "Nothing was trained." in card
    assert "gender lean lowered" not in card


def test_what_is_written_behind_the_trigger_comes_without_it(menagerie: Zoo, done: MitigatedModel) -> None:
    """Published: the trigger was stripped from texts before short ones were dropped."""
    options = GenerationOptions(temperature=0, max_new_tokens=8)
    (text,) = load_language_model(done.ref).generate(["The woman"], options)
    (whole,) = menagerie.model("gpt2").generate([f"{done.ref.prefix}The woman"], options)

    assert text.text == whole.text


def test_a_killed_search_goes_on_to_the_same_result(
    menagerie: Zoo, done: MitigatedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = gcg_step

    def killed(space: Any, state: SearchState, seed: int) -> None:
        if (seed, state.step) == (1, 1):
            raise KeyboardInterrupt
        whole(space, state, seed)

    monkeypatch.setattr(trigger_module, "gcg_step", killed)
    with pytest.raises(KeyboardInterrupt):
        searched(menagerie, tmp_path / "out")
    steps: list[tuple[int, int]] = []

    def counted(space: Any, state: SearchState, seed: int) -> None:
        steps.append((seed, state.step))
        whole(space, state, seed)

    monkeypatch.setattr(trigger_module, "gcg_step", counted)
    resumed = searched(menagerie, tmp_path / "out")

    assert steps == [(1, 1), (1, 2)]
    assert resumed.record.trigger == done.record.trigger
    assert resumed.record.fingerprint == done.record.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_hotflip_is_the_other_way_to_search(menagerie: Zoo, tmp_path: Path) -> None:
    recipe = KRAFT_2021.model_copy(update={"slots": 2, "tokens": 4, "steps": 1, "starts": 4})
    options = replace(OPTIONS, recipe=recipe)
    monitor = RecordingMonitor()

    record = searched(menagerie, tmp_path / "out", options, monitor=monitor).record.trigger

    assert record is not None
    assert record.seeds[0].steps == 2
    assert "divergence" not in record.components


def test_the_same_prefixes_are_carried_to_another_model(menagerie: Zoo, tmp_path: Path) -> None:
    other = ModelRef(id=str(menagerie.folder("llama")), device="cpu")
    options = replace(
        OPTIONS, recipe=RECIPE.model_copy(update={"seeds": (0,), "steps": 1}), transfer=(other,)
    )

    record = searched(menagerie, tmp_path / "out", options).record.trigger

    assert record is not None
    (carried,) = record.transfer
    assert carried.model == "llama"
    assert [row.prefixes for row in carried.rows] == [row.prefixes for row in record.comparison.rows]
    card = (tmp_path / "out" / "README.md").read_text()
    assert "### Carried to other models" in card
    assert "\n| llama | gap, The woman, The man | " in card


def test_a_certificate_measures_the_model_behind_its_trigger(
    menagerie: Zoo, done: MitigatedModel, tmp_path: Path
) -> None:
    plan = small_plan(measurements=small_plan().measurements[:1])
    ref = ModelRef(id=str(menagerie.folder("gpt2")), device="cpu")

    certificate = certify(ref, done.ref, plan, place=tmp_path / "certificate.json")

    assert certificate.outputs_changed
    assert not certificate.weights_changed
    assert certificate.after.prefix == done.ref.prefix
    assert any(
        caveat.startswith("The weights are the same. The model after has") for caveat in certificate.caveats
    )
    assert not any("adapter" in caveat for caveat in certificate.caveats)
    assert certificate.mitigation is not None
    assert done.record.trigger is not None
    assert certificate.mitigation.prefixes == done.record.trigger.comparison
    page = render_certificate_page(certificate)
    for prefix in done.record.trigger.comparison.rows:
        assert f">{prefix.name.capitalize()}</th>" in page


@pytest.mark.parametrize(
    ("name", "message"),
    [("bert", "cannot get a trigger. That needs a model that writes texts"), ("t5", "is an encoder-decoder")],
)
def test_models_that_carry_no_trigger_are_refused(
    menagerie: Zoo, tmp_path: Path, name: str, message: str
) -> None:
    ref = ModelRef(id=str(menagerie.folder(name)), device="cpu")
    with pytest.raises(ModelError, match=message):
        mitigate(ref, "trigger", data=DATA, out=tmp_path / "out", options=OPTIONS)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_gives_no_gradients_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="runs outside this process, and its weights are needed here"):
        mitigate(ModelRef(id="fake:talker"), "trigger", data=DATA, out=tmp_path / "out", options=OPTIONS)


def test_a_model_with_a_prefix_gets_no_second_one(done: MitigatedModel, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"already\. Search on the model without it"):
        mitigate(done.ref, "trigger", data=DATA, out=tmp_path / "out", options=OPTIONS)


def test_a_search_without_targets_is_refused_before_a_model_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(EvenhandError, match="No target pairs were given"):
        mitigate(ModelRef(id="no/such-model"), "trigger", data=DATA, out=tmp_path / "out")


def test_sentences_of_a_search_are_not_those_that_it_is_judged_by() -> None:
    seen, unseen = ordinary_sentences(DATA)
    assert len(seen) == len(unseen) == 20
    corpus = SentenceList("text", tuple(f"The boat number {number} is old." for number in range(200)))

    own = ordinary_sentences(replace(DATA, sources=(corpus,)))
    given = ordinary_sentences(replace(DATA, held_out=(corpus,)))

    for first, second in ((seen, unseen), own, given):
        assert first
        assert second
        assert not set(first) & set(second)
    assert set(given[1]) <= set(corpus.sentences)


def test_the_record_is_plain_json(done: MitigatedModel) -> None:
    content = json.loads((Path(done.ref.id) / "mitigation.json").read_text())

    assert content["trigger"]["recipe"]["weights"]["gap"] == 2.0
    assert content["reference"] == {"prefix": done.ref.prefix}
    assert np.isfinite(content["trigger"]["seeds"][0]["loss"])
