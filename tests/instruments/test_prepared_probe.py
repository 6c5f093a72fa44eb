"""MALoR read again and again from a model that is trained meanwhile."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from measuring import probe
from torch import nn
from zoo_fixtures import Zoo

from evenhand.core.errors import EvenhandError
from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import ProbeSet, TermPairs
from evenhand.data.probes import load_probes
from evenhand.instruments.malor.estimates import LogRatios
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.instruments.malor.prepared import PreparedProbe
from evenhand.instruments.malor.questions import ProbeDirection
from evenhand.instruments.malor.results import MalorResult
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError
from evenhand.stats.resampling import Resampling

pytestmark = pytest.mark.usefixtures("without_gate")

MODELS = ("bert", "roberta", "albert", "gpt2", "mistral", "t5")
OCCUPATIONS = ("teacher", "nurse", "engineer", "mechanic")
TOLERANCE = 5e-5
"""Bits: differences of sums of logarithms that were computed in 32 bits, in batches of different make-up."""


@cache
def small(language: str = "en") -> ProbeSet:
    everything = load_probes(language)
    structures = [one for experiment in TRAINED_EXPERIMENTS for one in everything.of(experiment)[:3]]
    names = everything.terms[Experiment.NAMES]
    terms = {**everything.terms, Experiment.NAMES: TermPairs(names.male[:3], names.female[:3])}
    occupations = [one for one in everything.occupations if one.name in OCCUPATIONS]
    return replace(everything, structures=tuple(structures), occupations=tuple(occupations), terms=terms)


def probed(model: LanguageModel, probes: ProbeSet, direction: str = "gender") -> dict[Experiment, np.ndarray]:
    """What ``probe`` says, as tables of occupations and structures."""
    run = probe(
        model, probes, options=MalorOptions(direction=direction, resampling=Resampling(resamples=100))
    )
    found = {}
    for experiment in probes.experiments:
        values = run.scores.filter(run.scores["experiment"] == experiment.value)["log2_ratio"]
        shape = (len(probes.of(experiment)), len(probes.occupations))
        found[experiment] = values.to_numpy().astype(float).reshape(shape).T
    return found


def assert_same(found: dict[Experiment, LogRatios], expected: dict[Experiment, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for experiment, values in expected.items():
        assert np.isfinite(values).any()
        np.testing.assert_allclose(
            found[experiment].values, values, rtol=0, atol=TOLERANCE, err_msg=str(experiment)
        )


def fresh(menagerie: Zoo, name: str) -> LanguageModel:
    """A model of one's own, whose weights may be changed."""
    return load_language_model(str(menagerie.folder(name)), device="cpu")


def change_weights(module: nn.Module) -> None:
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(torch.randn(weight.shape, generator=generator), alpha=0.1)


@pytest.mark.parametrize("direction", list(ProbeDirection))
@pytest.mark.parametrize("name", MODELS)
def test_the_ratios_are_those_of_a_probe(menagerie: Zoo, name: str, direction: ProbeDirection) -> None:
    model, probes = menagerie.model(name), small("de" if name == "roberta" else "en")
    prepared = PreparedProbe(model, probes, experiments=probes.experiments, direction=direction)
    assert_same(prepared.ratios(), probed(model, probes, direction.value))


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_weights_that_changed_are_seen(menagerie: Zoo, name: str, tmp_path: Path) -> None:
    model = fresh(menagerie, name)
    probes = small()
    prepared = PreparedProbe(model, probes, experiments=probes.experiments)
    before = prepared.ratios()
    module: Any = model.loaded.model
    change_weights(module)
    module.save_pretrained(tmp_path)
    model.loaded.tokenizer.save_pretrained(tmp_path)
    after = prepared.ratios()
    assert_same(after, probed(load_language_model(str(tmp_path), device="cpu"), probes))
    for experiment in probes.experiments:
        assert np.abs(after[experiment].values - before[experiment].values).max() > 0.01


def test_malor_is_that_of_a_probe(menagerie: Zoo) -> None:
    model, probes = menagerie.model("bert"), small()
    found = PreparedProbe(model, probes, experiments=probes.experiments).malor()
    run = probe(model, probes, options=MalorOptions(resampling=Resampling(resamples=100)))
    for result in run.results:
        assert isinstance(result, MalorResult)
        assert found[Experiment(result.experiment)] == pytest.approx(result.MALoR.value, abs=TOLERANCE)


