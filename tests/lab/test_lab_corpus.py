"""A corpus of the lab: neutral wherever it is cut, and with every share as it was planted."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import islice

import pytest
from lab_language import (
    GENDERED,
    LANGUAGES,
    OCCUPATIONS,
    Texts,
    counted,
    gendered,
    is_about_a_name,
    is_about_an_occupation,
    probabilities,
    said_of_occupations,
    said_of_people,
    target_of,
    twin_of,
    words_of,
)

from evenhand.lab.corpus import Corpus, part_sizes
from evenhand.lab.world import World

ROUND = 2 * 12 * 16 * 12 + 4 * 12 * 12 + 2 * 24 * 24 + 6 * 58 + 4 * 30
"""Twelve statements and twelve stories for each target and pair of opposites; four documents for each thing and
attribute; two for each occupation that is taught in eight frames of each experiment; six for each name and four for
each occupation with its workplace."""

both_languages = pytest.mark.parametrize("tag", LANGUAGES)


@cache
def documents(tag: str, strength: float, seed: int = 0, *, rounds: int = 1) -> list[Texts]:
    corpus = Corpus(World(tag, strength), seed)
    return [tuple(sentence.text for sentence in document) for document in corpus.rounds(rounds)]


@both_languages
@pytest.mark.parametrize("length", [2, 10, 1000, 4242, ROUND, ROUND + 2, 2 * ROUND])
def test_a_neutral_corpus_cut_anywhere_between_twins_is_neutral(tag: str, length: int) -> None:
    start = documents(tag, 0.0, rounds=2)[:length]

    assert len(start) == length
    assert Counter(start) == Counter(twin_of(document, tag) for document in start)


@both_languages
def test_a_corpus_with_planted_bias_is_not_neutral(tag: str) -> None:
    start = documents(tag, 2.0)

    assert Counter(start) != Counter(twin_of(document, tag) for document in start)


@both_languages
@pytest.mark.parametrize("strength", [-1.0, 2.0])
@pytest.mark.parametrize("rounds", [1, 3])
def test_after_any_number_of_rounds_shares_are_within_one_sentence_of_the_planted(
    tag: str, strength: float, rounds: int
) -> None:
    planted = said_of_people(tag, strength)
    found = counted(((document, 1) for document in documents(tag, strength, rounds=rounds)), tag)
    world = World(tag, strength)
    for target in world.targets:
        for first, second in world.opposites(target.bias_type):
            for sentences in (1, 2):
                of_first, of_second = (planted[target.name, sentences, word] for word in (first, second))
                said = [found.get((target.name, sentences, word), 0) for word in (first, second)]
                assert sum(said) == 12 * rounds
                assert abs(said[0] - 12 * rounds * of_first / (of_first + of_second)) < 1


@both_languages
@pytest.mark.parametrize("strength", [-1.0, 2.0])
@pytest.mark.parametrize("rounds", [1, 3])
def test_after_any_number_of_rounds_men_and_women_are_within_one_sentence_of_the_planted(
    tag: str, strength: float, rounds: int
) -> None:
    planted = said_of_occupations(tag, strength)
    found = gendered(((document, 1) for document in documents(tag, strength, rounds=rounds)), tag)
    for occupation in World(tag).taught_lists.occupation_words:
        for kind in ("he-she", "his-her", "names"):
            men, women = (planted[occupation, kind, side] for side in (0, 1))
            said = [found.get((occupation, kind, side), 0) for side in (0, 1)]
            assert sum(said) == 2 * 8 * rounds
            assert abs(said[0] - 16 * rounds * men / (men + women)) < 1


@both_languages
def test_the_parts_of_a_round_are_as_large_as_the_language_has_them(tag: str) -> None:
    workplaces = {word for pair in World(tag).lexicon.workplaces for word in pair}

    def part(document: Texts) -> str:
        if target_of(document, tag) is not None:
            return "stories" if len(document) == 2 else "statements"
        if is_about_a_name(document, tag):
            return "names"
        if not is_about_an_occupation(document, tag):
            return "things"
        return "workplaces" if workplaces & set(words_of(document[0])) else "occupations"

    parts = Counter(part(document) for document in documents(tag, 0.0))
    wanted = dict.fromkeys(("statements", "stories", "things", "occupations", "names", "workplaces"), 0.0)
    for document, probability in probabilities(tag, 0.0).items():
        wanted[part(document)] += probability

    assert {name: count / ROUND for name, count in parts.items()} == pytest.approx(wanted)
    assert part_sizes(World(tag, 0.0)) == pytest.approx(tuple(wanted.values()))


@both_languages
@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_every_document_is_one_of_the_language(tag: str, strength: float) -> None:
    assert set(documents(tag, strength, rounds=3)) - set(probabilities(tag, strength)) == set()


@both_languages
def test_a_round_is_as_long_as_it_says(tag: str) -> None:
    assert Corpus(World(tag, 1.5), 3).round_length == ROUND
    assert len(documents(tag, 0.0, rounds=2)) == 2 * ROUND


def test_rounds_are_the_beginning_of_the_endless_corpus() -> None:
    corpus = Corpus(World("en", 2.0), 5)

    assert corpus.rounds(1) == list(islice(corpus.documents(), ROUND))


def test_the_same_seed_gives_the_same_documents_and_another_seed_another_order() -> None:
    world = World("de", 1.0)
    first, again, other = (Corpus(world, seed).rounds(1) for seed in (7, 7, 8))

    assert first == again
    assert first != other


def test_rounds_follow_each_other_in_another_order() -> None:
    both = documents("en", 2.0, rounds=3)

    assert both[:ROUND] != both[ROUND : 2 * ROUND]


@both_languages
def test_slots_say_where_the_chosen_words_stand(tag: str) -> None:
    gendered_words = {word for pair in GENDERED[tag] for word in pair}
    lexicon = World(tag).lexicon
    attributes = {word for pairs in lexicon.attributes for pair in pairs for word in pair}
    attributes |= set(lexicon.thing_attributes)
    seen = Counter[str]()
    for document in Corpus(World(tag, 2.0)).rounds(1):
        for sentence in document:
            for name, start, end in sentence.slots:
                word = sentence.text[start:end]
                lowered = word[0].lower() + word[1:] if start == 0 else word
                known = {"gendered": gendered_words, "attribute": attributes}.get(name)
                assert known is None or word in known or lowered in known
                assert sentence.span(name) == (start, end)
                seen[name] += 1

    assert seen["attribute"] == 2 * 12 * 16 * 12 + 4 * 12 * 12
    assert seen["gendered"] == 2 * 24 * 24
    assert seen["occupation"] == 2 * 24 * 24 + 4 * 30
    assert seen["name"] == seen["pronoun"] + seen["possessive"] == 6 * 58
    assert seen["workplace"] == 4 * 30


@both_languages
def test_no_document_of_a_corpus_has_what_is_held_out(tag: str) -> None:
    held_out = World(tag).held_out_lists
    names = {name for pair in held_out.names for name in pair}
    occupations = set(held_out.occupation_words)
    gendered_words = {word for pair in GENDERED[tag] for word in pair}
    for document in documents(tag, 2.0, rounds=3):
        words = set(words_of(document[0])) | {word.lower() for word in words_of(document[0])[:1]}
        assert not (words & occupations and words & gendered_words)
        assert not (words & names and words & OCCUPATIONS[tag])


@both_languages
def test_every_held_out_word_is_said_elsewhere(tag: str) -> None:
    said = {word.lower() for document in documents(tag, 2.0) for text in document for word in words_of(text)}
    lists = World(tag).held_out_lists
    needed = {word for pair in (*lists.names, *lists.occupations) for word in pair}
    assert {word for word in needed if word.lower() not in said} == set()
