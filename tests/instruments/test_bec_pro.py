"""BEC-Pro's association is the log-ratio that two plain forward passes give, and adds up over professions."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import pytest
import torch
from bec_pro_builders import PROFESSIONS, bec_pro_file, bec_pro_rows
from running import Command
from zoo_fixtures import Zoo

from evenhand.core.errors import DatasetError
from evenhand.data import load_pairs, named_datasets
from evenhand.data.bec_pro import load_profession_sentences
from evenhand.instruments.bec_pro import BEC_PRO, BecProOptions
from evenhand.models.references import ModelError
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run

pytestmark = pytest.mark.usefixtures("without_gate")

FEW = Resampling(resamples=200)


def measured(menagerie: Zoo, name: str, path: Path) -> Run:
    return BEC_PRO.prepare(menagerie.model(name), BecProOptions(data=path, resampling=FEW)).measure()


def slow_log_probability(menagerie: Zoo, name: str, text: str, person: str) -> float:
    """Of a word of one token at the first mask of a text, from the whole vocabulary of one forward pass."""
    reference = menagerie.reference(name)
    tokenizer = reference.tokenizer
    ids = tokenizer(text.replace("[MASK]", tokenizer.mask_token), return_tensors="pt")["input_ids"]
    position = ids[0].tolist().index(tokenizer.mask_token_id)
    with torch.inference_mode():
        logits = reference.masked_model(ids).logits[0, position].double()
    filled = tokenizer(text.replace("[MASK]", person, 1).replace("[MASK]", tokenizer.mask_token))["input_ids"]
    return float(torch.log_softmax(logits, dim=-1)[filled[position]])


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_associations_are_those_of_plain_forward_passes(menagerie: Zoo, tmp_path: Path, name: str) -> None:
    run = measured(menagerie, name, bec_pro_file(tmp_path / "bec_en.tsv"))

    slow: dict[str, dict[str, list[float]]] = {}
    for row, score in zip(bec_pro_rows(), run.scores.iter_rows(named=True), strict=True):
        person, gender, profession = row[6], row[7], row[8]
        known = slow_log_probability(menagerie, name, row[2], person)
        prior = slow_log_probability(menagerie, name, row[4], person)
        assert score["association"] == pytest.approx(known - prior, abs=1e-4)
        slow.setdefault(profession, {}).setdefault(gender, []).append(known - prior)
    gaps = {job: mean(own["male"]) - mean(own["female"]) for job, own in slow.items()}
    signed = [
        gaps[job] * (1 if kind == "male" else -1) for job, kind in PROFESSIONS.items() if kind != "balanced"
    ]
    assert run.figure("all.stereotype_gap").estimate.value == pytest.approx(mean(signed), abs=1e-4)
    female = [job for job, kind in PROFESSIONS.items() if kind == "female"]
    assert run.figure("all.female.gender_gap").estimate.value == pytest.approx(
        mean(gaps[job] for job in female), abs=1e-4
    )
    assert run.figure("all.female.female.association").estimate.value == pytest.approx(
        mean(mean(slow[job]["female"]) for job in female), abs=1e-4
    )
    gap = run.figure("all.stereotype_gap")
    assert (gap.neutral, gap.unit, gap.estimate.n) == (0.0, "nats", 4)


def test_a_model_without_a_mask_is_refused(menagerie: Zoo, tmp_path: Path) -> None:
    for name in ("gpt2", "t5"):
        with pytest.raises(ModelError, match=r"mask|blank"):
            measured(menagerie, name, bec_pro_file(tmp_path / "bec_en.tsv"))


def test_the_file_is_read_by_content_and_the_names_are_pinned(tmp_path: Path) -> None:
    found = load_profession_sentences(bec_pro_file(tmp_path / "anything.txt"), language="en")

    assert len(found) == 20
    first = found.sentences[0]
    assert (first.id, first.person, first.gender, first.profession, first.profession_gender) == (
        "0", "He", "male", "nurse", "female",
    )  # fmt: skip
    assert {"bec-pro-en", "bec-pro-de"} <= named_datasets().keys()
    with pytest.raises(DatasetError, match="in the layout bec-pro: it has sentences about persons"):
        load_pairs(tmp_path / "anything.txt", language="en")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\tmale\tnurse", "\tm\tnurse", "row 2: gender is 'm'; it is one of male, female"),
        ("\tnurse\tfemale", "\tnurse\tpink", "prof_gender is 'pink'; it is one of male, female, balanced"),
        ("[MASK] was a nurse", "It was a nurse", "Sent_TM has 0 masks"),
        ("\tSent_TAM\t", "\tSent_X\t", "sent_tam is missing"),
    ],
)
def test_a_file_that_is_half_right_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = bec_pro_file(tmp_path / "bec_en.tsv")
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    with pytest.raises(DatasetError, match=message):
        load_profession_sentences(path)


def test_the_commands_know_the_sentences(run_evenhand_here: Command, tmp_path: Path) -> None:
    path = bec_pro_file(tmp_path / "bec_en.tsv")
    content = path.read_text(encoding="utf-8").replace("[MASK] was a teacher.", "[MASK] was a t[MASK]r.", 1)
    path.write_text(content, encoding="utf-8")

    described = json.loads(run_evenhand_here("data", "describe", path, "--json").stdout)
    (checked,) = json.loads(run_evenhand_here("data", "check", path, "--json").stdout)["datasets"]

    assert described["counts"][0] == {
        "language": "en", "profession_gender": "male", "gender": "male", "sentences": 4, "professions": 2, "persons": 1,
    }  # fmt: skip
    assert {row["defect"]: row["ids"] for row in checked["defects"]} == {
        "masked-within-a-word": ["4"], "repeated-sentence": [],
    }  # fmt: skip
    assert "masked-within-a-word" in run_evenhand_here("data", "check", path).stdout
    assert "balanced" in run_evenhand_here("data", "describe", path).stdout
