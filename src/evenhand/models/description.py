"""What a model is and what it can be measured with, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from evenhand.core.items import Task
from evenhand.core.probes import Experiment
from evenhand.core.protocols import DEFAULT_PROTOCOL
from evenhand.data.probes import PROBE_LANGUAGES, load_probes
from evenhand.models.blanks import filled_blanks
from evenhand.models.capabilities import CAPABILITIES, JudgesNextSentence, Model
from evenhand.models.measurable import Measurable, choose_method
from evenhand.models.references import ModelError
from evenhand.models.text_model import measurable
from evenhand.models.tokenised_text import start_token

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel

_SPECIAL_TOKENS = ("bos_token", "eos_token", "pad_token", "mask_token", "unk_token", "cls_token", "sep_token")


def describe_model(model: Model) -> dict[str, Any]:
    """Facts about a loaded model, as plain values; more of them where its weights are in this process."""
    own = [known.__name__ for known in CAPABILITIES if known in model.capabilities]
    facts: dict[str, Any] = {"family": model.record.family, "capabilities": ", ".join(own) or "none"}
    in_process = hasattr(model, "loaded")
    if in_process:
        facts |= _facts_of_weights(cast("LanguageModel", model))
    facts |= {task.value: _task_fact(measurable(model), task) for task in Task}
    if in_process:
        facts["probe_terms_of_one_token"] = _single_tokens(cast("LanguageModel", model).tokenizer)
    return facts


def _facts_of_weights(model: LanguageModel) -> dict[str, Any]:
    loaded, tokenizer, scoring = model.loaded, model.tokenizer, model.scoring_facts
    start = start_token(tokenizer, loaded.config)
    speed = "fast" if tokenizer.is_fast else "slow"
    return {
        "class": type(loaded.model).__name__,
        "type": loaded.config.model_type,
        "parameters": f"{sum(weight.numel() for weight in loaded.model.parameters()):,}",
        "tokenizer": f"{type(tokenizer).__name__}, {speed}, {len(tokenizer):,} entries",
        "special_tokens": {
            name: getattr(tokenizer, name) for name in _SPECIAL_TOKENS if getattr(tokenizer, name, None)
        },
        "start_of_a_text": "none: the first token is not scored"
        if start is None
        else tokenizer.convert_ids_to_tokens(start),
        "longest_input": model.longest_input or "no limit",
        "only_needed_positions_projected": "yes" if scoring.only_needed_positions else "no",
        "shared_beginnings_computed_once": "yes" if scoring.shared_prefixes else "no",
        "next_sentence_head": "yes" if JudgesNextSentence in model.capabilities else "no",
    }


def _task_fact(model: Measurable, task: Task) -> str:
    try:
        method = choose_method(model, task, protocol=DEFAULT_PROTOCOL)
    except ModelError as reason:
        return f"no: {reason}"
    return f"yes, by {method.name}: {method.description}"


def _single_tokens(tokenizer: Any) -> dict[str, str]:
    """How many terms and occupations of the probes are one token inside a sentence, in each language."""

    def counted(words: Sequence[str]) -> str:
        fills = [filled_blanks(tokenizer, "x BLANK x", word)[0].fill for word in words]
        single = sum(len(fill) == 1 and fill[0] != tokenizer.unk_token_id for fill in fills)
        return f"{single} of {len(words)}"

    counts = {}
    for language in PROBE_LANGUAGES:
        probes = load_probes(language)
        pronouns = [
            word
            for experiment in (Experiment.HE_SHE, Experiment.HIS_HER)
            for word in probes.terms[experiment].all
        ]
        counts[f"{language} pronouns"] = counted(pronouns)
        counts[f"{language} names"] = counted(probes.terms[Experiment.NAMES].all)
        counts[f"{language} occupations"] = counted(
            [form.noun for occupation in probes.occupations for form in occupation.forms]
        )
    return counts
