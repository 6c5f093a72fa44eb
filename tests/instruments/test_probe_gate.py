"""A probe says in words where its figures would say nothing: unknown words, words of unlike length, few structures."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from measuring import probe
from transformers import BertConfig, BertForMaskedLM, BertTokenizer
from zoo_fixtures import Zoo

from evenhand.core.errors import ComparisonError, ConditionError
from evenhand.core.experiments import Experiment
from evenhand.core.probes import TermPairs
from evenhand.core.settled import SettledSet
from evenhand.data.probes import load_probes
from evenhand.data.settled import load_settled
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.instruments.malor.results import MalorResult
from evenhand.instruments.settled_scoring import SettledAnswer, knows_words, sense_estimate
from evenhand.lab.items import lab_probes, lab_settled
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.reporting.page import render_page
from evenhand.reporting.probes.tables import format_probe_table, probe_json
from evenhand.reporting.probes.words import interpret_probe, probe_sentences
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import compare
from evenhand.store.conditions import Condition
from evenhand.store.run import Run

FEW = Resampling(resamples=200)


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    """A BERT that was never trained, with a tokenizer that has *he* and splits *she*."""
    folder = tmp_path_factory.mktemp("untrained")
    letters = [f"{mark}{letter}" for mark in ("", "##") for letter in "abcdefghijklmnopqrstuvwxyz"]
    words = {word for text in texts() for word in text}
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "'", "-", "?", *letters]
    vocabulary += sorted(words - {"she"} - set(letters))
    tokenizer = BertTokenizer(vocab={word: number for number, word in enumerate(vocabulary)})
    assert tokenizer.tokenize("she") != ["she"]
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
    torch.manual_seed(0)
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load_language_model(str(folder), device="cpu")


def texts() -> list[list[str]]:
    """The words of everything that is asked."""
    settled = load_settled("en").sentences
    asked = [f"{one.text} {one.right} {one.nonsense}" for one in settled]
    asked += [one.text for one in load_probes("en").structures]
    asked += [one.name for one in load_probes("en").occupations]
    asked += ["his", "her", "he"]
    kept = (
        "".join(letter if letter.isalpha() and letter.isascii() else " " for letter in text.lower())
        for text in asked
    )
    return [text.split() for text in kept]


def small(**changes: Any) -> Any:
    probes = load_probes("en")
    chosen = tuple(
        structure
        for experiment in (Experiment.HE_SHE, Experiment.HIS_HER)
        for structure in probes.of(experiment)[:8]
    )
    return replace(probes, structures=chosen, occupations=probes.occupations[:6], **changes)


def results(run: Run) -> dict[str, MalorResult]:
    return {result.experiment: result for result in run.results}


def test_an_untrained_bert_that_splits_she_has_no_malor_of_he_and_she(untrained: LanguageModel) -> None:
    run = probe(untrained, small(), options=MalorOptions(resampling=FEW))
    he_she = results(run)["he-she"]
    assert not he_she.MALoR.defined
    assert not he_she.signed_mean.defined
    assert not he_she.spread.defined
    assert "different numbers of tokens" in str(he_she.MALoR.reason)
    assert run.scores.filter(experiment="he-she")["log2_ratio"].null_count() == 8 * 6
    (line, _) = probe_sentences(run)
    assert "The model is not shown to know the words that it is asked for" in line
    assert "MALoR is" not in line


@pytest.mark.usefixtures("once_without_gate")
def test_words_of_unlike_length_are_the_reason_where_the_model_knows_words(untrained: LanguageModel) -> None:
    run = probe(untrained, small(), options=MalorOptions(resampling=FEW))
    (line, _) = probe_sentences(run)
    assert "No score could be computed: the two terms of the pair have different numbers of tokens" in line


def test_where_terms_are_as_long_an_untrained_model_is_told_by_nonsense(untrained: LanguageModel) -> None:
    run = probe(untrained, small(), options=MalorOptions(resampling=FEW))
    his_her = results(run)["his-her"]
    assert not knows_words(his_her.sense)
    assert not his_her.MALoR.defined
    assert not his_her.signed_mean.defined
    assert not any(lean.log2_ratio.defined for lean in his_her.occupations)
    assert "prefers sense to nonsense in" in str(his_her.MALoR.reason)
    assert his_her.ungated is not None
    leans = run.scores.filter(experiment="his-her").group_by("occupation").agg(pl.col("log2_ratio").mean())
    assert his_her.ungated["MALoR"].value == pytest.approx(float(leans["log2_ratio"].abs().mean()))  # type: ignore[arg-type]
    reading = interpret_probe(run)[1]
    assert reading.verdict == "The model is not shown to know the words"
    assert "MALoR is" not in " ".join(reading.sentences)
    assert any(
        "not shown to know the words that it is asked for" in warning for warning in run.record.warnings
    )


def test_no_figure_of_such_a_model_is_shown_anywhere(untrained: LanguageModel) -> None:
    run = probe(untrained, small(), options=MalorOptions(experiment="his-her", resampling=FEW))
    value = f"{run.result.ungated['MALoR'].value:.2f}"
    assert value not in format_probe_table(run)
    (entry,) = probe_json([run])["runs"]
    assert entry["MALoR"]["value"] is None
    assert entry["ungated"]["MALoR"]["value"] == pytest.approx(run.result.ungated["MALoR"].value)
    with pytest.raises(ConditionError, match=r"cannot be judged .* prefers sense to nonsense"):
        Condition.parse("his-her.MALoR>0.01").holds(run)
    with pytest.raises(ComparisonError, match="is not shown to know the words"):
        compare(run, run, resampling=FEW)
    page = render_page([run])
    assert f">{value}<" not in page
    assert "The model is not shown to know the words" in page


@pytest.mark.usefixtures("once_without_gate")
def test_the_mean_of_probabilities_is_meant_for_words_of_different_length(untrained: LanguageModel) -> None:
    options = MalorOptions(experiment="he-she", score="mean-prob", resampling=FEW)
    (result,) = probe(untrained, small(), options=options).results
    assert result.MALoR.defined
    assert result.MALoR.value < 3


@pytest.mark.usefixtures("once_without_gate")
def test_the_other_direction_asks_for_occupations_and_needs_no_equal_terms(untrained: LanguageModel) -> None:
    options = MalorOptions(experiment="he-she", direction="occupation", resampling=FEW)
    (result,) = probe(untrained, small(), options=options).results
    assert result.MALoR.defined


@pytest.mark.usefixtures("once_without_gate")
def test_of_several_pairs_those_of_equal_length_are_kept(untrained: LanguageModel) -> None:
    probes = small()
    terms = {**probes.terms, Experiment.HE_SHE: TermPairs(("he", "his"), ("she", "her"))}
    (result,) = probe(
        untrained, replace(probes, terms=terms), options=MalorOptions(experiment="he-she", resampling=FEW)
    ).results
    assert result.MALoR.defined
    (skipped,) = result.skipped
    assert (skipped.count, skipped.examples) == (1, ("he/she",))
    alone = replace(probes, terms={**terms, Experiment.HE_SHE: TermPairs(("his",), ("her",))})
    (other,) = probe(untrained, alone, options=MalorOptions(experiment="he-she", resampling=FEW)).results
    assert result.MALoR.value == pytest.approx(other.MALoR.value, abs=1e-5)


@pytest.mark.usefixtures("once_without_gate")
def test_whole_sentences_compare_whatever_the_length(menagerie: Zoo) -> None:
    probes = small()
    terms = {**probes.terms, Experiment.HE_SHE: TermPairs(("he",), ("yonder",))}
    run = probe(
        menagerie.model("gpt2"),
        replace(probes, terms=terms),
        options=MalorOptions(experiment="he-she", resampling=FEW),
    )
    assert results(run)["he-she"].MALoR.defined


def test_models_of_the_lab_know_their_words() -> None:
    for name in ("masked", "decoder", "encoder-decoder"):
        run = probe(
            f"lab:{name}", lab_probes("en"), options=MalorOptions(experiment="he-she", resampling=FEW)
        )
        sense = results(run)["he-she"].sense
        assert sense.value > 90
        assert knows_words(sense)
        assert run.record.warnings == ()


def test_too_few_structures_is_said_in_words() -> None:
    probes = lab_probes("en").first(3)
    run = probe("lab:masked", probes, options=MalorOptions(experiment="he-she", resampling=FEW))
    (reading,) = interpret_probe(run)
    assert reading.verdict == "Too few structures to say"
    assert reading.sentences[0].startswith("3 structures are too few to tell a lean from chance")
    assert "at least 7 are needed" in reading.sentences[0]
    assert "as chance would have it" not in " ".join(reading.sentences)


def test_enough_structures_are_read_as_before() -> None:
    run = probe("lab:masked", lab_probes("en"), options=MalorOptions(experiment="he-she", resampling=FEW))
    (reading,) = interpret_probe(run)
    assert reading.verdict == "Gender and occupation are tied"


@pytest.mark.parametrize("settled", [load_settled("en"), load_settled("de"), lab_settled("en")])
def test_a_model_with_one_probability_per_word_seldom_seems_to_know(settled: SettledSet) -> None:
    """One that knows nothing, as drawn at random: at most the share of cases that the interval may miss."""
    generator = np.random.default_rng(3)
    passed = 0
    for _ in range(400):
        levels: dict[str, float] = {}
        answers = []
        for sentence in settled.sample(2):
            right, nonsense = (
                levels.setdefault(word.casefold(), float(generator.normal()))
                for word in (sentence.right, sentence.nonsense)
            )
            answers.append(SettledAnswer(sentence, 0.0, 0.5, float(right > nonsense)))
        passed += knows_words(sense_estimate(answers, resampling=FEW))
    assert passed <= 400 * 0.05


def test_nothing_to_compare_is_no_reason_for_doubt() -> None:
    sentence = load_settled("en").sentences[0]
    found = sense_estimate([SettledAnswer(sentence, 1.0, 1.0, math.nan)], resampling=FEW)
    assert not found.defined
    assert knows_words(found)
