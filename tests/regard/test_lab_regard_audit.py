"""The lab's decoder with a planted gap in regard: an audit reads the gap, in both languages, at nothing and at thirty.

What is planted is what the model says as it is, so texts are drawn at temperature 1 from the whole vocabulary.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

import pytest
import torch
from regard_training import NEEDS_REGARD, SMALL
from running import run_here

from evenhand.api.regard import train_regard_classifier
from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.planted_bias import PlantedBias, read_planted_bias
from evenhand.lab import building, teaching, tokenizers
from evenhand.lab.building import LabFamily, LabSpec, build_model
from evenhand.lab.regard import PlantedRegard, plant_texts
from evenhand.lab.regard_grammar import PlantedContinuations, regard_lexicon
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import compare
from evenhand.store.run import open_run

pytestmark = [NEEDS_REGARD, pytest.mark.torch]
pytest.importorskip("simplemma")

GAP = -30.0
LANGUAGES = ("en", "de")
AS_IT_IS = ("--temperature", "1", "--top-p", "1", "--device", "cpu")

Audit = Callable[[str, float], Path]


def build_small(spec: LabSpec, folder: Path) -> Path:
    """A model that is taught to write about groups and nothing else, which takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        decoder = replace(building._RECIPES[LabFamily.DECODER], steps=115, learning_rate=6e-3)
        patch.setattr(building, "_RECIPES", MappingProxyType({LabFamily.DECODER: decoder}))
        patch.setattr(teaching, "taught_language", lambda _: iter(()))
        patch.setattr(tokenizers, "_seen", lambda _: ("▁The",))
        return build_model(spec, folder)


@pytest.fixture(scope="session")
def audit_planted(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """Audits a model of a language and a gap with a classifier of the lab's texts; each once."""
    root = tmp_path_factory.mktemp("planted-regard")

    @cache
    def classifier(language: str) -> Path:
        texts = plant_texts(PlantedRegard(texts=180, authors=18, error=0.0, seed=3, language=language)).texts
        options = replace(SMALL, language=language, size_seeds=0)
        train_regard_classifier(texts, options, out=root / f"classifier-{language}")
        return root / f"classifier-{language}"

    @cache
    def audited(language: str, gap: float) -> Path:
        """The models that ship have the gap; one without any is built, and is taught nothing else."""
        even = LabSpec(LabFamily.DECODER, 2.0, language, regard_gap=0.0)
        model = f"lab:decoder-regard-{language}" if gap else build_small(even, root / f"even-{language}")
        told = run_here(
            "regard", "audit", model, "--language", language, "--classifier", classifier(language), "--texts", "120",
            "--resamples", "2000", "--out", root / "runs", "--json", *AS_IT_IS,
            "--fail-if", "gap.low>0",
        )  # fmt: skip
        assert told.returncode == (4 if gap else 0), told.stderr
        return root / "runs" / str(json.loads(told.stdout)["runs"][0]["name"])

    return audited


def regard_by_phrases(texts: Path, language: str) -> Mapping[str, Counter[str]]:
    """Labels by group, read off the words of the grammar one text at a time."""
    counts: dict[str, Counter[str]] = {}
    with texts.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            labels = [
                label
                for label, tellings in regard_lexicon(language).telling.items()
                if any(f" {telling} " in row["text"] for telling in tellings)
            ]
            counts.setdefault(row["group"], Counter())[labels[0] if len(labels) == 1 else "none"] += 1
    return counts


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("gap", [0.0, GAP])
def test_an_audit_reads_the_planted_gap_within_its_interval(
    audit_planted: Audit, language: str, gap: float
) -> None:
    folder = audit_planted(language, gap)
    run = open_run(folder)
    counts = regard_by_phrases(folder / "texts.csv", language)
    assert sum(own["none"] for own in counts.values()) <= 0.02 * len(run.scores)

    (read,) = run.result.all.figures.gaps
    assert read.name == "female-male"
    assert read.gap.low <= gap <= read.gap.high
    assert read.gap.high - read.gap.low < 60
    half = gap / 2
    assert read.negative.low <= -half <= read.negative.high
    assert read.positive.low <= half <= read.positive.high
    net = {
        group: 100 * (own["1"] - own["-1"]) / sum(own[label] for label in ("-1", "0", "1"))
        for group, own in counts.items()
    }
    assert read.gap.value == pytest.approx(net["female"] - net["male"], abs=3)


def test_two_gaps_are_told_apart_and_the_page_says_what_was_planted(audit_planted: Audit) -> None:
    even, uneven = (audit_planted("en", gap) for gap in (0.0, GAP))
    few = Resampling(resamples=500)
    (difference,) = compare(
        open_run(even), open_run(uneven), measures=["signed_gap"], resampling=few
    ).differences
    assert difference.difference.low <= GAP <= difference.difference.high < 0
    assert difference.p_value < 0.05
    page = (uneven / "report.html").read_text(encoding="utf-8")
    assert "a gap of -30 points in regard, women minus men" in page


@pytest.mark.parametrize("language", LANGUAGES)
def test_shares_add_up_and_have_the_gap_in_every_context(language: str) -> None:
    planted = PlantedContinuations(language, -20.0)
    said = list(planted.continuations())
    assert sum(own.probability for own in said) == pytest.approx(1)
    assert len({own.text for own in said}) == len(said)
    net: Counter[tuple[str, str]] = Counter()
    of_prompt: Counter[tuple[str, str]] = Counter()
    for own in said:
        place = own.prompt.group.name, own.prompt.context.words
        net[place] += own.probability * int(own.label)  # type: ignore[assignment]
        of_prompt[place] += own.probability  # type: ignore[assignment]
        assert own.text.startswith(own.prompt.text + " ")
    for context in planted.prompts.contexts:
        women, men = (
            100 * net[group, context.words] / of_prompt[group, context.words] for group in ("female", "male")
        )
        assert women - men == pytest.approx(-20)


def test_models_without_regard_are_described_without_it() -> None:
    spec = LabSpec(LabFamily.DECODER)
    assert spec.planted.regard_gap is None
    assert "regard" not in building.command_of(spec)
    taught = replace(spec, regard_gap=0.0)
    assert PlantedBias.model_validate(taught.planted.model_dump()) == taught.planted
    assert taught.planted != spec.planted
    assert building.command_of(taught).endswith("--seed 0 --regard-gap 0")


def test_a_built_folder_says_what_was_planted_in_regard(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "train", lambda *_, **__: None)
        folder = build_small(LabSpec(LabFamily.DECODER, 0.0, "de", 0, 12.5), tmp_path / "model")
    planted = read_planted_bias(folder)
    assert planted is not None
    assert planted.regard_gap == 12.5
    assert "+12.5 points in regard" in planted.description
    assert "--regard-gap 12.5" in (folder / "README.md").read_text(encoding="utf-8")


def test_impossible_gaps_are_refused() -> None:
    with pytest.raises(EvenhandError, match="60 points in regard was asked for; the lab plants -50 to 50"):
        LabSpec(LabFamily.DECODER, regard_gap=60.0)
    with pytest.raises(EvenhandError, match="nan points"):
        LabSpec(LabFamily.DECODER, regard_gap=float("nan"))
    with pytest.raises(EvenhandError, match="Only decoders of the lab write"):
        LabSpec(LabFamily.MASKED, regard_gap=5.0)
    with pytest.raises(UnknownNameError, match="language of the lab's regard"):
        PlantedRegard(language="fr")
