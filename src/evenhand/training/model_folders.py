"""Models in folders: as they were loaded or trained, and with a next-sentence head beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import save_file

from evenhand.core.files import sha256_of_file, write_text
from evenhand.models.judges import Judge, judge_weights
from evenhand.models.language_model import LanguageModel
from evenhand.models.loading import load_as_declared
from evenhand.models.model_files import save_model
from evenhand.store.head_records import HEAD_FILE, HEAD_WEIGHTS_FILE, HeadRecord, model_weights_digest
from evenhand.training.checkpoints import put_weights


def save_weights(model: LanguageModel, folder: Path) -> None:
    """Write a model with its tokenizer, and with the heads of its checkpoint that were not loaded."""
    save_model(_whole(model), model.loaded.tokenizer, folder)


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


def write_head(model: LanguageModel, judge: Judge, record: HeadRecord, folder: Path) -> HeadRecord:
    """Write a model as it is, and its head with the body that belongs to it.

    Args:
        model: The model.
        judge: With its weights.
        record: What is known about the head, but for the digests of weights.
        folder: An empty folder.

    Raises:
        OSError: If the folder cannot be written.
    """
    try:
        save_weights(model, folder)
        save_file(judge_weights(judge), folder / HEAD_WEIGHTS_FILE)
    except SafetensorError as problem:  # what the disk said is only in the message
        raise OSError(str(problem)) from None
    for path in folder.iterdir():
        path.chmod(0o644)  # safetensors lets only its writer read
    digests = {
        "weights": sha256_of_file(folder / HEAD_WEIGHTS_FILE),
        "model_weights": model_weights_digest(folder),
    }
    written = record.model_copy(update=digests)
    write_text(folder / HEAD_FILE, written.model_dump_json(indent=1) + "\n")
    return written
