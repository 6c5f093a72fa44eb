"""Which corpus, probes and experiments suit a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from zoo_fixtures import Zoo

from evenhand.api.defaults.measuring import default_instrument_options
from evenhand.api.defaults.mitigating import default_data, trained_reference, training_sentences
from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import ProbeSet, fill
from evenhand.core.recipes import LoraRecipe, Precision, Recipe
from evenhand.data.probes import load_probes
from evenhand.instruments.malor.instrument import MALOR, MalorOptions
from evenhand.lab.items import lab_probes, lab_settled
from evenhand.mitigation.equalising.equalise import EqualiseOptions
from evenhand.mitigation.mitigation import MitigationOptions
from evenhand.models.references import ModelRef

LAB = ModelRef(id="lab:masked")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("The nurse has a dog.\n")
    return path


def test_a_lab_model_has_a_corpus_and_probes_of_its_own() -> None:
    data = default_data(LAB)
    assert data.probes == lab_probes("en")
    assert data.experiments == TRAINED_EXPERIMENTS
    assert data.may_read_probes
    (source,) = data.sources
    sentences = list(source.open())
    assert len(sentences) == len(set(sentences)) > 1000
    assert any("engineer" in sentence and sentence.startswith("He ") for sentence in sentences)


def test_a_lab_model_asked_own_structures_shows_in_words_of_the_lab_that_it_knows_them(
    tmp_path: Path,
) -> None:
    structures = tmp_path / "s.csv"
    structures.write_text("experiment,number,structure\norigin,1,Every [OCC] knows the [MASK].\n")
    terms = tmp_path / "t.csv"
    terms.write_text("experiment,Ostrian,Velvan\norigin,Ostrian,Velvan\n")

    options = default_instrument_options(MALOR, LAB, MalorOptions(structures=structures, terms=terms))

    probes = options.data
    assert isinstance(probes, ProbeSet)
    assert probes.settled == lab_settled("en")
    assert [structure.text for structure in probes.structures] == ["Every [OCC] knows the [MASK]."]
    assert [experiment.value for experiment in probes.experiments] == ["origin"]


def test_another_corpus_can_be_given_to_a_lab_model(corpus: Path) -> None:
    data = default_data(LAB, [corpus], held_out=[corpus])
    assert (
        [source.name for source in data.sources] == [source.name for source in data.held_out] == [str(corpus)]
    )
    assert data.probes == lab_probes("en")


def test_any_other_model_has_none(menagerie: Zoo, corpus: Path) -> None:
    ref = ModelRef(id=str(menagerie.folder("bert")))
    assert default_data(ref).sources == ()
    data = default_data(ref, [corpus], experiments=["names", "he-she", "names"], language="de")
    assert data.probes == load_probes("de")
    assert data.experiments == (Experiment.HE_SHE, Experiment.NAMES)
    assert not data.may_read_probes


def test_a_baseline_is_fitted_on_what_is_trained_on_and_not_on_what_is_asked(tmp_path: Path) -> None:
    probes = load_probes("en")
    asked = fill(probes.structures[0], probes.occupations[0].forms[0], term="he")
    sources = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join([asked, *(f"Then {name} had {number} dogs." for number in range(3000))]))
        sources.append(path)
    held_out = tmp_path / "held out.txt"
    held_out.write_text("Then one had 3 dogs.\n")
    data = default_data(ModelRef(id="some-model"), sources, held_out=[held_out])
    found = training_sentences(data)
    assert asked not in found
    assert "Then one had 3 dogs." not in found
    assert [sum(f" {name} " in text for text in found) for name in ("one", "two")] == [2500, 2500]
    own = training_sentences(default_data(LAB))
    kept_back = default_data(LAB).held_out_sentences()
    assert own
    assert not any(text in kept_back for text in own)


def test_what_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no file or folder"):
        default_data(LAB, [tmp_path / "missing"])
    with pytest.raises(UnknownNameError, match="experiment"):
        default_data(LAB, experiments=["she-he"])


def test_weights_that_are_not_trained_are_loaded_in_bf16_on_demand() -> None:
    in_half = Recipe(lora=LoraRecipe(), precision=Precision.BF16)
    assert trained_reference(LAB, EqualiseOptions(recipe=in_half)).precision is Precision.BF16
    for recipe in (Recipe(lora=LoraRecipe()), Recipe(precision=Precision.BF16), None):
        assert trained_reference(LAB, EqualiseOptions(recipe=recipe)) == LAB
    assert trained_reference(LAB, MitigationOptions()) == LAB
