"""A certificate is computed again from what lies beside it, so no part of it can be edited, whoever seals it anew."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mitigation_records
import numpy as np
import pytest
from certificate_runs import LABELLED, nudged, probes_alone, small_plan

from evenhand.certificate import Finetuning, certify
from evenhand.certificate.quality_figures import accuracy_of_answers
from evenhand.certificate.verification import read_certificate
from evenhand.core.errors import RunError
from evenhand.core.files import sha256_of
from evenhand.store.certificate_files import runs_folder, sealed
from evenhand.store.certificate_quality import QualityRow, QualityVerdict, judged_quality
from evenhand.store.certificates import Certificate, verdict_of

Document = dict[str, Any]


@pytest.fixture(scope="module")
def made(menagerie: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate with all that one can have: figures on text, classifiers, and the record of a mitigation."""
    folder = tmp_path_factory.mktemp("verified")
    before = menagerie.folder("bert")
    after = nudged(before, folder / "after")
    mitigation_records.put_beside(after, mitigation_records.a_record())
    plan = replace(probes_alone(small_plan()), labelled=LABELLED, finetuning=Finetuning(seeds=3, steps=2))
    place = folder / "certificate" / "certificate.json"
    certify(str(before), str(after), plan, place=place)
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made.parent, tmp_path / "copy")
    return tmp_path / "copy" / made.name


def reseal(place: Path, change: Callable[[Document], object]) -> None:
    """Edit a certificate, and give it the verdict of its rows and the digest of its content."""
    document = json.loads(place.read_bytes())
    change(document)
    certificate = Certificate.model_validate(document)
    certificate = certificate.model_copy(update={"verdict": verdict_of(certificate)})
    place.write_text(sealed(certificate).model_dump_json(), encoding="utf-8")


def _row(document: Document, measure: str) -> Document:
    (row,) = (row for row in document["quality"] if row["measure"] == measure)
    return dict(row)


def _with_row(document: Document, measure: str, /, **changes: Any) -> None:
    for row in document["quality"]:
        if row["measure"] == measure:
            row.update(changes)


def test_an_untouched_certificate_is_read_as_it_was_made(place: Path) -> None:
    document = json.loads(place.read_bytes())
    reseal(place, lambda _: None)
    certificate = read_certificate(place)
    assert certificate.mitigation is not None
    assert json.loads(certificate.model_dump_json()) == document
    assert {row.measure for row in certificate.quality} >= {"perplexity", "accuracy"}


EDITS: dict[str, Callable[[Document], object]] = {
    "words": lambda own: own.update(words=["All is well."]),
    "caveats": lambda own: own.update(caveats=own["caveats"][1:]),
    "mitigation": lambda own: own["mitigation"].update(method="a better one"),
    "flipped": lambda own: own.update(
        flipped=[
            {
                "experiment": "he-she",
                "occupation": "nurse",
                "p_value": 0.001,
                "before": own["occupations"][0]["before"],
                "after": own["occupations"][0]["after"],
            }
        ]
    ),
    "occupations": lambda own: own["occupations"].pop(),
    "reported": lambda own: own.update(
        reported=[{**_row(own, "perplexity"), "measure": "evidence of subject pronouns"}]
    ),
    "groups": lambda own: own.update(groups={"he-she": ["young", "old"]}),
    "verdict": lambda own: own["verdict"].update(
        wider_margins=[{"name": "lms", "margin": 9.0, "usual": 2.0}]
    ),
    "outputs_changed": lambda own: own.update(outputs_changed=False),
    "weights_changed": lambda own: own.update(weights_changed=False),
    "trained": lambda own: own["untrained"].append(own["trained"].pop()),
    "trained_known": lambda own: own.update(trained_known=not own["trained_known"]),
    "language": lambda own: own.update(language="de"),
    "settings": lambda own: own["settings"]["margins"].update(perplexity=99.0),
    "data": lambda own: own["data"].update(probes="0" * 64),
    "perplexity": lambda own: _with_row(own, "perplexity", after=1.0),
    "accuracy": lambda own: _with_row(own, "accuracy", after=99.9),
}


@pytest.mark.parametrize("field", EDITS)
def test_an_edited_part_is_refused_whoever_sealed_it(place: Path, field: str) -> None:
    before = place.read_bytes()
    reseal(place, EDITS[field])
    assert place.read_bytes() != before
    with pytest.raises(RunError, match=f"something else under '{field}'"):
        read_certificate(place)


@pytest.mark.parametrize("measure", ["perplexity", "LMS", "knowledge", "accuracy"])
def test_a_wider_margin_is_refused(place: Path, measure: str) -> None:
    sign = math.copysign(1, _row(json.loads(place.read_bytes()), measure)["margin"])

    def widen(document: Document) -> None:
        document["quality"] = [
            rejudged(row, margin=500.0 * sign) if row["measure"] == measure else row
            for row in document["quality"]
        ]

    reseal(place, widen)
    with pytest.raises(RunError, match=f"something else under '{measure}'"):
        read_certificate(place)


def rejudged(row: Document, **changes: Any) -> Document:
    """A row with other figures and the verdict that follows from them."""
    own = QualityRow.model_validate({**row, **changes})
    if own.verdict is not QualityVerdict.NOT_MEASURED:
        own = own.model_copy(update={"verdict": judged_quality(own.difference, own.margin)})
    return dict(json.loads(own.model_dump_json()))


