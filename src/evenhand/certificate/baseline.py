"""The trivial baseline: what a shift of a few output biases would have reached, without any training.

One constant for each experiment moves the log-odds of its male terms against its female ones, the same wherever the
model predicts. It takes away a base rate, and leaves occupations as far from each other as they were. It is fitted on
text: where a term is the only gendered word of a sentence, the mean of the log-odds where a male term stands and of
those where a female one stands is 0 after the shift. Both sides count the same, however often each stands there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from scipy.special import logsumexp

from evenhand.certificate.bias import KeyedRow
from evenhand.certificate.derivation import MALOR_INSTRUMENT
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.measuring import ModelMeasurer
from evenhand.certificate.plan import CertificatePlan, Measurement
from evenhand.certificate.quality import held_out_losses
from evenhand.certificate.text_quality import held_out_text_rows
from evenhand.core.experiments import Experiment
from evenhand.core.items import BLANK
from evenhand.core.probes import ProbeSet
from evenhand.instruments.malor.chosen_probes import probes_of
from evenhand.instruments.malor.comparison import malor_bias_rows
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.instruments.word_scoring import OpenQuestion, WordAnswer, WordScorer
from evenhand.mitigation.equalising.gaps import GERMAN_ENDINGS, OnlyTerm, TermFinder, finder_for
from evenhand.mitigation.pairs.matching import evaluation_sentences
from evenhand.models.language_model import LanguageModel
from evenhand.store.certificate_bias import ALL_PROBES, BiasRow
from evenhand.store.certificate_inputs import TextLosses, UncomparedText
from evenhand.store.certificates import BASELINE, FittedShift, TrivialBaseline, token_shifts
from evenhand.text.digests import LowestDigests, digest_of

FEWEST_PLACES = 5
"""Places of either side without which a shift is not fitted."""

MOST_PLACES = 100
"""Places of either side that are read, chosen by the digests of their sentences."""

NO_TEXT = "no text was given that it could be fitted on (--held-out)"


def trivial_baseline(
    before: ModelMeasurer,
    measured: tuple[Measurements, Measurements],
    plan: CertificatePlan,
    *,
    experiments: Iterable[str],
) -> tuple[TrivialBaseline | None, TextLosses | UncomparedText | None]:
    """What a shift of output biases makes of the original, beside what the mitigation made of it.

    Args:
        before: Measures the original.
        measured: What both models gave.
        plan: What they were measured on.
        experiments: Those that are judged; each has a shift of its own.

    Returns:
        The baseline, or why there is none; None where occupations were not asked for. And what the original without
        and with the shifts makes of the held-out text.
    """
    if not all(MALOR_INSTRUMENT in side.runs for side in measured):
        return None, None
    probes = probes_of(_malor_options(plan))
    text = _text(plan, probes)
    if not text:
        return TrivialBaseline(reason=NO_TEXT), None
    wanted = [experiment for experiment in probes.experiments if experiment.value in set(experiments)]
    shifts = fit_shifts(before.model, probes, wanted, sentences=text)
    fitted_on = "training text" if plan.training_text else "held-out text"
    fitted = [shift.experiment for shift in shifts if shift.reason is None]
    if not fitted:
        reason = "no experiment has a shift that could be fitted"
        return TrivialBaseline(shifts=shifts, fitted_on=fitted_on, reason=reason), None
    shifted = shifted_measurer(before, plan, shifts)
    own = shifted.measure()
    if MALOR_INSTRUMENT not in own.runs:
        return TrivialBaseline(shifts=shifts, fitted_on=fitted_on, reason=own.gaps[MALOR_INSTRUMENT]), None
    original, mitigated = (side.runs[MALOR_INSTRUMENT] for side in measured)
    run = own.runs[MALOR_INSTRUMENT]
    reached, against = (
        tuple(
            keyed.row
            for keyed in _rows(malor_bias_rows(*pair, resampling=plan.resampling))
            if keyed.is_about(fitted) and keyed.row.sample != ALL_PROBES
        )
        for pair in ((original, run), (run, mitigated))
    )
    baseline = TrivialBaseline(shifts=shifts, fitted_on=fitted_on, reached=reached, against=against)
    losses = held_out_losses(before, shifted, plan.held_out)
    if losses is None:
        return baseline, None
    perplexity, special = held_out_text_rows(
        losses,
        perplexity=plan.margins.perplexity,
        special=plan.margins.special,
        resampling=plan.resampling,
    )
    return baseline.model_copy(update={"perplexity": perplexity, "special": special}), losses


def shifted_measurer(
    before: ModelMeasurer, plan: CertificatePlan, shifts: Sequence[FittedShift]
) -> ModelMeasurer:
    """Measures the original with shifts, on the experiments for which one could be fitted."""
    fitted = {shift.experiment for shift in shifts if shift.reason is None}
    options = _malor_options(plan)
    probes = probes_of(options)
    asked = replace(
        probes, structures=tuple(own for own in probes.structures if own.experiment.value in fitted)
    )
    return ModelMeasurer(
        before.model,
        replace(plan, measurements=(_measurement(asked, options),), labelled=None, trained=None),
        folder=before.folder.parent / BASELINE,
        monitor=before.monitor,
        shifts=token_shifts(shifts),
        taken_over=before.taken_over,
    )


def _malor_options(plan: CertificatePlan) -> MalorOptions:
    measurement = next(own for own in plan.measurements if own.name == MALOR_INSTRUMENT)
    return cast(MalorOptions, measurement.options)


def _text(plan: CertificatePlan, probes: ProbeSet) -> Sequence[str]:
    """What shifts are fitted on: the training text, else the held-out text without what the probes ask."""
    if plan.training_text or plan.held_out is None:
        return plan.training_text
    asked = evaluation_sentences(probes)
    return [sentence for sentence in plan.held_out.sentences if sentence not in asked]


def _measurement(probes: ProbeSet, options: MalorOptions) -> Measurement:
    """The probes in the direction that is judged, asked as the others were."""
    own = MalorOptions(data=probes, score=options.score, case=options.case, max_tokens=options.max_tokens)
    return Measurement(MALOR_INSTRUMENT, own)


def fit_shifts(
    model: LanguageModel, probes: ProbeSet, experiments: Sequence[Experiment], *, sentences: Iterable[str]
) -> tuple[FittedShift, ...]:
    """The shift of each experiment, or why it has none.

    Args:
        model: The original.
        probes: Whose terms are shifted; their sentences play no part.
        experiments: Which of its experiments.
        sentences: Text to fit on.
    """
    terms = {experiment: probes.terms[experiment] for experiment in experiments}
    places = _places(sentences, finder_for(probes.language, terms), terms)
    scorer = WordScorer(model)
    shifts = []
    for experiment in experiments:
        male, female = term_tokens(model, probes, experiment)
        sides = places[experiment]
        counts = [len(side) for side in sides]
        odds = [_log_odds(scorer, side) for side in sides] if min(counts) >= FEWEST_PLACES else []
        reason = None
        if not (male and female):
            reason = "no term is a single token of its own"
        elif not odds:
            reason = (
                f"the text has {counts[0]} places for a male term alone and {counts[1]} for a female one; "
                + (f"at least {FEWEST_PLACES} of each are needed")
            )
        elif any(math.isnan(mean) for mean in odds):
            reason = "the model gives no probability for the terms in the text"
        shifts.append(
            FittedShift(
                experiment=experiment.value,
                bits=math.nan if reason else -sum(odds) / 2 / math.log(2),
                places=sum(counts),
                male_tokens=male,
                female_tokens=female,
                reason=reason,
            )
        )
    return tuple(shifts)


def term_tokens(
    model: LanguageModel, probes: ProbeSet, experiment: Experiment
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens that are a whole term, of each side; those that are terms of both sides are left out."""
    pairs = probes.terms[experiment]
    inflected = probes.language == "de" and experiment == Experiment.HIS_HER
    sides = []
    for words in (pairs.male, pairs.female):
        written = [word + ending for word in words for ending in (GERMAN_ENDINGS if inflected else ("",))]
        capitals = [word[:1].upper() + word[1:] for word in written]
        # Without a space before it, a word in lower case may be the end of a longer one.
        spaced = [*capitals, *(f" {word}" for word in (*written, *capitals))]
        cut = model.tokenizer(spaced, add_special_tokens=False)["input_ids"]
        sides.append({ids[0] for ids in cut if len(ids) == 1} - {model.tokenizer.unk_token_id})
    male, female = sides
    return tuple(sorted(male - female)), tuple(sorted(female - male))


