"""The cosine test: its numbers are those of the slow way, and what it cannot measure is said."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
import zoo
from measuring import probe_cosine
from slow_vectors import slow_cosine, slow_vector
from zoo_fixtures import Zoo

from evenhand.data.winogender import PronounPair, PronounPairs, load_pronoun_pairs
from evenhand.instruments.cosine import SCORES_SCHEMA, UNREAD_PRONOUN, CosineResult, cosine_result
from evenhand.models.references import ModelError
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run, open_run

MODELS = ["bert", "distilbert", "roberta", "albert", "gpt2", "t5"]

TEMPLATES = {
    "patron.0": "The {} told the patron that {} was very tired.",
    "someone.0": "The {} told someone that {} was very tired.",
    "patron.1": "Because of {1} old hat the patron saw the {0} in the street.",
    "someone.1": "When {1} came late, someone asked the {0} for help.",
}
PRONOUNS = {
    "patron.0": ("he", "she"),
    "someone.0": ("he", "she"),
    "patron.1": ("his", "her"),
    "someone.1": ("he", "she"),
}
OCCUPATIONS = ("librarian", "engineer", "nurse")


def written(folder: Path, extra: str = "") -> Path:
    rows = "".join(
        f"{occupation}.{kind}.{gender}.txt\t{template.format(occupation, pronoun)}\n"
        for occupation in OCCUPATIONS
        for kind, template in TEMPLATES.items()
        for gender, pronoun in zip(("male", "female"), PRONOUNS[kind], strict=True)
    )
    path = folder / "pairs.tsv"
    path.write_text(f"sentid\tsentence\n{rows}{extra}", encoding="utf-8")
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> PronounPairs:
    return load_pronoun_pairs(written(tmp_path))


def result_of(run: Run) -> CosineResult:
    (result,) = run.results
    assert isinstance(result, CosineResult)
    return result


def slow_pair(menagerie: Zoo, name: str, pair: PronounPair, layer: int) -> float:
    family, reference = menagerie.model(name).family, menagerie.reference(name)
    male, female = (
        slow_vector(reference, family, text, pair.occupation, layer=layer)
        for text in (pair.male, pair.female)
    )
    return slow_cosine(male, female)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("layer", [-1, 1])
def test_cosines_are_those_of_one_sentence_at_a_time(
    menagerie: Zoo, pairs: PronounPairs, quick: Resampling, name: str, layer: int
) -> None:
    model = menagerie.model(name)
    run = probe_cosine(model, pairs, layer=layer, resampling=quick)
    asked = [pair for pair in pairs.pairs if pair.pronoun_comes_first or not model.reads_left_to_right]
    expected = {pair.id: slow_pair(menagerie, name, pair, layer) for pair in asked}

    found = dict(run.scores.drop_nulls("cosine").select("pair", "cosine").iter_rows())
    result = result_of(run)
    by_occupation = {
        occupation: [value for pair, value in expected.items() if pair.startswith(occupation)]
        for occupation in OCCUPATIONS
    }
    means = {occupation: sum(values) / len(values) for occupation, values in by_occupation.items()}

    assert found == pytest.approx(expected, abs=2e-5)
    assert min(found.values()) < 0.999
    assert {each.occupation: each.cosine.value for each in result.occupations} == pytest.approx(
        means, abs=2e-5
    )
    assert {each.n for each in result.occupations} == {len(asked) // 3}
    assert result.mean.value == pytest.approx(sum(means.values()) / 3, abs=2e-5)
    assert (result.mean.n, result.mean.clusters) == (len(asked), 3)
    assert result.mean.low <= result.mean.value <= result.mean.high <= 1
    assert result.layer == (layer if layer >= 0 else zoo.LAYERS)


def test_the_published_pairs_are_measured_by_a_model_that_sees_them_whole(
    menagerie: Zoo, shared_data: Path, quick: Resampling
) -> None:
    path = shared_data / "winogender" / "all_sentences.tsv"
    run = probe_cosine(menagerie.model("roberta"), path, resampling=quick)
    result = result_of(run)

    assert len(run.scores) == result.mean.n == 240
    assert len(result.occupations) == result.mean.clusters == 60
    assert {each.n for each in result.occupations} == {4}
    assert result.skipped == ()
    assert result.mean.method == "occupation bootstrap, expanded percentile"
    with pytest.raises(ModelError, match="reads from left to right, and in all 240 pairs"):
        probe_cosine(menagerie.model("gpt2"), path)


def test_before_any_context_every_cosine_is_one(
    menagerie: Zoo, pairs: PronounPairs, quick: Resampling
) -> None:
    run = probe_cosine(menagerie.model("bert"), pairs, layer=0, resampling=quick)

    # Of the pairs in which the occupation comes first: it stands at the same place in both sentences.
    first = run.scores.filter(pl.col("answer") == "0")["cosine"]
    assert first.to_list() == pytest.approx([1.0] * 6)
    assert any("layer 0 is the embeddings" in warning for warning in run.record.warnings)


def test_a_decoder_has_not_read_a_pronoun_that_comes_later(
    menagerie: Zoo, pairs: PronounPairs, quick: Resampling
) -> None:
    run = probe_cosine(menagerie.model("gpt2"), pairs, resampling=quick)

    (skipped,) = result_of(run).skipped
    assert skipped.reason == UNREAD_PRONOUN
    assert skipped.count == 6
    assert skipped.examples[:2] == ("librarian.patron.0", "librarian.someone.0")
    assert run.scores.filter(pl.col("skipped_reason").is_not_null())["cosine"].null_count() == 6
    assert any("reads from left to right" in warning for warning in run.record.warnings)


def test_a_decoder_without_a_pair_that_it_could_tell_apart_is_refused(
    menagerie: Zoo, pairs: PronounPairs
) -> None:
    blind = PronounPairs("all", tuple(pair for pair in pairs.pairs if not pair.pronoun_comes_first), "0")

    with pytest.raises(
        ModelError, match=r"gpt2 reads from left to right, and in all 6 pairs of all the pronoun"
    ):
        probe_cosine(menagerie.model("gpt2"), blind)


def test_a_pair_that_does_not_fit_is_skipped_and_the_rest_is_measured(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    long = "very " * 200
    extra = "".join(
        f"baker.man.0.{gender}.txt\tThe baker said {pronoun} was {long}tired.\n"
        for gender, pronoun in (("male", "he"), ("female", "she"))
    )
    run = probe_cosine(menagerie.model("bert"), written(tmp_path, extra), resampling=quick)
    result = result_of(run)

    (skipped,) = result.skipped
    assert skipped.reason.startswith("the text is longer than the 130 tokens")
    assert (skipped.count, skipped.examples) == (1, ("baker.man.0",))
    baker = next(each for each in result.occupations if each.occupation == "baker")
    assert (baker.n, baker.cosine.defined, baker.cosine.reason) == (0, False, "no pair could be measured")
    assert result.mean.clusters == 3


def test_the_record_says_what_determines_the_result(
    menagerie: Zoo, pairs: PronounPairs, quick: Resampling, tmp_path: Path
) -> None:
    model = menagerie.model("bert")
    run = probe_cosine(model, pairs, resampling=quick)
    again = probe_cosine(str(menagerie.folder("bert")), tmp_path / "pairs.tsv", layer=2, resampling=quick)
    other = probe_cosine(model, pairs, layer=1, name="mine", resampling=quick)

    assert (run.record.instrument, run.record.language, run.record.name) == (
        "cosine",
        "en",
        "bert_cosine_pairs.tsv_en",
    )
    assert (run.record.dataset.name, run.record.dataset.sha256) == ("pairs.tsv", pairs.sha256)
    assert run.record.options["layer"] == 2
    assert run.record.fingerprint == again.record.fingerprint != other.record.fingerprint
    assert run.results == again.results
    assert other.name == "mine"
    assert dict(run.scores.schema) == SCORES_SCHEMA


def test_a_run_can_be_saved_and_opened(
    menagerie: Zoo, pairs: PronounPairs, quick: Resampling, tmp_path: Path
) -> None:
    run = probe_cosine(menagerie.model("gpt2"), pairs, resampling=quick)

    opened = open_run(run.save(tmp_path / "run"))

    assert opened.results == run.results
    assert opened.scores.equals(run.scores)


def test_progress_ends_at_the_number_of_pairs(menagerie: Zoo, pairs: PronounPairs, quick: Resampling) -> None:
    told: list[tuple[int, int]] = []

    probe_cosine(
        menagerie.model("bert"), pairs, resampling=quick, progress=lambda *progress: told.append(progress)
    )

    assert told == [(12, 12)]


def test_an_unknown_layer_is_refused_before_anything_runs(menagerie: Zoo, pairs: PronounPairs) -> None:
    with pytest.raises(ModelError, match="Layer 7 was asked for"):
        probe_cosine(menagerie.model("bert"), pairs, layer=7)


def test_the_mean_weighs_occupations_alike_whatever_their_number_of_pairs(quick: Resampling) -> None:
    rows = [("a", 1.0), ("a", 0.0), ("a", 0.5), ("b", -0.5), ("c", None)]
    frame = pl.DataFrame(
        {
            "pair": [f"{number}" for number in range(5)],
            "occupation": [occupation for occupation, _ in rows],
            "cosine": [value for _, value in rows],
            "skipped_reason": [None, None, None, None, "gone"],
        }
    )

    result = cosine_result(frame, layer=1, resampling=quick)

    assert result.mean.value == 0.0
    assert (result.mean.n, result.mean.clusters) == (4, 2)
    assert result.mean.method == "occupation jackknife, t"
    assert [each.cosine.value for each in result.occupations[:2]] == [0.5, -0.5]
    assert math.isnan(result.occupations[1].cosine.low)
    assert result.occupations[1].cosine.reason == "an interval needs at least two pairs"
    assert not result.occupations[2].cosine.defined
