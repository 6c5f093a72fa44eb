"""An embedded model built again is the one that ships."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.items import Label, Task
from evenhand.lab.embedded_models import (
    EMBEDDED,
    SAME_BUILD,
    RebuildCheck,
    build_command,
    rebuild,
    scores_of,
)
from evenhand.models.backends.lab import embedded_names, embedded_root, read_manifest
from evenhand.models.families.decoder import DECODER
from evenhand.models.families.masked import MASKED
from evenhand.models.families.sentinel import SENTINEL
from evenhand.models.references import ModelRef
from evenhand.stats.resampling import Resampling

QUICK = eh.AuditOptions(resampling=Resampling(resamples=100), tasks=(Task.INTRASENTENCE,))


def preferences(model: str) -> dict[str, float]:
    """How many bits likelier the stereotype is than the anti-stereotype, item by item."""
    scores = eh.audit(model, options=QUICK).scores
    totals = {
        (row["item"], row["label"]): sum(row["token_log_probabilities"])
        for row in scores.select("item", "label", "token_log_probabilities").to_dicts()
    }
    return {
        item: (total - totals[item, Label.ANTI_STEREOTYPE.value]) / math.log(2)
        for (item, label), total in totals.items()
        if label == Label.STEREOTYPE.value
    }


def test_the_embedded_decoder_can_be_built_again(tmp_path: Path) -> None:
    """To the last digits where it was built; elsewhere weights differ, what was learnt does not."""
    rebuilt = rebuild("decoder", tmp_path / "model")
    shipped, again = (preferences(model) for model in ("lab:decoder", str(tmp_path / "model")))

    assert rebuilt.agrees
    if rebuilt.same_platform and rebuilt.same_libraries:
        assert rebuilt.largest_difference <= SAME_BUILD
    assert list(shipped) == list(again)
    assert np.mean([abs(shipped[item] - again[item]) for item in shipped]) <= 0.3
    assert np.mean(list(again.values())) == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize(
    ("difference", "same_platform", "same_libraries", "agrees"),
    [
        (0.0, True, True, True),
        (1e-4, True, True, True),
        (2e-4, True, True, False),
        (0.5, False, True, True),
        (0.5, True, False, True),
        (math.nan, True, True, False),
    ],
)
def test_a_rebuilt_model_may_differ_only_where_the_platform_or_the_libraries_do(
    difference: float, same_platform: bool, same_libraries: bool, agrees: bool
) -> None:
    rebuilt = RebuildCheck(
        "decoder",
        same_files=False,
        largest_difference=difference,
        same_platform=same_platform,
        same_libraries=same_libraries,
    )

    assert rebuilt.agrees is agrees


def test_the_manifest_says_how_to_build_each_model() -> None:
    models = read_manifest(embedded_root()).models

    assert {name: build_command(spec) for name, spec in EMBEDDED.items()} == {
        name: entry.command for name, entry in models.items()
    }


@pytest.mark.parametrize("name", embedded_names())
def test_embedded_models_load_by_name_as_their_family(name: str) -> None:
    families = {
        "lab:masked": MASKED,
        "lab:masked-neutral": MASKED,
        "lab:decoder": DECODER,
        "lab:encoder-decoder": SENTINEL,
        "lab:decoder-regard-en": DECODER,
        "lab:decoder-regard-de": DECODER,
    }

    assert eh.load(name, device="cpu").family is families[name]


def test_an_unknown_embedded_model_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(eh.EvenhandError, match="Did you mean 'lab:masked'"):
        eh.load("lab:maskd")


def test_an_embedded_model_is_audited_on_the_labs_items_and_its_record_says_what_was_planted(
    quick: Resampling,
) -> None:
    run = eh.audit("lab:decoder", options=eh.AuditOptions(resampling=quick, limit=5))

    assert run.name == "lab-decoder_association_lab_en_limit-5"
    assert (run.record.dataset.name, run.record.dataset.language) == ("lab", "en")
    assert run.record.model is not None
    assert run.record.model.id == "lab:decoder"
    assert run.record.model.planted is not None
    assert run.record.model.planted.strength == 2


def test_every_candidate_of_the_labs_items_gets_a_score() -> None:
    scores = scores_of(ModelRef(id="lab:masked"), "en")

    assert len(scores) == 2 * 16 * 12 * 3
    assert np.isfinite(scores).all()
