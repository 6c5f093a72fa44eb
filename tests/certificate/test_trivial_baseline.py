"""The trivial baseline: shifts of output biases, how they are fitted, and what a certificate says of them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import certificates
import pytest
import torch
from certificate_runs import probes_alone, small_plan

from evenhand.api.defaults.mitigating import CertifyOptions, default_plan
from evenhand.certificate import CertificatePlan, HeldOutText, Measurement, certify
from evenhand.certificate.baseline import fit_shifts, term_tokens
from evenhand.certificate.verification import read_certificate
from evenhand.core.errors import RunError
from evenhand.core.experiments import Experiment
from evenhand.data.probes import load_probes
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.lab.items import lab_probes
from evenhand.models.engine.modes import shifted_scores
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.reporting.certificate.baseline import baseline_words
from evenhand.reporting.certificate.page import render_certificate_page
from evenhand.reporting.tables import certificate_rows
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_files import sealed
from evenhand.store.certificate_quality import QualityVerdict
from evenhand.store.certificates import Certificate, FittedShift, TrivialBaseline, token_shifts
from evenhand.store.run import open_run

HALF = 0.75
"""Nats, added to the scores of he and taken from those of she."""

PROBES = lab_probes("en")


@pytest.fixture(scope="module")
def lab() -> LanguageModel:
    return load_language_model("lab:masked")


@pytest.fixture(scope="module")
def lab_text() -> tuple[str, ...]:
    return default_plan(ModelRef(id="lab:masked"), CertifyOptions()).training_text


def he_she(model: LanguageModel) -> tuple[int, int]:
    (male,), (female,) = term_tokens(model, PROBES, Experiment.HE_SHE)
    return male, female


def test_a_shift_is_what_other_output_biases_give(menagerie: Any) -> None:
    model = menagerie.model("bert")
    tokenizer, network = model.tokenizer, model.loaded.model
    ids = tokenizer(f"The baker said {tokenizer.mask_token} was late.", return_tensors="pt")["input_ids"]
    place = ids[0].tolist().index(tokenizer.mask_token_id)
    # The vocabulary is small: any two words that are one token each will do.
    words = [word for word in ("he", "the", "was", "and", "said", "a") if word in tokenizer.get_vocab()][:2]
    he, she = (tokenizer.convert_tokens_to_ids(word) for word in words)
    with torch.no_grad():
        scores = network(input_ids=ids).logits[0, place].double()
    scores[he] += 1.5
    scores[she] -= 0.5
    expected = [float(scores[token] - torch.logsumexp(scores, 0)) for token in (he, she)]

    before = model.score_fills("The baker said BLANK was late.", words)
    with shifted_scores(network, {he: 1.5, she: -0.5}):
        found = model.score_fills("The baker said BLANK was late.", words)
    after = model.score_fills("The baker said BLANK was late.", words)

    assert [score.log_probs[0] for score in found] == pytest.approx(expected, abs=1e-5)
    assert after == before


def test_the_shift_of_a_decoder_counts_at_every_token(menagerie: Any) -> None:
    model = menagerie.model("gpt2")
    text = "The baker said she was late."
    start = model.family.text_start(model.loaded)
    ids = torch.tensor([[start, *model.tokenizer(text, add_special_tokens=False)["input_ids"]]])
    shifts = {int(ids[0, 3]): 2.0, int(ids[0, 1]): -1.0}
    with torch.no_grad():
        scores = model.loaded.model(input_ids=ids).logits[0].double()
    for token, shift in shifts.items():
        scores[:, token] += shift
    logs = torch.log_softmax(scores, -1)
    expected = [float(logs[place, ids[0, place + 1]]) for place in range(ids.shape[1] - 1)]

    with shifted_scores(model.loaded.model, shifts):
        (found,) = model.score_texts([text])

    assert found.log_probs == pytest.approx(expected, abs=1e-4)


def test_the_shift_of_an_encoder_decoder_moves_log_odds_by_its_size(menagerie: Any) -> None:
    model = menagerie.model("t5")
    fills = ["he", "she"]
    cut = [model.tokenizer(word, add_special_tokens=False)["input_ids"] for word in fills]
    plain = model.score_fills("The baker said BLANK was late.", fills)
    with shifted_scores(model.loaded.model, {cut[0][0]: 1.5}):
        shifted = model.score_fills("The baker said BLANK was late.", fills)
    first = [score.log_probs[0] for score in plain]
    then = [score.log_probs[0] for score in shifted]
    same_start = cut[0][0] == cut[1][0]
    moved = (then[0] - then[1]) - (first[0] - first[1])
    assert moved == pytest.approx(0.0 if same_start else 1.5, abs=1e-4)
    assert then[0] > first[0]


def test_tokens_are_whole_terms_of_one_side() -> None:
    class Spaced:
        unk_token_id = 0

        def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
            known = {"He": [1], " he": [2], " He": [3], "She": [4, 5], " she": [6], " She": [0]}
            return {"input_ids": [known[text] for text in texts]}

    class Model:
        tokenizer = Spaced()

    assert term_tokens(Model(), load_probes("en"), Experiment.HE_SHE) == ((1, 2, 3), (6,))  # type: ignore[arg-type]


def test_a_shift_evens_out_a_base_rate_that_was_put_in(lab: LanguageModel, lab_text: tuple[str, ...]) -> None:
    he, she = he_she(lab)
    (own,) = fit_shifts(lab, PROBES, [Experiment.HE_SHE], sentences=lab_text)
    with shifted_scores(lab.loaded.model, {he: HALF, she: -HALF}):
        (found,) = fit_shifts(lab, PROBES, [Experiment.HE_SHE], sentences=lab_text)
        with shifted_scores(lab.loaded.model, token_shifts([found])):
            (rest,) = fit_shifts(lab, PROBES, [Experiment.HE_SHE], sentences=lab_text)
    assert found.bits == pytest.approx(own.bits - 2 * HALF / math.log(2), abs=1e-4)
    assert rest.bits == pytest.approx(0, abs=1e-4)
    assert token_shifts([found]) == pytest.approx(
        {he: found.bits * math.log(2) / 2, she: -found.bits * math.log(2) / 2}
    )


def test_a_side_that_stands_more_often_counts_no_more(lab: LanguageModel, lab_text: tuple[str, ...]) -> None:
    female = [text for text in lab_text if "she " in text.lower()]
    mostly_male = [text for text in lab_text if "she " not in text.lower()] + female[:30]
    all_of_it, uneven = (
        fit_shifts(lab, PROBES, [Experiment.HE_SHE], sentences=texts)[0] for texts in (lab_text, mostly_male)
    )
    assert uneven.places < all_of_it.places
    assert uneven.bits == pytest.approx(all_of_it.bits, abs=0.5)


def test_a_text_without_terms_gives_a_reason(lab: LanguageModel) -> None:
    (found,) = fit_shifts(lab, PROBES, [Experiment.HE_SHE], sentences=["The baker sold bread."])
    assert math.isnan(found.bits)
    assert found.reason == (
        "the text has 0 places for a male term alone and 0 for a female one; at least 5 of each are needed"
    )
    assert token_shifts([found]) == {}


def with_base_rate(folder: Path, half: float) -> Path:
    """The lab's masked model with other output biases."""
    model = load_language_model("lab:masked")
    he, she = he_she(model)
    bias = model.loaded.model.get_output_embeddings().bias  # type: ignore[operator]
    with torch.no_grad():
        bias[he] += half
        bias[she] -= half
    model.loaded.model.save_pretrained(folder)  # type: ignore[operator]
    model.tokenizer.save_pretrained(folder)
    return folder


