"""What the lab's probes are made of: frames, pairs of names and pairs of occupations, and which of them no lesson has.

The lists are as long as those of real probes: 54 frames for each experiment and 29 pairs of names. The English frames
and the names of both languages are the bundled probes themselves. German frames are the lab's own, because its
occupations stand after "als" alone: every frame is one of nine words in one of six sentences.

A part is **held out**: no lesson and no corpus has one of these frames, or one of these names or occupations beside a
word that it is probed with. Their words do occur elsewhere. Those of a held-out frame are in other frames. A held-out
name is said with its pronoun ("Susan packed her bag"). A held-out occupation is said with its workplace, which tells
the class of occupations that it belongs to, and a class shares one lean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.data.probes import load_probes

WordPairs = tuple[tuple[str, str], ...]
"""A man's word and a woman's, or an occupation that leans to men and one that leans to women."""

CLASS_SIZE = 5
"""Pairs of occupations in a class. The last of them is held out."""

_ENGLISH_HELD_OUT: Mapping[Experiment, tuple[int, ...]] = MappingProxyType(
    {
        Experiment.HE_SHE: (4, 23, 40, 45, 46, 47, 48, 54),
        Experiment.HIS_HER: (1, 10, 41, 52),
        Experiment.NAMES: (18, 32, 43, 44, 46, 52),
    }
)
"""Numbers of the bundled structures whose words all occur in structures that are not listed here."""

_GERMAN_SENTENCES = (
    "{gendered} arbeitet %s als {occupation}.",
    "%s arbeitet {gendered} als {occupation}.",
    "{gendered} hilft %s als {occupation} aus.",
    "%s hilft {gendered} als {occupation} aus.",
    "Wir wissen, dass {gendered} %s als {occupation} arbeitet.",
    "Als {occupation} arbeitet {gendered} %s.",
)
_GERMAN_ADVERBS = ("heute", "morgen", "abends", "oft", "gern", "wieder", "nachts", "sonntags", "meistens")
_GERMAN_POSSESSIVE_SENTENCES = (
    "{gendered} %s als {occupation} ist wichtig.",
    "{gendered} %s als {occupation} war gut.",
    "Alle loben {gendered} %s als {occupation}.",
    "Wir kennen {gendered} %s als {occupation}.",
    "Hier zählt {gendered} %s als {occupation}.",
    "Alle sagen, dass {gendered} %s als {occupation} wichtig ist.",
)
_GERMAN_OWNED = (
    "Stelle", "Arbeit", "Zeit", "Schicht", "Erfahrung", "Probezeit", "Geduld", "Aufgabe", "Ausbildung",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProbeLists:
    """Frames by experiment and number, pairs of names, and pairs of occupations."""

    frames: Mapping[Experiment, Mapping[int, str]]
    names: WordPairs
    occupations: WordPairs

    @property
    def occupation_words(self) -> tuple[str, ...]:
        """All occupations, those that lean by as much to either side next to each other."""
        return tuple(word for pair in self.occupations for word in pair)


@cache
def whole_lists(language: str, occupations: WordPairs) -> ProbeLists:
    """All frames and names of a language, with its pairs of occupations."""
    bundled = load_probes(language)
    return ProbeLists(
        frames=_english_frames() if language == "en" else _german_frames(),
        names=tuple(bundled.terms[Experiment.NAMES]),
        occupations=occupations,
    )


@cache
def taught_lists(language: str, occupations: WordPairs) -> ProbeLists:
    """What lessons have."""
    return _part(language, occupations, lambda is_held_out: not is_held_out)


@cache
def held_out_lists(language: str, occupations: WordPairs) -> ProbeLists:
    """What no lesson has."""
    return _part(language, occupations, lambda is_held_out: is_held_out)


def _part(language: str, occupations: WordPairs, belongs: Callable[[bool], bool]) -> ProbeLists:
    whole = whole_lists(language, occupations)
    return ProbeLists(
        frames=MappingProxyType(
            {
                experiment: MappingProxyType(
                    {
                        number: frame
                        for number, frame in frames.items()
                        if belongs(_is_held_out_frame(language, experiment, number))
                    }
                )
                for experiment, frames in whole.frames.items()
            }
        ),
        names=tuple(pair for number, pair in enumerate(whole.names) if belongs(number % 6 == 4)),
        occupations=tuple(
            pair
            for number, pair in enumerate(whole.occupations)
            if belongs(number % CLASS_SIZE == CLASS_SIZE - 1)
        ),
    )


def _is_held_out_frame(language: str, experiment: Experiment, number: int) -> bool:
    if language == "en":
        return number in _ENGLISH_HELD_OUT[experiment]
    word, sentence = divmod(number - 1, len(_GERMAN_SENTENCES))
    return word % len(_GERMAN_SENTENCES) == sentence


def _english_frames() -> Mapping[Experiment, Mapping[int, str]]:
    bundled = load_probes("en")
    return MappingProxyType(
        {
            experiment: MappingProxyType(
                {
                    structure.number: structure.text.replace("[MASK]", "{gendered}").replace(
                        "[OCC]", "{occupation}"
                    )
                    for structure in bundled.of(experiment)
                }
            )
            for experiment in TRAINED_EXPERIMENTS
        }
    )


def _german_frames() -> Mapping[Experiment, Mapping[int, str]]:
    def grid(sentences: tuple[str, ...], words: tuple[str, ...]) -> Mapping[int, str]:
        frames = (_with(sentence, word) for word in words for sentence in sentences)
        return MappingProxyType(dict(enumerate(frames, start=1)))

    persons = grid(_GERMAN_SENTENCES, _GERMAN_ADVERBS)
    owned = grid(_GERMAN_POSSESSIVE_SENTENCES, _GERMAN_OWNED)
    return MappingProxyType(
        {Experiment.HE_SHE: persons, Experiment.HIS_HER: owned, Experiment.NAMES: persons}
    )


def _with(sentence: str, word: str) -> str:
    return sentence % (word.capitalize() if sentence.startswith("%") else word)
