"""Direct bias: its numbers are those of the slow way, and what it cannot measure is said."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zoo
from slow_vectors import Vector, slow_cosine, slow_vector
from zoo_fixtures import Zoo

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.models import ModelError
from evenhand.core.probe_results import DirectBiasResult
from evenhand.core.probe_runs import ProbeRun, open_probe_run
from evenhand.data.probes import load_probes
from evenhand.data.word_search import WordFinder
from evenhand.probing.corpus_vectors import BESIDE_GENDERED, NOTHING_SOUGHT, CorpusVectors, RunningMean
from evenhand.probing.direct_bias import SCORES_SCHEMA, probe_direct_bias
from evenhand.probing.gender_direction import (
    ABSENT,
    ONE_FORM,
    ONLY_BESIDE_GENDERED,
    PRONOUNS,
    gender_direction,
)
from evenhand.stats.resampling import Resampling

MODELS = ["bert", "distilbert", "roberta", "albert", "gpt2", "t5"]

ENGLISH = (
    "<He> came home and <he> was tired.",
    "When <she> left, nobody saw it.",
    "<She> said that <he> was late.",
    "The <nurse> was quiet, and another <nurse> was loud.",
    "Our <teacher> came home late.",
    "<Teacher> and <nurse> left.",
    "The old <doctor> was tired.",
    "Then the <engineer> saw the <doctor>.",
    "Nobody was at home.",
    "Her teacher was late.",
    "The king met a painter.",
    "Mary is a librarian.",
    "The librarian saw his friend.",
)
"""Sentences in which the words that count are marked."""

GERMAN = (
    "Gestern kam <er> nach Hause.",
    "Heute kam <sie> nach Hause, und <sie> war leise.",
    "Er war laut und Sie waren da.",
    "Der <Lehrer> kam nach Hause.",
    "Die <Lehrerin> und noch eine <Lehrerin> kamen.",
    "Der <Bäcker> war laut.",
    "Die <Bäckerin> war leise.",
    "Der <Koch> war da.",
    "Die Köchin sah ihren Mann.",
)


def unmarked(sentence: str) -> str:
    return sentence.replace("<", "").replace(">", "")


def written(folder: Path, *sentences: str) -> Path:
    path = folder / "corpus.txt"
    path.write_text("\n".join(map(unmarked, sentences)), encoding="utf-8")
    return path


def result_of(run: ProbeRun) -> DirectBiasResult:
    (result,) = run.results
    assert isinstance(result, DirectBiasResult)
    return result


def slow_means(menagerie: Zoo, name: str, sentences: Sequence[str], *, layer: int) -> dict[str, Vector]:
    """The mean vector of every marked word, under its lower-case spelling."""
    family, reference = menagerie.model(name).family, menagerie.reference(name)
    vectors = defaultdict(list)
    for sentence in sentences:
        for mark in re.finditer("<(.+?)>", sentence):
            start = len(unmarked(sentence[: mark.start()]))
            vector = slow_vector(reference, family, unmarked(sentence), mark[1], layer=layer, start=start)
            vectors[mark[1].lower()].append(vector)
    return {word: np.mean(found, axis=0) for word, found in vectors.items()}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("layer", [-1, 0])
def test_direct_bias_is_that_of_one_sentence_at_a_time(
    menagerie: Zoo, tmp_path: Path, quick: Resampling, name: str, layer: int
) -> None:
    run = probe_direct_bias(menagerie.model(name), written(tmp_path, *ENGLISH), layer=layer, resampling=quick)
    means = slow_means(menagerie, name, ENGLISH, layer=layer)
    direction = means["he"] - means["she"]
    expected = {
        word: slow_cosine(vector, direction) for word, vector in means.items() if word not in ("he", "she")
    }

    result = result_of(run)

    assert {each.profession: each.cosine for each in result.professions} == pytest.approx(expected, abs=5e-5)
    assert set(expected) == {"nurse", "teacher", "doctor", "engineer"}
    assert result.direct_bias.value == pytest.approx(np.mean(np.abs(list(expected.values()))), abs=5e-5)
    assert result.signed_mean.value == pytest.approx(np.mean(list(expected.values())), abs=5e-5)
    assert 0 <= result.direct_bias.low <= result.direct_bias.value <= result.direct_bias.high <= 1
    assert (result.direct_bias.n, result.direct_bias.clusters) == (7, 4)
    assert result.direct_bias.method == "profession jackknife, t"
    seen = {each.profession: each.n for each in result.professions}
    assert seen == {"nurse": 2, "teacher": 2, "doctor": 2, "engineer": 1}


@pytest.mark.parametrize("name", ["roberta", "gpt2", "t5"])
def test_german_professions_are_the_mean_of_both_forms(
    menagerie: Zoo, tmp_path: Path, quick: Resampling, name: str
) -> None:
    corpus = written(tmp_path, *GERMAN)
    run = probe_direct_bias(menagerie.model(name), corpus, language="de", resampling=quick)
    means = slow_means(menagerie, name, GERMAN, layer=-1)
    direction = means["er"] - means["sie"]
    expected = {
        "teacher": slow_cosine((means["lehrer"] + means["lehrerin"]) / 2, direction),
        "baker": slow_cosine((means["bäcker"] + means["bäckerin"]) / 2, direction),
    }

    result = result_of(run)

    assert {each.profession: each.cosine for each in result.professions} == pytest.approx(expected, abs=5e-5)
    assert {each.profession: each.n for each in result.professions} == {"teacher": 2, "baker": 2}
    assert {each.reason: each.examples for each in result.skipped if each.reason != ABSENT} == {
        ONE_FORM: ("chef",)
    }
    assert result.pronouns == {"er": 1, "sie": 1}
    assert any("German sie means she and they" in warning for warning in run.record.warnings)


def test_what_was_not_used_is_counted(menagerie: Zoo, tmp_path: Path, quick: Resampling) -> None:
    run = probe_direct_bias(menagerie.model("bert"), written(tmp_path, *ENGLISH), resampling=quick)
    result = result_of(run)

    assert result.sentences == len(ENGLISH)
    assert result.pronouns == {"he": 2, "she": 2}
    assert result.left_out == {NOTHING_SOUGHT: 1, BESIDE_GENDERED: 4}
    assert {each.reason: each.count for each in result.skipped} == {ABSENT: 54, ONLY_BESIDE_GENDERED: 2}
    assert len(run.scores) == 60
    librarian = run.scores.filter(pl.col("profession") == "librarian").row(0, named=True)
    assert librarian["skipped_reason"] == ONLY_BESIDE_GENDERED
    assert (librarian["cosine"], librarian["sentences"], librarian["sentences_left_out"]) == (None, 0, 2)
    teacher = run.scores.filter(pl.col("profession") == "teacher").row(0, named=True)
    assert (teacher["sentences"], teacher["occurrences"], teacher["sentences_left_out"]) == (2, 2, 1)
    assert any("only 2 sentences have 'he'" in warning for warning in run.record.warnings)


def test_the_baseline_is_the_same_for_random_directions(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    name = "bert"
    means = slow_means(menagerie, name, ENGLISH, layer=-1)
    directions = np.random.default_rng([quick.seed, zoo.WIDTH, 4]).standard_normal((100, zoo.WIDTH))
    expected = [
        np.mean([abs(slow_cosine(means[word], direction)) for word in means if word not in ("he", "she")])
        for direction in directions
    ]

    baseline = result_of(
        probe_direct_bias(menagerie.model(name), written(tmp_path, *ENGLISH), resampling=quick)
    ).baseline

    assert baseline.value == pytest.approx(np.mean(expected), abs=1e-4)
    assert baseline.low == pytest.approx(np.quantile(expected, 0.025), abs=1e-4)
    assert baseline.high == pytest.approx(np.quantile(expected, 0.975), abs=1e-4)
    assert (baseline.n, baseline.method) == (100, "random directions, percentiles")


def test_the_same_corpus_gives_the_same_result_however_it_is_stored(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    model = menagerie.model("bert")
    plain = written(tmp_path, *ENGLISH)
    packed = tmp_path / "corpus.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    runs = [probe_direct_bias(model, path, resampling=quick) for path in (plain, packed, [str(plain)])]
    other = probe_direct_bias(model, written(tmp_path, *ENGLISH, "He left."), resampling=quick)

    assert runs[0].results == runs[1].results == runs[2].results
    assert runs[0].scores.equals(runs[1].scores)
    assert len({run.record.fingerprint for run in runs}) == 1
    assert runs[0].record.fingerprint != other.record.fingerprint


def test_the_record_says_what_determines_the_result(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    run = probe_direct_bias(
        str(menagerie.folder("bert")), written(tmp_path, *ENGLISH), layer=1, resampling=quick
    )
    opened = open_probe_run(run.save(tmp_path / "run"))

    assert (run.record.test, run.record.name) == ("direct-bias", "bert_direct-bias_en")
    assert set(run.record.data) == {"corpus", "professions", "gendered words"}
    assert run.record.options["layer"] == 1
    assert run.record.options["pronouns"] == ["he", "she"]
    assert dict(run.scores.schema) == SCORES_SCHEMA
    assert opened.results == run.results
    assert opened.scores.equals(run.scores)


def test_professions_come_from_a_list(menagerie: Zoo, tmp_path: Path, quick: Resampling) -> None:
    professions = tmp_path / "professions.txt"
    professions.write_text("old doctor\nnurse\nking\n")

    result = result_of(
        probe_direct_bias(
            menagerie.model("bert"), written(tmp_path, *ENGLISH), professions=professions, resampling=quick
        )
    )

    assert [each.profession for each in result.professions] == ["old doctor", "nurse"]
    assert [(each.reason, each.examples) for each in result.skipped] == [(ONLY_BESIDE_GENDERED, ("king",))]


def test_sentences_that_do_not_fit_are_left_out(menagerie: Zoo, tmp_path: Path, quick: Resampling) -> None:
    long = f"The nurse was {'very ' * 200}tired."
    result = result_of(
        probe_direct_bias(menagerie.model("bert"), written(tmp_path, *ENGLISH, long), resampling=quick)
    )

    assert result.left_out["the text is longer than the 130 tokens that the model takes"] == 1
    assert next(each.n for each in result.professions if each.profession == "nurse") == 2


def test_a_word_that_the_tokenizer_does_not_know_is_skipped_with_its_reason(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    professions = tmp_path / "professions.txt"
    professions.write_text("nurse\nΩmega\n", encoding="utf-8")
    corpus = written(tmp_path, *ENGLISH, "The Ωmega left.")

    result = result_of(
        probe_direct_bias(menagerie.model("bert"), corpus, professions=professions, resampling=quick)
    )

    assert [(each.reason, each.examples) for each in result.skipped] == [
        ("the tokenizer does not know the word", ("Ωmega",))
    ]
    assert result.left_out["the tokenizer does not know the word"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "There is no sentence"),
        (
            "She saw a nurse.\nThe nurse left.",
            r"has 2 sentences, and none with 'he'\. The gender direction lies",
        ),
        ("He saw a nurse.\nThe nurse left.", r"has 2 sentences, and none with 'she'"),
        (
            "He left.\nShe " + "very " * 200 + "late.\nThe nurse left.",
            r"none with 'she' that can be used: the text is longer than the 130 tokens",
        ),
        (
            "He left.\nShe left.\nIt rained.",
            r"has 3 sentences, and in none of them could any of the 60 professions be measured \(it does not occur",
        ),
        (
            "He saw a nurse.\nShe left.",
            r"be measured \(it does not occur in the corpus, it occurs only beside words that tell a gender\)",
        ),
    ],
)
def test_a_corpus_that_lacks_something_is_refused(
    menagerie: Zoo, tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text(content)

    with pytest.raises(DatasetError, match=message):
        probe_direct_bias(menagerie.model("bert"), path)


def test_other_mistakes_are_refused_before_the_corpus_is_read(menagerie: Zoo, tmp_path: Path) -> None:
    model = menagerie.model("bert")
    corpus = tmp_path / "corpus.txt"
    corpus.write_bytes(b"\xff not read")
    professions = tmp_path / "professions.txt"
    professions.write_text("Raumpfleger\n")

    with pytest.raises(UnknownNameError, match="Known: de, en"):
        probe_direct_bias(model, corpus, language="fr")
    with pytest.raises(ModelError, match="Layer 9 was asked for"):
        probe_direct_bias(model, corpus, layer=9)
    with pytest.raises(DatasetError, match="There is no file"):
        probe_direct_bias(model, corpus, professions=tmp_path / "missing.txt")
    with pytest.raises(DatasetError, match="is not among the bundled German occupations"):
        probe_direct_bias(model, corpus, language="de", professions=professions)
    with pytest.raises(DatasetError, match="There is no file or folder"):
        probe_direct_bias(model, tmp_path / "missing")
    with pytest.raises(DatasetError, match=r"corpus\.txt is not UTF-8 text \(byte 0"):
        probe_direct_bias(model, corpus)


def test_what_was_cut_or_left_out_of_the_corpus_is_said(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    written(folder, *ENGLISH, "word " * 2_500)
    (folder / "table.csv").write_text("a,b")

    run = probe_direct_bias(menagerie.model("bert"), folder, resampling=quick)

    assert [warning for warning in run.record.warnings if "sentences have" not in warning] == [
        "sentences of more than 10,000 characters were cut in 1 places of the corpus.",
        "files of the corpus that are not named like text were left out: table.csv.",
    ]


def test_progress_is_told_in_bytes(menagerie: Zoo, tmp_path: Path, quick: Resampling) -> None:
    corpus = written(tmp_path, *ENGLISH)
    told: list[tuple[int, int]] = []

    probe_direct_bias(
        menagerie.model("bert"), corpus, resampling=quick, report=lambda *progress: told.append(progress)
    )

    assert told[-1] == (corpus.stat().st_size, corpus.stat().st_size)


def test_a_decoder_is_measured_and_its_blindness_said(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    run = probe_direct_bias(menagerie.model("gpt2"), written(tmp_path, *ENGLISH), resampling=quick)

    assert any("reads from left to right" in warning for warning in run.record.warnings)


def test_pronouns_with_one_vector_have_no_direction(menagerie: Zoo) -> None:
    same = {word: RunningMean(np.ones(3), 1, 1) for word in ("he", "she")}
    finder = WordFinder({"he": "he"})
    vectors = CorpusVectors(
        menagerie.model("bert"), layer=0, pronouns=finder, nouns=finder, gendered=frozenset(), means=same
    )

    with pytest.raises(ModelError, match="vectors of 'he' and 'she' are the same"):
        gender_direction(vectors, PRONOUNS["en"])


def test_every_language_with_word_lists_has_its_pronouns() -> None:
    for language, pronouns in PRONOUNS.items():
        he_she = load_probes(language).terms
        assert pronouns.both in [(male, female) for pairs in he_she.values() for male, female in pairs]


MEASURE = """
import resource, sys, torch
from evenhand.probing.direct_bias import probe_direct_bias
from evenhand.scoring.language_model import load_model
from evenhand.stats.resampling import Resampling
torch.set_num_threads(1)
model = load_model(sys.argv[1], device="cpu")
quick = Resampling(resamples=100)
probe_direct_bias(model, sys.argv[2], resampling=quick)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
run = probe_direct_bias(model, sys.argv[3], resampling=quick)
print(run.results[0].sentences, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_corpus(menagerie: Zoo, tmp_path: Path) -> None:
    """Thirty megabytes, of which a part goes through the model, after a first corpus has warmed everything up."""
    idle = "It rained for days and nothing was to be seen of the hills beyond the river.\n" * 10_000
    small, large = tmp_path / "small.txt", tmp_path / "large.txt"
    small.write_text(busy(200) + idle)
    with large.open("w") as stream:
        for part in range(40):
            stream.write(busy(5, start=5 * part) + idle)

    finished = subprocess.run(
        [sys.executable, "-c", MEASURE, str(menagerie.folder("bert")), str(small), str(large)],
        capture_output=True,
        text=True,
        check=True,
    )
    count, kilobytes = map(int, finished.stdout.split())

    assert large.stat().st_size > 30_000_000
    assert count == 40 * (5 * len(ENGLISH) + 10_000)
    assert kilobytes < 30_000


def busy(rounds: int, *, start: int = 0) -> str:
    """Sentences with words that count, no two alike, because a sentence that comes twice at once is read once."""
    return "".join(
        f"{unmarked(sentence).replace(' ', f' {number} ', 1)}\n"
        for number in range(start, start + rounds)
        for sentence in ENGLISH
    )
