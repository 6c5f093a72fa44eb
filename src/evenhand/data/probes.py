"""The probes of a language: bundled ones, with a user's own structures, occupations or terms in their place.

Flaws of structures that can still be asked, such as another gendered word, are warnings and never errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import resources
from pathlib import Path

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.experiments import UNTRAINED_EXPERIMENTS, Experiment, in_order
from evenhand.core.files import sha256_of
from evenhand.core.probes import ProbeProblem, ProbeSet, ProbeWarning, Structure, TermPairs, find_gaps
from evenhand.data.csv_files import read_table
from evenhand.data.probe_files import OccupationsFile, read_occupations, read_structures, read_terms
from evenhand.data.settled import load_settled, settled_languages

MOST_LISTED = 8

_WORD = re.compile(r"[^\W\d_]+")
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
PROBE_LANGUAGES = ("de", "en")
"""The languages whose probes are bundled."""


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
    return tuple(kept.values()), _grouped_by_experiment(
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
    return _grouped_by_experiment(
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
    return _grouped_by_experiment(
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


def _grouped_by_experiment(
    problem: ProbeProblem, notes: Sequence[tuple[Structure, str]], *, meaning: str
) -> tuple[ProbeWarning, ...]:
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


def load_probes(
    language: str = "en",
    *,
    structures: str | Path | None = None,
    occupations: str | Path | None = None,
    terms: str | Path | None = None,
) -> ProbeSet:
    """The probes of a language.

    Args:
        language: One of ``PROBE_LANGUAGES``, or any other if structures, occupations and terms are all given.
        structures: A CSV file with the columns ``experiment``, ``number``, ``structure``.
        occupations: A CSV file with the column ``occupation``, perhaps ``field`` and the German forms, or a
            plain list.
        terms: A CSV file with the columns ``male``, ``female`` and perhaps ``experiment``, or with ``experiment`` and
            the names of two other groups. It replaces the terms of the experiments that it names. Without the column
            ``experiment`` its terms are for the only experiment that the structures have, or else for the names.

    Raises:
        DatasetError: If a file cannot be read or breaks its layout, an experiment has no terms, or no probes are
            bundled in the language and not all files are given.
    """
    listed = _listed_probes(language, structures=structures, occupations=occupations, terms=terms)
    kept, repeats = first_of_each(listed.structures)
    warnings = (*listed.warnings, *repeats, *_warnings(kept, listed.terms, language))
    return replace(listed, structures=kept, warnings=warnings)


@dataclass(frozen=True, slots=True)
class ProbeFiles:
    """Somebody's own structures, occupations and terms, as for ``load_probes``; None where the bundled ones serve."""

    structures: Path | None = None
    occupations: Path | None = None
    terms: Path | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """Which of them there are."""
        return tuple(
            name for name in ("structures", "occupations", "terms") if getattr(self, name) is not None
        )

    @property
    def arguments(self) -> tuple[str, ...]:
        """As they are given on the command line."""
        return tuple(part for name in self.given for part in (f"--{name}", str(getattr(self, name))))

    def load(self, language: str) -> ProbeSet:
        """The probes of a language, with these files in the place of bundled ones."""
        return load_probes(
            language, structures=self.structures, occupations=self.occupations, terms=self.terms
        )


def with_terms(probes: ProbeSet, path: Path) -> ProbeSet:
    """The same probes with the terms of a file too, for those who look for terms and ask no structures."""
    own = read_terms(path)
    if None in own.terms:
        raise DatasetError(
            f"{path} does not say which experiment its terms are for. Add the column experiment."
        )
    named = {experiment: pairs for experiment, pairs in own.terms.items() if experiment is not None}
    return replace(
        probes,
        terms={**probes.terms, **named},
        sha256=sha256_of(f"{probes.sha256} {own.sha256}".encode()),
    )


def load_listed_probes(structures: str | Path, occupations: str | Path, terms: str | Path | None) -> ProbeSet:
    """The English probes of a study, exactly as its files list them: what is listed twice is asked twice.

    Args:
        structures: As for ``load_probes``.
        occupations: As for ``load_probes``.
        terms: As for ``load_probes``; needed for first names, and not for pronouns.

    Raises:
        DatasetError: If a file cannot be read or breaks its layout, or the names are missing.
    """
    probes = _listed_probes("en", structures=structures, occupations=occupations, terms=terms)
    kept, running_text = without_running_text(probes.structures)
    probes = replace(probes, structures=kept)
    if Experiment.NAMES in probes.experiments and terms is None:
        raise DatasetError(
            f"{structures} asks for first names, and the study's names are not bundled. Give them as a file with the "
            "columns male and female (--terms), or choose another experiment and leave their structures out."
        )
    warnings = (*probes.warnings, *running_text, *_warnings(probes.structures, probes.terms, "en"))
    return replace(probes, warnings=warnings)


