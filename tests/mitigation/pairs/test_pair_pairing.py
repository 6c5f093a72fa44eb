"""Pairs: which sentence is on which side, where they differ, and how names are repeated."""

from __future__ import annotations

from itertools import permutations

import pytest
from plain_swapper import PlainSwapper
from small_corpus import NAMES

from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.items import Span
from evenhand.mitigation.pairs.joining import NameTable, PairSample
from evenhand.mitigation.pairs.twin_pairs import PairSide, TwinPair, experiments_in, pair_of
from evenhand.text.swappers import Rejected, Role, Swap, Twin

TABLE = NameTable(NAMES, language="en")


def pair(sentence: str, *experiments: Experiment) -> TwinPair:
    twin = PlainSwapper().twin(sentence)
    assert not isinstance(twin, Rejected)
    kept = experiments_in(twin.swaps, experiments or TRAINED_EXPERIMENTS)
    return pair_of(sentence, twin, experiments=kept, occupations=("nurse",))


@pytest.mark.parametrize(
    ("sentence", "side"),
    [
        ("He met him.", PairSide.MALE),
        ("She met him.", PairSide.FEMALE),
        ("Her nurse said he came.", PairSide.MALE),  # her is an object, which no experiment asks for
        ("The man met Mary.", PairSide.FEMALE),
        ("His nurse met Mary.", PairSide.MALE),
    ],
)
def test_the_first_word_that_an_experiment_asks_for_decides_the_side(sentence: str, side: PairSide) -> None:
    found = pair(sentence)

    assert found.original is side
    assert found.corpus_sentence == sentence
    assert getattr(found, side.value) == sentence


def test_the_side_depends_on_the_experiments() -> None:
    sentence = "James said she came."

    assert pair(sentence).original is PairSide.MALE
    assert pair(sentence, Experiment.HE_SHE).original is PairSide.FEMALE


def test_a_sentence_and_its_twin_make_the_same_pair() -> None:
    first, second = pair("She gave Robert hers hat."), pair("He gave Patricia his hat.")

    assert first.sentences == second.sentences == ("He gave Patricia his hat.", "She gave Robert hers hat.")
    assert first.swaps == second.swaps
    assert (first.original, second.original) == (PairSide.FEMALE, PairSide.MALE)


def test_places_are_where_the_words_stand_in_both_sentences() -> None:
    found = pair("She gave Robert hers hat.")

    there = [
        (each.role, each.male.of(found.male), each.female.of(found.female), each.crossed)
        for each in found.swaps
    ]
    assert there == [
        (Role.SUBJECT, "He", "She", False),
        (Role.NAME, "Patricia", "Robert", True),
        (Role.POSSESSIVE, "his", "hers", False),
    ]  # fmt: skip
    assert [found.words_at(each) for each in found.swaps] == [
        ("He", "She"),
        ("Robert", "Patricia"),
        ("his", "hers"),
    ]


def test_a_twin_that_differs_elsewhere_is_an_error_of_the_swapper() -> None:
    swap = Swap(Span(0, 2), "He", "She", Role.SUBJECT, male=True)

    with pytest.raises(ValueError, match="She came"):
        pair_of("He came.", Twin("She went.", (swap,)), experiments=(Experiment.HE_SHE,), occupations=())


def test_a_sentence_is_repeated_with_every_other_pair_of_names() -> None:
    repeats = list(TABLE.repeats(pair("Patricia saw his nurse.")))

    assert {each.sentences for each in repeats} == {
        ("Michael saw hers nurse.", "Jennifer saw his nurse."),
        ("James saw hers nurse.", "Mary saw his nurse."),
    }
    assert {each.original for each in repeats} == {PairSide.NEITHER}
    assert {each.experiments for each in repeats} == {(Experiment.NAMES,)}
    for each in repeats:
        assert [place.male.of(each.male) for place in each.swaps][1:] == ["hers"]
        assert each.words_at(each.swaps[1]) == ("his", "hers")


def test_two_people_keep_two_names() -> None:
    found = pair("James and Patricia saw Michael, Mary and a nurse.")

    for repeat in TABLE.repeats(found):
        words = [repeat.words_at(place) for place in repeat.swaps]
        assert set(words) <= set(NAMES)
        assert (words[0] == words[3], len(set(words))) == (True, 3)
        assert [place.crossed for place in repeat.swaps] == [False, True, False, True]
    assert len(list(TABLE.repeats(found))) == 2


@pytest.mark.parametrize(
    "sentence", ["He saw the nurse.", "He saw a James with a nurse.", "An  James, nurse."]
)
def test_some_sentences_cannot_be_repeated(sentence: str) -> None:
    assert list(TABLE.repeats(pair(sentence))) == []


def test_a_german_preposition_is_no_article() -> None:
    assert len(list(NameTable(NAMES, language="de").repeats(pair("Der Brief an James, nurse.")))) == 2


def test_a_name_that_is_not_in_the_table_is_not_repeated() -> None:
    swaps = (Swap(Span(0, 6), "Marias", "Michaels", Role.NAME, male=False),)
    found = pair_of(
        "Marias Hut", Twin("Michaels Hut", swaps), experiments=(Experiment.NAMES,), occupations=()
    )

    assert list(TABLE.repeats(found)) == []


def test_a_sample_is_the_same_in_any_order_and_as_large_as_asked() -> None:
    offered = [pair(f"He saw nurse {number}.") for number in range(6)]
    chosen = set()
    for order in permutations(offered):
        sample = PairSample(2, seed=1)
        for each in order:
            sample.offer(each)
            sample.offer(each)
        chosen.add(frozenset(each.male for each in offered if each in sample))

    assert len(chosen) == 1
    assert len(next(iter(chosen))) == 2


def test_a_sample_depends_on_its_seed_and_is_fair() -> None:
    offered = [pair(f"He saw nurse {number}.") for number in range(5)]
    times = dict.fromkeys(range(5), 0)
    for seed in range(2_000):
        sample = PairSample(2, seed=seed)
        for each in offered:
            sample.offer(each)
        for number, each in enumerate(offered):
            times[number] += each in sample

    # Each is drawn with probability 2/5: 800 of 2,000 times, standard deviation 22.
    assert all(abs(count - 800) < 5 * 22 for count in times.values())


@pytest.mark.parametrize("size", [0, 5, 50])
def test_a_sample_takes_none_or_all(size: int) -> None:
    offered = [pair(f"He saw nurse {number}.") for number in range(5)]
    sample = PairSample(size, seed=0)
    for each in offered:
        sample.offer(each)

    assert sum(each in sample for each in offered) == min(size, 5)
    assert sample.offered == 5
