"""The folder of a mitigated model: an ordinary one, with a card and a record of what was done."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from transformers.utils.logging import disable_progress_bar, enable_progress_bar

from evenhand.core.errors import OutputError
from evenhand.models.language_model import LanguageModel
from evenhand.models.loading import HEAD_FILE, load_as_declared
from evenhand.reporting.model_cards import mitigation_card
from evenhand.runs.mitigation_records import MITIGATION_FILE, MitigationRecord, find_mitigation_record
from evenhand.training.checkpoints import put_weights

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
        _save_weights(model, folder)
    except SafetensorError as problem:  # what the disk said is only in the message
        raise OSError(str(problem)) from None
    head = Path(model.loaded.ref.location) / HEAD_FILE
    if head.is_file():
        shutil.copyfile(head, folder / HEAD_FILE)
    for name, kept in (beside or {}).items():
        shutil.copytree(kept, folder / name)
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


def _save_weights(model: LanguageModel, folder: Path) -> None:
    whole = _whole(model)
    disable_progress_bar()
    try:
        whole.save_pretrained(folder)
        model.loaded.tokenizer.save_pretrained(folder)
    finally:
        enable_progress_bar()


def _whole(model: LanguageModel) -> Any:
    """The trained weights among all that the original's checkpoint has."""
    trained = model.loaded.model
    whole = load_as_declared(model.loaded)
    if whole is None:
        return trained
    weights = {name: weight.detach() for name, weight in trained.named_parameters()}
    if not set(weights) <= {name for name, _ in whole.named_parameters()}:
        return trained
    put_weights(whole, weights)
    return whole
