"""Classifier folders: verified when they are opened, of one version, and without anything that can run code."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from regard_training import NEEDS_REGARD, SMALL
from safetensors.numpy import load, save

from evenhand.api.regard import compare_person_treatments, train_regard_classifier
from evenhand.core.errors import EvenhandError, RunError
from evenhand.regard.classifier import RegardClassifier, open_classifier
from evenhand.regard.classifier_check import CheckOptions
from evenhand.regard.texts import RegardTexts
from evenhand.reporting.regard.page import reading, render_classifier_page

pytestmark = NEEDS_REGARD

TEXTS = ["The person kept a promise.", "The person lied to a friend last week.", "x" * 100_000]


@pytest.fixture
def folder(trained_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained_folder, tmp_path / "classifier"))


def test_an_opened_classifier_labels_as_the_one_that_was_trained(
    planted: RegardTexts, tmp_path: Path
) -> None:
    out = tmp_path / "again"
    first = train_regard_classifier(planted, dataclasses.replace(SMALL, size_seeds=0), out=out)
    assert open_classifier(out).label(TEXTS).probabilities == pytest.approx(first.label(TEXTS).probabilities)


def test_no_file_of_the_folder_is_a_pickle(trained_folder: Path) -> None:
    endings = {path.suffix for path in trained_folder.iterdir()}
    assert endings == {".json", ".safetensors", ".parquet", ".html"}
    assert not any(path.read_bytes().startswith(b"\x80") for path in trained_folder.iterdir())


@pytest.mark.parametrize(
    "name",
    ["features.json", "features.safetensors", "head.json", "head.safetensors", "scheme.json", "report.html"],
)
def test_a_changed_file_is_refused(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content + b" ")
    with pytest.raises(RunError, match=f"{name} was changed after it was written"):
        open_classifier(folder)


def test_a_missing_file_is_refused(folder: Path) -> None:
    (folder / "head.safetensors").unlink()
    with pytest.raises(RunError, match=r"There is no file .*head\.safetensors"):
        open_classifier(folder)


def test_a_folder_of_another_version_is_refused_by_name(folder: Path) -> None:
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    record["format"] = "regard-classifier.v9"
    record["environment"]["evenhand"] = "9.0.0"
    (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(
        RunError, match=r"format 'regard-classifier\.v9', written by Evenhand 9\.0\.0; this version"
    ):
        open_classifier(folder)


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": "regard-classifier.v1"}', "not JSON"])
def test_a_damaged_record_is_refused(folder: Path, content: str) -> None:
    (folder / "record.json").write_text(content, encoding="utf-8")
    with pytest.raises(RunError):
        open_classifier(folder)


def test_a_record_cannot_name_a_file_outside_the_folder(folder: Path) -> None:
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    record["files"]["../secret"] = "0" * 64
    (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(RunError, match="is no file of the folder"):
        open_classifier(folder)


def reseal(folder: Path, name: str, content: bytes) -> None:
    """Put another file in the place of one, with its right hash."""
    (folder / name).write_bytes(content)
    record = json.loads((folder / "record.json").read_bytes())
    record["files"][name] = hashlib.sha256(content).hexdigest()
    (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")


def with_arrays(folder: Path, name: str, change: Callable[[str, np.ndarray], np.ndarray]) -> None:
    """Change the arrays of a component."""
    arrays = {key: change(key, array) for key, array in load((folder / name).read_bytes()).items()}
    reseal(folder, name, save(arrays))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: reseal(folder, "features.json", b"[]"), "holds no settings"),
        (lambda folder: reseal(folder, "features.json", b'{"words": 3, "characters": 3}'), "is damaged"),
        (lambda folder: with_arrays(folder, "head.safetensors", lambda _, own: own * np.nan), "no numbers"),
        (lambda folder: with_arrays(folder, "head.safetensors", lambda _, own: own[:2].copy()), "do not fit together"),
        (lambda folder: with_arrays(folder, "head.safetensors", lambda _, own: own.T.copy()), "is damaged"),
        (lambda folder: with_arrays(folder, "features.safetensors", lambda _, own: own * 1e300), "none that texts"),
    ],
)  # fmt: skip
def test_parts_that_cannot_be_are_refused_whoever_sealed_them(
    folder: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(folder)
    with pytest.raises(RunError, match=message):
        open_classifier(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ["0", "1", "-1"]}, "different classes"),
        ({"options": {}}, "labels is not named"),
        ({"options": {"classifier": None}}, "is not named"),
    ],
)
def test_a_record_that_contradicts_its_folder_is_refused(
    folder: Path, change: dict[str, Any], message: str
) -> None:
    record = json.loads((folder / "record.json").read_bytes())
    (folder / "record.json").write_text(json.dumps(record | change), encoding="utf-8")
    with pytest.raises(RunError, match=message):
        open_classifier(folder)


def test_options_that_no_training_has_are_refused_where_it_is_trained_again(
    folder: Path, planted: RegardTexts
) -> None:
    record = json.loads((folder / "record.json").read_bytes())
    record["options"]["surprise"] = 1
    (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(RunError, match="options are not those of a training"):
        compare_person_treatments(folder, planted, CheckOptions(texts=("The person lied.",)))


def test_a_folder_without_a_classifier_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"is not a classifier: it has no record\.json"):
        open_classifier(tmp_path)


def test_empty_texts_are_refused_and_no_texts_are_fine(trained: RegardClassifier) -> None:
    with pytest.raises(EvenhandError, match="Text 2 of 3 is empty"):
        trained.label(["one", "  ", "three"])
    assert trained.label([]).codes == []


def test_embeddings_are_for_classifiers_over_embeddings(
    trained: RegardClassifier, planted: RegardTexts, tmp_path: Path
) -> None:
    with pytest.raises(EvenhandError, match="makes its own features"):
        trained.label(["one"], embeddings=tmp_path / "x.npy")
    generator = np.random.default_rng(0)
    table = np.eye(3)[planted.labels] + generator.normal(scale=0.2, size=(len(planted), 3))
    np.save(tmp_path / "x.npy", table)
    options = dataclasses.replace(SMALL, features=f"embeddings:{tmp_path / 'x.npy'}", size_seeds=0)
    classifier = train_regard_classifier(planted, options, out=tmp_path / "embedded")
    with pytest.raises(EvenhandError, match="Give those of the texts to label with --embeddings"):
        classifier.label(["one"])
    np.save(tmp_path / "new.npy", np.eye(3))
    labels = classifier.label(["a", "b", "c"], embeddings=tmp_path / "new.npy")
    assert labels.codes == ["-1", "0", "1"]
    np.save(tmp_path / "new.npy", np.eye(4))
    with pytest.raises(EvenhandError, match="has 4 numbers per text; the classifier was trained on 3"):
        classifier.label(["a", "b", "c", "d"], embeddings=tmp_path / "new.npy")


def test_the_page_is_whole_and_escapes_what_it_shows(trained: RegardClassifier) -> None:
    record = trained.record.model_copy(
        update={"name": "<script>alert(1)</script>", "warnings": ("<img src=x onerror=alert(2)>",)}
    )
    page = render_classifier_page(record, trained.report, scheme=trained.scheme)
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)" in page
    for title in ("Reading", "Figures", "By class", "Probabilities", "More texts", "Limits"):
        assert f">{title}</h2>" in page
    assert "http://" not in page.split("<script", maxsplit=1)[0]
    assert 'src="' not in page.split('id="page-data"', maxsplit=1)[0]


def test_a_class_is_called_the_worst_only_where_it_is_shown(trained: RegardClassifier) -> None:
    def sentences(*recalls: tuple[float, float]) -> list[str]:
        classes = tuple(
            own.model_copy(
                update={
                    "recall": own.recall.model_copy(
                        update={"value": value, "low": value - half, "high": value + half}
                    )
                }
            )
            for own, (value, half) in zip(trained.report.test.classes, recalls, strict=True)
        )
        test = trained.report.test.model_copy(update={"classes": classes})
        report = trained.report.model_copy(update={"test": test})
        return reading(trained.record, report, ["negative", "neutral", "positive"])

    assert not any("worst" in own for own in sentences((0.50, 0.1), (0.60, 0.1), (0.62, 0.1)))
    assert not any("worst" in own for own in sentences((0.30, 0.1), (0.40, 0.1), (0.90, 0.1)))
    assert "It is worst at negative texts, of which it finds 30% (20% to 40%)." in sentences(
        (0.30, 0.1), (0.60, 0.1), (0.90, 0.1)
    )
