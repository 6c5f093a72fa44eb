"""Certificates on disk: what was changed, does not follow, or is not what the runs give, is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import builders
import certificates
import pytest

from evenhand.api.measure import evaluate
from evenhand.core.errors import RunError
from evenhand.core.files import sha256_of_file
from evenhand.data.settled import load_settled
from evenhand.instruments.association.instrument import ASSOCIATION
from evenhand.instruments.knowledge.instrument import KNOWLEDGE, KnowledgeOptions
from evenhand.models.requests import Fill
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import BiasVerdict
from evenhand.store.certificate_files import (
    fingerprint_of_certificate,
    is_certificate,
    read_against_runs,
    sealed,
)
from evenhand.store.certificate_quality import QualityVerdict
from evenhand.store.certificates import CERTIFICATE_SCHEMA_VERSION, Certificate, Verdict, verdict_of
from evenhand.store.records import StatisticsRecord
from evenhand.store.run import Run
from evenhand.testing import FakeModel

RESAMPLING = Resampling(resamples=100)
MARGINS = {"knowledge": -3.0, "evidence": -25.0, "agreement": -5.0}


def scored(name: str, stereotypes: int) -> Run:
    """As many items as terms, of which some prefer the stereotype."""
    items = [builders.intra(number, cluster=f"term {number}") for number in range(24)]
    triples = {
        item.id: (0.5, 0.2, 0.1) if number < stereotypes else (0.2, 0.5, 0.1)
        for number, item in enumerate(items)
    }
    return evaluate(builders.scores(triples), builders.benchmark(*items), resampling=RESAMPLING, name=name)


def settled(name: str, *, doubtful: int) -> Run:
    """A model that knows all settled sentences but some."""
    chosen = load_settled("en").first(60)
    right = {sentence.text.replace("BLANK", sentence.right) for sentence in chosen.sentences[doubtful:]}
    model = FakeModel(lambda text: 0.4 if text in right else 0.1, name=name, capabilities=(Fill,))
    options = KnowledgeOptions(data=chosen, resampling=RESAMPLING)
    return KNOWLEDGE.prepare(model, options, name=name).measure()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of two runs, in a folder of its own."""
    place = tmp_path_factory.mktemp("made") / "certificate.json"
    runs = {side: scored(side, count) for side, count in (("before", 22), ("after", 12))}
    known = {"before": settled("before", doubtful=0), "after": settled("after", doubtful=9)}
    folders = [
        run.save(place.with_suffix("") / side / run.record.instrument)
        for own in (runs, known)
        for side, run in own.items()
    ]
    rows = ASSOCIATION.bias_rows(runs["before"], runs["after"], resampling=RESAMPLING)
    certificate = certificates.certificate(
        trained=(rows.pop("overall.SS"),) if "overall.SS" in rows else (rows.pop("intrasentence.SS"),),
        untrained=tuple(rows.values()),
        quality=(
            *ASSOCIATION.quality_rows(*runs.values(), margins={"LMS": -2.0}, resampling=RESAMPLING),
            *KNOWLEDGE.quality_rows(*known.values(), margins=MARGINS, resampling=RESAMPLING),
        ),
        statistics=StatisticsRecord(resamples=100, seed=RESAMPLING.seed, confidence=0.95),
        runs={
            str(folder.relative_to(place.with_suffix(""))): sha256_of_file(folder / "record.json")
            for folder in folders
        },
        flattened=(),
        fingerprint="the very one",
        **{side: run.record.model for side, run in known.items()},
    )
    certificate = certificate.model_copy(update={"verdict": verdict_of(certificate)})
    write(place, certificate)
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made.parent, tmp_path / "copy")
    return tmp_path / "copy" / made.name


def write(place: Path, certificate: Certificate) -> None:
    """As ``certify`` does."""
    place.write_text(sealed(certificate).model_dump_json(indent=1), encoding="utf-8")


