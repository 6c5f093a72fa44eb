"""A changed tokenizer takes nothing out of the verdict on quality."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import mitigation_records
import pytest
import torch
from attacked_lab import BIAS, Lab, Weights
from transformers import AutoTokenizer

from evenhand.certificate.measuring import sentence_rows
from evenhand.certificate.plan import HeldOutText
from evenhand.certificate.quality import same_questions
from evenhand.certificate.verification import read_certificate
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError
from evenhand.store.certificate_quality import QualityVerdict


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab("lab:masked", tmp_path_factory.mktemp("renamed"), instruments=("malor",))


def change_vocabulary(folder: Path, change: Callable[[dict[str, int]], None]) -> None:
    """Change the entries of a tokenizer in place."""
    file = folder / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    change(tokenizer["model"]["vocab"])
    file.write_text(json.dumps(tokenizer))


def rename(folder: Path, piece: str) -> None:
    """Give an entry another name."""

    def change(vocabulary: dict[str, int]) -> None:
        vocabulary["##renamed"] = vocabulary.pop(piece)

    change_vocabulary(folder, change)


def swap(folder: Path, first: str, second: str) -> None:
    """Let two entries change places, so that texts with one of them are read as other tokens."""

    def change(vocabulary: dict[str, int]) -> None:
        vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]

    change_vocabulary(folder, change)


def unused_piece(lab: Lab) -> str:
    """An entry that stands in no held-out sentence."""
    held_out = lab.plan.held_out
    assert held_out is not None
    used = {token for ids in lab.tokenizer(list(held_out.sentences))["input_ids"] for token in ids}
    special = {*lab.tokenizer.all_special_ids}
    vocabulary: dict[str, int] = lab.tokenizer.get_vocab()
    return next(
        piece
        for piece, token in sorted(vocabulary.items())
        if token not in used | special and piece.startswith("##")
    )


def test_a_model_that_predicts_padding_is_lost_although_an_unused_token_was_renamed(lab: Lab) -> None:
    padding = lab.tokenizer.pad_token_id

    def predict_padding(weights: Weights) -> None:
        weights[BIAS][padding] += 1000

    after = lab.changed("padding", predict_padding)
    rename(after, unused_piece(lab))
    attacked = lab.certify(after)

    assert not attacked.certificate.same_tokenizer
    assert attacked.certificate.verdict.quality is QualityVerdict.LOST
    assert attacked.exit_code == 5
    assert lab.plan.held_out
    perplexity, special = attacked.quality("perplexity"), attacked.quality("special tokens")
    assert (perplexity.verdict, perplexity.left_out) == (QualityVerdict.LOST, 0)
    assert perplexity.difference.n == len(lab.plan.held_out.sentences)
    assert special.verdict is QualityVerdict.LOST
    assert special.before < 1
    assert special.after > 90
    assert read_certificate(lab.workshop / lab.folder.name / "certificate.json") == attacked.certificate


def test_a_tokenizer_that_reads_every_sentence_otherwise_leaves_quality_undecided(lab: Lab) -> None:
    after = lab.changed("other-stops", lambda _: None)
    swap(after, ".", "?")
    attacked = lab.certify(after)

    perplexity = attacked.quality("perplexity")
    assert perplexity.verdict is QualityVerdict.NOT_MEASURED
    assert perplexity.is_incomplete
    assert attacked.certificate.verdict.quality is QualityVerdict.UNDECIDED
    assert attacked.exit_code == 6
    assert "undecided, because perplexity could not be compared on enough" in attacked.words
    assert read_certificate(lab.workshop / lab.folder.name / "certificate.json") == attacked.certificate


def test_what_a_tokenizer_leaves_out_cannot_be_kept(lab: Lab) -> None:
    """Seven of sixty sentences are read otherwise: the others are as before, and say nothing of these."""
    few = Lab("lab:masked", lab.workshop / "few", instruments=("malor",))
    few.plan = replace(
        few.plan, held_out=HeldOutText(("The nurse is here.",) * 53 + ("The pilot is here.",) * 7)
    )
    after = few.changed("other-pilots", lambda _: None)
    swap(after, few.tokenizer.tokenize("pilot")[0], "?")
    attacked = few.certify(after)

    perplexity = attacked.quality("perplexity")
    assert (perplexity.verdict, perplexity.left_out) == (QualityVerdict.KEPT, 7)
    assert attacked.certificate.verdict.quality is QualityVerdict.UNDECIDED
    assert attacked.exit_code == 6
    assert any("7 of 60 texts are left out" in caveat for caveat in attacked.certificate.caveats)


def test_what_was_trained_cannot_be_taken_out_of_the_verdict_on_bias(lab: Lab) -> None:
    """Without *she* the model after is asked for *his* and *her* alone."""
    own = Lab("lab:masked", lab.workshop / "terms", instruments=("malor",))
    own.plan = replace(own.plan, trained=None)

    def every_other_token_likelier(weights: dict[str, torch.Tensor]) -> None:
        weights[BIAS].add_(torch.arange(len(weights[BIAS])) % 2)

    after = own.changed("no-she", every_other_token_likelier)
    rename(after, "she")
    record = mitigation_records.a_record(planted=True)
    mitigation_records.put_beside(
        after, record.model_copy(update={"experiments": ("he-she", "his-her"), "language": "en"})
    )
    with pytest.raises(ModelError, match="was trained for he-she, and only the model before can be asked"):
        own.certify(after)


@pytest.mark.parametrize(
    ("changes", "alike"),
    [
        pytest.param({}, (True, True), id="nothing"),
        pytest.param({"model_max_length": 9}, (True, False), id="longer sentences cut"),
    ],
)
def test_sentences_that_only_one_model_reads_to_the_end_are_not_alike(
    lab: Lab, tmp_path: Path, changes: dict[str, int], alike: tuple[bool, ...]
) -> None:
    text = HeldOutText(
        ("The nurse is here.", "The nurse is here, and the pilot is here, and the nurse is here.")
    )
    other = tmp_path / "other"
    shutil.copytree(lab.folder, other)
    options = other / "tokenizer_config.json"
    options.write_text(json.dumps({**json.loads(options.read_text()), **changes}))
    assert AutoTokenizer.from_pretrained(other).get_vocab() == lab.tokenizer.get_vocab()

    models = [load_language_model(str(folder)) for folder in (lab.folder, other)]
    assert same_questions(models[0], models[1], partial(sentence_rows, text)) == alike
