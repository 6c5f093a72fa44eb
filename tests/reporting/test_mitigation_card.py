"""The card of a mitigated model says what a reader needs, in figures that can be checked."""

from __future__ import annotations

import statistics

import pytest
import yaml
from mitigation_records import HE_SHE, a_record, a_seed

from evenhand.reporting.model_cards import mitigation_card
from evenhand.store.mitigation_records import MitigationRecord


def test_figures_stand_with_their_intervals_and_changes() -> None:
    card = mitigation_card(a_record())
    assert "| MALoR, he-she | 1.500 [1.200, 1.800] | 0.600 [0.400, 0.800] | -60% |" in card
    assert "| held-out perplexity | 20.000 | 20.100 | +0.50% |" in card


def test_the_front_matter_is_yaml_that_hubs_read() -> None:
    front = yaml.safe_load(mitigation_card(a_record()).split("---\n")[1])
    assert front["base_model"] == "tiny"
    assert front["language"] == ["en"]
    assert "bias-mitigation" in front["tags"]


def test_data_are_named_with_their_digests() -> None:
    card = mitigation_card(a_record())
    assert "novels.txt, 1,234 sentences, SHA-256 89ab" in card
    assert "462 examples, 231 pairs, SHA-256 cdef" in card
    assert "held out: 100 sentences of news.txt, SHA-256 fedc" in card


def test_it_can_be_repeated() -> None:
    assert "```\nevenhand mitigate counterfactual tiny\n```" in mitigation_card(
        a_record(), command="evenhand mitigate counterfactual tiny"
    )
    assert "`mitigation.json`" in mitigation_card(a_record())


def test_a_margin_that_was_missed_is_said_aloud() -> None:
    card = mitigation_card(a_record(a_seed(0, 0.5, perplexity=22.0, keeps_quality=False)))
    assert "**No epoch stayed within the quality margin of 1.0%.**" in card
    assert "No epoch stayed" not in mitigation_card(a_record())


def several() -> MitigationRecord:
    return a_record(a_seed(0, 0.9), a_seed(1, 0.6), a_seed(2, 0.75), chosen_seed=1)


def test_seeds_are_told_with_mean_and_deviation() -> None:
    spread = several().bias_over_seeds(HE_SHE)
    assert spread is not None
    assert spread.mean == pytest.approx(0.75)
    assert spread.deviation == pytest.approx(statistics.stdev([0.9, 0.6, 0.75]))
    card = mitigation_card(several())
    assert (
        "Over 3 seeds (mean ± standard deviation): MALoR, he-she 0.750 ± 0.150; perplexity 20.100 ± 0.000"
        in card
    )
    assert "Seed 1 was kept" in card


def test_one_seed_has_no_deviation() -> None:
    spread = a_record().bias_over_seeds(HE_SHE)
    assert spread is not None
    assert spread.deviation is None
    assert a_record().bias_over_seeds("he-she.spread") is None
    assert "seeds (mean" not in mitigation_card(a_record())


def test_no_card_promises_a_model_without_bias() -> None:
    card = mitigation_card(a_record(lora=True))
    assert "unbiased" not in card
    assert "does not make a model free of bias" in card
    assert "LoRA: rank 4" in card
