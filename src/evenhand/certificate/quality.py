"""What both models are asked for the sake of quality: held-out text, and labels after fine-tuning.

Perplexity compares texts in which both models are asked the same tokens at the same places, so these are marked.
Decoders that can read a passage are asked once more in passages: a model may lose the use of what it read earlier and
still know single sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from evenhand.certificate.measuring import ModelMeasurer, sentence_rows
from evenhand.certificate.plan import CertificatePlan, HeldOutText
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.held_out import HeldOutRows
from evenhand.models.references import ModelError
from evenhand.models.requests import Train
from evenhand.store.certificate_inputs import ClassifierAnswers, SentenceLosses, TextLosses, UncomparedText
from evenhand.store.held_out_losses import HeldOutFigures
from evenhand.training.passages import LONG_ENOUGH, passage_rows, reads_passages


def same_tokenizer(before: LanguageModel, after: LanguageModel, sentences: Sequence[str]) -> bool:
    """Whether both models read text as the same tokens."""
    first, second = before.loaded.tokenizer, after.loaded.tokenizer
    if first.get_vocab() != second.get_vocab():
        return False
    return all(first(text)["input_ids"] == second(text)["input_ids"] for text in sentences)


def held_out_losses(
    before: ModelMeasurer, after: ModelMeasurer, text: HeldOutText | None
) -> TextLosses | UncomparedText | None:
    """What both models make of held-out sentences, or why that does not compare; None where none were given."""
    if text is None:
        return None
    reason = incomparable_text(before.model, after.model)
    if reason is not None:
        return UncomparedText(texts=len(text.sentences), reason=reason)
    alike = same_questions(before.model, after.model, partial(sentence_rows, text))
    return _losses(text, before.held_out(text), after.held_out(text), alike=alike)


def passage_losses(
    before: ModelMeasurer, after: ModelMeasurer, text: HeldOutText | None
) -> TextLosses | UncomparedText | None:
    """The same of passages; None where there are none, or where the original does not read so far."""
    if text is None or not reads_passages(before.model):
        return None
    reason = incomparable_text(before.model, after.model)
    if reason is None and not reads_passages(after.model):
        reason = f"the model after reads fewer than {LONG_ENOUGH} tokens"
    if reason is not None:
        return UncomparedText(texts=len(text.sentences), reason=reason)
    alike = same_questions(before.model, after.model, partial(passage_rows, text.sentences))
    return _losses(text, before.passages(text), after.passages(text), alike=alike)


def _losses(
    text: HeldOutText, before: HeldOutFigures, after: HeldOutFigures, *, alike: tuple[bool, ...]
) -> TextLosses:
    return TextLosses(
        documents=tuple(text.documents or range(len(text.sentences))),
        characters=tuple(map(len, text.sentences)),
        alike=alike,
        before=SentenceLosses.of(before),
        after=SentenceLosses.of(after),
    )


def same_questions(
    before: LanguageModel, after: LanguageModel, ask: Callable[[LanguageModel], HeldOutRows]
) -> tuple[bool, ...]:
    """Of each text, whether both models are asked the same: the same ids, for the same pieces, at the same places.

    A prefix, which may be what is certified, plays no part.
    """
    questions = [ask(_without_prefix(model)).rows for model in (before, after)]
    pieces = [
        {token: piece for piece, token in model.tokenizer.get_vocab().items()} for model in (before, after)
    ]
    renamed = {
        token for token in pieces[0].keys() | pieces[1].keys() if pieces[0].get(token) != pieces[1].get(token)
    }
    return tuple(
        one == other and renamed.isdisjoint((*one.ids, *one.source, *one.targets))
        for one, other in zip(*questions, strict=True)
    )


def _without_prefix(model: LanguageModel) -> LanguageModel:
    return LanguageModel(replace(model.loaded, ref=model.ref.model_copy(update={"prefix": ""})))


def incomparable_text(before: LanguageModel, after: LanguageModel) -> str | None:
    """Why no held-out text compares between two models, or None where some may."""
    if before.family is not after.family:
        return (
            f"a {before.family.name} model and a {after.family.name} model are asked different questions, so their "
            "figures on text do not compare"
        )
    if not before.has_capability(Train):
        return "it is not defined for models that write whole sentences anew"
    return None


def classifier_answers(
    before: ModelMeasurer, after: ModelMeasurer, plan: CertificatePlan
) -> ClassifierAnswers | UncomparedText | None:
    """Where classifiers of both models are right, or why there are none; None where no labelled text was given."""
    if plan.labelled is None:
        return None
    try:
        rows = [side.answers(plan.labelled).astype(int).tolist() for side in (before, after)]
    except ModelError as problem:
        return UncomparedText(texts=plan.finetuning.judged_of(plan.labelled), reason=str(problem))
    return ClassifierAnswers(before=rows[0], after=rows[1])
