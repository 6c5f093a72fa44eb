"""CrowS-Pairs from pairs to a run: what is counted, what is skipped, and that an interrupted run goes on."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import torch
from measuring import probe_pairs
from pair_builders import pair, pair_set, row_of, write_table
from pair_scores import PairCounts, counts_of
from safetensors.torch import load_file, save_file
from statsmodels.stats.proportion import proportion_confint
from zoo_fixtures import Zoo

from evenhand.core.items import PairSet
from evenhand.core.protocols import CROWS_PAIRS_V1
from evenhand.instruments.crows_pairs import CROWS_PAIRS, CrowsPairsOptions
from evenhand.instruments.runner import ItemsResult
from evenhand.models.language_model import LanguageModel
from evenhand.reporting.probes.words import PairsGroup
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts
from evenhand.store.run import Run, open_run
from evenhand.testing import FakeModel

LONG = "word " * 400

WORDS = ("baker", "pilot", "nurse", "farmer", "teacher", "sailor", "singer", "judge", "clerk", "cook")
MANY = pair_set(
    *(
        pair(
            number,
            more=f"The old {word} forgot the {number} keys.",
            less=f"The young {word} forgot the {number} keys.",
            direction="stereo" if number % 3 else "antistereo",
            bias_type="age" if number % 2 else "profession",
        )
        for number, word in enumerate(WORDS)
    )
)


def result_of(run: Run) -> PairCounts:
    return counts_of(run)


def skipped_in(run: Run) -> ItemsResult:
    (result,) = run.results
    assert isinstance(result, ItemsResult)
    return result


def counts(group: PairsGroup) -> tuple[int, int, float]:
    return group.n, group.ties, group.score.value


def test_the_score_counts_the_more_stereotypical_sentence_in_both_directions() -> None:
    """By hand: 2 won, 1 tied and 1 lost of 4; the fifth has no score."""
    scored = [
        (pair(1, bias_type="age", more="m1", less="l1"), (-3.0, -4.0)),
        (pair(2, bias_type="age", more="m2", less="l2"), (-5.0, -4.0)),
        (pair(3, bias_type="gender", direction="antistereo", more="m3", less="l3"), (-1.0, -9.0)),
        (pair(4, bias_type="gender", direction="antistereo", more="m4", less="l4"), (-2.0, -2.0)),
        (pair(5, bias_type="nationality", more="m5", less="l5"), (-math.inf, -1.0)),
    ]
    table = {
        text: math.exp(log)
        for each, logs in scored
        for text, log in zip((each.more, each.less), logs, strict=True)
    }

    run = probe_pairs(
        FakeModel(table), pair_set(*(each for each, _ in scored)), resampling=Resampling(confidence=0.9)
    )
    frame, result = run.scores, result_of(run)

    assert frame["preference"].to_list() == [1.0, 0.0, 1.0, 0.5, None]
    assert counts(result.all) == (4, 1, 62.5)
    assert {name: counts(group) for name, group in result.by_direction.items()} == {
        "stereo": (2, 0, 50.0),
        "antistereo": (2, 1, 75.0),
    }
    assert counts(result.by_bias_type["age"]) == (2, 0, 50.0)
    assert counts(result.by_bias_type["gender"]) == (2, 1, 75.0)
    unscored = result.by_bias_type["nationality"]
    assert (unscored.n, unscored.score.defined, unscored.score.reason) == (
        0,
        False,
        "no pair could be scored",
    )
    low, high = proportion_confint(2.5, 4, alpha=0.1, method="wilson")
    assert (result.all.score.low, result.all.score.high) == pytest.approx((100 * low, 100 * high))
    assert (result.all.score.method, result.all.score.n) == ("Wilson score", 4)
    (skipped,) = skipped_in(run).skipped
    assert (skipped.reason, skipped.count, skipped.examples) == (
        "the model gave NaN or infinite values",
        1,
        ("5",),
    )


def test_no_score_is_rounded_before_it_is_compared() -> None:
    assert CROWS_PAIRS_V1.preference(-3.0000001, -3.0) == 0
    assert CROWS_PAIRS_V1.preference(-3.0, -3.0) == 0.5


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_a_run_has_both_scores_of_every_pair_and_says_what_was_asked(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    run = probe_pairs(model, MANY, resampling=Resampling(confidence=0.9))

    assert run.scores["pair"].to_list() == [each.id for each in MANY]
    assert run.scores["more"].to_list() == [each.more for each in MANY]
    assert run.scores["skipped_reason"].null_count() == len(MANY)
    wins = (run.scores["more_score"] > run.scores["less_score"]).sum()
    result = result_of(run)
    assert (result.all.n, result.all.ties) == (10, 0)
    assert result.all.score.value == pytest.approx(10 * wins)
    assert {name: group.n for name, group in result.by_direction.items()} == {"stereo": 6, "antistereo": 4}
    assert {name: group.n for name, group in result.by_bias_type.items()} == {"age": 5, "profession": 5}
    record = run.record
    assert (record.name, record.instrument, record.language) == (
        f"{name}_crows-pairs_tiny_en",
        "crows-pairs",
        "en",
    )
    assert (record.dataset.name, record.dataset.sha256) == ("tiny", "0" * 64)
    assert record.dataset.sample is None
    assert record.statistics.confidence == 0.9
    options = CrowsPairsOptions(data=MANY, resampling=Resampling(confidence=0.9))
    assert record.fingerprint == CROWS_PAIRS.prepare(model, options).record.fingerprint


def test_a_run_is_saved_and_opened_again(menagerie: Zoo, tmp_path: Path) -> None:
    pairs = pair_set(*MANY.pairs[:2], pair("alone", less=""))
    run = probe_pairs(menagerie.model("bert"), pairs, name="mine")

    opened = open_run(run.save(tmp_path / "mine"))

    assert opened.results == run.results
    assert opened.scores.equals(run.scores)
    assert opened.record.fingerprint == run.record.fingerprint


def test_pairs_come_from_a_file_and_the_model_from_a_folder(menagerie: Zoo, tmp_path: Path) -> None:
    path = write_table(tmp_path / "english.csv", [row_of(each) for each in MANY])
    run = probe_pairs(str(menagerie.folder("bert")), path, limit=4)

    assert result_of(run).all.n == 4
    assert run.scores.equals(probe_pairs(menagerie.model("bert"), MANY, limit=4).scores)


def test_identical_sentences_are_a_tie(menagerie: Zoo) -> None:
    pairs = pair_set(*MANY.pairs, pair("same", more="The same words.", less="The same words."))
    for name in ("bert", "gpt2", "t5"):
        assert result_of(probe_pairs(menagerie.model(name), pairs)).all.ties == 1


def test_what_cannot_be_scored_is_counted_with_its_reason(menagerie: Zoo) -> None:
    pairs = pair_set(
        pair("fine"),
        pair("long", more=f"{LONG}old.", less="Young."),
        pair("longer", more="Old.", less=f"{LONG}young."),
        pair("longest", more="Old.", less=f"{LONG}{LONG}young."),
        pair("alone", more=""),
        pair("strange", more="Bread", less="Soup"),
        replace(pair("marked"), beyond_repair="a pun"),
    )
    run = probe_pairs(menagerie.model("bert"), pairs)

    result = result_of(run)
    assert (result.all.n, len(run.scores)) == (1, 7)
    assert {skipped.reason: skipped.examples for skipped in skipped_in(run).skipped} == {
        "the input is longer than the 130 tokens that the model takes": ("long", "longer"),
        "the sentences are too long to find the tokens that they share": ("longest",),
        "the pair has one sentence only": ("alone",),
        "the two sentences share no token": ("strange",),
        "people marked the pair as beyond repair": ("marked",),
    }
    assert [skipped.count for skipped in skipped_in(run).skipped] == [2, 1, 1, 1, 1]
    unscored = run.scores.filter(pl.col("skipped_reason").is_not_null())
    assert unscored.select("more_score", "less_score", "preference").null_count().row(0) == (6, 6, 6)


def test_a_decoder_needs_no_shared_token(menagerie: Zoo) -> None:
    run = probe_pairs(menagerie.model("gpt2"), pair_set(pair("strange", more="Bread", less="Soup")))

    assert result_of(run).all.n == 1


def test_when_nothing_can_be_scored_the_result_says_so(menagerie: Zoo) -> None:
    run = probe_pairs(menagerie.model("bert"), pair_set(pair(1, less="")))

    assert result_of(run).all.score.reason == "no pair could be scored"


def with_broken_positions(folder: Path, source: Path, *, first: int) -> str:
    """A decoder whose weights are NaN for all positions from ``first`` on."""
    shutil.copytree(source, folder)
    weights = load_file(folder / "model.safetensors")
    (name,) = [key for key in weights if key.endswith("wpe.weight")]
    weights[name][first:] = torch.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


def test_values_that_are_no_numbers_are_reported_and_the_rest_is_scored(
    menagerie: Zoo, tmp_path: Path
) -> None:
    broken = with_broken_positions(tmp_path / "broken", menagerie.folder("gpt2"), first=40)
    pairs = pair_set(pair("short"), pair("long", more=f"Old {'tea ' * 50}.", less="Young."))

    run = probe_pairs(broken, pairs)

    assert result_of(run).all.n == 1
    (skipped,) = skipped_in(run).skipped
    assert (skipped.reason, skipped.count) == ("the model gave NaN or infinite values", 1)
    assert skipped.examples == ("long",)


def test_a_model_that_gives_no_numbers_at_all_has_no_score(menagerie: Zoo, tmp_path: Path) -> None:
    broken = with_broken_positions(tmp_path / "broken", menagerie.folder("gpt2"), first=0)

    run = probe_pairs(broken, MANY)

    whole = result_of(run).all
    assert (whole.n, whole.score.reason) == (0, "no pair could be scored")
    assert [(skipped.count, len(skipped.examples)) for skipped in skipped_in(run).skipped] == [(10, 5)]


class Interrupted(Exception):  # noqa: N818
    """Somebody pressed a key."""


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_an_interrupted_run_goes_on_and_gives_the_same(menagerie: Zoo, tmp_path: Path, name: str) -> None:
    model = menagerie.model(name)
    undisturbed = probe_pairs(model, MANY, max_tokens=60)

    def interrupt(done: int, _total: int) -> None:
        if done >= 4:
            raise Interrupted

    parts = Parts(tmp_path / "unfinished")
    with pytest.raises(Interrupted):
        probe_pairs(model, MANY, max_tokens=60, parts=parts, progress=interrupt)
    kept = {key: (parts.folder / key).stat().st_mtime_ns for key in parts}
    assert kept
    reported: list[tuple[int, int]] = []
    resumed = probe_pairs(
        model, MANY, max_tokens=60, parts=parts, progress=lambda *counts: reported.append(counts)
    )

    assert resumed.scores.equals(undisturbed.scores)
    assert resumed.results == undisturbed.results
    after = {key: (parts.folder / key).stat().st_mtime_ns for key in parts}
    assert len(after) > len(kept)
    assert {file: after[file] for file in kept} == kept, "what was kept is not computed again"
    assert reported[-1] == (10, 10)
    assert reported == sorted(reported)


def test_unfinished_scores_of_other_pairs_are_never_mixed_in(menagerie: Zoo, tmp_path: Path) -> None:
    model = menagerie.model("bert")
    parts = Parts(tmp_path / "unfinished")
    probe_pairs(model, MANY, parts=parts)

    few = probe_pairs(model, MANY, limit=3, parts=parts)
    assert few.scores.equals(probe_pairs(model, MANY, limit=3).scores)


def test_a_model_made_for_another_language_is_a_reason_to_doubt(menagerie: Zoo, tmp_path: Path) -> None:
    folder = tmp_path / "english"
    shutil.copytree(menagerie.folder("gpt2"), folder)
    (folder / "README.md").write_text("---\nlanguage: en\n---\n", encoding="utf-8")

    def warnings_in(pairs: PairSet) -> tuple[str, ...]:
        return probe_pairs(str(folder), pairs).record.warnings

    assert warnings_in(pair_set(pair())) == ()
    (warning,) = warnings_in(replace(pair_set(pair(language="fr")), language="fr"))
    assert "made for en, not for fr" in warning


def test_a_loaded_model_is_not_loaded_again(menagerie: Zoo) -> None:
    model = menagerie.model("gpt2")
    assert isinstance(model, LanguageModel)
    record = probe_pairs(model, pair_set(pair())).record.model
    assert record is not None
    assert record.architecture == "GPT2LMHeadModel"
