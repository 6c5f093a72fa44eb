"""What a trigger is judged on: which texts a model writes behind it, and who labels them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evenhand.api.defaults.measuring import suited_regard_options
from evenhand.api.regard_audit import default_classifier
from evenhand.core.progress import SILENT, Monitor
from evenhand.data.regard_prompts import PersonGroup, PromptSet
from evenhand.instruments.regard.audit import RegardOptions
from evenhand.models.references import ModelRef
from evenhand.regard.classifier import open_classifier
from evenhand.regard.labelling import ClassifierLabeller
from evenhand.store.mitigation_records import planted_bias_of
from evenhand.triggers.held_out_contexts import held_out_contexts
from evenhand.triggers.targets import TargetSet, split_targets
from evenhand.triggers.trigger import SPLIT_SEED
from evenhand.triggers.written_texts import WrittenTexts

LAB_TOKENS = 16
"""Most new tokens of a text of a lab model behind a prefix; its sentences are shorter."""


def texts_to_write(
    ref: ModelRef,
    targets: TargetSet,
    *,
    language: str,
    texts: int,
    new_tokens: int | None = None,
    classifier: Path | None = None,
    contexts: Path | None = None,
    beside: Path,
    monitor: Monitor = SILENT,
) -> WrittenTexts:
    """The texts that a model writes about the groups of targets, in contexts that a search does not see.

    Args:
        ref: The model; one of the lab knows the published contexts only, and has a classifier of its own.
        targets: All target pairs.
        language: Of the texts.
        texts: Per prompt and prefix.
        new_tokens: Most of a text; as in an audit if None, but fewer in the lab, whose models have little room.
        classifier: Folder of the classifier; one is trained on the spot if None.
        contexts: Contexts to choose from; those that ship if None.
        beside: The folder beside which a classifier is kept that is trained on the spot.
        monitor: Told how it goes.
    """
    planted = planted_bias_of(ref.location)
    search = split_targets(targets, seed=SPLIT_SEED).search.pairs
    chosen = held_out_contexts(search, language=language, file=contexts, own=planted is None)
    words = dict.fromkeys(prompt for pair in targets.groups for prompt in pair)
    prompts = PromptSet(
        name=f"contexts that {targets.name} has no search targets of",
        language=language,
        groups=tuple(PersonGroup(own, own) for own in words),
        contexts=chosen,
    )
    folder = classifier or default_classifier(ref, language, beside.parent, monitor)
    options = suited_regard_options(ref, RegardOptions(language=language, texts=texts))
    usual = options.new_tokens if planted is None else LAB_TOKENS
    options = replace(options, new_tokens=new_tokens or usual)
    labeller = ClassifierLabeller(open_classifier(folder))
    labeller.refuse_unsuitable(language)
    written = WrittenTexts(prompts=prompts, labeller=labeller, options=options, monitor=monitor)
    if written.record.classifier_warning:
        monitor.warn(written.record.classifier_warning)
    return written
