"""Train next-sentence heads: a model learns from pairs to judge what follows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from evenhand.core.errors import EvenhandError, OutputError, RunError, fault
from evenhand.core.files import read_stored, sha256_of, sha256_of_file, write_text
from evenhand.core.inputs import checked_path
from evenhand.core.progress import SILENT, Monitor
from evenhand.core.recipes import Precision, Recipe
from evenhand.heads.encoded_pairs import PairSelection, encode_pairs
from evenhand.heads.judged_pairs import judge_pairs
from evenhand.heads.page import render_head_page
from evenhand.heads.pairs import TEST, TRAIN, NextSentencePairs, open_next_sentence_pairs
from evenhand.heads.stereoset_head import converted_judge
from evenhand.heads.training import JudgeTraining, recipe_for
from evenhand.models.judges import new_head_record, new_judge, usual_prompt
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.next_sentence import PairEncoder
from evenhand.models.references import ModelRef
from evenhand.store.energy import energy_meter
from evenhand.store.head_records import (
    HEAD_CURVE_FILE,
    HEAD_PAGE_FILE,
    HeadKind,
    HeadRecord,
    HeadTraining,
    NextSentenceCurve,
    NextSentenceRecipe,
    UsedPairs,
    read_head_record,
    refuse_strange_figures,
)
from evenhand.store.jobs import Job, claim_place, open_job
from evenhand.store.records import EnvironmentRecord
from evenhand.training.model_folders import write_head
from evenhand.training.trainer import refuse_missing_reporters

ACCURACY_BY = {
    HeadKind.OWN: "Its answer is the likelier class.",
    HeadKind.POOLED: "Its answer is the likelier class.",
    HeadKind.LABELS: "Its answer is what it writes by itself, never led by the right label.",
}


@dataclass(frozen=True, slots=True)
class NextSentenceTraining:
    """A model that judges next sentences, and how it learned to."""

    ref: ModelRef
    record: HeadRecord
    curve: NextSentenceCurve


def train_next_sentence(
    ref: ModelRef,
    pairs: Sequence[str | Path],
    *,
    out: Path,
    recipe: Mapping[str, Any] | None = None,
    max_pairs: int | None = None,
    prompt: str | None = None,
    replace: bool = False,
    monitor: Monitor = SILENT,
) -> NextSentenceTraining:
    """Train a next-sentence head with its body, and write both beside the model as it is.

    Interrupted and called again, it goes on from its last checkpoint and ends, on the same CPU, with the same bytes.

    Args:
        ref: The model.
        pairs: Folders of pairs, one per language; as many pairs are taken of each.
        out: Folder for the model with its head; new, empty, or of this very training.
        recipe: What is to be other than ``recipe_for`` says.
        max_pairs: The most pairs to train on, of all languages together.
        prompt: What stands before every pair, for models that answer in text; as published if not given.
        replace: Start afresh, and let another result at ``out`` give way.
        monitor: Told how it goes.
    """
    opened = _opened_pairs(pairs)
    with claim_place(out, fingerprint_at=fingerprint_of_head, replace=replace) as claim:
        monitor.note(f"Loading {ref.id}")
        model = load_language_model(ref.model_copy(update={"precision": Precision.FP32}))
        languages = [own.record.language for own in opened]
        head = new_head_record(
            model.loaded, prompt=usual_prompt(model.loaded, languages) if prompt is None else prompt
        )
        chosen = recipe_for(head.kind, **(recipe or {}))
        refuse_missing_reporters(Recipe(report_to=chosen.report_to))
        fingerprint = _fingerprint(model, head, opened, chosen, max_pairs)
        with open_job(
            out, fingerprint, fingerprint_at=fingerprint_of_head, replace=replace, claim=claim
        ) as job:
            if not job.is_done:
                _train_head(model, head, opened, job, recipe=chosen, max_pairs=max_pairs, monitor=monitor)
    return open_next_sentence_training(out)


def open_next_sentence_training(folder: Path) -> NextSentenceTraining:
    """What a training wrote.

    Raises:
        RunError: If the folder has no trained head.
    """
    record = read_head_record(checked_path(folder, error=RunError))
    if record is None or record.training is None:
        raise RunError(f"{folder} has no next-sentence head that was trained. Train one with evenhand train.")
    path = folder / HEAD_CURVE_FILE
    try:
        curve = NextSentenceCurve.model_validate_json(read_stored(path, error=RunError))
        refuse_strange_figures(curve)
    except (ValidationError, ValueError) as problem:
        raise RunError(f"{path} is damaged ({fault(problem)}). Train the head again with --fresh.") from None
    return NextSentenceTraining(ModelRef(id=str(folder)), record, curve)


def fingerprint_of_head(folder: Path) -> str | None:
    """The fingerprint of the training or conversion that made the head of a folder; None if the folder is free.

    Raises:
        OutputError: If it holds something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    record = read_head_record(folder) if folder.is_dir() else None
    if record is None or record.weights is None:
        raise OutputError(f"{folder} holds something else than a next-sentence head. Choose another --out.")
    return record.fingerprint


def _opened_pairs(places: Sequence[str | Path]) -> tuple[NextSentencePairs, ...]:
    if not places:
        raise EvenhandError(
            "No pairs were given. Make some with evenhand data next-sentence, and give --pairs FOLDER."
        )
    opened = tuple(open_next_sentence_pairs(place) for place in places)
    languages = [own.record.language for own in opened]
    twice = sorted({language for language in languages if languages.count(language) > 1})
    if twice:
        raise EvenhandError(
            f"Two folders of pairs are in {twice[0]!r}: a sentence may train in one and test in the other. "
            "Make one folder of both corpora."
        )
    return opened


