"""Study: mitigate a model, measure both on the same questions, and certify the difference.

OUT/model/             the mitigated model, an ordinary folder
    certificate.html   what was found, for people
    certificate.json   the same, for machines
    certificate/       the runs of the model before and after
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evenhand.api.certify import certify, refuse_unfit_page
from evenhand.api.defaults.mitigating import (
    CertifyOptions,
    default_data,
    default_margins,
    default_options,
    default_plan,
    trained_reference,
    training_sentences,
)
from evenhand.api.executors import HERE, Executor, executor_at
from evenhand.api.mitigate import DEFAULT_METHOD, mitigate
from evenhand.api.models import reference_to
from evenhand.certificate import CertificatePlan, HeldOutText
from evenhand.core.progress import SILENT, Monitor
from evenhand.mitigation.mitigation import MitigatedModel, Mitigation, MitigationData, MitigationOptions
from evenhand.mitigation.registry import MITIGATIONS
from evenhand.mitigation.training_mitigation import TrainingOptions
from evenhand.models.references import ModelRef
from evenhand.store.certificates import Certificate

MODEL_FOLDER = "model"
PAGE_FILE = "certificate.html"


@dataclass(frozen=True, slots=True)
class Study:
    """What a study came to."""

    mitigated: MitigatedModel
    certificate: Certificate
    page: Path


def study(
    model: str | ModelRef,
    method: str | Mitigation[Any] = DEFAULT_METHOD,
    *,
    out: str | Path,
    corpus: str | Path | Sequence[str | Path] = (),
    data: MitigationData | None = None,
    options: MitigationOptions | None = None,
    certificate: CertifyOptions | None = None,
    on: str | Executor = HERE,
    monitor: Monitor = SILENT,
    command: str | None = None,
) -> Study:
    """Mitigate a model and certify what that did. Called again with the same, it goes on where it was.

    Args:
        model: The original: a name or folder, or a reference.
        method: A mitigation, or its name.
        out: Folder for the mitigated model, the certificate and its runs.
        corpus: Text to learn from, as for ``mitigate``.
        data: Corpus, probes and held-out sentences all together, in the place of ``corpus``.
        options: Of the mitigation.
        certificate: What both models are measured on. Perplexity is measured on sentences that no training saw, and
            may rise by the quality margin of the mitigation, unless other text or margins are given.
        on: Where the runs of both models are measured: ``here``, ``ray`` or ``ray:ADDRESS``.
        monitor: Told how it goes.
        command: What the model card says to repeat the mitigation with.
    """
    folder, ref = Path(out), reference_to(model)
    page = folder / PAGE_FILE
    refuse_unfit_page(page)
    executor = on if on == HERE else executor_at(on)
    mitigation = MITIGATIONS.get(method) if isinstance(method, str) else method
    corpora = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    chosen_data = default_data(ref, corpora) if data is None else data
    chosen_options = default_options(ref, mitigation, options)
    mitigation.refuse_impossible(chosen_data, chosen_options)
    plan = _plan(ref, certificate or CertifyOptions(), chosen_data, chosen_options)
    mitigated = mitigate(
        ref,
        mitigation,
        out=folder / MODEL_FOLDER,
        data=chosen_data,
        options=chosen_options,
        monitor=monitor,
        command=command,
    )
    # Loaded as it was to be mitigated, so that rounding does not tell the two models apart.
    original = trained_reference(ref, chosen_options)
    certified = certify(original, mitigated.ref, options=plan, out=page, on=executor, monitor=monitor)
    return Study(mitigated, certified, page)


def _plan(
    ref: ModelRef, certificate: CertifyOptions, data: MitigationData, options: MitigationOptions
) -> CertificatePlan:
    """What suits the model, with the quality margin and the held-out sentences of the mitigation."""
    recipe = options.recipe if isinstance(options, TrainingOptions) else None
    plan = default_plan(
        ref,
        replace(
            certificate,
            margins=certificate.margins
            or default_margins(ref, quality_margin=recipe.quality_margin if recipe else None),
            language=certificate.language or data.probes.language,
        ),
    )
    if not (data.sources or data.held_out):
        return plan
    if data.sources:
        plan = replace(plan, training_text=training_sentences(data))
    if certificate.held_out:
        return plan
    untrained = data.held_out_sentences()
    numbered = zip(untrained.sentences, untrained.documents, strict=True)
    return replace(plan, held_out=HeldOutText.sample_documents(numbered, most=certificate.sentences))
