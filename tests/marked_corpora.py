"""Small corpora in which the words that count for direct bias are marked."""

from __future__ import annotations

from pathlib import Path

from evenhand.instruments.direct_bias.instrument import DirectBiasResult
from evenhand.store.run import Run

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


def result_of(run: Run) -> DirectBiasResult:
    (result,) = run.results
    assert isinstance(result, DirectBiasResult)
    return result
