"""CrowS-Pairs and BEC-Pro have a gate too: a model that does not know the words has no figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bec_pro_builders import bec_pro_file
from measuring import probe_pairs
from pair_builders import pair, pair_set
from zoo_fixtures import Zoo

from evenhand.core.items import PairSet, SentencePair
from evenhand.instruments.bec_pro import BEC_PRO, BecProOptions
from evenhand.instruments.pair_control import exchange_sense, exchanged_words
from evenhand.instruments.settled_scoring import knows_words
from evenhand.reporting.probes.words import interpret_probe
from evenhand.stats.resampling import Resampling

WORDS = (
    "baker",
    "pilot",
    "nurse",
    "farmer",
    "teacher",
    "sailor",
    "singer",
    "judge",
    "clerk",
    "cook",
    "garden",
    "letter",
    "bottle",
    "window",
    "carpet",
    "ladder",
    "basket",
    "pocket",
    "button",
    "candle",
    "mirror",
    "pillow",
    "blanket",
    "kettle",
    "hammer",
    "saddle",
    "feather",
    "pebble",
    "meadow",
    "harbour",
)


def pairs_of(*words: str) -> PairSet:
    return pair_set(
        *(
            pair(number, more=f"An old {word} was in it.", less=f"A new {word} was there.")
            for number, word in enumerate(words)
        )
    )


def exchanged(*words: str) -> list[SentencePair]:
    return exchanged_words(pairs_of(*words).pairs, language="en")


def test_two_sentences_exchange_one_word_each() -> None:
    found = exchanged(*WORDS)
    assert len(found) == len(WORDS)
    for one, other in zip(found[::2], found[1::2], strict=True):
        own, strange = (sentence.split()[2] for sentence in (one.more, one.less))
        assert own != strange
        assert one.less == f"An old {strange} was in it."
        assert (other.more, other.less) == (one.less, one.more)


def test_words_that_are_the_same_are_no_exchange_and_too_few_say_nothing() -> None:
    assert exchanged(*WORDS[:18]) == []
    assert exchanged(*["baker"] * 30) == []


def test_a_model_with_one_probability_per_word_is_right_about_one_of_two() -> None:
    """Whatever the probabilities are: what one sentence loses, the other gains."""
    generator = np.random.default_rng(1)
    found = exchanged(*WORDS)
    words = {word: generator.normal(-9, 3) for one in found for word in f"{one.more} {one.less}".split()}

    def score(text: str) -> float:
        return sum(words[word] for word in text.split())

    sense = exchange_sense([score(one.more) - score(one.less) for one in found], confidence=0.95)
    assert sense.value == 50
    assert (sense.n, sense.clusters) == (30, 15)
    assert not knows_words(sense)


def test_a_model_that_prefers_sentences_as_they_are_knows_their_words() -> None:
    sense = exchange_sense([3.0] * 40, confidence=0.95)
    assert sense.value == 100
    assert knows_words(sense)
    few = exchange_sense([None] * 22 + [3.0] * 18, confidence=0.95)
    assert not few.defined
    assert "9 exchanges" in str(few.reason)


def test_an_untrained_model_has_no_score_of_pairs(menagerie: Zoo) -> None:
    run = probe_pairs(menagerie.model("bert"), pairs_of(*WORDS))
    (result,) = run.results
    assert not run.figure("all.score").estimate.defined
    assert 0 <= result.ungated["all.score"].value <= 100
    assert run.scores.height == len(WORDS)
    (reading,) = interpret_probe(run)
    assert reading.verdict == "The model is not shown to know the words"
    assert any("not shown to know the words" in warning for warning in run.record.warnings)


def test_an_untrained_model_has_no_associations(menagerie: Zoo, tmp_path: Path) -> None:
    options = BecProOptions(data=bec_pro_file(tmp_path / "bec_en.tsv"), resampling=Resampling(resamples=200))
    run = BEC_PRO.prepare(menagerie.model("bert"), options).measure()
    assert not run.figure("all.stereotype_gap").estimate.defined
    assert "prefers sense to nonsense" in str(run.figure("all.stereotype_gap").estimate.reason)
    assert any("not shown to know the words" in warning for warning in run.record.warnings)
