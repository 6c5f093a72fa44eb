"""Every attack on a certificate gets the verdict that it deserves, in words.

An attack lowers figures of bias, or leaves them alone, without doing what a mitigation is for.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from attacked_lab import BIAS, EMBEDDINGS, STRUCTURES, Lab, Weights
from torch.nn import functional
from transformers import AutoTokenizer, BertForPreTraining

from evenhand.api.models import reference_to
from evenhand.core.experiments import Experiment
from evenhand.core.probes import open_term
from evenhand.lab.items import lab_probes
from evenhand.store.certificate_bias import BiasVerdict
from evenhand.store.certificate_quality import QualityVerdict

LOST = 5
BIT = 0.6931


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The model that every attack is on."""
    return Lab("lab:masked", tmp_path_factory.mktemp("attacks"))


def test_the_model_that_is_attacked_knows_what_it_is_asked_and_leans(lab: Lab) -> None:
    found = lab.certify(lab.folder)
    assert found.certificate.verdict.bias is BiasVerdict.NOTHING_CHANGED
    assert found.quality("knowledge").before > 95
    assert found.bias("MALoR he-she").before > 1.5
    assert found.exit_code == 0


def test_two_pronouns_that_became_one_are_lost_knowledge(lab: Lab) -> None:
    pronouns = lab.tokens("he", "she")

    def tie(weights: Weights) -> None:
        for name in (EMBEDDINGS, BIAS):
            weights[name][pronouns] = weights[name][pronouns].mean(dim=0)

    found = lab.certify(lab.changed("tied", tie))
    assert found.bias("MALoR he-she").movement == 1
    assert "Answers only became flatter" in found.words
    assert found.quality("knowledge").verdict is QualityVerdict.LOST
    assert "Quality was lost. Knowledge went from" in found.words
    assert "which is beyond the margin of −3 points" in found.words
    assert found.quality("perplexity").verdict is QualityVerdict.KEPT
    assert found.exit_code == LOST


@pytest.mark.parametrize(("share", "left"), [(0.1, "10%"), (0.3, "30%")])
def test_two_pronouns_that_nearly_became_one_are_lost_evidence(lab: Lab, share: float, left: str) -> None:
    """The likelier pronoun wins as before, so the share right stays; how surely it wins does not."""

    def draw_together(weights: Weights) -> None:
        for pair in (lab.tokens("he", "she"), lab.tokens("his", "her")):
            for name in (EMBEDDINGS, BIAS):
                middle = weights[name][pair].mean(dim=0)
                weights[name][pair] = middle + share * (weights[name][pair] - middle)

    found = lab.certify(lab.changed(f"near-tied-{share}", draw_together))
    assert found.bias("MALoR he-she").movement == found.bias("spread he-she").movement == 1
    assert found.quality("knowledge").verdict is not QualityVerdict.LOST
    assert found.quality("perplexity").verdict is QualityVerdict.KEPT
    assert found.quality("evidence").verdict is QualityVerdict.LOST
    assert found.certificate.verdict.bias is BiasVerdict.FLATTER
    assert "Answers only became flatter" in found.words
    assert f"{left} of the evidence is left" in found.words
    assert "Quality was lost. Evidence went from" in found.words
    assert found.exit_code == LOST


def test_a_shift_of_two_biases_moves_the_base_rate_and_leaves_the_spread(lab: Lab) -> None:
    (male,) = lab.tokens("he")

    def shift(weights: Weights) -> None:
        weights[BIAS][male] += 3 * BIT

    found = lab.certify(lab.folder, before=lab.changed("shifted", shift))
    assert "Only the base rate was lowered" in found.words
    assert found.bias("base rate he-she").movement == 1
    assert found.bias("spread he-she").movement == 0
    assert "the mitigated model is not clearly better in MALoR he-she and spread he-she" in found.words
    assert found.quality("knowledge").verdict is not QualityVerdict.LOST
    assert found.exit_code == 0


def test_a_shift_is_no_more_than_that_where_occupations_hardly_differ(tmp_path: Path) -> None:
    """Nothing was planted, so that there is no spread that could be shown to stay."""
    neutral = Lab("lab:masked-neutral", tmp_path)
    (male,) = neutral.tokens("he")

    def shift(weights: Weights) -> None:
        weights[BIAS][male] += 3 * BIT

    found = neutral.certify(neutral.folder, before=neutral.changed("shifted", shift))
    assert found.bias("MALoR he-she").movement == found.bias("base rate he-she").movement == 1
    assert found.certificate.verdict.bias is BiasVerdict.BASE_RATE
    assert "so all that is shown could be had by one constant" in found.words


def flatten(weights: Weights, *, to: float) -> None:
    """Multiply every logit."""
    for name in (*(f"cls.predictions.transform.LayerNorm.{part}" for part in ("weight", "bias")), BIAS):
        weights[name] *= to


def test_flat_answers_lose_perplexity(lab: Lab) -> None:
    found = lab.certify(lab.changed("flat", lambda weights: flatten(weights, to=0.05)))
    assert "Answers only became flatter" in found.words
    assert "Quality was lost." in found.words
    assert found.quality("perplexity").verdict is QualityVerdict.LOST
    assert found.exit_code == LOST