ADDED: dict[str, Callable[[Document], Document]] = {
    "of a measure that is none": lambda own: _row(own, "perplexity") | {"measure": "helpfulness"},
    "of a run that is not there": lambda own: _row(own, "perplexity") | {"measure": "distinct-2"},
    "of a measure that has one": lambda own: rejudged(_row(own, "perplexity"), margin=500.0),
}


@pytest.mark.parametrize("name", ADDED)
def test_no_row_of_quality_can_be_added(place: Path, name: str) -> None:
    reseal(place, lambda own: own["quality"].insert(0, ADDED[name](own)))
    measure = json.loads(place.read_bytes())["quality"][0]["measure"]
    with pytest.raises(RunError, match=f"something else under '{measure}'"):
        read_certificate(place)


@pytest.mark.parametrize("measure", ["perplexity", "accuracy", "LMS", "knowledge"])
def test_no_row_of_quality_can_be_dropped(place: Path, measure: str) -> None:
    def drop(document: Document) -> None:
        document["quality"] = [row for row in document["quality"] if row["measure"] != measure]

    reseal(place, drop)
    with pytest.raises(RunError, match=f"'{measure}'|another {measure} than its runs give"):
        read_certificate(place)


def test_what_was_not_measured_has_no_figures_and_its_own_title(place: Path) -> None:
    """The plan has no association tests, so there is no LMS."""
    assert _row(json.loads(place.read_bytes()), "LMS")["verdict"] == "not measured"
    for changes in ({"title": "Language modelling score, as good as ever"}, {"before": 90.0, "after": 91.0}):
        shutil.copy(place, place.with_name("edited.json"))
        edited = place.with_name("edited.json")
        if not runs_folder(edited).exists():
            shutil.copytree(runs_folder(place), runs_folder(edited))
        reseal(edited, lambda own, changes=changes: _with_row(own, "LMS", **changes))  # type: ignore[misc]
        with pytest.raises(RunError, match="something else under 'LMS'"):
            read_certificate(edited)


def test_a_baseline_cannot_be_left_out(place: Path) -> None:
    def drop(document: Document) -> None:
        document["runs"] = {
            name: digest for name, digest in document["runs"].items() if not name.startswith("baseline")
        }
        document["baseline"] = None

    reseal(place, drop)
    path = runs_folder(place) / "inputs.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"shifted": None}), encoding="utf-8")
    reseal(place, lambda own: own.update(inputs=sha256_of(path.read_bytes())))
    with pytest.raises(RunError, match="something else under 'baseline'"):
        read_certificate(place)


@pytest.mark.parametrize("field", ["inputs", "runs", "schema_version", "settings", "statistics"])
def test_no_field_can_be_missing(place: Path, field: str) -> None:
    """A missing field has its default, or is refused; none of them stops the certificate from being verified."""
    document = json.loads(place.read_bytes())
    del document[field]
    _with_row(document, "perplexity", after=1.0)
    rest = {name: value for name, value in document.items() if name != "sha256"}
    document["sha256"] = sha256_of(json.dumps(rest, sort_keys=True).encode())
    place.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(RunError):
        read_certificate(place)


def test_inputs_belong_to_their_certificate(place: Path) -> None:
    path = runs_folder(place) / "inputs.json"
    inputs = path.read_text(encoding="utf-8")
    path.write_text(inputs.replace('"method":"', '"method":"x'), encoding="utf-8")
    with pytest.raises(RunError, match="not the one that the certificate was made from"):
        read_certificate(place)
    reseal(place, lambda own: own.update(inputs=sha256_of(path.read_bytes())))
    with pytest.raises(RunError, match="something else under 'mitigation'"):
        read_certificate(place)
    path.unlink()
    with pytest.raises(RunError, match=r"inputs\.json is not there"):
        read_certificate(place)


def test_figures_that_fit_no_formula_are_refused(place: Path) -> None:
    path = runs_folder(place) / "inputs.json"
    inputs = json.loads(path.read_bytes())
    changes: list[Document] = [
        {"held_out": {**inputs["held_out"], "documents": [1]}},
        {"settings": {}},
        {"answers": 3},
    ]
    for change in changes:
        path.write_text(json.dumps({**inputs, **change}), encoding="utf-8")
        reseal(place, lambda own: own.update(inputs=sha256_of(path.read_bytes())))
        with pytest.raises(RunError, match="cannot be verified"):
            read_certificate(place)


def test_sentences_of_another_version_are_replaced(place: Path) -> None:
    own = read_certificate(place)

    def change(document: Document) -> None:
        document["environment"]["evenhand"] = "9.9.9"
        document["words"] = ["As another version says it."]

    reseal(place, change)
    assert read_certificate(place).words == own.words


def test_an_undefined_figure_is_no_reason_to_refuse(place: Path) -> None:
    """Classifiers that are alike at every seed have no p-value, for which the file has none."""
    path = runs_folder(place) / "inputs.json"
    inputs = json.loads(path.read_bytes())
    inputs["answers"]["after"] = inputs["answers"]["before"]
    path.write_text(json.dumps(inputs), encoding="utf-8")
    answers = np.array(inputs["answers"]["before"], dtype=np.float64)
    row = accuracy_of_answers(answers, answers, margin=-1.0, confidence=0.95)
    assert row.p_value is not None
    assert math.isnan(row.p_value)

    def change(document: Document) -> None:
        document["inputs"] = sha256_of(path.read_bytes())
        document["environment"]["evenhand"] = "9.9.9"
        _with_row(document, "accuracy", **json.loads(row.model_dump_json()))

    reseal(place, change)
    assert read_certificate(place).mitigation is not None
