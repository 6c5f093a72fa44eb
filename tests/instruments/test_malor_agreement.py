"""MALoR against a slow, obvious computation of the same definition, on six architectures."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest
import zoo
from measuring import probe
from slow_malor import SlowProbe, small_probes
from zoo_fixtures import Zoo

from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import fill, open_term
from evenhand.data.probes import load_probes
from evenhand.instruments.malor.instrument import MALOR, MalorOptions
from evenhand.instruments.malor.results import MalorResult
from evenhand.models.families.masked import MASKED
from evenhand.models.references import ModelError
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run

pytestmark = pytest.mark.usefixtures("without_gate")

MODELS = ("bert", "distilbert", "roberta", "albert", "gpt2", "t5")
FEW = Resampling(resamples=200)
TOLERANCE = 5e-5
"""Bits: differences of sums of logarithms that were computed in 32 bits, in batches of different make-up."""


def ratios(run: Run, experiment: str, direction: str) -> dict[tuple[int, str], float]:
    rows = run.scores.filter(
        (run.scores["experiment"] == experiment) & (run.scores["direction"] == direction)
    )
    return {
        (number, occupation): value
        for number, occupation, value in rows.select("structure", "occupation", "log2_ratio").iter_rows()
    }


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("name", MODELS)
def test_log_ratios_are_those_of_the_slow_way(menagerie: Zoo, name: str, language: str) -> None:
    probes = small_probes(language, names=2)
    run = probe(menagerie.model(name), probes, options=MalorOptions(direction="both", resampling=FEW))
    slow = SlowProbe(menagerie.reference(name), zoo.SPECIES[name].family)
    for experiment in TRAINED_EXPERIMENTS:
        for direction, expected in (
            ("gender", slow.gender(probes, experiment)),
            ("occupation", slow.occupation(probes, experiment)),
        ):
            found = ratios(run, experiment.value, direction)
            assert found.keys() == expected.keys()
            for key, value in expected.items():
                assert found[key] == pytest.approx(value, abs=TOLERANCE), (experiment, direction, key)


@pytest.mark.parametrize("name", MODELS)
def test_malor_and_signed_mean_follow_their_definition(menagerie: Zoo, name: str) -> None:
    probes = small_probes("en")
    run = probe(menagerie.model(name), probes, options=MalorOptions(experiment="he-she", resampling=FEW))
    (result,) = run.results
    assert isinstance(result, MalorResult)
    slow = SlowProbe(menagerie.reference(name), zoo.SPECIES[name].family).gender(probes, Experiment.HE_SHE)
    leans = [
        fmean(
            value for (_, occupation), value in slow.items() if occupation == one.name and value is not None
        )
        for one in probes.occupations
    ]
    assert result.MALoR.value == pytest.approx(fmean(abs(lean) for lean in leans), abs=TOLERANCE)
    assert result.signed_mean.value == pytest.approx(fmean(leans), abs=TOLERANCE)
    assert [one.log2_ratio.value for one in result.occupations] == pytest.approx(leans, abs=TOLERANCE)


def test_probabilities_of_a_masked_model_are_those_of_the_terms(menagerie: Zoo) -> None:
    probes = small_probes("en")
    run = probe(menagerie.model("bert"), probes, options=MalorOptions(experiment="he-she", resampling=FEW))
    (result,) = run.results
    assert isinstance(result, MalorResult)
    slow = SlowProbe(menagerie.reference("bert"), MASKED)
    occupation = probes.occupations[0]
    for place, attribute in enumerate(("p_male", "p_female")):
        expected = fmean(
            slow.probability(sentence.text, sentence.fills[place])
            for structure in probes.of(Experiment.HE_SHE)
            for sentence in [open_term(structure, occupation.forms[0], terms=("he", "she"))]
        )
        assert getattr(result.occupations[0], attribute) == pytest.approx(expected, rel=1e-4)


def test_the_mean_of_token_probabilities_is_there_for_those_who_want_it(menagerie: Zoo) -> None:
    probes = small_probes("en")
    model = menagerie.model("roberta")
    options = MalorOptions(experiment="names", score="mean-prob", resampling=FEW)
    found = ratios(probe(model, probes, options=options), "names", "gender")
    reference = menagerie.reference("roberta")
    structure, occupation = probes.of(Experiment.NAMES)[0], probes.occupations[0]
    terms = probes.terms[Experiment.NAMES]
    sentence = open_term(structure, occupation.forms[0], terms=terms.all)
    values = [fmean(map(math.exp, reference.blank(sentence.text, word))) for word in sentence.fills]
    expected = math.log2(fmean(values[: len(terms)]) / fmean(values[len(terms) :]))
    assert found[structure.number, occupation.name] == pytest.approx(expected, abs=TOLERANCE)


def test_a_term_at_the_start_is_written_as_it_is_when_that_is_asked_for(menagerie: Zoo) -> None:
    probes = small_probes("en")
    model = menagerie.model("roberta")
    structure = next(one for one in probes.of(Experiment.HE_SHE) if one.text.startswith("[MASK]"))
    alone = replace(probes, structures=(structure,), occupations=probes.occupations[:2])
    by_place, as_is = (
        ratios(
            probe(model, alone, options=MalorOptions(experiment="he-she", case=case, resampling=FEW)),
            "he-she",
            "gender",
        )
        for case in ("by-place", "as-is")
    )
    reference = menagerie.reference("roberta")
    occupation = alone.occupations[0]
    text = fill(structure, occupation.forms[0], term="BLANK")
    for found, words in ((by_place, ("He", "She")), (as_is, ("he", "she"))):
        male, female = (math.fsum(reference.blank(text, word)) for word in words)
        expected = (male - female) / math.log(2)
        assert found[structure.number, occupation.name] == pytest.approx(expected, abs=TOLERANCE)


def test_an_occupation_with_an_unknown_form_is_left_out_as_a_whole(menagerie: Zoo) -> None:
    """With one form alone, agreement would give the answer away."""
    everything = load_probes("de")
    doctor = next(one for one in everything.occupations if one.name == "doctor")
    assert doctor.forms[1].noun == "Ärztin"
    probes = small_probes("de")
    probes = replace(probes, occupations=(*probes.occupations, doctor))
    tokenizer = menagerie.model("bert").loaded.tokenizer
    assert tokenizer.unk_token_id in tokenizer("Ärztin")["input_ids"]
    run = probe(menagerie.model("bert"), probes, options=MalorOptions(direction="both", resampling=FEW))
    for result in run.results:
        assert isinstance(result, MalorResult)
        lean = next(one for one in result.occupations if one.occupation == "doctor")
        assert not lean.log2_ratio.defined
        assert any("doctor" in skipped.examples for skipped in result.skipped)


def test_a_model_that_writes_sentences_anew_is_refused(menagerie: Zoo) -> None:
    with pytest.raises(ModelError, match="cannot be measured with MALoR"):
        probe(menagerie.model("bart"), small_probes("en"), options=MalorOptions(resampling=FEW))


@pytest.mark.parametrize(
    "changes",
    [
        {"shares": {"of work": {"nurse": 90.0, "baker": 55.0}}},
        {"shares": {"of work": {"nurse": 91.0, "baker": 50.0}}},
        {"shares": {"in texts": {"nurse": 90.0, "baker": 50.0}}},
        {"shares": {}},
        {"experiment": "names"},
        {"direction": "both"},
        {"case": "as-is"},
        {"resampling": Resampling(resamples=101)},
    ],
)
def test_other_options_make_another_run(menagerie: Zoo, changes: dict[str, Any]) -> None:
    model, probes = menagerie.model("bert"), load_probes("en")
    plain = {"shares": {"of work": {"nurse": 90.0, "baker": 50.0}}, "resampling": Resampling(resamples=100)}
    again = {"shares": {"of work": {"baker": 50.0, "nurse": 90.0}}}

    def fingerprint(changes: dict[str, Any]) -> str:
        options = MalorOptions(data=probes, **{**plain, **changes})
        return MALOR.prepare(model, options).record.fingerprint

    assert fingerprint(changes) != fingerprint({})
    assert fingerprint(again) == fingerprint({})
