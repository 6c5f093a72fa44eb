"""The runner: measures by their definitions, resumption, skips, samples and the control, for any instrument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import polars as pl
import pytest

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.instruments import Control, Gap, InstrumentOptions, ItemInstrument, ItemSet, Mean, Share
from evenhand.models import Answer, Continue
from evenhand.models.model import Model
from evenhand.stats.intervals import wilson_interval
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import ComparisonOptions
from evenhand.store.jobs import Parts
from evenhand.store.run import INSTRUMENTS, Run
from evenhand.testing import FakeModel

FEW = Resampling(resamples=200)


@dataclass(frozen=True)
class Line:
    """A sentence of a song."""

    id: str
    song: str
    mood: str
    text: str


LINES = tuple(
    Line(f"{song}-{mood}-{number}", song, mood, f"{song} {mood} line {number}")
    for song in ("river", "train", "winter", "harvest")
    for mood in ("glad", "sad")
    for number in range(3)
)


class Unknowing(Control):
    """Finds that no model knows the words."""

    def sense(self, model: Model, items: Sequence[Any], **_options: Any) -> Estimate:
        """Guessing."""
        assert model.capabilities
        assert len(items) == len(LINES)
        return Estimate(value=50.0, low=40.0, high=60.0, n=100, clusters=100, method="counted")


class Songs(ItemInstrument[InstrumentOptions]):
    """How probable the lines of songs are."""

    name = "songs"
    version = "songs.v1"
    title = "Songs"
    summary = "How probable lines are."
    needs = (Continue,)
    options_type = InstrumentOptions
    key, text, scored = "line", "text", "surprise"
    words = ("line", "language", "song", "mood", "text")
    numbers = ("surprise", "is_long")
    row_measures = (
        Mean("surprise", "Surprise", of="surprise", over="song", by=("mood",), is_headline=True),
        Gap(
            "mood_gap",
            "Glad less sad",
            of="surprise",
            over="song",
            between=("mood", "glad", "sad"),
            neutral=0.0,
        ),
        Share("long", "Long lines", of="is_long", over="line"),
    )

    def items(self, _options: InstrumentOptions) -> ItemSet:
        """All lines."""
        return ItemSet("songs", "en", LINES, cluster=lambda line: line.song)

    def facts(self, item: Line) -> Mapping[str, object]:
        """The line."""
        return {"line": item.id, "song": item.song, "mood": item.mood, "text": item.text}

    def requests(self, item: Line, _options: InstrumentOptions) -> Mapping[str, Continue]:
        """Its probability."""
        return {"line": Continue("", item.text)}

    def score(
        self, item: Line, answers: Mapping[str, Answer], _options: InstrumentOptions
    ) -> Mapping[str, object]:
        """In nats."""
        return {"surprise": -answers["line"].total, "is_long": float(len(item.text) > 16)}


SONGS = Songs()


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """A run finds its instrument by name."""
    INSTRUMENTS.register(SONGS.name, SONGS)
    yield
    INSTRUMENTS.unregister(SONGS.name)


def probability(text: str) -> float:
    """Something that differs from line to line."""
    return 1 / (2 + sum(map(ord, text)) % 97)


def measured(model: Model, instrument: Songs = SONGS, **options: int) -> Run:
    return instrument.prepare(model, InstrumentOptions(resampling=FEW, **options)).measure()  # type: ignore[arg-type]


def test_figures_are_those_of_a_plain_computation() -> None:
    run = measured(FakeModel(probability))
    surprise = {row["line"]: row["surprise"] for row in run.scores.iter_rows(named=True)}
    of = {(line.song, line.mood): [] for line in LINES}  # type: ignore[var-annotated]
    for line in LINES:
        of[line.song, line.mood].append(surprise[line.id])
    songs = dict.fromkeys(line.song for line in LINES)

    def value(key: str) -> float:
        return run.figure(key).estimate.value

    glad, sad = ({song: mean(of[song, mood]) for song in songs} for mood in ("glad", "sad"))
    assert value("all.surprise") == pytest.approx(mean((glad[song] + sad[song]) / 2 for song in songs))
    assert value("all.glad.surprise") == pytest.approx(mean(glad.values()))
    assert value("all.mood_gap") == pytest.approx(mean(glad[song] - sad[song] for song in songs))
    long = sum(len(line.text) > 16 for line in LINES)
    interval = wilson_interval(long / len(LINES), len(LINES), confidence=0.95)
    shown = run.figure("all.long").estimate
    assert (shown.value, shown.low, shown.high) == pytest.approx(
        (100 * long / len(LINES), 100 * interval.low, 100 * interval.high)
    )
    assert [figure.key for figure in run.figures if figure.is_headline] == ["all.surprise"]
    assert run.figure("all.surprise").estimate.clusters == len(songs)


def test_gaps_take_the_sign_of_their_kind_and_leave_the_others_out() -> None:
    rows = pl.DataFrame(
        {
            "job": ["a", "a", "b", "b", "c", "c", "d"],
            "kind": ["m", "m", "f", "f", "n", "n", "m"],
            "side": ["he", "she", "he", "she", "he", "she", "he"],
            "value": [3.0, 1.0, 2.0, 5.0, 9.0, 0.0, 7.0],
        }
    )
    gap = Gap(
        "gap",
        "",
        of="value",
        over="job",
        between=("side", "he", "she"),
        by="kind",
        signs={"m": 1.0, "f": -1.0},
    )

    ((group, units),) = gap.units(rows)

    assert group == ("all",)
    assert dict(units.iter_rows()) == {"a": 2.0, "b": 3.0}, "n has no sign, d only one side"


def test_what_cannot_be_asked_is_counted_and_the_rest_is_measured() -> None:
    run = measured(FakeModel(lambda text: 0.0 if "winter sad line 1" in text else probability(text)))

    (skipped,) = run.result.skipped
    assert (skipped.reason, skipped.count, skipped.examples) == (
        "the model gave NaN or infinite values",
        1,
        ("winter-sad-1",),
    )
    assert run.scores["surprise"].null_count() == 1
    assert run.figure("all.long").estimate.n == len(LINES) - 1


def test_an_interrupted_run_resumes_and_asks_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.models.model.REQUESTS_AT_ONCE", 5)
    asked: list[str] = []

    def counted(text: str) -> float:
        asked.append(text)
        return probability(text)

    def stop(done: int, _total: int) -> None:
        if done >= 10:
            raise KeyboardInterrupt

    preparation = SONGS.prepare(FakeModel(counted), InstrumentOptions(resampling=FEW))
    parts = Parts(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        preparation.measure(parts=parts, progress=stop)
    before = len(asked)
    steps: list[tuple[int, int]] = []
    resumed = preparation.measure(parts=parts, progress=lambda *step: steps.append(step))

    assert 0 < before < len(LINES)
    assert len(asked) == len(LINES)
    assert steps[-1] == (len(LINES), len(LINES))
    assert resumed.scores.equals(measured(FakeModel(probability)).scores)


def test_a_sample_is_spread_over_clusters_and_said() -> None:
    run = measured(FakeModel(probability), limit=8)

    assert run.record.dataset.sample is not None
    assert (run.record.dataset.sample.items, run.record.dataset.sample.of) == (8, 24)
    assert run.scores["song"].n_unique() == 4


def test_figures_are_void_where_the_control_fails() -> None:
    class Doubted(Songs):
        control = Unknowing()

    run = measured(FakeModel(probability), Doubted())

    assert not any(figure.estimate.defined for figure in run.figures)
    assert run.result.ungated["all.surprise"].defined
    assert any("is not shown to know the words" in warning for warning in run.record.warnings)


def test_runs_are_compared_song_by_song() -> None:
    first, second = measured(FakeModel(probability)), measured(FakeModel(lambda text: probability(text) / 2))
    (row,) = SONGS.compare(first, second, ComparisonOptions(resampling=FEW)).differences

    assert row.difference.value == pytest.approx(0.6931, abs=1e-4)
    assert row.difference.clusters == 4
    other = measured(FakeModel(probability), limit=1)
    with pytest.raises(ComparisonError, match="none of the items in common"):
        SONGS.refuse_incomparable(Run(first.record, first.results, first.scores.clear()), other)


def test_figures_follow_again_from_the_rows() -> None:
    run = measured(FakeModel(probability))

    assert SONGS.results_again(run) == run.results
    assert SONGS.figure_groups(InstrumentOptions())["surprise"] == [("all",), ("all", "glad"), ("all", "sad")]
