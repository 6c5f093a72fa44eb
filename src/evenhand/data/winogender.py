"""Winogender: pairs of sentences that differ in the pronoun only, and the share of women in each occupation.

``all_sentences.tsv`` has one row per sentence and the columns ``sentid`` and ``sentence``. A sentid such as
``technician.customer.1.male.txt`` names the occupation, the other participant, whom the pronoun means (0 the
occupation, 1 the participant) and the gender of the pronoun: male, female or neutral. Neutral sentences are not read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.items import Span
from evenhand.data.csv_files import CsvRow, read_table
from evenhand.data.datasets import PinnedDataset
from evenhand.data.layouts import DatasetLayout, dataset_path, load_dataset
from evenhand.data.records import has_fields

_REPOSITORY = "rudinger/winogender-schemas"
_COMMIT = "1c7f8b481ad8a234b41e9f76a424d6e856e13f7f"
_LICENCE = "MIT"

WINOGENDER = PinnedDataset(
    name="winogender",
    title="Winogender: 720 sentences on 60 occupations that differ in the pronoun (Rudinger et al. 2018)",
    licence=_LICENCE,
    language="en",
    repository=_REPOSITORY,
    commit=_COMMIT,
    path="data/all_sentences.tsv",
    git_blob_sha1="7cbb74bbefc0c2cf3ba199d9ca96b861073be624",
    used_by="probe --test cosine",
)
WINOGENDER_OCCUPATIONS = PinnedDataset(
    name="winogender-occupations",
    title="Share of women in the 60 occupations of Winogender (Rudinger et al. 2018)",
    licence=_LICENCE,
    language="en",
    repository=_REPOSITORY,
    commit=_COMMIT,
    path="data/occupations-stats.tsv",
    git_blob_sha1="f5ce6f35b10df1c3e28f4d05dccdc247a871acd7",
    used_by="probe --shares",
    option="--shares",
)

EMPLOYED = "bls_pct_female"
"""The share of women among those employed, from the US Bureau of Labor Statistics, 2015 or 2016."""
WRITTEN = "bergsma_pct_female"
"""The share of female pronouns that go with the word in text, from Bergsma and Lin (2006)."""

MALE, FEMALE, NEUTRAL = "male", "female", "neutral"

_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class PronounPair:
    """Two sentences that differ in the pronoun only, and the position of the occupation in them."""

    occupation: str
    participant: str
    answer: str
    male: str
    female: str
    male_span: Span
    female_span: Span

    @property
    def id(self) -> str:
        """As in a sentid, without the gender."""
        return f"{self.occupation}.{self.participant}.{self.answer}"

    @property
    def pronoun_comes_first(self) -> bool:
        """Whether the pronoun comes before the occupation."""
        return self.male[: self.male_span.start] != self.female[: self.female_span.start]


@dataclass(frozen=True, slots=True)
class PronounPairs:
    """The pairs of a file, in its order."""

    name: str
    pairs: tuple[PronounPair, ...]
    sha256: str

    @property
    def occupations(self) -> tuple[str, ...]:
        """Each occupation once."""
        return tuple(dict.fromkeys(pair.occupation for pair in self.pairs))


def load_pronoun_pairs(data: str | Path = WINOGENDER.name) -> PronounPairs:
    """Pairs of sentences by name or from a file.

    Args:
        data: ``winogender``, which is fetched when it is first used, or a TSV file in its layout.

    Raises:
        DatasetError: If the file cannot be read, or its rows break the layout.
        UnknownNameError: If there are no pairs of this name.
    """
    return load_dataset(data, kind=PronounPairs)


def read_pronoun_pairs(
    path: Path,
    *,
    language: str | None = None,  # noqa: ARG001 - the pronouns of a file are English
    name: str | None = None,
    licence: str | None = None,  # noqa: ARG001 - pairs have none of their own
) -> PronounPairs:
    """Read a file in the layout of Winogender's ``all_sentences.tsv``."""
    table = read_table(path, needed=("sentid", "sentence"))
    sentences: dict[tuple[str, str, str], dict[str, CsvRow]] = {}
    for row in table.rows:
        *key, gender = _parts(row)
        occupation, participant, answer = key
        variants = sentences.setdefault((occupation, participant, answer), {})
        if variants.setdefault(gender, row) is not row:
            raise DatasetError(
                f"{row.place}: the sentid {row['sentid']!r} occurs a second time. Remove a row."
            )
    pairs = [_pair(key, variants) for key, variants in sentences.items() if not set(variants) <= {NEUTRAL}]
    if not pairs:
        raise DatasetError(
            f"{path} has no sentence with a male or a female pronoun. Pairs of both are compared."
        )
    return PronounPairs(name=name or path.name, pairs=tuple(pairs), sha256=table.sha256)


