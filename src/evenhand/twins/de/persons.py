"""German nouns and names for persons: the word for a man and its counterpart for a woman, in all cases."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from evenhand.data.probes import load_probes
from evenhand.text.swappers import Role
from evenhand.twins.de.declension import (
    ALL_SLOTS,
    Declension,
    Slots,
    adjective_ending,
    adjective_slots,
    adjective_stem,
)
from evenhand.twins.de.words import german_resource, word_classes

_NEUTER = frozenset({"Mädchen", "Schulmädchen"})


@dataclass(frozen=True, slots=True)
class PersonTerm:
    """A word for a man and the word for a woman that is its counterpart.

    Attributes:
        male: The man's word by slot.
        female: The woman's word by slot; girls are neuter.
        kind: The gender of the woman's word.
        role: What it is in a sentence.
    """

    male: Mapping[str, str]
    female: Mapping[str, str]
    kind: str
    role: Role
    adjectival: str = ""
    """The sides that are declined like adjectives, m and f: *der Kranke, ein Kranker*."""

    def form(self, slot: str, declension: Declension, *, male: bool) -> str:
        """The word of one side in this slot."""
        forms = self.male if male else self.female
        noun = forms[slot]
        if self.role is Role.NAME and declension is not Declension.NONE:
            return forms["N" + slot[1]]
        if ("m" if male else "f") in self.adjectival:
            return noun + adjective_ending(declension, slot)
        return noun

    @property
    def is_neutral_in_plural(self) -> bool:
        """Whether men and women share the plural: *die Kranken*."""
        return self.adjectival == "mf"


@dataclass(frozen=True, slots=True)
class PersonReading:
    """One way to read a form: which person, which side, which slots."""

    person: PersonTerm
    male: bool
    slots: Slots


def _with_cases(kind: str, nominative: str, oblique: str, genitive: str) -> dict[str, str]:
    return {"N" + kind: nominative, "A" + kind: oblique, "D" + kind: oblique, "G" + kind: genitive}


def _plural(form: str) -> dict[str, str]:
    dative = form if form.endswith(("n", "s")) else form + "n"
    return {"Np": form, "Ap": form, "Dp": dative, "Gp": form}


def term_from_row(row: Mapping[str, str]) -> PersonTerm:
    """The term of a row of the word list."""
    noun, genitive = row["masculine"], row["genitive"]
    oblique = genitive if genitive.endswith("n") else noun
    feminine = row["feminine"]
    kind = "n" if feminine in _NEUTER else "f"
    female_genitive = feminine + "s" if kind == "n" else feminine
    return PersonTerm(
        male=_with_cases("m", noun, oblique, genitive) | _plural(row["plural"]),
        female=_with_cases(kind, feminine, feminine, female_genitive) | _plural(row["feminine_plural"]),
        kind=kind,
        role=Role.OCCUPATION if row["role"] == "occupation" else Role.NOUN,
    )


def _readings(person: PersonTerm, side: str = "") -> Iterator[tuple[str, PersonReading]]:
    """The readings of a term's forms, of one side only if the other has a closer counterpart: *Knabe, Mädchen*."""
    for male, forms in ((True, person.male), (False, person.female)):
        if side and side != ("male" if male else "female"):
            continue
        slots: dict[str, set[str]] = {}
        for slot, form in forms.items():
            slots.setdefault(form, set()).add(slot)
        for form, slots_of_form in (*slots.items(), *_old_forms(forms, male=male)):
            yield form, PersonReading(person, male, frozenset(slots_of_form))


def _old_forms(forms: Mapping[str, str], *, male: bool) -> Iterator[tuple[str, set[str]]]:
    """Other spellings of strong masculine nouns: *des Manns*, *dem Manne*."""
    if not male or not forms["Gm"].endswith("s"):
        return
    noun = forms["Nm"]
    others = {noun + "s", noun + "es"} - {forms["Gm"]}
    for other in others:
        if other not in forms.values():
            yield other, {"Gm"}
    if not noun.endswith(("e", "er", "el", "or")):
        yield noun + "e", {"Dm"}


def _rows(*names: str) -> Iterator[dict[str, str]]:
    for name in names:
        with german_resource(name).open(encoding="utf-8", newline="") as lines:
            yield from csv.DictReader(lines)


def _names() -> Iterator[tuple[str, str]]:
    for pairs in load_probes("de").terms.values():
        for male, female in pairs:
            if male[0].isupper():
                yield male, female
    for row in _rows("names"):
        yield row["male"], row["female"]


def _genitive_of_name(name: str) -> str:
    return name + "'" if name.endswith(("s", "x", "z", "ß")) else name + "s"


def _name(male: str, female: str) -> PersonTerm:
    return PersonTerm(
        male=_with_cases("m", male, male, _genitive_of_name(male)),
        female=_with_cases("f", female, female, _genitive_of_name(female)),
        kind="f",
        role=Role.NAME,
    )


def adjectival_term(stem: str) -> PersonTerm:
    """A person named by an adjective; a woman who is *Beamtin* is not."""
    if stem.endswith(("Beamt", "beamt")):
        return _official(stem)
    same = dict.fromkeys(ALL_SLOTS, stem)
    return PersonTerm(male=same, female=same, kind="f", role=Role.NOUN, adjectival="mf")


TITLE = PersonTerm(
    male=_with_cases("m", "Herr", "Herrn", "Herrn"),
    female=_with_cases("f", "Frau", "Frau", "Frau"),
    kind="f",
    role=Role.TITLE,
)
"""*Herr* and *Frau* before a name."""


