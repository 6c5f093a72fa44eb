"""Perplexity in passages: what a decoder makes of what it read earlier, which single sentences cannot show."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
import zoo
from certificate_runs import small_plan
from long_decoders import build_long_decoder, slow_perplexity
from transformers import AutoModelForCausalLM

from evenhand.certificate import HeldOutText
from evenhand.certificate.measuring import ModelMeasurer
from evenhand.certificate.plan import CertificatePlan
from evenhand.certificate.quality import held_out_losses, passage_losses
from evenhand.certificate.text_quality import held_out_text_rows, passages_text_rows
from evenhand.models.language_model import load_language_model
from evenhand.store.certificate_quality import QualityRow, QualityVerdict
from evenhand.text.passages import FEWEST_PASSAGES, PASSAGE

SENTENCES = tuple(
    f"The baker of street {number} sold {number * 7 % 31} loaves near the gate." for number in range(60)
)
READ_ALONE = 48
"""More tokens than any of the sentences has."""


def passages(sentences: int, *, count: int = FEWEST_PASSAGES) -> HeldOutText:
    """Texts of several sentences, each with another beginning."""
    return HeldOutText(tuple(" ".join(SENTENCES[start : start + sentences]) for start in range(count)))


@pytest.fixture(scope="module")
def long_reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_long_decoder(tmp_path_factory.mktemp("decoder"))


def rows(
    before: Path, after: Path, plan: CertificatePlan, *, place: Path
) -> tuple[QualityRow, QualityRow | None]:
    """The rows of single sentences and of passages."""
    sides = [
        ModelMeasurer(load_language_model(str(folder)), plan, folder=place / name)
        for folder, name in ((before, "before"), (after, "after"))
    ]
    sentences, *_ = held_out_text_rows(
        held_out_losses(sides[0], sides[1], plan.held_out),
        perplexity=plan.margins.perplexity,
        special=plan.margins.special,
        resampling=plan.resampling,
    )
    together = passages_text_rows(
        passage_losses(sides[0], sides[1], plan.passages),
        margin=plan.margins.perplexity,
        resampling=plan.resampling,
    )
    return sentences, together[0] if together else None


def test_perplexity_in_passages_is_that_of_reading_them_token_by_token(
    long_reader: Path, tmp_path: Path
) -> None:
    plan = small_plan(passages=passages(12))
    row = rows(long_reader, long_reader, plan, place=tmp_path)[1]
    assert row is not None
    assert row.before == pytest.approx(slow_perplexity(long_reader, passages(12).sentences), rel=1e-5)
    assert row.measure == "perplexity in passages"
    assert row.difference.value == 0


def test_a_model_that_forgets_what_it_read_earlier_keeps_sentences_and_loses_passages(
    long_reader: Path, tmp_path: Path
) -> None:
    forgetful = tmp_path / "forgetful"
    shutil.copytree(long_reader, forgetful)
    model = AutoModelForCausalLM.from_pretrained(forgetful)
    with torch.no_grad():
        model.transformer.wpe.weight[READ_ALONE:] += 3 * torch.randn(
            model.transformer.wpe.weight[READ_ALONE:].shape, generator=torch.Generator().manual_seed(1)
        )
    model.save_pretrained(forgetful)
    plan = small_plan(held_out=HeldOutText(SENTENCES), passages=passages(12))
    alone, together = rows(long_reader, forgetful, plan, place=tmp_path)
    assert together is not None
    assert alone.verdict is QualityVerdict.KEPT
    assert alone.difference.value == 0
    assert together.verdict is QualityVerdict.LOST


def test_a_model_with_a_short_window_is_not_asked_in_passages(tmp_path: Path) -> None:
    short = zoo.build("gpt2", tmp_path / "short")
    assert rows(short, short, small_plan(passages=passages(12)), place=tmp_path)[1] is None


def test_a_masked_model_is_not_asked_in_passages(tmp_path: Path) -> None:
    masked = zoo.build("bert", tmp_path / "masked")
    assert rows(masked, masked, small_plan(passages=passages(12)), place=tmp_path)[1] is None


def test_passages_are_sentences_that_follow_each_other_in_a_document() -> None:
    sentence = "x" * 999
    stream = [
        (f"{document}{number:03d}{sentence}", document) for document in range(3) for number in range(43)
    ]
    found = HeldOutText.sample_passages(stream, most=1_000)
    assert found is not None
    # Each passage takes four sentences of a thousand characters and more; three of a document are left over.
    assert found.documents == tuple(document for document in range(3) for _ in range(10))
    assert all(len(text) >= PASSAGE for text in found.sentences)
    assert " ".join(found.sentences[:10]) == " ".join(text for text, _ in stream[:40])
    drawn = HeldOutText.sample_passages(stream, most=25)
    assert drawn is not None
    assert len(drawn.sentences) == 25
    assert set(drawn.sentences) < set(found.sentences)


def test_too_few_passages_are_none() -> None:
    stream = [("x" * PASSAGE, 0)] * (FEWEST_PASSAGES - 1)
    assert HeldOutText.sample_passages(stream) is None