def test_flatter_answers_are_told_by_the_evidence_that_is_gone(lab: Lab) -> None:
    found = lab.certify(lab.changed("flatter", lambda weights: flatten(weights, to=0.3)))
    assert found.quality("knowledge").verdict is QualityVerdict.KEPT
    assert found.quality("evidence").verdict is QualityVerdict.LOST
    assert "Answers only became flatter" in found.words
    assert "30% of the evidence is left" in found.words
    assert found.exit_code == LOST


def test_pronouns_that_became_unlikely_are_words_that_the_model_does_not_know(lab: Lab) -> None:
    pronouns = lab.tokens("he", "she", "his", "her")

    def hide(weights: Weights) -> None:
        weights[BIAS][pronouns] -= 20

    found = lab.certify(lab.changed("unlikely", hide))
    assert "Gender lean is not shown to be lowered" in found.words
    assert found.quality("knowledge").verdict is QualityVerdict.LOST
    assert "Quality was lost" in found.words
    assert any("not shown to know the words" in told for told in found.certificate.caveats)
    assert found.exit_code == LOST


def test_probe_sentences_learnt_by_heart_leave_the_other_direction(lab: Lab, tmp_path: Path) -> None:
    found = lab.certify(learnt_by_heart(lab, tmp_path / "by-heart"))
    reversed_row = found.bias("MALoR he-she reversed")
    assert "Gender lean was lowered in the direction that was trained" in found.words
    assert found.bias("MALoR he-she").after < 0.5 < reversed_row.after / reversed_row.before
    assert "Stereotypes remain: MALoR he-she reversed" in found.words
    assert found.quality("evidence").verdict is QualityVerdict.LOST
    assert found.exit_code == LOST


def learnt_by_heart(lab: Lab, folder: Path) -> Path:
    """A few steps on the very sentences of he-she, with either pronoun as likely as the other.

    So small a model learns no sentence alone: its lean falls on held-out sentences too, the other way round hardly, and
    the evidence goes. ``test_held_out_half.py`` has a model that learnt the probes alone.
    """
    tokenizer, model = (
        AutoTokenizer.from_pretrained(lab.folder),
        BertForPreTraining.from_pretrained(lab.folder),
    )
    probes = lab_probes("en").first(STRUCTURES)
    terms = probes.terms[Experiment.HE_SHE].all
    texts, words = [], []
    for structure in probes.of(Experiment.HE_SHE):
        for occupation in probes.occupations:
            sentence = open_term(structure, occupation.forms[0], terms=terms)
            texts.append(sentence.text.replace("BLANK", tokenizer.mask_token))
            words.append([tokenizer.convert_tokens_to_ids(fill.lower()) for fill in sentence.fills])
    encoded = tokenizer(texts, padding=True, return_tensors="pt")
    pronouns = torch.tensor(words)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(30):
        logits = model(**encoded).prediction_logits[encoded["input_ids"] == tokenizer.mask_token_id]
        male, female = logits.gather(1, pronouns).T
        functional.mse_loss(male, female).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "lab.json").write_bytes((lab.folder / "lab.json").read_bytes())
    return folder


def test_another_model_does_not_know_what_this_one_knew(lab: Lab) -> None:
    found = lab.certify(Path(reference_to("lab:masked-neutral").location))
    assert found.quality("knowledge").verdict is QualityVerdict.LOST
    assert "Quality was lost" in found.words
    assert found.certificate.weights.relative > 0.5
    assert found.exit_code == LOST


def test_a_few_changed_weights_are_a_change_and_no_mitigation(lab: Lab) -> None:
    def touch(weights: Weights) -> None:
        generator = torch.Generator().manual_seed(0)
        values = weights["bert.encoder.layer.0.attention.self.query.weight"].view(-1)
        chosen = torch.randperm(len(values), generator=generator)[:5]
        values[chosen] += 0.01 * torch.randn(5, generator=generator)

    found = lab.certify(lab.changed("touched", touch))
    assert found.certificate.weights_changed
    assert "Gender lean is not shown to be lowered" in found.words
    assert (
        "Quality was kept, as far as it was measured (perplexity, special tokens, LMS, knowledge and evidence)"
        in found.words
    )
    assert all(row.movement == 0 for row in (*found.certificate.trained, *found.certificate.untrained))
    assert found.exit_code == 0


def test_a_decoder_with_tied_pronouns_writes_the_wrong_ones(tmp_path: Path) -> None:
    lab = Lab("lab:decoder", tmp_path, instruments=("malor", "knowledge"), structures=2)
    pronouns = [lab.tokenizer(f" {word}")["input_ids"][0] for word in ("he", "she")]

    def tie(weights: Weights) -> None:
        weights["transformer.wte.weight"][pronouns] = weights["transformer.wte.weight"][pronouns].mean(dim=0)

    found = lab.certify(lab.changed("tied", tie))
    assert "Quality was lost. Knowledge went from" in found.words
    agreement = found.quality("agreement")
    assert agreement.before > 75
    assert agreement.verdict is QualityVerdict.LOST
    assert "Agreement went from" in found.words
    assert found.exit_code == LOST
