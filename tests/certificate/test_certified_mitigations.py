"""What a certificate reads from the record beside a mitigated model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mitigation_records
import pytest
from certificate_runs import nudged, probes_alone, small_plan
from mitigation_records import a_seed

from evenhand.api.defaults.mitigating import CertifyOptions, default_plan
from evenhand.certificate import certify
from evenhand.certificate.mitigated import summarise, trained_figures
from evenhand.core.errors import RunError
from evenhand.core.estimates import Estimate
from evenhand.models.references import ModelRef
from evenhand.store.mitigation_records import MITIGATION_FILE
from evenhand.store.mitigation_summaries import FrontierPoint


@pytest.fixture(scope="module")
def bert(menagerie: Any) -> Path:
    return Path(menagerie.folder("bert"))


def test_the_record_beside_the_model_tells_what_was_done() -> None:
    record = mitigation_records.a_record(a_seed(0, 0.9), a_seed(1, 0.8, 0.3), chosen_seed=1)
    frontier = (FrontierPoint(weight=1, malor={"he-she": 0.3}, perplexity_change=0.1, chosen=True),)
    found = summarise(record.model_copy(update={"settings": {"weight": 2.0}, "frontier": frontier}))
    assert (found.method, found.experiments, found.language) == ("counterfactual", ("he-she",), "en")
    assert [point.malor for point in found.curve] == [{"he-she": 1.5}, {"he-she": 0.8}, {"he-she": 0.3}]
    assert [point.perplexity for point in found.curve] == [20.0, 20.1, 20.1]
    assert found.kept_epoch == 2
    assert found.frontier == frontier
    assert found.settings == {
        "epochs": "200",
        "batch size": "32",
        "learning rate": "2e-05",
        "warm up": "0.0",
        "seed": "0",
        "quality margin": "0.01",
        "balance": "2.0",
        "examples an epoch": "462",
        "trainings": "2 with seeds of their own",
    }


def test_a_method_without_training_has_neither_curve_nor_settings() -> None:
    record = mitigation_records.a_record().model_copy(
        update={
            "experiments": (),
            "seeds": (),
            "chosen_seed": None,
            "recipe": None,
            "data": None,
            "before": {},
        }
    )
    found = summarise(record)
    assert (found.experiments, found.curve, found.kept_epoch, found.settings) == ((), (), None, {})
    assert trained_figures(record) == ()


def test_figures_other_than_malor_count_as_trained_on_by_their_keys() -> None:
    figures = {"he-she.MALoR": Estimate.undefined("x"), "overall.SS": Estimate.undefined("x")}
    record = mitigation_records.a_record().model_copy(update={"before": figures})
    assert trained_figures(record) == ("he-she", "overall.SS")


def test_a_damaged_record_is_refused(bert: Path, tmp_path: Path) -> None:
    folder = nudged(bert, tmp_path / "evened")
    (folder / MITIGATION_FILE).write_text('{"method": "equalise"}')
    with pytest.raises(RunError, match="is damaged"):
        certify(str(bert), str(folder), probes_alone(small_plan()), place=tmp_path / "certificate.json")


def mitigated_in(language: str, source: Path, folder: Path) -> Path:
    record = mitigation_records.a_record().model_copy(update={"language": language})
    nudged(source, folder)
    mitigation_records.put_beside(folder, record)
    return folder


def test_a_model_mitigated_in_another_language_was_not_trained_for_these_probes(
    bert: Path, tmp_path: Path
) -> None:
    plan = probes_alone(small_plan(trained=None))
    other, own = (
        certify(
            str(bert),
            str(mitigated_in(language, bert, tmp_path / language)),
            plan,
            place=tmp_path / f"{language}.json",
        )
        for language in ("de", "en")
    )
    assert own.trained_known
    assert [row.measure for row in own.trained] == ["MALoR he-she", "base rate he-she", "spread he-she"]
    assert not other.trained_known
    assert len(other.trained) == len(own.trained) + sum(row.experiment is not None for row in own.untrained)
    assert any(
        "mitigated for probes in 'de' and is judged on those in 'en'" in told for told in other.caveats
    )


@pytest.mark.parametrize(("asked", "found"), [(None, "de"), ("en", "en")])
def test_a_certificate_is_in_the_language_of_the_mitigation_unless_told_otherwise(
    bert: Path, tmp_path: Path, asked: str | None, found: str
) -> None:
    after = ModelRef(id=str(mitigated_in("de", bert, tmp_path / "evened")))
    plan = default_plan(ModelRef(id=str(bert)), CertifyOptions(language=asked), after=after)
    assert [measurement.options.data.language for measurement in plan.measurements] == [found] * 3
