"""English twins of published pairs, and there and back again over real text."""

from __future__ import annotations

from pathlib import Path

from evenhand.data.corpora import sentences
from evenhand.data.winogender import load_pronoun_pairs
from evenhand.text.swappers import Twin
from evenhand.text.word_search import words_of
from evenhand.twins.en.swapper import EnglishSwapper

SWAPPER = EnglishSwapper()
FEMALE = {"she", "her", "hers", "herself", "Her"}


def test_the_twins_of_winogender_are_its_own_other_sides(shared_data: Path) -> None:
    pairs = load_pronoun_pairs(shared_data / "winogender" / "all_sentences.tsv").pairs
    assert len(pairs) == 240
    for pair in pairs:
        for sentence, other in ((pair.male, pair.female), (pair.female, pair.male)):
            twin = SWAPPER.twin(sentence)
            assert isinstance(twin, Twin), sentence
            assert twin.text == other


def test_his_and_him_come_back_from_her(shared_data: Path) -> None:
    """*his* and *him* are told apart in men's sentences; once both are *her*, the rules must find them again."""
    corpora = shared_data / "corpora"
    found = wrong = 0
    for sentence in sentences([corpora / "novels_en" / "Doyle_Lost_1912.txt", corpora / "wikitext-2"]):
        words = words_of(sentence)
        if words.isdisjoint({"his", "him"}) or words & FEMALE:
            continue
        twin = SWAPPER.twin(sentence)
        back = SWAPPER.twin(twin.text) if isinstance(twin, Twin) else twin
        if not (isinstance(twin, Twin) and isinstance(back, Twin) and len(twin.swaps) == len(back.swaps)):
            continue
        for there, again in zip(twin.swaps, back.swaps, strict=True):
            if there.old.lower() in ("his", "him"):
                found += 1
                wrong += there.old != again.new
    assert found > 2_000
    assert wrong <= 0.01 * found