def _places(
    sentences: Iterable[str], find: TermFinder, experiments: Iterable[Experiment]
) -> dict[Experiment, tuple[list[OpenQuestion], list[OpenQuestion]]]:
    """Sentences with a gap where a male term stands, and where a female one does, by experiment."""
    kept: dict[tuple[Experiment, bool], LowestDigests[OpenQuestion]] = {}
    for sentence in sentences:
        term = find(sentence)
        if not isinstance(term, OnlyTerm) or BLANK in sentence:
            continue
        pairs = term.choices[0]
        text = f"{sentence[: term.span.start]}{BLANK}{sentence[term.span.end :]}"
        side = term.span.of(sentence) in pairs.male
        lowest = kept.setdefault((term.experiment, side), LowestDigests(MOST_PLACES, distinct=True))
        lowest.offer(digest_of(sentence), OpenQuestion(text, pairs.all))
    found = {}
    for experiment in experiments:
        male, female = (
            kept[experiment, side].by_digest() if (experiment, side) in kept else [] for side in (True, False)
        )
        found[experiment] = (male, female)
    return found


def _log_odds(scorer: WordScorer, questions: Sequence[OpenQuestion]) -> float:
    """The mean over places of the log-odds of male against female terms, in nats; NaN if none has any."""
    odds = [_odds(answers) for answers in scorer.answers(questions)]
    known = [value for value in odds if math.isfinite(value)]
    return float(np.mean(known)) if known else math.nan


def _odds(answers: Sequence[WordAnswer]) -> float:
    """Of the pairs of which both terms have an answer."""
    logs = np.array([answer.log_probability for answer in answers]).reshape(2, -1)
    male, female = logs[:, np.isfinite(logs).all(axis=0)]
    return float(logsumexp(male) - logsumexp(female)) if male.size else math.nan


def _rows(rows: Mapping[str, BiasRow]) -> list[KeyedRow]:
    return [KeyedRow(key, row) for key, row in rows.items()]
