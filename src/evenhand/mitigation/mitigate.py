"""Mitigate: a model reference goes in, a model reference comes out, and a record says what lies between."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from evenhand.core.errors import EvenhandError, OutputError
from evenhand.core.files import sha256_of, write_text
from evenhand.core.progress import SILENT, Monitor
from evenhand.mitigation.mitigation import (
    MitigatedModel,
    Mitigation,
    MitigationData,
    MitigationOptions,
    MitigationOutcome,
    Supplement,
)
from evenhand.mitigation.registry import MITIGATIONS
from evenhand.models.description import record_of
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.reporting.model_cards import mitigation_card
from evenhand.store.claims import claimed
from evenhand.store.energy import energy_meter
from evenhand.store.head_records import HEAD_FILE, HEAD_WEIGHTS_FILE, model_weights_digest
from evenhand.store.jobs import Job, claim_place, open_job, supplement_parts
from evenhand.store.mitigation_records import (
    MITIGATION_FILE,
    MitigationRecord,
    find_mitigation_record,
    planted_bias_of,
    read_mitigation_record,
)
from evenhand.store.records import EnvironmentRecord
from evenhand.store.run import INSTRUMENTS
from evenhand.training.model_folders import save_weights

CARD_FILE = "README.md"


def write_model_folder(
    model: LanguageModel,
    record: MitigationRecord,
    folder: Path,
    *,
    beside: Mapping[str, Path] | None = None,
    command: str | None = None,
) -> None:
    """Write a mitigated model into a folder that then loads like any other.

    Heads of the original that were not trained, such as BERT's for next sentences, are kept as they were. What was
    planted in a model of the lab is not carried over: it is no longer true.

    Args:
        model: With its new weights.
        record: What was done.
        folder: An empty folder.
        beside: Folders that are kept beside, by name, such as the adapters that were trained.
        command: What makes the same again.

    Raises:
        OSError: If the folder cannot be written.
    """
    try:
        save_weights(model, folder)
    except SafetensorError as problem:  # what the disk said is only in the message
        raise OSError(str(problem)) from None
    original = Path(model.loaded.ref.location)
    # A head with weights of its own would go on judging by those, whatever was done to the model.
    if (original / HEAD_FILE).is_file() and not (original / HEAD_WEIGHTS_FILE).exists():
        shutil.copyfile(original / HEAD_FILE, folder / HEAD_FILE)
    for name, kept in (beside or {}).items():
        shutil.copytree(kept, folder / name)
    record = record.model_copy(update={"weights": model_weights_digest(folder)})
    (folder / MITIGATION_FILE).write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")
    (folder / CARD_FILE).write_text(mitigation_card(record, command=command), encoding="utf-8")
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)  # safetensors lets only its writer read


def fingerprint_of_model_folder(folder: Path) -> str | None:
    """The fingerprint of the mitigation that made the model of a folder; None if the folder is free.

    Raises:
        OutputError: If it holds something else, or cannot be replaced.
        RunError: If the record of the mitigation is damaged.
    """
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise OutputError(f"{folder} is a file; a folder is needed. Choose another place with --out.")
    if folder.resolve() == Path.cwd():
        raise OutputError(
            f"{folder} is the folder that you are in, which cannot be replaced. Give the model one of its own, such as "
            "--out model."
        )
    if not any(folder.iterdir()):
        return None
    record = find_mitigation_record(folder)
    if record is None:
        raise OutputError(f"{folder} is not empty. Choose another place with --out, or empty it first.")
    return record.fingerprint


_LIBRARIES = ("torch", "transformers", "tokenizers", "accelerate")


def mitigate(
    ref: ModelRef,
    method: str | Mitigation[Any],
    *,
    data: MitigationData,
    out: Path,
    options: MitigationOptions | None = None,
    replace: bool = False,
    monitor: Monitor = SILENT,
    command: str | None = None,
) -> MitigatedModel:
    """Lower the bias of a model, and write the result as a model folder.

    Interrupted and called again, it goes on where it was; called again when it is done, it opens the result. What
    the options ask for besides, such as a trigger on other models, is added to a finished result.

    Args:
        ref: The original.
        method: A mitigation, or its name.
        data: Corpus, probes and held-out sentences.
        out: Folder for the mitigated model; new, empty, or of this very mitigation.
        options: Of the method; its defaults if not given.
        replace: Start afresh, and let another mitigated model at ``out`` give way.
        monitor: Told how it goes.
        command: What the card says to repeat it with.

    Raises:
        OutputError: If ``out`` holds something else, or cannot be written.
        RunError: If ``out`` holds another mitigation.
        ModelError: If the model cannot be mitigated in this way.
        DatasetError: If the corpus has nothing to train on.
    """
    mitigation = MITIGATIONS.get(method) if isinstance(method, str) else method
    chosen = mitigation.options_type() if options is None else options
    if not isinstance(chosen, mitigation.options_type):
        raise EvenhandError(
            f"{mitigation.name} takes {mitigation.options_type.__name__}, not {type(chosen).__name__}."
        )
    mitigation.refuse_impossible(data, chosen)
    with claim_place(out, fingerprint_at=fingerprint_of_model_folder, replace=replace) as claim:
        monitor.note(f"Loading {ref.id}")
        model = load_language_model(ref)
        fingerprint = mitigation_fingerprint(model, mitigation, data, chosen)
        with open_job(
            out, fingerprint, fingerprint_at=fingerprint_of_model_folder, replace=replace, claim=claim
        ) as job:
            if not job.is_done:
                outcome, record = _mitigated(
                    model, mitigation, data, chosen, job=job, fingerprint=fingerprint, monitor=monitor
                )
                record = record.model_copy(update={"reference": _changed_reference(ref, outcome)})
                with job.result_folder() as folder:
                    write_model_folder(model, record, folder, beside=outcome.beside, command=command)
    _supplement(mitigation, out, data=data, options=chosen, monitor=monitor, command=command)
    return opened_model(ref, out)


def _mitigated(
    model: LanguageModel,
    mitigation: Mitigation[Any],
    data: MitigationData,
    options: MitigationOptions,
    *,
    job: Job,
    fingerprint: str,
    monitor: Monitor,
) -> tuple[MitigationOutcome, MitigationRecord]:
    """Mitigate a loaded model: what came of it, and its record, which is yet to say how the model is referred to."""
    original = record_of(model)
    with energy_meter(str(model.loaded.device)) as meter:
        outcome = mitigation.mitigate(model, data=data, options=options, job=job, monitor=monitor)
    experiments = () if outcome.trigger else tuple(experiment.value for experiment in data.experiments)
    record = MitigationRecord(
        method=mitigation.name,
        summary=mitigation.summary,
        objective=outcome.objective,
        model=original,
        lab=planted_bias_of(model.loaded.ref.location),
        language=data.probes.language,
        experiments=experiments,
        groups=_groups(data),
        probes=data.probes.sha256,
        data=outcome.data,
        settings=dict(mitigation.settings(options) if outcome.settings is None else outcome.settings),
        recipe=outcome.recipe,
        precision=outcome.precision,
        seeds=outcome.seeds,
        chosen_seed=outcome.chosen_seed,
        before=dict(outcome.before),
        after=dict(outcome.after),
        frontier=outcome.frontier,
        trigger=outcome.trigger,
        energy=meter.record,
        environment=EnvironmentRecord.current(),
        libraries={name: version(name) for name in _LIBRARIES},
        fingerprint=fingerprint,
    )
    return outcome, record


def _supplement(
    mitigation: Mitigation[Any],
    out: Path,
    *,
    data: MitigationData,
    options: MitigationOptions,
    monitor: Monitor,
    command: str | None,
) -> None:
    """Add what the options ask for besides to the record of a finished mitigation; each piece is kept when it comes."""

    def missing() -> Sequence[Supplement]:
        record = read_mitigation_record(out)
        return mitigation.supplements(record, data=data, options=options, monitor=monitor)

    if not missing():
        return
    with claimed(out):
        for supplement in missing():
            record = read_mitigation_record(out)
            parts = supplement_parts(out, sha256_of(f"{record.fingerprint} {supplement.key}".encode()))
            record = supplement.added_to(record, parts)
            write_text(out / CARD_FILE, mitigation_card(record, command=command))
            write_text(out / MITIGATION_FILE, record.model_dump_json(indent=1) + "\n")
            parts.remove()


def _groups(data: MitigationData) -> dict[str, tuple[str, str]]:
    """Of experiments that are not about men and women."""
    terms = ((experiment, data.probes.terms.get(experiment)) for experiment in data.experiments)
    return {own.value: pairs.groups for own, pairs in terms if pairs and not pairs.tell_gender}


def opened_model(ref: ModelRef, out: Path) -> MitigatedModel:
    """The model that a finished mitigation made of another: loaded alike, from its folder.

    Its weights are safetensors, whatever those of the original were, and adapters of the original are merged in.
    """
    record = read_mitigation_record(out)
    own = {"id": str(out), "revision": None, "allow_pickle_weights": False, "adapters": ()}
    return MitigatedModel(ModelRef.model_validate({**dict(ref), **own, **record.reference}), record)


def mitigation_fingerprint(
    model: LanguageModel, mitigation: Mitigation[Any], data: MitigationData, options: MitigationOptions
) -> str:
    """What tells this mitigation from any other."""
    original = record_of(model)
    determining = {
        "weights": original.weights,
        "prefix": original.prefix,
        "method": mitigation.name,
        **mitigation.identity(options),
        "probes": data.probes.sha256,
        "experiments": [experiment.value for experiment in data.experiments],
        "corpus": [source.identity() for source in data.sources],
        "held_out": [source.identity() for source in data.held_out],
        "may_read_probes": data.may_read_probes,
        "instruments": {
            name: INSTRUMENTS.get(name).prepare(model, instrument_options).record.fingerprint
            for name, instrument_options in data.instruments.items()
        },
        "evenhand": version("evenhand"),
    }
    return sha256_of(json.dumps(determining, sort_keys=True).encode())


def _changed_reference(ref: ModelRef, outcome: MitigationOutcome) -> dict[str, Any]:
    """What the method changed in how the model is referred to."""
    if outcome.reference is None:
        return {}
    before = ref.model_dump(mode="json")
    after = outcome.reference.model_dump(mode="json")
    return {name: value for name, value in after.items() if value != before[name] and name != "id"}
