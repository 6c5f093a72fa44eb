"""Quality before and after, each measure against its margin: held-out text, LMS, and accuracy after fine-tuning.

On held-out text perplexity is compared where both models read the same tokens, bits per character where not. Decoders
that can read a passage are asked once more in passages: a model may lose the use of what it read earlier and still know
single sentences.
"""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.certificate.measurements import Measurements
from evenhand.certificate.measuring import ModelMeasurer
from evenhand.certificate.plan import CertificatePlan, HeldOutText
from evenhand.certificate.quality_figures import (
    ACCURACY,
    ACCURACY_TITLE,
    accuracy_of_answers,
    held_out_text_row,
    no_perplexity,
    passages_text_row,
)
from evenhand.instruments.association.comparison import LMS_MEASURE
from evenhand.instruments.association.instrument import ASSOCIATION
from evenhand.models.capabilities import Trains, has_capability
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelError
from evenhand.runs.certificate_inputs import ClassifierAnswers, SentenceLosses, TextLosses
from evenhand.runs.certificate_quality import POINTS, QualityRow
from evenhand.training.passages import reads_passages


def same_tokenizer(before: LanguageModel, after: LanguageModel, sentences: Sequence[str]) -> bool:
    """Whether both models read text as the same tokens."""
    first, second = before.loaded.tokenizer, after.loaded.tokenizer
    if first.get_vocab() != second.get_vocab():
        return False
    return all(first(text)["input_ids"] == second(text)["input_ids"] for text in sentences)


def held_out_row(
    before: ModelMeasurer, after: ModelMeasurer, plan: CertificatePlan, *, same_tokens: bool
) -> QualityRow:
    """Perplexity on held-out text, or what else compares, or why nothing does."""
    margin = plan.margins.perplexity
    if plan.held_out is None:
        return no_perplexity("no held-out text was given (--held-out)", margin=margin)
    reason = incomparable_text(before.model, after.model, same_tokens=same_tokens)
    if reason is not None:
        return no_perplexity(reason, margin=margin)
    text = held_out_losses(before, after, plan.held_out)
    return held_out_text_row(text, same_tokens=same_tokens, margin=margin, resampling=plan.resampling)


def held_out_losses(before: ModelMeasurer, after: ModelMeasurer, text: HeldOutText) -> TextLosses:
    """What both models make of held-out sentences."""
    return _losses(text, *(SentenceLosses.of(side.held_out(text)) for side in (before, after)))


def passages_row(
    before: ModelMeasurer, after: ModelMeasurer, plan: CertificatePlan, *, same_tokens: bool
) -> QualityRow | None:
    """Perplexity in passages; None where there are none, or where both models do not read them alike."""
    text = passage_losses(before, after, plan, same_tokens=same_tokens)
    if text is None:
        return None
    return passages_text_row(text, margin=plan.margins.perplexity, resampling=plan.resampling)


def passage_losses(
    before: ModelMeasurer, after: ModelMeasurer, plan: CertificatePlan, *, same_tokens: bool
) -> TextLosses | None:
    """What both models make of passages; None where there are none, or where both do not read them alike."""
    if plan.passages is None or not same_tokens or not _read_passages(before.model, after.model):
        return None
    own = (side.passages(plan.passages) for side in (before, after))
    return _losses(
        plan.passages,
        *(SentenceLosses(nats=tuple(loss.nats.tolist()), tokens=tuple(loss.tokens.tolist())) for loss in own),
    )


def _losses(text: HeldOutText, before: SentenceLosses, after: SentenceLosses) -> TextLosses:
    return TextLosses(
        documents=tuple(text.documents or range(len(text.sentences))),
        characters=tuple(map(len, text.sentences)),
        before=before,
        after=after,
    )


def _read_passages(*models: LanguageModel) -> bool:
    return models[0].family is models[1].family and all(map(reads_passages, models))


def incomparable_text(before: LanguageModel, after: LanguageModel, *, same_tokens: bool) -> str | None:
    """Why held-out text does not compare between two models, or None where it does."""
    if before.family is not after.family:
        return (
            f"a {before.family.name} model and a {after.family.name} model are asked different questions, so their "
            "figures on text do not compare"
        )
    if not has_capability(before, Trains):
        return "it is not defined for models that write whole sentences anew"
    if not same_tokens and not before.reads_left_to_right:
        return (
            "the models have different tokenizers, so different pieces of a sentence are hidden from them; only "
            "models that read from left to right compare then, by bits per character"
        )
    return None


def lms_row(before: Measurements, after: Measurements, plan: CertificatePlan) -> QualityRow:
    """LMS of both models, and whether it fell by no more than the margin."""
    margin = -plan.margins.lms
    if ASSOCIATION.name not in before.runs or ASSOCIATION.name not in after.runs:
        reason = before.gaps.get(ASSOCIATION.name) or after.gaps.get(ASSOCIATION.name)
        return QualityRow.not_measured(
            LMS_MEASURE,
            "Language modelling score",
            reason or "the plan has no association tests",
            margin=margin,
            unit=POINTS,
        )
    runs = before.runs[ASSOCIATION.name], after.runs[ASSOCIATION.name]
    (row,) = ASSOCIATION.quality_rows(*runs, margins={LMS_MEASURE: margin}, resampling=plan.resampling)
    return row


def accuracy_row(before: ModelMeasurer, after: ModelMeasurer, plan: CertificatePlan) -> QualityRow:
    """Accuracy over seeds and examples after fine-tuning, with the paired t-test, or why there is none."""
    margin = -plan.margins.accuracy
    if plan.labelled is None:
        return _no_accuracy("no labelled text was given (--labelled)", margin=margin)
    try:
        first, second = before.answers(plan.labelled), after.answers(plan.labelled)
    except ModelError as problem:
        return _no_accuracy(str(problem), margin=margin)
    return accuracy_of_answers(first, second, margin=margin, confidence=plan.resampling.confidence)


def classifier_answers(
    before: ModelMeasurer, after: ModelMeasurer, plan: CertificatePlan
) -> ClassifierAnswers | None:
    """Where classifiers of both models are right; None where none were trained."""
    if plan.labelled is None:
        return None
    try:
        rows = [side.answers(plan.labelled).astype(int).tolist() for side in (before, after)]
    except ModelError:
        return None
    return ClassifierAnswers(before=rows[0], after=rows[1])


def _no_accuracy(reason: str, *, margin: float) -> QualityRow:
    return QualityRow.not_measured(ACCURACY, ACCURACY_TITLE, reason, margin=margin, unit=POINTS)