def without_running_text(
    structures: Sequence[Structure],
) -> tuple[tuple[Structure, ...], tuple[ProbeWarning, ...]]:
    """The structures, without sentences about the experiment itself, which name two of its terms in quotes."""
    notes = {
        structure: f"{structure.number} names {' and '.join(map(repr, quoted))}"
        for structure in structures
        if len(quoted := list(dict.fromkeys(_QUOTED_PRONOUN.findall(structure.text)))) > 1
    }
    return tuple(own for own in structures if own not in notes), _grouped_by_experiment(
        ProbeProblem.RUNNING_TEXT,
        list(notes.items()),
        meaning="That is text about the experiment. It is not asked; remove it from the file.",
    )


def _listed_probes(
    language: str,
    *,
    structures: str | Path | None,
    occupations: str | Path | None,
    terms: str | Path | None,
) -> ProbeSet:
    """All structures of the files but those that are marked as beyond repair, without a look for other flaws."""
    if language not in PROBE_LANGUAGES:
        _refuse_missing_files(language, structures=structures, occupations=occupations, terms=terms)
    structures_file = read_structures(_chosen(structures, language, "structures"), language=language)
    occupations_file = _occupations(occupations, language)
    by_experiment, digests = _terms(structures_file.structures, terms, language=language)
    return ProbeSet(
        language=language,
        structures=structures_file.structures,
        occupations=occupations_file.occupations,
        terms=by_experiment,
        warnings=_grouped_by_experiment(
            ProbeProblem.BEYOND_REPAIR,
            [(structure, f"{structure.number}") for structure in structures_file.beyond_repair],
            meaning="Marked structures are not asked.",
        ),
        sha256=sha256_of(" ".join((structures_file.sha256, occupations_file.sha256, *digests)).encode()),
        settled=load_settled(language) if language in settled_languages() else None,
    )


def _refuse_missing_files(language: str, **files: str | Path | None) -> None:
    missing = [f"--{name}" for name, file in files.items() if file is None]
    if missing:
        raise DatasetError(
            f"No probes are bundled in the language {language!r}, only in {', '.join(PROBE_LANGUAGES)}. Give your own: "
            f"{', '.join(missing)}. To translate ours: evenhand data translate probes --to {language} --out FOLDER."
        )


def _occupations(own: str | Path | None, language: str) -> OccupationsFile:
    if language not in PROBE_LANGUAGES and own is not None:
        return read_occupations(Path(own), language=language)
    bundled = read_occupations(bundled_probe_path(language, "occupations"), language=language)
    if own is None:
        return bundled
    return read_occupations(Path(own), language=language, bundled=bundled.occupations)


def load_untrained_probes(language: str = "en") -> ProbeSet:
    """Structures and pairs of words that no mitigation is trained for: him and her, man and woman, king and queen."""
    files = [bundled_probe_path(language, f"untrained_{name}") for name in ("structures", "terms")]
    structures = read_structures(files[0], language=language)
    occupations = read_occupations(bundled_probe_path(language, "occupations"), language=language)
    terms = read_terms(files[1])
    by_experiment = {experiment: pairs for experiment, pairs in terms.terms.items() if experiment is not None}
    return ProbeSet(
        language=language,
        structures=structures.structures,
        occupations=occupations.occupations,
        terms=by_experiment,
        warnings=_warnings(structures.structures, by_experiment, language),
        sha256=sha256_of(" ".join((structures.sha256, occupations.sha256, terms.sha256)).encode()),
    )


def definitional_pairs(language: str = "en") -> TermPairs:
    """Pairs of words that differ in gender by definition.

    A word can be in two pairs (German *Frau* is the counterpart of *Mann* and of *Herr*); the first is
    the usual one.
    """
    return read_terms(bundled_probe_path(language, "definitional_pairs")).terms[None]


def gendered_vocabulary(language: str = "en") -> frozenset[str]:
    """Words that tell a person's gender: pronouns, definitional pairs and the bundled names."""
    files = ("pronouns", "definitional_pairs", "names")
    listed = [read_terms(bundled_probe_path(language, name)).terms.values() for name in files]
    return frozenset(word for pairs_of_file in listed for pairs in pairs_of_file for word in pairs.all)


