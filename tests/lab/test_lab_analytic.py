"""The model without weights: its probabilities are those of the language, and measures read what was planted."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from lab_language import LANGUAGES, probabilities

import evenhand as eh
from evenhand.core.items import BLANK, Label, Task
from evenhand.lab.items import lab_items
from evenhand.lab.world import World
from evenhand.models.references import ModelError
from evenhand.models.requests import Continue, Fill, Follow
from evenhand.stats.resampling import Resampling
from evenhand.testing import AnalyticModel, lab_benchmark

both_languages = pytest.mark.parametrize("tag", LANGUAGES)


@cache
def model(strength: float, tag: str) -> AnalyticModel:
    return AnalyticModel(strength, tag)


def test_it_can_do_all_that_a_model_can_be_asked() -> None:
    assert AnalyticModel().capabilities == {Fill, Continue, Follow}


@both_languages
@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_all_fills_of_a_blank_together_have_probability_one(tag: str, strength: float) -> None:
    lexicon = World(tag).lexicon
    fills = [word for pairs in lexicon.attributes for pair in pairs for word in pair]
    fills += lexicon.thing_attributes
    fills += [fill.capitalize() for fill in fills]
    for item in lab_benchmark(tag).of_task(Task.INTRASENTENCE)[::5]:
        scores = model(strength, tag).score_fills(item.context, fills)
        assert math.fsum(math.exp(score.total) for score in scores) == pytest.approx(1)


@both_languages
def test_a_fill_is_as_likely_as_the_sentence_among_those_that_fit(tag: str) -> None:
    said = {document[0]: value for document, value in probabilities(tag, 1.0).items() if len(document) == 1}
    for item in lab_benchmark(tag).of_task(Task.INTRASENTENCE)[::17]:
        before, after = item.context.split(BLANK)
        fitting = {
            text: value
            for text, value in said.items()
            if text.startswith(before)
            and text.endswith(after)
            and " " not in text[len(before) : len(text) - len(after)]
        }
        words = [candidate.word or "" for candidate in item.candidates]
        scores = model(1.0, tag).score_fills(item.context, words)
        for candidate, score in zip(item.candidates, scores, strict=True):
            wanted = fitting.get(candidate.text, 0.0) / math.fsum(fitting.values())
            assert math.exp(score.total) == pytest.approx(wanted)


@both_languages
def test_texts_are_as_likely_as_in_the_language(tag: str) -> None:
    said = {document[0]: value for document, value in probabilities(tag, 1.0).items() if len(document) == 1}
    found = [math.exp(score.total) for score in model(1.0, tag).score_texts(list(said))]
    (never,) = model(1.0, tag).score_texts(["Nobody says this."])

    np.testing.assert_allclose(found, np.array(list(said.values())) / math.fsum(said.values()))
    assert math.fsum(found) == pytest.approx(1)
    assert math.exp(never.total) == 0


@both_languages
def test_followers_are_told_from_sentences_taken_from_anywhere(tag: str) -> None:
    stories = {document: value for document, value in probabilities(tag, 1.0).items() if len(document) == 2}
    continuations = sorted({second for _, second in stories})
    for first in sorted({first for first, _ in stories})[::20]:
        all_told = math.fsum(value for (opening, _), value in stories.items() if opening == first)
        wanted = []
        for second in continuations:
            as_told = stories.get((first, second), 0.0)
            by_chance = all_told / len(continuations)
            wanted.append(as_told / (as_told + by_chance))
        assert model(1.0, tag).score_followers(first, continuations) == pytest.approx(wanted)
        told = model(1.0, tag).answer([Continue(first, second) for second in continuations])
        assert math.fsum(math.exp(score.total) for score in told) == pytest.approx(1)
        assert [math.exp(score.total) for score in told] == pytest.approx(
            [stories.get((first, second), 0.0) / all_told for second in continuations]
        )


@both_languages
@pytest.mark.parametrize("strength", [-2.0, 0.3, 6.0])
def test_the_stereotype_score_is_the_share_of_items_with_a_planted_preference(
    tag: str, strength: float, quick: Resampling
) -> None:
    world = World(tag, strength)
    items = lab_items(tag)
    run = eh.evaluate(
        AnalyticModel(strength, tag).scores(lab_benchmark(tag)), data=lab_benchmark(tag), resampling=quick
    )
    for task in Task:
        planted = [entry.planted(world) for entry in items if entry.item.task is task]
        preferred = [0.5 if bits == 0 else float(bits > 0) for bits in planted]
        assert run.result.tasks[task.value].SS.value == pytest.approx(100 * sum(preferred) / len(preferred))
        assert run.result.tasks[task.value].LMS.value == 100
        assert run.result.tasks[task.value].n == 16 * 12


@both_languages
def test_without_a_planted_bias_the_stereotype_score_is_fifty(tag: str, quick: Resampling) -> None:
    scores = AnalyticModel(0.0, tag).scores(lab_benchmark(tag))
    run = eh.evaluate(scores, data=lab_benchmark(tag), resampling=quick)

    assert {name: task.SS.value for name, task in run.result.tasks.items()} == {
        "intrasentence": 50,
        "intersentence": 50,
        "overall": 50,
    }


def test_the_opposite_bias_mirrors_the_stereotype_score(quick: Resampling) -> None:
    there, back = (
        eh.evaluate(AnalyticModel(strength).scores(lab_benchmark()), data=lab_benchmark(), resampling=quick)
        for strength in (1.2, -1.2)
    )

    assert there.result.tasks["overall"].SS.value > 60
    assert there.result.tasks["overall"].SS.value == pytest.approx(
        100 - back.result.tasks["overall"].SS.value
    )


def test_the_example_in_the_documentation_of_the_checks_holds() -> None:
    items = lab_benchmark()
    run = eh.evaluate(AnalyticModel(strength=2.0).scores(items), data=items)

    assert run.result.tasks["overall"].SS.low > 50


def test_every_candidate_has_a_score_and_no_other() -> None:
    benchmark = lab_benchmark("de")
    scores = AnalyticModel(2.0, "de").scores(benchmark)

    assert list(scores) == [candidate.id for item in benchmark for candidate in item.candidates]
    unrelated = {item.candidate(Label.UNRELATED).id for item in benchmark}
    assert {name for name, score in scores.items() if score == 0} == unrelated


def test_a_sentence_outside_the_grammar_is_refused_with_where_to_find_those_inside() -> None:
    asked = AnalyticModel()
    with pytest.raises(ModelError, match=r"not of the lab's grammar.*evenhand\.testing\.lab_benchmark"):
        asked.score_fills("The dentist is BLANK today.", ["calm"])
    with pytest.raises(ModelError, match="not of the lab's grammar"):
        asked.score_followers("The dentist came back.", ["They stay calm all week."])
    with pytest.raises(ModelError, match="not of the lab's grammar"):
        asked.scores(eh.load_dataset("starter"))


def test_items_of_another_language_are_refused() -> None:
    with pytest.raises(ModelError, match="not of the lab's grammar"):
        AnalyticModel(language="en").scores(lab_benchmark("de"))