def edit(place: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Edit the file by hand."""
    document = json.loads(place.read_bytes())
    change(document)
    place.write_text(json.dumps(document), encoding="utf-8")


def test_a_certificate_reads_back_as_it_was_made(place: Path) -> None:
    certificate = read_against_runs(place)
    assert certificate.verdict.bias is BiasVerdict.LOWERED
    assert certificate == sealed(certificate)
    assert fingerprint_of_certificate(place) == "the very one"


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("change", [{"id": "another"}, {"weights": "0" * 64}, {"prefix": "Be kind."}])
def test_a_certificate_of_other_models_than_those_of_its_runs_is_refused(
    place: Path, side: str, change: dict[str, str]
) -> None:
    certificate = read_against_runs(place)
    other = getattr(certificate, side).model_copy(update=change)
    write(place, certificate.model_copy(update={side: other}))
    with pytest.raises(RunError, match=f"names the model .* {side} the mitigation"):
        read_against_runs(place)


def test_what_says_that_it_is_a_certificate_is_told_by_its_content(place: Path, tmp_path: Path) -> None:
    assert is_certificate(place)
    other = tmp_path / "scores.json"
    for content in ('{"kind": "scores"}', "[1]", "no JSON"):
        other.write_text(content, encoding="utf-8")
        assert not is_certificate(other)
    assert not is_certificate(place.with_suffix(""))


@pytest.mark.parametrize("version", [1, 0, -1, CERTIFICATE_SCHEMA_VERSION + 1])
def test_no_number_in_the_file_switches_verification_off(place: Path, version: int) -> None:
    """A certificate of another format cannot be verified, so none is read, whoever sealed it."""
    certificate = read_against_runs(place)
    bare = {
        side: tuple(row.model_copy(update={"distance": None}) for row in getattr(certificate, side))
        for side in ("trained", "untrained")
    }
    changed = certificate.model_copy(update={"schema_version": version, **bare})
    assert verdict_of(changed) == certificate.verdict
    write(place, changed)
    message = rf"version {version} of the format; .* reads {CERTIFICATE_SCHEMA_VERSION}.* evenhand certify BEFORE AFTER"
    with pytest.raises(RunError, match=message):
        read_against_runs(place)


@pytest.mark.parametrize(
    ("kept", "missing"), [((), "before"), (("before",), "after"), (("after",), "before")]
)
def test_a_certificate_names_runs_of_both_models(place: Path, kept: tuple[str, ...], missing: str) -> None:
    certificate = read_against_runs(place)
    runs = {name: digest for name, digest in certificate.runs.items() if name.startswith(kept or "none")}
    bare = certificate.model_copy(update={"runs": runs, "trained": (), "untrained": (), "quality": ()})
    write(place, bare.model_copy(update={"verdict": verdict_of(bare)}))
    with pytest.raises(RunError, match=f"names no run of the model {missing} the mitigation"):
        read_against_runs(place)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["verdict"].update(quality="kept", bias="not lowered"),
        lambda document: document["trained"][0].update(after=42.0),
        lambda document: document.update(words=["All is well."]),
        lambda document: document.update(runs={}),
    ],
)
def test_an_edited_certificate_is_refused(place: Path, change: Callable[[dict[str, Any]], object]) -> None:
    edit(place, change)
    with pytest.raises(RunError, match="was changed after it was made"):
        read_against_runs(place)


def test_a_certificate_without_a_digest_is_refused(place: Path) -> None:
    edit(place, lambda document: document.pop("sha256"))
    with pytest.raises(RunError, match="was changed after it was made"):
        read_against_runs(place)
    assert fingerprint_of_certificate(place) == "the very one"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdict": Verdict(bias=BiasVerdict.LOWERED, quality=QualityVerdict.KEPT)}, "its rows say lowered and un"),
        ({"verdict": Verdict(bias=BiasVerdict.NOT_LOWERED, quality=QualityVerdict.UNDECIDED)}, "its rows say lowered"),
        ({"quality": (certificates.quality_row("LMS", -9.0, QualityVerdict.KEPT, margin=-2.0),)}, "calls LMS kept"),
        ({"trained": (certificates.score_row("SS", 90.0, 50.0),)}, "other figures of bias than its runs give"),
        ({"untrained": ()}, "other figures of bias than its runs give"),
        ({"quality": ()}, "its rows say lowered and not measured"),
    ],
)  # fmt: skip
def test_what_does_not_follow_is_refused_whoever_sealed_it(
    place: Path, changes: dict[str, Any], message: str
) -> None:
    write(place, read_against_runs(place).model_copy(update=changes))
    with pytest.raises(RunError, match=message):
        read_against_runs(place)


@pytest.mark.parametrize("measure", ["LMS", "knowledge", "evidence"])
def test_quality_that_runs_do_not_give_is_refused(place: Path, measure: str) -> None:
    certificate = read_against_runs(place)
    assert {row.measure for row in certificate.quality} == {"LMS", "knowledge", "evidence"}

    def with_rows(change: dict[str, float] | None) -> Certificate:
        rows = tuple(
            row if row.measure != measure else row.model_copy(update=change)
            for row in certificate.quality
            if change is not None or row.measure != measure
        )
        changed = certificate.model_copy(update={"quality": rows})
        return changed.model_copy(update={"verdict": verdict_of(changed)})

    for change in ({"after": 99.5}, None):
        write(place, with_rows(change))
        with pytest.raises(RunError, match=f"states another {measure} than its runs give"):
            read_against_runs(place)
    write(place, certificate)
    assert read_against_runs(place) == certificate


def test_a_certificate_needs_its_runs(place: Path) -> None:
    shutil.rmtree(place.with_suffix("") / "after")
    with pytest.raises(RunError, match=r"certificate/after/association, which is not there. Keep the folder"):
        read_against_runs(place)


def test_other_runs_are_told_from_its_own(place: Path) -> None:
    folder = place.with_suffix("")
    (folder / "after").rename(folder / "other")
    shutil.copytree(folder / "before", folder / "after")
    with pytest.raises(RunError, match="is not the run that"):
        read_against_runs(place)


def test_a_changed_run_is_noticed(place: Path) -> None:
    (place.with_suffix("") / "after" / "association" / "estimates.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RunError, match=r"cannot be verified: .*estimates\.json was changed after the run"):
        read_against_runs(place)


@pytest.mark.parametrize("name", ["../..", "before/../../x", "/dev/zero", "before", "sideways/malor"])
def test_a_certificate_names_no_run_elsewhere(place: Path, name: str) -> None:
    write(place, read_against_runs(place).model_copy(update={"runs": {name: "0" * 64}}))
    with pytest.raises(RunError, match="is no run of a certificate"):
        read_against_runs(place)


def test_what_is_no_certificate_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    with pytest.raises(RunError, match="There is no certificate"):
        read_against_runs(path)
    path.write_text('{"verdict": "good"}', encoding="utf-8")
    with pytest.raises(RunError, match=r"no certificate of this version \(\d+ faults"):
        read_against_runs(path)
    path.write_bytes(b"[" * 100_000)
    with pytest.raises(RunError, match="nested too deeply"):
        read_against_runs(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(RunError, match="is no file"):
        read_against_runs(path)