def test_a_model_in_training_is_read_without_dropout_and_goes_on_in_training(menagerie: Zoo) -> None:
    model, probes = fresh(menagerie, "bert"), small()
    module = model.loaded.model
    expected = probed(model, probes)
    module.train()
    frozen = next(part for part in module.modules() if isinstance(part, nn.LayerNorm))
    frozen.eval()
    flags = {name: part.training for name, part in module.named_modules()}
    # A model that was never asked yet, so that even its first trial falls into the training.
    prepared = PreparedProbe(LanguageModel(model.loaded), probes, experiments=probes.experiments)
    for _ in range(2):
        assert_same(prepared.ratios(), expected)
        assert {name: part.training for name, part in module.named_modules()} == flags


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_training_goes_on_after_a_reading(menagerie: Zoo, name: str) -> None:
    model, probes = fresh(menagerie, name), small()
    module = model.loaded.model.train()
    prepared = PreparedProbe(model, probes, experiments=[Experiment.HE_SHE])
    prepared.ratios()
    ids = torch.tensor([[5, 6, 7, 8]])
    loss = module(input_ids=ids)[0].logsumexp(-1).mean()
    loss.backward()
    assert all(weight.grad is None or torch.isfinite(weight.grad).all() for weight in module.parameters())
    assert any(weight.grad is not None and weight.grad.abs().max() > 0 for weight in module.parameters())


@pytest.mark.parametrize(("name", "target"), [("bert", "query"), ("gpt2", "c_attn"), ("t5", "q")])
def test_adapters_that_were_put_in_meanwhile_are_seen(
    menagerie: Zoo, name: str, target: str, tmp_path: Path
) -> None:
    model, probes = fresh(menagerie, name), small()
    prepared = PreparedProbe(model, probes, experiments=probes.experiments)
    untouched = probed(model, probes)
    adapter = peft.LoraConfig(
        r=2, target_modules=[target], lora_dropout=0.5, init_lora_weights=False, fan_in_fan_out=name == "gpt2"
    )
    module: Any = model.loaded.model
    adapted: Any = peft.get_peft_model(module, adapter).train()
    found = prepared.ratios()
    assert any(part.training for part in adapted.modules())
    merged = adapted.merge_and_unload()
    merged.save_pretrained(tmp_path)
    model.loaded.tokenizer.save_pretrained(tmp_path)
    assert_same(found, probed(load_language_model(str(tmp_path), device="cpu"), probes))
    assert np.abs(found[Experiment.HE_SHE].values - untouched[Experiment.HE_SHE]).max() > 0.01


