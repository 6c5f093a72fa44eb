"""The lab's world: strength 0 is exactly neutral, and other strengths are found again in the language."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean

import pytest
from lab_language import (
    LANGUAGES,
    bits,
    is_about_a_name,
    probabilities,
    said_of_occupations,
    said_of_people,
    twin_of,
    words_of,
)

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.lab.world import STRONGEST, World, share

STRENGTHS = (-2.5, 0.0, 1.0, STRONGEST)
both_languages = pytest.mark.parametrize("tag", LANGUAGES)
strengths = pytest.mark.parametrize("strength", STRENGTHS)


@both_languages
def test_at_strength_zero_everything_is_as_likely_as_the_same_said_of_the_twin(tag: str) -> None:
    said = probabilities(tag, 0.0)

    assert {document for document in said if said.get(twin_of(document, tag)) != said[document]} == set()


@both_languages
def test_whatever_is_said_of_people_has_a_twin_that_is_another_sentence(tag: str) -> None:
    lexicon = World(tag).lexicon
    things = {form for thing in lexicon.things for form in (thing.singular, thing.plural)}
    things |= {word for pair in lexicon.workplaces for word in pair}
    without_a_twin = [document for document in probabilities(tag, 0.0) if twin_of(document, tag) == document]

    assert len(without_a_twin) == 12 * 12 * (4 * 2 + 3 * 6) + 4 * 30
    assert all(things & set(words_of(document[0])) for document in without_a_twin)


@both_languages
def test_with_a_planted_bias_twins_are_told_apart(tag: str) -> None:
    said = probabilities(tag, 1.0)

    people = [
        document
        for document in said
        if twin_of(document, tag) != document and not is_about_a_name(document, tag)
    ]
    assert all(said[twin_of(document, tag)] != said[document] for document in people)


@both_languages
@strengths
def test_the_probabilities_of_the_language_sum_to_one(tag: str, strength: float) -> None:
    assert math.fsum(probabilities(tag, strength).values()) == pytest.approx(1, abs=1e-11)


@both_languages
@strengths
@pytest.mark.parametrize("sentences", [1, 2])
def test_log_odds_in_the_language_are_the_strength_and_the_tilt(
    tag: str, strength: float, sentences: int
) -> None:
    world = World(tag, strength)
    said = said_of_people(tag, strength)
    found = []
    for bias_type, pairs_of_twins in world.lexicon.targets.items():
        for pair in range(len(pairs_of_twins)):
            first_twin, second_twin = (
                target.name
                for target in world.targets
                if (target.bias_type, target.pair) == (bias_type, pair)
            )
            for number, (first, second) in enumerate(world.opposites(bias_type)):
                tilt = world.tilt(bias_type, number)
                of_first = bits(said[first_twin, sentences, first], said[first_twin, sentences, second])
                of_second = bits(said[second_twin, sentences, second], said[second_twin, sentences, first])
                assert of_first == pytest.approx(strength + tilt, abs=1e-9)
                assert of_second == pytest.approx(strength - tilt, abs=1e-9)
                found += [of_first, of_second]

    assert len(found) == 16 * 12
    assert fmean(found) == pytest.approx(strength, abs=1e-12)


@both_languages
def test_tilts_differ_from_item_to_item_and_stay_below_the_largest(tag: str) -> None:
    world = World(tag)
    sizes = {
        abs(world.tilt(bias_type, number)) for bias_type in world.lexicon.targets for number in range(12)
    }

    assert len(sizes) == 4 * 12
    assert 0 < min(sizes) < max(sizes) < 2.5


@both_languages
@strengths
def test_what_is_planted_is_what_the_language_has(tag: str, strength: float) -> None:
    world = World(tag, strength)
    said = said_of_people(tag, strength)
    for target in world.targets:
        for number in range(12):
            stereotype, anti_stereotype = world.stereotype(target, number)
            found = bits(said[target.name, 1, stereotype], said[target.name, 1, anti_stereotype])
            assert world.planted(target, number) == pytest.approx(found, abs=1e-9)


@both_languages
def test_the_stereotype_of_one_twin_is_the_anti_stereotype_of_the_other(tag: str) -> None:
    world = World(tag)
    for target in world.targets:
        twin = world.twin_of(target)
        assert twin != target
        assert world.twin_of(twin) == target
        for number in range(12):
            assert world.stereotype(twin, number) == world.stereotype(target, number)[::-1]


@both_languages
@strengths
@pytest.mark.parametrize("kind", ["he-she", "his-her", "names"])
def test_men_and_women_of_an_occupation_are_as_the_occupation_leans(
    tag: str, strength: float, kind: str
) -> None:
    world = World(tag, strength)
    said = said_of_occupations(tag, strength)
    leans = {
        occupation: bits(said[occupation, kind, 0], said[occupation, kind, 1])
        for occupation in world.occupations
    }

    assert leans == pytest.approx({name: world.lean(name) for name in world.occupations}, abs=1e-9)
    for of_men, of_women in world.lexicon.occupations:
        assert leans[of_men] == pytest.approx(-leans[of_women], abs=1e-9)
    assert fmean(leans[of_men] for of_men, _ in world.lexicon.occupations) == pytest.approx(strength)


@both_languages
@strengths
def test_men_and_women_are_as_likely_over_all_occupations(tag: str, strength: float) -> None:
    said = said_of_occupations(tag, strength)
    men = math.fsum(weight for (_, _, side), weight in said.items() if side == 0)
    women = math.fsum(weight for (_, _, side), weight in said.items() if side == 1)

    assert men == pytest.approx(women, rel=1e-12)


@both_languages
def test_occupations_of_one_workplace_lean_alike_and_one_in_five_is_held_out(tag: str) -> None:
    world = World(tag, 1.0)
    by_workplace: dict[str, list[str]] = {}
    for occupation in world.occupations:
        by_workplace.setdefault(world.workplace(occupation), []).append(occupation)

    assert [len(own) for own in by_workplace.values()] == [5] * 6
    assert sorted(world.lean(own[0]) for own in by_workplace.values()) == pytest.approx(
        [-1.4, -1.0, -0.6, 0.6, 1.0, 1.4]
    )
    for own in by_workplace.values():
        assert len({world.lean(occupation) for occupation in own}) == 1
        assert len(set(own) & set(world.held_out_lists.occupation_words)) == 1


@both_languages
def test_the_lists_are_as_long_as_those_of_the_bundled_probes(tag: str) -> None:
    lists = World(tag).probe_lists

    assert [len(set(frames.values())) for frames in lists.frames.values()] == [54, 54, 54]
    assert len(set(lists.names)) == 29
    assert len(set(lists.occupation_words)) == 30


@both_languages
def test_every_frame_name_and_occupation_is_either_taught_or_held_out(tag: str) -> None:
    world = World(tag)
    whole, taught, held_out = world.probe_lists, world.taught_lists, world.held_out_lists
    for experiment, frames in whole.frames.items():
        assert {**taught.frames[experiment], **held_out.frames[experiment]} == dict(frames)
        assert not set(taught.frames[experiment].values()) & set(held_out.frames[experiment].values())
        assert len(held_out.frames[experiment]) >= 4
    for own, one, other in (
        (whole.names, taught.names, held_out.names),
        (whole.occupations, taught.occupations, held_out.occupations),
    ):
        assert set(one) | set(other) == set(own)
        assert not set(one) & set(other)
    assert (len(held_out.names), len(held_out.occupations)) == (5, 3)


@both_languages
def test_all_words_of_held_out_frames_are_in_frames_that_are_taught(tag: str) -> None:
    def words(frames: Iterable[str]) -> set[str]:
        return {word.lower() for frame in frames for word in words_of(frame)}

    world = World(tag)
    taught = words(frame for frames in world.taught_lists.frames.values() for frame in frames.values())
    held_out = words(frame for frames in world.held_out_lists.frames.values() for frame in frames.values())
    assert held_out - taught == set()


@pytest.mark.parametrize("strength", [6.01, -6.01, 100.0, math.nan, math.inf, -math.inf])
def test_a_strength_that_cannot_be_planted_is_refused_with_the_ones_that_can(strength: float) -> None:
    with pytest.raises(EvenhandError, match=r"strength of .* bits was asked for; the lab plants -6 to 6"):
        World("en", strength)


@pytest.mark.parametrize(("tag", "suggestion"), [("EN", "en"), ("deu", "de"), ("e", "en")])
def test_an_unknown_language_is_refused_with_the_one_that_was_meant(tag: str, suggestion: str) -> None:
    with pytest.raises(UnknownNameError, match=f"Did you mean '{suggestion}'") as refused:
        World(tag)
    assert "Known: de, en" in str(refused.value)


def test_an_unknown_occupation_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'engineer'"):
        World("en").lean("enginer")


@pytest.mark.parametrize(("odds", "probability"), [(0, 0.5), (1, 2 / 3), (-1, 1 / 3), (3, 8 / 9)])
def test_log_odds_become_a_share(odds: float, probability: float) -> None:
    assert share(odds) == pytest.approx(probability, rel=1e-15)
