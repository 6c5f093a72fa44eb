"""Sentence encoders and encoders that are trained further, on tiny models made here."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from regard_training import NEEDS_REGARD, SMALL

from evenhand.api.regard import train_regard_classifier
from evenhand.core.errors import DatasetError
from evenhand.regard.classifier import open_classifier
from evenhand.regard.features import TextRows
from evenhand.regard.network_heads import FineTuneHead, FineTuneSettings
from evenhand.regard.pretrained_features import ENCODER, SENTENCE
from evenhand.regard.texts import RegardTexts

pytestmark = NEEDS_REGARD

TEXTS = ["The person kept a promise.", "The person lied to a friend last week."]


@pytest.fixture(scope="module")
def bert(menagerie: Any) -> Path:
    return Path(menagerie.folder("bert"))


@pytest.fixture(scope="module")
def sentence_encoder(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(bert), device="cpu")
    folder = tmp_path_factory.mktemp("sentence") / "encoder"
    encoder.save_pretrained(str(folder), safe_serialization=True)
    return folder


def test_sentence_embeddings_are_the_same_alone_and_beside_others(sentence_encoder: Path) -> None:
    features = SENTENCE.open(str(sentence_encoder))
    together = features.matrix(TextRows.of(TEXTS))
    alone = SENTENCE.open(str(sentence_encoder)).matrix(TextRows.of(TEXTS[1:]))
    assert together[1] == pytest.approx(alone[0], abs=1e-5)
    assert set(features.digests) == {"model.safetensors"}


def test_another_sentence_encoder_than_in_training_is_refused(sentence_encoder: Path) -> None:
    state = SENTENCE.open(str(sentence_encoder)).state()
    changed = dataclasses.replace(state, settings={"digests": {"model.safetensors": "0" * 64}})
    with pytest.raises(DatasetError, match="content has changed"):
        SENTENCE.restore(changed, str(sentence_encoder))


def test_an_encoder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="cannot be loaded"):
        SENTENCE.open(str(tmp_path))


def test_a_classifier_over_sentence_embeddings_comes_back(
    sentence_encoder: Path, planted: RegardTexts, tmp_path: Path
) -> None:
    options = dataclasses.replace(SMALL, features=f"sentence:{sentence_encoder}", size_seeds=0)
    trained = train_regard_classifier(planted, options, out=tmp_path / "sentence")
    assert trained.report.test.rows > 20
    again = open_classifier(tmp_path / "sentence").label(TEXTS)
    assert again.probabilities == pytest.approx(trained.label(TEXTS).probabilities)


def test_an_encoder_learns_on_and_its_folder_needs_nothing_else(
    bert: Path, planted: RegardTexts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = FineTuneSettings(learning_rate=3e-3, batch_size=16, epochs=12, patience=12)
    monkeypatch.setattr(FineTuneHead, "candidates", lambda _: [quick])
    options = dataclasses.replace(
        SMALL, features=f"encoder:{bert}", classifier="fine-tune", folds=2, size_seeds=0
    )
    trained = train_regard_classifier(planted, options, out=tmp_path / "tuned")
    expected = trained.label(TEXTS)
    monkeypatch.setattr(type(ENCODER), "open", None)
    again = open_classifier(tmp_path / "tuned").label(TEXTS)
    assert again.probabilities == pytest.approx(expected.probabilities, abs=1e-5)
    learnt = trained.label(planted.rows.texts).indices == planted.labels
    assert learnt.mean() > 0.4, "most of these texts were trained on; guessing would be right in a third"
    assert {path.suffix for path in (tmp_path / "tuned").iterdir()} <= {
        ".json", ".safetensors", ".parquet", ".html", ".jinja", ".txt",
    }  # fmt: skip