def people_of(language: str) -> tuple[str, ...]:
    """Nouns for people of any gender, with an article: *the florist*. None for languages whose nouns have a gender."""
    path = bundled_probe_path(language, "people")
    return tuple(row["person"] for row in read_table(path, needed=("person",)).rows) if path.exists() else ()


def gendered_people(language: str) -> TermPairs:
    """Nouns that tell the gender of a person, with an article: *my uncle*, *my aunt*. None for some languages."""
    path = bundled_probe_path(language, "gendered_people")
    rows = read_table(path, needed=("male", "female")).rows if path.exists() else ()
    return TermPairs(tuple(row["male"] for row in rows), tuple(row["female"] for row in rows))


def bundled_probe_path(language: str, name: str) -> Path:
    """One of the bundled files of a language, such as ``structures``."""
    if language not in PROBE_LANGUAGES:
        raise UnknownNameError("language of the bundled probes", language, PROBE_LANGUAGES)
    return Path(str(resources.files("evenhand.data") / "resources" / "probes" / language / f"{name}.csv"))


def _chosen(own: str | Path | None, language: str, name: str) -> Path:
    return bundled_probe_path(language, name) if own is None else Path(own)


def _warnings(
    structures: tuple[Structure, ...], terms: Mapping[Experiment, TermPairs], language: str
) -> tuple[ProbeWarning, ...]:
    about_gender = [structure for structure in structures if terms[structure.experiment].tell_gender]
    own = {word for pairs in terms.values() if pairs.tell_gender for word in pairs.all}
    vocabulary = gendered_vocabulary(language) if language in PROBE_LANGUAGES else own
    warnings = gendered_words(about_gender, vocabulary)
    return (*warnings, *articles_before_gaps(structures)) if language == "en" else warnings


def _terms(
    structures: Iterable[Structure], own_terms: str | Path | None, *, language: str
) -> tuple[Mapping[Experiment, TermPairs], tuple[str, ...]]:
    """The terms of each experiment, and the digests of the files that they come from."""
    asked = in_order(structure.experiment for structure in structures)
    experiments = set(asked)
    terms: dict[Experiment | None, TermPairs] = {}
    digests: list[str] = []
    if language in PROBE_LANGUAGES:
        pronouns = read_terms(bundled_probe_path(language, "pronouns"))
        names = read_terms(bundled_probe_path(language, "names"))
        terms = {**pronouns.terms, Experiment.NAMES: names.terms[None]}
        digests = [pronouns.sha256, names.sha256]
    if language in PROBE_LANGUAGES and experiments & set(UNTRAINED_EXPERIMENTS):
        untrained = read_terms(bundled_probe_path(language, "untrained_terms"))
        terms |= untrained.terms
        digests.append(untrained.sha256)
    if own_terms is not None:
        own = read_terms(Path(own_terms))
        terms |= _terms_by_experiment(own.terms, experiments, path=Path(own_terms))
        digests.append(own.sha256)
    _refuse_missing_terms(experiments, terms)
    return {experiment: terms[experiment] for experiment in asked}, tuple(digests)


def _refuse_missing_terms(
    experiments: Iterable[Experiment], terms: Mapping[Experiment | None, TermPairs]
) -> None:
    """Refuse structures of an experiment of one's own without terms, or of the package's with a name misspelt."""
    for experiment in sorted(experiments):
        if experiment in terms:
            continue
        known = ", ".join(own.value for own in terms if own)
        close = get_close_matches(experiment, [own.value for own in terms if own], n=1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise DatasetError(
            f"The structures have the experiment {experiment.value!r}, which has no terms.{meant} There are terms for "
            f"{known}. Give those of your own as a file (--terms) with the column experiment and one column for each "
            "of the two groups, such as male and female."
        )


def _terms_by_experiment(
    terms: Mapping[Experiment | None, TermPairs], experiments: set[Experiment], *, path: Path
) -> Mapping[Experiment | None, TermPairs]:
    if None not in terms:
        if not experiments & set(terms):
            raise DatasetError(
                f"{path} has terms for {_listed(terms)}, but the structures ask only {_listed(experiments)}."
            )
        return terms
    if len(terms) > 1:
        raise DatasetError(f"{path} has rows without an experiment. Name one in every row, or in none.")
    if len(experiments) == 1:
        return {next(iter(experiments)): terms[None]}
    if Experiment.NAMES in experiments:
        return {Experiment.NAMES: terms[None]}
    raise DatasetError(
        f"{path} does not say which experiment its terms are for; the structures ask {_listed(experiments)}. "
        "Add the column experiment."
    )


def _listed(experiments: Iterable[Experiment | None]) -> str:
    return ", ".join(sorted(experiment.value for experiment in experiments if experiment))