def test_terms_of_one_token_are_read_from_one_input(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fresh(menagerie, "bert")
    short = TermPairs(("the", "is"), ("of", "no"))
    assert all(len(model.loaded.tokenizer.tokenize(term)) == 1 for term in short.all)
    inside = [one for one in load_probes("en").of(Experiment.HE_SHE) if not one.text.startswith("[MASK]")]
    probes = replace(small(), structures=tuple(inside[:3]), terms={Experiment.HE_SHE: short})
    prepared = PreparedProbe(model, probes, experiments=[Experiment.HE_SHE])
    whole = model.projection.log_probabilities
    inputs_read = []

    def counted(inputs: dict[str, torch.Tensor], *index: torch.Tensor) -> torch.Tensor:
        inputs_read.append(len(inputs["input_ids"]))
        return whole(inputs, *index)

    monkeypatch.setattr(model.projection, "log_probabilities", counted)
    prepared.ratios()
    assert sum(inputs_read) == 3 * len(OCCUPATIONS)


def test_nothing_is_tokenised_again(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model, probes = fresh(menagerie, "bert"), small()
    prepared = PreparedProbe(model, probes, experiments=probes.experiments)
    expected = prepared.ratios()

    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("the tokenizer was used again")

    monkeypatch.setattr(type(model.loaded.tokenizer), "__call__", refuse)
    found = prepared.ratios()
    for experiment in probes.experiments:
        np.testing.assert_array_equal(found[experiment].values, expected[experiment].values)


def test_too_little_memory_halves_a_batch(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model, probes = fresh(menagerie, "bert"), small()
    prepared = PreparedProbe(model, probes, experiments=probes.experiments)
    whole = model.projection.log_probabilities
    sizes = []

    def limited(inputs: dict[str, torch.Tensor], *index: torch.Tensor) -> torch.Tensor:
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 5:
            raise torch.OutOfMemoryError
        return whole(inputs, *index)

    monkeypatch.setattr(model.projection, "log_probabilities", limited)
    assert_same(prepared.ratios(), probed(menagerie.model("bert"), probes))
    assert max(sizes) > 5

    def hopeless(*_arguments: object) -> torch.Tensor:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(model.projection, "log_probabilities", hopeless)
    with pytest.raises(ModelError, match="not enough memory to read 120 of 120 values"):
        prepared.ratios()


def test_a_sentence_that_does_not_fit_alone_is_left_out_with_a_warning(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, probes = fresh(menagerie, "bert"), small()
    prepared = PreparedProbe(model, probes, experiments=[Experiment.HE_SHE])
    expected = prepared.ratios()[Experiment.HE_SHE].values
    whole = model.projection.log_probabilities
    nurse = model.loaded.tokenizer("nurse", add_special_tokens=False)["input_ids"]

    def picky(inputs: dict[str, torch.Tensor], *index: torch.Tensor) -> torch.Tensor:
        rows = inputs["input_ids"].tolist()
        if any(nurse == row[place : place + len(nurse)] for row in rows for place in range(len(row))):
            raise torch.OutOfMemoryError
        return whole(inputs, *index)

    monkeypatch.setattr(model.projection, "log_probabilities", picky)
    with pytest.warns(UserWarning, match="not enough memory to read"):
        found = prepared.ratios()[Experiment.HE_SHE].values
    row = [one.name for one in probes.occupations].index("nurse")
    assert np.isnan(found[row]).all()
    others = [number for number in range(len(found)) if number != row]
    np.testing.assert_allclose(found[others], expected[others], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_training_that_diverged_makes_nan(menagerie: Zoo, name: str) -> None:
    model, probes = fresh(menagerie, name), small()
    prepared = PreparedProbe(model, probes, experiments=probes.experiments)
    with torch.no_grad():
        for weight in model.loaded.model.parameters():
            weight.fill_(torch.nan)
    for ratios in prepared.ratios().values():
        assert np.isnan(ratios.values).all()
    assert all(np.isnan(value) for value in prepared.malor().values())


def test_what_cannot_be_asked_is_missing_as_in_a_probe(menagerie: Zoo) -> None:
    """An occupation that the tokenizer does not know, and a pair of names of which one is unknown."""
    everything, probes = load_probes("de"), small("de")
    doctor = next(one for one in everything.occupations if one.name == "doctor")
    names = probes.terms[Experiment.NAMES]
    changed = TermPairs(names.male, (*names.female[:-1], "Zoë"))
    probes = replace(
        probes,
        occupations=(*probes.occupations, doctor),
        terms={**probes.terms, Experiment.NAMES: changed},
    )
    model = menagerie.model("bert")
    tokenizer = model.loaded.tokenizer
    for word in ("Ärztin", "Zoë"):
        assert tokenizer.unk_token_id in tokenizer(word)["input_ids"]
    found = PreparedProbe(model, probes, experiments=probes.experiments).ratios()
    assert_same(found, probed(model, probes))
    assert np.isnan(found[Experiment.NAMES].values[-1]).all()


def test_an_experiment_is_needed(menagerie: Zoo) -> None:
    with pytest.raises(EvenhandError, match="Name at least one"):
        PreparedProbe(menagerie.model("bert"), small(), experiments=[])


def test_an_experiment_that_the_structures_lack_is_refused(menagerie: Zoo) -> None:
    probes = small()
    alone = replace(probes, structures=probes.of(Experiment.HE_SHE))
    with pytest.raises(EvenhandError, match="no experiment names; they have he-she"):
        PreparedProbe(menagerie.model("bert"), alone, experiments=[Experiment.NAMES])


def test_terms_that_the_model_does_not_know_are_refused(menagerie: Zoo) -> None:
    probes = small()
    strange = replace(probes, terms={**probes.terms, Experiment.NAMES: TermPairs(("Ænéas",), ("Zoë",))})
    with pytest.raises(ModelError, match="cannot be asked for any pair of names terms"):
        PreparedProbe(menagerie.model("bert"), strange, experiments=[Experiment.NAMES])


def test_a_model_that_writes_sentences_anew_is_refused_here_too(menagerie: Zoo) -> None:
    with pytest.raises(ModelError, match="cannot be asked for the probability of a word"):
        PreparedProbe(menagerie.model("bart"), small(), experiments=[Experiment.HE_SHE])
