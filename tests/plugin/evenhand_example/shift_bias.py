"""Shift bias: a mitigation without training, which takes a constant from the scores of male terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evenhand.core.progress import Monitor
from evenhand.mitigation.mitigation import Mitigation, MitigationData, MitigationOptions, MitigationOutcome
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelError
from evenhand.store.jobs import Job


@dataclass(frozen=True, kw_only=True)
class ShiftOptions(MitigationOptions):
    """How far."""

    nats: float = field(default=0.5, metadata={"help": "What is taken from the output bias of male terms."})


class ShiftBias(Mitigation[ShiftOptions]):
    """Lowers the output bias of every male term that is one token."""

    name = "shift-bias"
    title = "Shifted output bias"
    summary = "the output bias of male terms was lowered by a constant"
    options_type = ShiftOptions

    def mitigate(
        self,
        model: LanguageModel,
        *,
        data: MitigationData,
        options: ShiftOptions,
        job: Job,  # noqa: ARG002 # nothing to go on with: it takes a moment
        monitor: Monitor,
    ) -> MitigationOutcome:
        """Change the weights in place."""
        import torch

        network: Any = model.loaded.model
        bias = getattr(network.get_output_embeddings(), "bias", None)
        if bias is None:
            raise ModelError(
                f"{model.ref.id} has no output bias to shift. Masked models such as BERT have one."
            )
        tokenizer = model.loaded.tokenizer
        terms = {term for experiment in data.experiments for term in data.probes.terms[experiment].male}
        tokens = [tokenizer(term, add_special_tokens=False)["input_ids"] for term in sorted(terms)]
        single = [ids[0] for ids in tokens if len(ids) == 1]
        with torch.no_grad():
            bias[single] -= options.nats
        monitor.note(f"{len(single)} of {len(terms)} terms shifted by {options.nats:g} nats")
        return MitigationOutcome()


SHIFT_BIAS = ShiftBias()