def lab_plan(text: tuple[str, ...], **changes: Any) -> CertificatePlan:
    return CertificatePlan(
        **{
            "measurements": (Measurement("malor", MalorOptions(data=PROBES, experiment="he-she")),),
            "held_out": HeldOutText(text[:60]),
            "training_text": text,
            "resampling": Resampling(resamples=200),
            **changes,
        }
    )


@pytest.fixture(scope="module")
def shifted(lab_text: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> tuple[Certificate, Path]:
    """The certificate of a model whose base rate was taken away, and nothing else."""
    folder = tmp_path_factory.mktemp("shifted")
    before = with_base_rate(folder / "leaning", HALF)
    after = with_base_rate(folder / "shifted", 0.05)
    place = folder / "certificate.json"
    return certify(str(before), str(after), lab_plan(lab_text), place=place), place


def test_shifting_output_biases_is_not_called_better_than_shifting_them(
    shifted: tuple[Certificate, Path],
) -> None:
    certificate, place = shifted
    baseline = certificate.baseline
    assert baseline is not None
    whole, base_rate, spread = baseline.reached
    assert whole.before == certificate.trained[0].before
    # What the held-out occupations lean by on the whole stays; the planted shift is found in text and taken back.
    assert base_rate.before - base_rate.after == pytest.approx(2 * HALF / math.log(2), abs=0.15)
    assert spread.after == pytest.approx(spread.before, abs=1e-4)
    assert all(row.movement <= 0 for row in baseline.against)
    assert baseline.perplexity is not None
    assert baseline.perplexity.before == certificate.quality[0].before
    assert "not clearly better in MALoR he-she" in baseline_words(certificate)
    assert any("A trivial baseline" in words for words in certificate.words)
    assert read_certificate(place) == certificate
    row = next(row for row in certificate_rows(certificate) if row[1] == "trivial")
    assert (row[0], row[-1]) == ("MALoR he-she", "mitigated is not clearly better")


def test_a_mitigation_that_evens_out_occupations_is_better(lab_text: tuple[str, ...], tmp_path: Path) -> None:
    plan = lab_plan(lab_text)
    certificate = certify("lab:masked", "lab:masked-neutral", plan, place=tmp_path / "certificate.json")
    baseline = certificate.baseline
    assert baseline is not None
    assert [row.movement for row in baseline.against] == [1, 0, 1]
    assert "is better in MALoR he-she and spread he-she." in baseline_words(certificate)
    assert "Trivial baseline" in render_certificate_page(certificate)


def test_only_what_is_compared_is_asked_again(lab_text: tuple[str, ...], tmp_path: Path) -> None:
    measurement = Measurement("malor", MalorOptions(data=PROBES.first(4), direction="both"))
    plan = lab_plan(lab_text, measurements=(measurement,), trained=("names",))
    place = tmp_path / "certificate.json"
    certificate = certify("lab:masked", "lab:masked-neutral", plan, place=place)
    assert certificate.baseline is not None
    assert [row.measure for row in certificate.baseline.reached] == [
        "MALoR names",
        "base rate names",
        "spread names",
    ]
    run = open_run(tmp_path / "certificate" / "baseline" / "malor")
    assert [(result.experiment, result.direction) for result in run.results] == [("names", "gender")]
    assert "score shifts" in run.record.options
    assert read_certificate(place) == certificate


def test_a_baseline_that_its_run_does_not_give_is_refused(
    shifted: tuple[Certificate, Path], tmp_path: Path
) -> None:
    import shutil

    certificate, place = shifted
    baseline = certificate.baseline
    assert baseline is not None
    assert baseline.perplexity is not None
    shutil.copytree(place.with_suffix(""), tmp_path / "changed")
    worse: Any = tuple(row.model_copy(update={"after": 3.0}) for row in baseline.reached)
    dearer: Any = baseline.perplexity.model_copy(update={"after": 99.0})
    farther: Any = tuple(shift.model_copy(update={"bits": 9.0}) for shift in baseline.shifts)
    for changes, message in (
        ({"reached": worse}, "another trivial baseline"),
        ({"against": baseline.against[1:]}, "another trivial baseline"),
        ({"shifts": farther}, "something else under 'baseline'"),
        ({"perplexity": dearer}, "something else under 'baseline'"),
        ({"perplexity": None}, "something else under 'baseline'"),
    ):
        changed = certificate.model_copy(update={"baseline": baseline.model_copy(update=changes)})
        (tmp_path / "changed.json").write_text(sealed(changed).model_dump_json(), encoding="utf-8")
        with pytest.raises(RunError, match=message):
            read_certificate(tmp_path / "changed.json")


def test_without_text_there_is_none_and_the_certificate_says_so(menagerie: Any, tmp_path: Path) -> None:
    bert = menagerie.folder("bert")
    plan = probes_alone(replace(small_plan(), held_out=None))
    same = certify(str(bert), str(bert), plan, place=tmp_path / "same.json")
    assert same.baseline is None
    none = certificates.certificate(baseline=TrivialBaseline(reason="no text was given"))
    assert baseline_words(none) == "There is no trivial baseline to compare with: no text was given."


def test_the_words_name_what_was_reached_and_where_nothing_was_fitted() -> None:
    reached = certificates.malor_row("he-she", 1.35, 0.4)
    baseline = TrivialBaseline(
        shifts=(
            FittedShift(experiment="he-she", bits=-0.9, places=180, male_tokens=(1,), female_tokens=(2,)),
            FittedShift(
                experiment="names",
                bits=math.nan,
                places=3,
                male_tokens=(),
                female_tokens=(),
                reason="too little",
            ),
        ),
        fitted_on="held-out text",
        reached=(reached,),
        against=(certificates.malor_row("he-she", 0.4, 0.11),),
        perplexity=certificates.quality_row("perplexity", 0.08, QualityVerdict.KEPT),
    )
    words = baseline_words(certificates.certificate(baseline=baseline))
    assert "(he-she −0.90 bits; fitted on held-out text), would have reached MALoR he-she 0.40" in words
    assert "(+0.08%). Compared with that, the mitigated model is better in MALoR he-she." in words
    assert words.endswith("For names none was fitted: too little.")


def test_the_baseline_is_fitted_on_the_corpus_that_was_given(tmp_path: Path) -> None:
    corpus, held_out = tmp_path / "corpus.txt", tmp_path / "held-out.txt"
    corpus.write_text("\n".join(f"She saw {number} boats at sea." for number in range(40)), encoding="utf-8")
    held_out.write_text(
        "\n".join(f"The sea is {number} feet deep." for number in range(40)), encoding="utf-8"
    )
    options = CertifyOptions(held_out=(held_out,))
    model = ModelRef(id="ghost-of-a-model")
    assert default_plan(model, options).training_text == ()
    given = default_plan(model, replace(options, corpus=(corpus,))).training_text
    assert 30 < len(given) <= 40
    assert set(given) <= set(corpus.read_text(encoding="utf-8").splitlines())