def _fingerprint(
    model: LanguageModel,
    head: HeadRecord,
    pairs: Sequence[NextSentencePairs],
    recipe: NextSentenceRecipe,
    max_pairs: int | None,
) -> str:
    determining = {
        "weights": model.record.weights,
        "head": head.model_dump(mode="json"),
        "pairs": [own.record.fingerprint for own in pairs],
        "recipe": recipe.model_dump(mode="json", exclude={"report_to"}),
        "device": model.loaded.device.type,
        "max_pairs": max_pairs,
        "evenhand": version("evenhand"),
    }
    return sha256_of(json.dumps(determining, sort_keys=True).encode())


def _train_head(
    model: LanguageModel,
    head: HeadRecord,
    pairs: tuple[NextSentencePairs, ...],
    job: Job,
    *,
    recipe: NextSentenceRecipe,
    max_pairs: int | None,
    monitor: Monitor,
) -> None:
    loaded = model.loaded
    judge = new_judge(loaded, head, seed=recipe.seed)
    encoder = PairEncoder(loaded.tokenizer, head)
    longest = min(recipe.max_tokens, model.longest_input)
    encoded = {}
    for part, most in ((TRAIN, max_pairs), (TEST, recipe.test_pairs)):
        with monitor.stage(f"Encoding pairs to {part}", "pairs") as progress:
            encoded[part] = encode_pairs(
                PairSelection(pairs, part, most), job.folder / f"{part}-pairs", encoder,
                longest=longest, progress=progress,
            )  # fmt: skip
    with monitor.stage("Training", "steps") as progress:
        training = JudgeTraining(
            judge,
            encoded[TRAIN],
            encoded[TEST],
            recipe,
            device=loaded.device,
            memory=model.memory,
            pad=loaded.pad_id,
            folder=job.subfolder("checkpoints"),
            progress=progress,
            on_checkpoint=lambda curve: monitor.note(
                f"after {curve.last.pairs:,} pairs: right on {curve.last.accuracy:.1%} of a sample of the test pairs"
            ),
        )
        with energy_meter(str(loaded.device)) as meter, loaded.products.in_use():
            curve = training.run()
    judged = judge_pairs(judge, encoded[TEST], pad=loaded.pad_id)
    facts = HeadTraining(
        model=model.record,
        pairs=tuple(
            UsedPairs(
                language=own.record.language,
                fingerprint=own.record.fingerprint,
                train_pairs=encoded[TRAIN].counts[own.record.language],
                test_pairs=encoded[TEST].counts[own.record.language],
            )
            for own in pairs
        ),
        recipe=recipe,
        precision=training.precision,
        steps=training.steps,
        seen_pairs=training.steps * training.batches.batch_size,
        energy=meter.record,
        environment=EnvironmentRecord.current(),
        libraries=dict(model.libraries),
    )
    record = head.model_copy(
        update={
            "test_accuracy": judged.accuracy,
            "without_label": judged.without_label if head.kind is HeadKind.LABELS else None,
            "accuracy_by": ACCURACY_BY[head.kind],
            "training": facts,
            "fingerprint": job.fingerprint,
        }
    )
    page = render_head_page(record, curve, name=job.place.name)
    beside = {HEAD_CURVE_FILE: curve.model_dump_json(indent=1) + "\n", HEAD_PAGE_FILE: page}
    with job.result_folder() as folder:
        for name, content in beside.items():
            write_text(folder / name, content)
        write_head(model, judge, record, folder)
        if recipe.report_to and training.logs.is_dir():
            shutil.copytree(training.logs, folder / training.logs.name)


def convert_stereoset_head(
    ref: ModelRef,
    head: Path,
    *,
    out: Path,
    follows_class: Literal[0, 1],
    replace: bool = False,
    monitor: Monitor = SILENT,
) -> HeadRecord:
    """Put a head in the layout of StereoSet's own code beside the model that it was trained with.

    Args:
        ref: The model; pickles are read only if it allows them.
        head: The state dict: three linear layers, with or without the body that was trained with them.
        out: Folder for the model with its head.
        follows_class: The class that means "follows"; the file does not say.
        replace: Let another result at ``out`` give way.
        monitor: Told how it goes.
    """
    with claim_place(out, fingerprint_at=fingerprint_of_head, replace=replace) as claim:
        monitor.note(f"Loading {ref.id}")
        model = load_language_model(ref)
        judge = converted_judge(
            model.loaded, head, follows_class=follows_class, allow_pickle=ref.allow_pickle_weights
        )
        determining = [model.record.weights, sha256_of_file(head), follows_class, version("evenhand")]
        fingerprint = sha256_of(json.dumps(determining).encode())
        with open_job(
            out, fingerprint, fingerprint_at=fingerprint_of_head, replace=replace, claim=claim
        ) as job:
            if not job.is_done:
                with job.result_folder() as folder:
                    record = judge.record.model_copy(update={"fingerprint": job.fingerprint})
                    write_head(model, judge, record, folder)
    converted = read_head_record(out)
    if converted is None:
        raise RunError(f"{out} has no next-sentence head. Give the same command again.")
    return converted
