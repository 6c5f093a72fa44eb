"""What is wrong with structures, though they can be asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from evenhand.core.experiments import Experiment, in_order
from evenhand.core.probes import ProbeProblem, ProbeWarning, Structure, find_gaps

_WORD = re.compile(r"[^\W\d_]+")
MOST_LISTED = 8
_ENGLISH_ARTICLE = re.compile(r"\ban?\s+$", re.IGNORECASE)
_QUOTED_PRONOUN = re.compile(r"[“\"'‘](he|she|his|her|him)[”\"'’]", re.IGNORECASE)
_FINAL_PUNCTUATION = ".!?… "
_SAYS = {
    ProbeProblem.REPEATED: "repeated",
    ProbeProblem.GENDERED_WORD: "with another gendered word",
    ProbeProblem.ARTICLE: "with a or an before a gap",
    ProbeProblem.BEYOND_REPAIR: "marked as beyond repair",
    ProbeProblem.RUNNING_TEXT: "in name only",
}


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
    return tuple(kept.values()), grouped_by_experiment(
        ProbeProblem.REPEATED,
        repeats,
        meaning="Only the first of each is asked; reword the others or remove them.",
    )


def gendered_words(structures: Iterable[Structure], words: Iterable[str]) -> tuple[ProbeWarning, ...]:
    """Structures with another gendered word, which gives the answer away.

    Args:
        structures: The structures.
        words: Gendered words. One in lower case is found in any case, one with a capital only as written:
            German *Junge* is a boy, *junge* is young.
    """
    listed = set(words)
    notes = []
    for structure in structures:
        leaks = [word for word in _words_beside_gaps(structure) if {word, word.casefold()} & listed]
        if leaks:
            notes.append((structure, f"{structure.number} has {', '.join(dict.fromkeys(leaks))}"))
    return grouped_by_experiment(
        ProbeProblem.GENDERED_WORD,
        notes,
        meaning="Such a word can give the answer away; reword the structure.",
    )


def articles_before_gaps(structures: Iterable[Structure]) -> tuple[ProbeWarning, ...]:
    """English structures with *a* or *an* directly before a gap, which does not fit every fill."""
    notes = [
        (structure, f"{structure.number}")
        for structure in structures
        if any(_ENGLISH_ARTICLE.search(structure.text[: gap.start]) for gap in find_gaps(structure.text))
    ]
    return grouped_by_experiment(
        ProbeProblem.ARTICLE,
        notes,
        meaning="The sound after the article then decides as well (a nurse, an engineer); "
        "put a word between them or write the.",
    )


def _words_beside_gaps(structure: Structure) -> list[str]:
    pieces, end = [], 0
    for gap in find_gaps(structure.text):
        pieces.append(structure.text[end : gap.start])
        end = gap.end
    return _WORD.findall(" ".join([*pieces, structure.text[end:]]))


def grouped_by_experiment(
    problem: ProbeProblem, notes: Sequence[tuple[Structure, str]], *, meaning: str
) -> tuple[ProbeWarning, ...]:
    """One warning for each experiment, with what its structures are noted for."""
    warnings = []
    for experiment in in_order(structure.experiment for structure, _ in notes):
        ours = [(structure, note) for structure, note in notes if structure.experiment == experiment]
        texts = [note for _, note in ours]
        more = f" and {len(texts) - MOST_LISTED:,} more" if len(texts) > MOST_LISTED else ""
        warnings.append(
            ProbeWarning(
                problem=problem,
                experiment=experiment,
                numbers=tuple(structure.number for structure, _ in ours),
                message=f"{experiment.value}: {len(ours):,} "
                f"{'structure' if len(ours) == 1 else 'structures'} {_SAYS[problem]} "
                f"({'; '.join(texts[:MOST_LISTED])}{more}). {meaning}",
            )
        )
    return tuple(warnings)


def without_running_text(
    structures: Sequence[Structure],
) -> tuple[tuple[Structure, ...], tuple[ProbeWarning, ...]]:
    """The structures, without sentences about the experiment itself, which name two of its terms in quotes."""
    notes = {
        structure: f"{structure.number} names {' and '.join(map(repr, quoted))}"
        for structure in structures
        if len(quoted := list(dict.fromkeys(_QUOTED_PRONOUN.findall(structure.text)))) > 1
    }
    return tuple(own for own in structures if own not in notes), grouped_by_experiment(
        ProbeProblem.RUNNING_TEXT,
        list(notes.items()),
        meaning="That is text about the experiment. It is not asked; remove it from the file.",
    )