@dataclass(frozen=True, slots=True)
class PersonLexicon:
    """All known words for persons.

    Attributes:
        forms: What a form may be.
        adjectival: Persons named by an adjective, by stem.
        names: Forms that are names.
    """

    forms: Mapping[str, tuple[PersonReading, ...]]
    adjectival: Mapping[str, PersonTerm]
    names: frozenset[str]

    def readings(self, text: str, declension: Declension) -> tuple[PersonReading, ...]:
        """The readings of a word after a determiner; a compound is read by its last part."""
        readings = self.forms.get(text)
        if readings is not None:
            return readings
        stem = adjective_stem(text)
        person = self.adjectival.get(stem) if stem else None
        if person is not None:
            return tuple(_adjectival_readings(text, person, declension))
        return _compound(text, self)

    def extended(self, nouns: Iterable[PersonTerm], adjectival: Mapping[str, PersonTerm]) -> PersonLexicon:
        """The lexicon with further nouns, and with persons named by further adjectives."""
        forms: dict[str, tuple[PersonReading, ...]] = {
            form: (reading,) for person in nouns for form, reading in _readings(person)
        }
        for person in adjectival.values():
            forms.update(_feminine_nouns(person))
        if not forms and not adjectival:
            return self
        return replace(self, forms={**forms, **self.forms}, adjectival={**self.adjectival, **adjectival})

    def knows(self, text: str) -> bool:
        """Whether a word is about a person."""
        return text in self.forms or adjective_stem(text) in self.adjectival or bool(_compound(text, self))


def _adjectival_readings(text: str, person: PersonTerm, declension: Declension) -> Iterator[PersonReading]:
    slots = adjective_slots(text, declension)
    several = frozenset(slot for slot in slots if slot[1] == "p")
    for male, kind in ((True, "m"), (False, "f")):
        if kind in person.adjectival:
            singular = frozenset(slot for slot in slots if slot[1] == kind)
            if singular or (several and male):
                yield PersonReading(person, male, singular | several if male else singular)


@lru_cache(maxsize=2**14)
def _head_of(text: str) -> tuple[str, str] | None:
    front, hyphen, last = text.rpartition("-")
    if hyphen:
        return front + hyphen, last
    for head in sorted(word_classes()["compound heads"]):
        for spelling in (head[:-1], _umlaut(head[:-1])):
            place = text.rfind(spelling)
            if place >= 3 and len(text) - place <= len(head) + 5:
                return text[:place], text[place:].capitalize()
    return None


def _umlaut(head: str) -> str:
    return {"arz": "ärz", "anwal": "anwäl"}.get(head, head)


def _compound(text: str, lexicon: PersonLexicon) -> tuple[PersonReading, ...]:
    split = _head_of(text)
    if split is None:
        return ()
    front, head = split
    hyphenated = front.endswith("-")
    readings = lexicon.forms.get(head, ())
    if not readings and hyphenated:
        readings = _compound(head, lexicon)
    return tuple(
        PersonReading(_prefixed(reading.person, front, hyphenated=hyphenated), reading.male, reading.slots)
        for reading in readings
        if reading.person.role is Role.OCCUPATION or (reading.person.role is Role.NOUN and not hyphenated)
    )


def _prefixed(person: PersonTerm, front: str, *, hyphenated: bool) -> PersonTerm:
    def joined(forms: Mapping[str, str]) -> dict[str, str]:
        return {slot: front + (form if hyphenated else form.lower()) for slot, form in forms.items()}

    return PersonTerm(joined(person.male), joined(person.female), person.kind, person.role)


@lru_cache(maxsize=1)
def german_lexicon() -> PersonLexicon:
    """The bundled lexicon."""
    forms: dict[str, tuple[PersonReading, ...]] = {}
    persons = [(term_from_row(row), row.get("side", "")) for row in _rows("persons", "one_way_persons")]
    adjectival = {stem: adjectival_term(stem) for stem in word_classes()["adjectival nouns"]}
    adjectival["Beamt"] = adjectival_term("Beamt")
    forms.update(_feminine_nouns(adjectival["Beamt"]))
    for person, side in persons:
        for form, reading in _readings(person, side):
            forms[form] = (*forms.get(form, ()), reading)
    names = [_name(male, female) for male, female in _names()]
    name_forms = {form for person in names for form in (person.male["Nm"], person.female["Nf"])}
    for person in names:
        for form, reading in _readings(person):
            if form in name_forms and "Nm" not in reading.slots and "Nf" not in reading.slots:
                continue
            if form not in forms and not (form.endswith("e") and reading.slots == {"Dm"}):
                forms[form] = (reading,)
    return PersonLexicon(
        forms=forms,
        adjectival=adjectival,
        names=frozenset(form for form, readings in forms.items() if readings[0].person.role is Role.NAME),
    )


def _feminine_nouns(person: PersonTerm) -> dict[str, tuple[PersonReading, ...]]:
    """The forms of *Beamtin*, which are not those of an adjective."""
    if "f" in person.adjectival:
        return {}
    return {
        form: (
            PersonReading(
                person,
                male=False,
                slots=frozenset(slot for slot, noun in person.female.items() if noun == form),
            ),
        )
        for form in set(person.female.values())
    }


def _official(stem: str) -> PersonTerm:
    """*Beamter*, who is declined like an adjective, beside *Beamtin*, who is not."""
    feminine = stem + "in"
    return PersonTerm(
        male=dict.fromkeys(ALL_SLOTS, stem),
        female=_with_cases("f", feminine, feminine, feminine) | _plural(feminine + "nen"),
        kind="f",
        role=Role.OCCUPATION,
        adjectival="m",
    )
