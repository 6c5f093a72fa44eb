"""Which texts two models write for a certificate: about whom, in which contexts, and who labels them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from evenhand.api.defaults.measuring import default_instrument_options
from evenhand.certificate import Measurement
from evenhand.core.errors import EvenhandError
from evenhand.data.contexts import Context, begins_with
from evenhand.data.regard_prompts import PersonGroup, PromptSet, load_prompts
from evenhand.instruments.regard.audit import RegardOptions
from evenhand.instruments.regard.results import NAME
from evenhand.models.references import ModelRef
from evenhand.store.mitigation_records import MitigationRecord, planted_bias_of
from evenhand.store.trigger_records import TriggerRecord
from evenhand.triggers.held_out_contexts import FEWEST_CONTEXTS, offered_contexts

CERTIFIED_TEXTS = 100
"""Texts per prompt."""

NO_CLASSIFIER = (
    "Regard is read off texts that both models write, which a classifier labels, and none was given. Write "
    "--classifier DIR; train one with: evenhand regard train"
)


@dataclass(frozen=True, kw_only=True)
class CertifiedRegard:
    """What was chosen of the texts that both models write.

    Attributes:
        classifier: Folder of the classifier that labels them.
        groups: CSV with group and words; those of a trigger's targets, or women and men, if None.
        contexts: Contexts to write in; those that a trigger's search did not see, or the published ones, if None.
        texts: Per prompt.
    """

    classifier: Path
    groups: Path | None = None
    contexts: Path | None = None
    texts: int = CERTIFIED_TEXTS


def regard_measurement(
    before: ModelRef, chosen: CertifiedRegard, *, language: str, mitigation: MitigationRecord | None
) -> Measurement:
    """The measurement of regard in a certificate.

    Args:
        before: The original.
        chosen: What was chosen of it.
        language: Of the texts.
        mitigation: The record beside the mitigated model; that of a trigger says whom its search was about and which
            contexts it saw.
    """
    trigger = mitigation.trigger if mitigation else None
    prompts = load_prompts(language, groups=chosen.groups, contexts=chosen.contexts)
    if trigger is not None:
        prompts = _held_out(prompts, trigger, chosen, is_of_lab=planted_bias_of(before.location) is not None)
    options = RegardOptions(data=prompts, language=language, texts=chosen.texts, classifier=chosen.classifier)
    return Measurement(NAME, _suited(before, options))


def _held_out(
    prompts: PromptSet, trigger: TriggerRecord, chosen: CertifiedRegard, *, is_of_lab: bool
) -> PromptSet:
    """Prompts about the groups of a trigger's targets, in contexts that its search did not see."""
    words = dict.fromkeys(prompt for pair in trigger.targets.groups for prompt in pair)
    groups = prompts.groups if chosen.groups or not words else tuple(PersonGroup(own, own) for own in words)
    offered = prompts.contexts if chosen.contexts else offered_contexts(prompts.language, own=not is_of_lab)
    if trigger.written is not None and not chosen.contexts:
        written = trigger.written
        contexts = tuple(map(Context, written.contexts, written.kinds))
    else:
        seen = trigger.targets.search_contexts
        contexts = tuple(own for own in offered if not any(begins_with(own.words, words) for words in seen))
    if len(contexts) < FEWEST_CONTEXTS:
        raise EvenhandError(
            f"The search of the trigger saw all but {len(contexts)} of the contexts, so it cannot be judged on them. "
            "Give others with --contexts."
        )
    return replace(
        prompts, groups=groups, contexts=contexts, name="contexts that the search of the trigger did not see"
    )


def _suited(before: ModelRef, options: RegardOptions) -> RegardOptions:
    from evenhand.instruments.regard.instrument import REGARD

    suited = default_instrument_options(REGARD, before, options)
    if not isinstance(suited, RegardOptions):  # for types: options of an instrument stay of their type
        raise TypeError(f"{suited!r} are no options of regard")
    REGARD.refuse_impossible(suited)
    return suited
