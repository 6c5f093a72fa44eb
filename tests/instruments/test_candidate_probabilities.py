"""The probability of a whole candidate, and the log-ratios that are made of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import builders
import polars as pl
import pytest
from slow_reference import Logs, SlowReference, sum_log2
from zoo_fixtures import Zoo
from zoo_items import MALFORMED_BLANKS, MALFORMED_CONTEXTS

import evenhand as eh
from evenhand.core.items import Association, Candidate, Label, Task
from evenhand.models import families
from evenhand.models.requests import Continue

MISSING = "the scores come without the probabilities of their candidates"
CLOSE = 1e-4
"""Bits; in single precision, over the tokens of a sentence."""

Read = Callable[[str, str], Logs]


@dataclass(frozen=True)
class Reader:
    """What a candidate's tokens have for log-probabilities, read the slow way, for each task."""

    fill: Callable[[Association, Candidate], Logs]
    sentence: Read


def by_word(read: Read) -> Callable[[Association, Candidate], Logs]:
    """A candidate by the word that fills the blank."""
    return lambda item, candidate: read(item.context, str(candidate.word))


def masked(reference: SlowReference) -> Reader:
    return Reader(
        by_word(reference.blank), lambda context, sentence: [math.log(reference.follows(context, sentence))]
    )


def decoder(reference: SlowReference) -> Reader:
    return Reader(
        lambda _item, candidate: reference.sentence(candidate.text),
        lambda context, sentence: reference.continuation(context, sentence)[1],
    )


def sentinel(reference: SlowReference) -> Reader:
    return Reader(by_word(reference.sentinel_blank), reference.sentinel_continuation)


def denoiser(reference: SlowReference) -> Reader:
    return Reader(by_word(reference.denoised_blank), reference.denoised_continuation)


READERS: dict[str, Callable[[SlowReference], Reader]] = {
    "bert": masked,
    "gpt2": decoder,
    "t5": sentinel,
    "bart": denoiser,
}


def benchmark() -> eh.Benchmark:
    starter = eh.load_dataset("starter", language="en")
    chosen = [item for task in Task for item in starter.of_task(task)[::6]]
    return builders.benchmark(*chosen, *MALFORMED_BLANKS, *MALFORMED_CONTEXTS)


def audited(
    menagerie: Zoo,
    name: str,
    *,
    protocol: str = "evenhand.v2",
    inter: str | None = None,
    score: str | None = None,
) -> eh.Run:
    plan = eh.Resampling(resamples=100)
    options = eh.AuditOptions(protocol=protocol, inter=inter, score=score, resampling=plan)
    return eh.audit(menagerie.model(name), benchmark(), options=options)


def slow_log_ratio(item: Association, reader: Reader) -> float:
    """Bits between stereotype and anti-stereotype, each read by itself."""
    bits = {
        candidate.label: sum_log2(
            reader.fill(item, candidate)
            if item.task is Task.INTRASENTENCE
            else reader.sentence(item.context, candidate.text)
        )
        for candidate in item.candidates
    }
    return bits[Label.STEREOTYPE] - bits[Label.ANTI_STEREOTYPE]


@pytest.mark.parametrize("name", READERS)
def test_log_ratios_are_those_of_the_slow_way(menagerie: Zoo, name: str) -> None:
    reader = READERS[name](menagerie.reference(name))
    expected = {item.id: slow_log_ratio(item, reader) for item in benchmark()}

    run = audited(menagerie, name)

    frame = run.items()
    assert dict(zip(frame["item"], frame["log_ratio"], strict=True)) == pytest.approx(expected, abs=CLOSE)
    tasks = {item.id: item.task.value for item in benchmark()}
    for task, result in run.result.tasks.items():
        bits = [value for item, value in expected.items() if task in (tasks[item], "overall")]
        assert result.log_ratio.value == pytest.approx(sum(bits) / len(bits), abs=CLOSE)
        assert result.log_ratio.low < result.log_ratio.value < result.log_ratio.high
        assert result.log_ratio.n == len(bits)
    assert len(run.result.tasks) == 3


