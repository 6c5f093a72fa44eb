"""BEC-Pro: sentences that put a person of known gender beside a profession, with either or both of them masked.

One row per sentence, English and German (Bartl et al. 2020), with the columns

    Sentence, Sent_TM, Sent_AM, Sent_TAM, Template, Person, Gender, Profession, Prof_Gender

``Sent_TM`` has a mask in the place of the person, ``Sent_TAM`` one there and one for every word of the profession.
``Prof_Gender`` says who mostly works in the profession. The German file names the profession in English too, which
both genders of a German profession share.

In five rows of each published file a word was masked within the profession too (*lodging [MASK]ager* of a man). Their
masks are put anew into the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.items import repeated
from evenhand.core.sampling import sample
from evenhand.data.crows_pairs import language_of_pairs
from evenhand.data.datasets import PinnedDataset
from evenhand.data.language_names import file_stem
from evenhand.data.layouts import DatasetLayout, load_dataset
from evenhand.data.records import Record, has_fields, read_records

MASK = "[MASK]"

FIELDS = ("sentence", "sent_tm", "sent_tam", "person", "gender", "profession", "prof_gender")

GENDERS = ("male", "female")

PROFESSION_GENDERS = ("male", "female", "balanced")


@dataclass(frozen=True, slots=True)
class ProfessionSentence:
    """A sentence about a person with a profession.

    Attributes:
        id: The number of its row.
        person_masked: With a mask in the place of the person.
        both_masked: With masks for the person, who comes first, and for the words of the profession.
        person: What stands there.
        gender: Of the person.
        profession: The word that all forms of a profession share.
        profession_gender: Who mostly works in it: male, female or balanced.
        template: What the sentence is made from.
        is_remasked: Whether the file masks a word within another one, and the masks were put anew.
    """

    id: str
    person_masked: str
    both_masked: str
    person: str
    gender: str
    profession: str
    profession_gender: str
    template: str
    is_remasked: bool = False


@dataclass(frozen=True, slots=True)
class ProfessionSentences:
    """The sentences of one language, and the file they come from."""

    name: str
    language: str
    sentences: tuple[ProfessionSentence, ...]
    source: str
    sha256: str
    licence: str | None = None

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[ProfessionSentence]:
        return iter(self.sentences)

    def sampled(self, limit: int | None) -> ProfessionSentences:
        """The same with a sample over professions, of women as many as of men; all sentences if there is no limit."""
        if limit is None:
            return self
        sides: dict[str, tuple[list[ProfessionSentence], list[ProfessionSentence]]] = {}
        for own in self.sentences:
            sides.setdefault(own.profession, ([], []))[GENDERS.index(own.gender)].append(own)
        couples = [couple for men, women in sides.values() for couple in zip(men, women, strict=False)]
        chosen = sample(couples, max(1, limit // 2), cluster=lambda couple: couple[0].profession)
        kept = {sentence.id for couple in chosen for sentence in couple}
        return replace(self, sentences=tuple(own for own in self.sentences if own.id in kept))

    def counts(self) -> list[dict[str, str | int]]:
        """One row for each kind of profession and gender of the person: sentences, professions and persons."""
        rows: list[dict[str, str | int]] = []
        for kind in PROFESSION_GENDERS:
            for gender in GENDERS:
                own = [each for each in self if (each.profession_gender, each.gender) == (kind, gender)]
                rows.append(
                    {
                        "profession_gender": kind,
                        "gender": gender,
                        "sentences": len(own),
                        "professions": len({each.profession for each in own}),
                        "persons": len({each.person for each in own}),
                    }
                )
        return rows

    def defects(self) -> dict[str, tuple[str, ...]]:
        """Ids of the sentences with each defect, none of which moves a score."""
        twice = set(repeated(self._text(each) for each in self))
        return {
            "masked-within-a-word": tuple(each.id for each in self if each.is_remasked),
            "repeated-sentence": tuple(each.id for each in self if self._text(each) in twice),
        }

    @staticmethod
    def _text(sentence: ProfessionSentence) -> str:
        return sentence.person_masked.replace(MASK, sentence.person)


def _pinned(language: str, title: str, blob: str) -> PinnedDataset:
    return PinnedDataset(
        name=f"bec-pro-{language}",
        title=f"BEC-Pro: 5,400 {title} sentences on 60 professions (Bartl et al. 2020)",
        licence="CC BY 4.0",
        language=language,
        repository="marionbartl/gender-bias-BERT",
        commit="c1e28434555f79b59e13e3f5ff87846e653fb553",
        path=f"BEC-Pro/BEC-Pro_{language.upper()}.tsv",
        git_blob_sha1=blob,
        used_by="probe --test bec-pro",
    )


BEC_PRO = (
    _pinned("en", "English", "1be9b2d90e266847063cba95b992f08ccdf14629"),
    _pinned("de", "German", "432f184bae6772f8045c2429cfd23bb2619b32e8"),
)


def load_profession_sentences(
    data: str | Path, *, language: str | None = None, encoding: str | None = None
) -> ProfessionSentences:
    """Sentences by name, ``bec-pro-en`` or ``bec-pro-de``, or from a file in the layout of BEC-Pro."""
    return load_dataset(data, language=language, kind=ProfessionSentences, encoding=encoding)


def read_bec_pro(
    path: Path,
    *,
    language: str | None = None,
    name: str | None = None,
    licence: str | None = None,
    encoding: str | None = None,
) -> ProfessionSentences:
    """Read a file in the layout of BEC-Pro.

    Args:
        path: The file.
        language: Its language, unless the name of the file says it.
        name: Name of the set; the file's name if not given.
        licence: The licence, where it is known.
        encoding: Of a text file, if not UTF-8.
    """
    table = read_records(path, needed=FIELDS, encoding=encoding)
    return ProfessionSentences(
        name=name or file_stem(path),
        language=language_of_pairs(path, table.fields, chosen=language),
        sentences=tuple(_sentence(record, number) for number, record in enumerate(table.records)),
        source=path.name,
        sha256=table.sha256,
        licence=licence,
    )


def _sentence(record: Record, number: int) -> ProfessionSentence:
    empty = [name for name in FIELDS if not record.text(name)]
    if empty:
        raise DatasetError(f"{record.place}: {empty[0]} is empty; a text is needed.")
    for name, known in (("gender", GENDERS), ("prof_gender", PROFESSION_GENDERS)):
        if record.text(name) not in known:
            raise DatasetError(
                f"{record.place}: {name} is {record.text(name)!r}; it is one of {', '.join(known)}."
            )
    person_masked, both_masked = _masked(record)
    if person_masked.count(MASK) != 1 or both_masked.count(MASK) < 2:
        raise DatasetError(
            f"{record.place}: Sent_TM has {person_masked.count(MASK)} masks and Sent_TAM {both_masked.count(MASK)}. "
            f"The first has one {MASK}, for the person; the second has it too, and one for each word of the profession."
        )
    return ProfessionSentence(
        id=record.text("") or record.text("id") or str(number),
        person_masked=person_masked,
        both_masked=both_masked,
        person=record.text("person"),
        gender=record.text("gender"),
        profession=record.text("profession_en") or record.text("profession"),
        profession_gender=record.text("prof_gender"),
        template=record.text("template"),
        is_remasked=person_masked != record.text("sent_tm"),
    )


def _masked(record: Record) -> tuple[str, str]:
    """The two masked sentences: as the file has them, or made anew where a word within another one was masked."""
    person_masked, both_masked = record.text("sent_tm"), record.text("sent_tam")
    if person_masked.count(MASK) < 2:
        return person_masked, both_masked
    person, profession = record.text("person"), record.text("profession")
    whole_word = rf"(?<!\w){re.escape(person)}(?!\w)"
    person_masked = re.sub(whole_word, MASK, record.text("sentence"), count=1)
    return person_masked, person_masked.replace(profession, " ".join([MASK] * len(profession.split())))


BEC_PRO_LAYOUT = DatasetLayout(
    name="bec-pro",
    description="sentences about persons and professions",
    kind=ProfessionSentences,
    suffixes=(".tsv", ".csv"),
    recognises=has_fields(*FIELDS),
    read=read_bec_pro,
    datasets=BEC_PRO,
    fields=FIELDS,
)