def occupation_shares(
    data: str | Path = WINOGENDER_OCCUPATIONS.name, *, column: str = EMPLOYED
) -> Mapping[str, float]:
    """The share of women in each occupation, in percent.

    Args:
        data: ``winogender-occupations``, which is fetched when it is first used, or a file with the column
            ``occupation`` and a column of shares; TSV or CSV, as its name says.
        column: Which shares: ``EMPLOYED``, ``WRITTEN``, or another column of the file.
    """
    table = read_table(dataset_path(data, kind=Mapping), needed=("occupation", column))
    shares: dict[str, float] = {}
    for row in table.rows:
        occupation = row["occupation"]
        if not occupation or occupation in shares:
            problem = f"{occupation!r} occurs a second time" if occupation else "no occupation in this row"
            raise DatasetError(f"{row.place}: {problem}. Every occupation has one row.")
        shares[occupation] = _share(row, column)
    return MappingProxyType(shares)


def _parts(row: CsvRow) -> tuple[str, str, str, str]:
    """Occupation, participant, answer and gender of a sentid."""
    parts = row["sentid"].removesuffix(".txt").split(".")
    if len(parts) != 4 or not all(parts):
        raise DatasetError(
            f"{row.place}: the sentid {row['sentid']!r} is not of the form occupation.participant.answer.gender.txt, "
            "such as technician.customer.1.male.txt."
        )
    occupation, participant, answer, gender = parts
    if answer not in ("0", "1"):
        raise DatasetError(
            f"{row.place}: {answer!r} is no answer. It is 0 where the pronoun means the occupation, and 1 where "
            "it means the participant."
        )
    if gender not in (MALE, FEMALE, NEUTRAL):
        raise DatasetError(
            f"{row.place}: {gender!r} is no gender of a sentid. It is {MALE}, {FEMALE} or {NEUTRAL}."
        )
    return occupation, participant, answer, gender


def _pair(key: tuple[str, str, str], variants: Mapping[str, CsvRow]) -> PronounPair:
    missing = [gender for gender in (MALE, FEMALE) if gender not in variants]
    if missing:
        row = next(row for gender, row in variants.items() if gender != NEUTRAL)
        raise DatasetError(
            f"{row.place}: {row['sentid']!r} has no {missing[0]} counterpart. "
            f"Give {'.'.join(key)}.{missing[0]}.txt, or remove the row."
        )
    occupation, participant, answer = key
    male, female = variants[MALE], variants[FEMALE]
    spans = [_span(row, occupation) for row in (male, female)]
    _refuse_other_differences(male, female)
    return PronounPair(
        occupation=occupation,
        participant=participant,
        answer=answer,
        male=male["sentence"],
        female=female["sentence"],
        male_span=spans[0],
        female_span=spans[1],
    )


def _span(row: CsvRow, occupation: str) -> Span:
    places = [
        Span(*match.span())
        for match in re.finditer(rf"(?<!\w){re.escape(occupation)}(?!\w)", row["sentence"], re.IGNORECASE)
    ]
    if len(places) != 1:
        frequency = "does not occur" if not places else f"occurs {len(places)} times"
        raise DatasetError(
            f"{row.place}: the occupation {occupation!r} {frequency} in {row['sentence']!r}. Its vector is compared, "
            "so it must occur once."
        )
    return places[0]


def _refuse_other_differences(male: CsvRow, female: CsvRow) -> None:
    tokens = [_TOKEN.findall(row["sentence"]) for row in (male, female)]
    differing = [(one, other) for one, other in zip(*tokens, strict=False) if one != other]
    if len(tokens[0]) != len(tokens[1]) or len(differing) != 1:
        differences = shortlist((f"{one}/{other}" for one, other in differing), 3) or "nothing"
        raise DatasetError(
            f"{female.place}: the sentence differs from that of {male['sentid']!r} in {differences}. A pair differs in "
            "the pronoun and in nothing else."
        )


def _share(row: CsvRow, column: str) -> float:
    try:
        share = float(row[column])
    except ValueError:
        share = math.nan
    if not 0 <= share <= 100:
        raise DatasetError(
            f"{row.place}: {row[column]!r} is no share of women. It is in percent, from 0 to 100."
        )
    return share


WINOGENDER_LAYOUT = DatasetLayout(
    name="winogender",
    description="sentences that differ in the pronoun",
    kind=PronounPairs,
    suffixes=(".tsv", ".csv"),
    recognises=has_fields("sentid", "sentence"),
    read=read_pronoun_pairs,
    datasets=(WINOGENDER,),
    fields=("sentid", "sentence"),
)

OCCUPATION_SHARES_LAYOUT = DatasetLayout(
    name="occupation-shares",
    description="shares of women in occupations",
    kind=Mapping,
    suffixes=(".tsv", ".csv"),
    recognises=has_fields("occupation", EMPLOYED),
    read=lambda path, **_: occupation_shares(path),
    datasets=(WINOGENDER_OCCUPATIONS,),
    fields=("occupation", EMPLOYED),
)