@pytest.mark.parametrize("name", READERS)
def test_the_tokens_in_the_run_folder_explain_them(menagerie: Zoo, name: str, tmp_path: Path) -> None:
    run = audited(menagerie, name)
    written = pl.read_parquet(run.save(tmp_path / "run") / "scores.parquet")
    bits: dict[tuple[str, str], float] = {}
    for row in written.iter_rows(named=True):
        total = 0.0
        for value in row["token_log_probabilities"]:
            total += value / math.log(2)
        assert row["log2_probability"] == pytest.approx(total)
        bits[row["item"], row["label"]] = total

    for task in Task:
        chosen = [item.id for item in benchmark().of_task(task)]
        ratios = [bits[item, "stereotype"] - bits[item, "anti-stereotype"] for item in chosen]
        estimate = run.result.tasks[task.value].log_ratio
        assert estimate.value == pytest.approx(sum(ratios) / len(ratios))
    assert eh.open_run(tmp_path / "run").items()["log_ratio"].equals(run.items()["log_ratio"])


def test_how_a_score_averages_over_tokens_does_not_matter(menagerie: Zoo) -> None:
    first, *others = (
        audited(menagerie, "bert", score=score).items() for score in ("mean-prob", "mean-log", "sum-log")
    )

    for other in others:
        assert other["log_ratio"].equals(first["log_ratio"])
        assert not other["stereotype"].equals(first["stereotype"])


@pytest.mark.parametrize("variant", ["orig", "b", "e", "f"])
@pytest.mark.parametrize("protocol", ["evenhand.v2", "multilingual-2023"])
def test_quotients_are_no_probabilities(menagerie: Zoo, variant: str, protocol: str) -> None:
    run = audited(menagerie, "gpt2", inter=variant, protocol=protocol)

    known = run.scores.group_by("task").agg(pl.col("log2_probability").is_not_null().all())
    assert dict(known.iter_rows()) == {"intrasentence": True, "intersentence": False}
    tasks = run.result.tasks
    assert tasks["intrasentence"].log_ratio.defined
    for task in ("intersentence", "overall"):
        assert math.isnan(tasks[task].log_ratio.value)
        assert tasks[task].log_ratio.reason == MISSING
        assert tasks[task].SS.defined


@pytest.mark.parametrize("score", ["pll", "pll-within-word"])
def test_pseudo_likelihoods_are_no_probabilities(menagerie: Zoo, score: str) -> None:
    run = audited(menagerie, "bert", score=score)

    assert run.result.tasks["intrasentence"].log_ratio.reason == MISSING
    assert run.result.tasks["intersentence"].log_ratio.defined


@pytest.mark.parametrize("protocol", ["evenhand.v2", "multilingual-2023"])
def test_the_context_adds_the_same_to_both_candidates(menagerie: Zoo, protocol: str) -> None:
    """Variant c is the probability of context and candidate, d that of the candidate given the context."""
    reference = menagerie.reference("gpt2")
    read = reference.published_continuation if protocol == "multilingual-2023" else reference.continuation
    parts = {
        candidate.id: read(item.context, candidate.text)
        for item in benchmark().of_task(Task.INTERSENTENCE)
        for candidate in item.candidates
    }
    with_context = audited(menagerie, "gpt2", inter="c", protocol=protocol)
    given_context = audited(menagerie, "gpt2", inter="d", protocol=protocol)

    for run, expected in (
        (with_context, {key: sum_log2([*context, *own]) for key, (context, own, _) in parts.items()}),
        (given_context, {key: sum_log2(own) for key, (_, own, _) in parts.items()}),
    ):
        rows = run.scores.filter(pl.col("task") == "intersentence")
        found = dict(zip(rows["candidate"], rows["log2_probability"], strict=True))
        assert found == pytest.approx(expected, abs=CLOSE)
    assert with_context.items()["log_ratio"].to_list() == pytest.approx(
        given_context.items()["log_ratio"].to_list(), abs=CLOSE
    )


def test_a_sentence_whose_first_token_cannot_be_scored_has_no_probability(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, request = menagerie.model("gpt2"), Continue("", "The baker is kind.")

    (whole,) = model.answer([request])
    monkeypatch.setattr(families.decoder, "start_token", lambda *_: None)
    (rest,) = model.answer([request])

    assert (whole.is_whole, rest.is_whole) == (True, False)
    assert len(rest.log_probs) == len(whole.log_probs) - 1
