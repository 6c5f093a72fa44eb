"""What is wrong with structures that can be asked all the same: said, never fatal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from evenhand.core.probe_sentences import find_gaps
from evenhand.core.probes import Experiment, ProbeProblem, ProbeWarning, Structure

MOST_LISTED = 8

_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH_ARTICLE = re.compile(r"\ban?\s+$", re.IGNORECASE)
_FINAL_PUNCTUATION = ".!?… "


def first_of_each(structures: Sequence[Structure]) -> tuple[tuple[Structure, ...], tuple[ProbeWarning, ...]]:
    """The structures without repeats, and a warning for each experiment that had some.

    Structures that differ only in case, white space or the final punctuation are the same one.
    """
    kept: dict[tuple[Experiment, str], Structure] = {}
    repeats: list[tuple[Structure, str]] = []
    for structure in structures:
        key = (structure.experiment, structure.text.casefold().rstrip(_FINAL_PUNCTUATION))
        first = kept.setdefault(key, structure)
        if first is not structure:
            repeats.append((structure, f"{structure.number} repeats {first.number}"))
    return tuple(kept.values()), _by_experiment(
        ProbeProblem.REPEATED,
        repeats,
        meaning="Only the first of each is asked; reword the others or remove them.",
    )


def gendered_words(structures: Iterable[Structure], words: Iterable[str]) -> tuple[ProbeWarning, ...]:
    """Structures with another gendered word, which tells the model what it is asked.

    Args:
        structures: The structures.
        words: Gendered words. One in lower case is found in any case, one with a capital only as written:
            German *Junge* is a boy, *junge* is young.
    """
    listed = set(words)
    found = []
    for structure in structures:
        leaks = [word for word in _words_beside_gaps(structure) if {word, word.casefold()} & listed]
        if leaks:
            found.append((structure, f"{structure.number} has {', '.join(dict.fromkeys(leaks))}"))
    return _by_experiment(
        ProbeProblem.GENDERED_WORD,
        found,
        meaning="Such a word can give the answer away; reword the structure.",
    )


def articles_before_gaps(structures: Iterable[Structure]) -> tuple[ProbeWarning, ...]:
    """English structures with *a* or *an* directly before a gap, which does not fit every fill."""
    found = [
        (structure, f"{structure.number}")
        for structure in structures
        if any(_ENGLISH_ARTICLE.search(structure.text[: gap.start]) for gap in find_gaps(structure.text))
    ]
    return _by_experiment(
        ProbeProblem.ARTICLE,
        found,
        meaning="The sound after the article then decides as well (a nurse, an engineer); "
        "put a word between them or write the.",
    )


_SAYS = {
    ProbeProblem.REPEATED: "repeated",
    ProbeProblem.GENDERED_WORD: "with another gendered word",
    ProbeProblem.ARTICLE: "with a or an before a gap",
}


def _words_beside_gaps(structure: Structure) -> list[str]:
    pieces, end = [], 0
    for gap in find_gaps(structure.text):
        pieces.append(structure.text[end : gap.start])
        end = gap.end
    return _WORD.findall(" ".join([*pieces, structure.text[end:]]))


def _by_experiment(
    problem: ProbeProblem, found: Sequence[tuple[Structure, str]], *, meaning: str
) -> tuple[ProbeWarning, ...]:
    warnings = []
    for experiment in Experiment:
        ours = [(structure, note) for structure, note in found if structure.experiment is experiment]
        if ours:
            notes = [note for _, note in ours]
            more = f" and {len(notes) - MOST_LISTED:,} more" if len(notes) > MOST_LISTED else ""
            warnings.append(
                ProbeWarning(
                    problem=problem,
                    experiment=experiment,
                    numbers=tuple(structure.number for structure, _ in ours),
                    message=f"{experiment.value}: {len(ours):,} "
                    f"{'structure' if len(ours) == 1 else 'structures'} {_SAYS[problem]} "
                    f"({'; '.join(notes[:MOST_LISTED])}{more}). {meaning}",
                )
            )
    return tuple(warnings)
