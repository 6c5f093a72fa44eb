"""Target pairs: texts of known regard, each told of two groups, which a trigger makes likelier or less likely.

They are read from a table, from the folders in which published targets lie, or from annotated texts about a person,
and parted into those that a search sees and those that it is judged by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from evenhand.core.counts import plural
from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.files import sha256_of
from evenhand.data.csv_files import CsvRow, read_table
from evenhand.regard.persons import PersonPair, person_words, shipped_pairs
from evenhand.regard.texts import RegardTexts, read_plain_texts
from evenhand.text.swappers import Rejected

Sides = tuple[str, str]
"""Something of the first group and of the second."""

CONTEXT_WORDS = 2
"""A text that names no context has its first words for one: *worked as*, *was known*."""

JUDGED_SHARE = 1 / 3
"""Of the pairs that a search does not see."""

FEWEST_CONTEXTS = 3
"""With fewer, whole contexts cannot be held out."""


class TargetRegard(StrEnum):
    """How a text makes others think of the person in it."""

    NEGATIVE = "negative"
    NEUTRAL = "neutral"
    POSITIVE = "positive"


_CODES = {"-1": TargetRegard.NEGATIVE, "0": TargetRegard.NEUTRAL, "1": TargetRegard.POSITIVE}


@dataclass(frozen=True, slots=True)
class TargetPair:
    """A text of known regard, told of two groups.

    Attributes:
        id: What tells it from others.
        regard: Of both texts.
        context: What the text is about, such as *worked as*; texts of one context are alike.
        prompts: How the texts begin: *The woman*, *The man*. They name the groups, and are not scored.
        texts: What follows the prompts.
    """

    id: str
    regard: TargetRegard
    context: str
    prompts: Sides
    texts: Sides

    def whole(self, side: int) -> str:
        """The prompt and the text of one side."""
        return f"{self.prompts[side]} {self.texts[side]}"


@dataclass(frozen=True)
class TargetSet:
    """Target pairs, and where they come from.

    Attributes:
        name: Of the file.
        pairs: In the order of the file.
        left_out: Texts that could not be used, counted by reason.
    """

    name: str
    pairs: tuple[TargetPair, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_missing_regard(self.pairs, self.name, left_out=self.left_out)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def sha256(self) -> str:
        """Of all that a search reads."""
        return sha256_of("\n".join(map(repr, self.pairs)).encode())

    @property
    def groups(self) -> tuple[Sides, ...]:
        """The prompts of the groups that are compared, each two once."""
        return tuple(dict.fromkeys(pair.prompts for pair in self.pairs))

    def having(self, pairs: Iterable[TargetPair]) -> TargetSet:
        """The same with some of the pairs only."""
        return replace(self, pairs=tuple(pairs))


def refuse_missing_regard(
    pairs: Sequence[TargetPair], name: str, *, left_out: Mapping[str, int] | None = None
) -> None:
    """Refuse pairs of which none has a certain regard: what a trigger is to do would not be defined."""
    missing = [regard.value for regard in TargetRegard if not any(pair.regard is regard for pair in pairs)]
    if missing:
        reasons = f" {left_out_words(left_out)}" if left_out else ""
        raise DatasetError(
            f"{name} has {plural(len(pairs), 'target pair')}, and none that is {' or '.join(missing)}. A search needs "
            f"pairs of negative, neutral and positive regard.{reasons} Add some."
        )


def left_out_words(left_out: Mapping[str, int]) -> str:
    """How many texts were not used, and why, in a sentence."""
    total = sum(left_out.values())
    reasons = "; ".join(f"{reason} ({count:,})" for reason, count in left_out.items())
    return f"{total:,} {'text was' if total == 1 else 'texts were'} not used: {reasons}."


def read_targets(path: str | Path, *, language: str) -> TargetSet:
    """Target pairs of a table, or of a folder of published targets.

    A table has the columns ``regard``, ``first`` and ``second``: the regard by name or as -1, 0 or 1, and the text of
    either group. It may have ``first_prompt`` and ``second_prompt``, which are *The woman* and *The man* if not given,
    and ``context`` and ``id``. A text that begins with its prompt is taken without it.

    A folder has ``negative``, ``neutral`` and ``positive``, each with ``FEMALE_negative_regard.txt`` and
    ``MALE_negative_regard.txt``: the same texts line by line.

    Args:
        path: The file or folder.
        language: Of the texts, for prompts that are not given.

    Raises:
        DatasetError: If it cannot be read, is empty, or a text has no counterpart.
    """
    place = Path(path)
    if place.is_dir():
        return _from_folder(place, language=language)
    table = read_table(place, needed=("regard", "first", "second"))
    pairs = [_pair_of(row, number, language) for number, row in enumerate(table.rows, start=1)]
    twice = [name for name, count in Counter(pair.id for pair in pairs).items() if count > 1]
    if twice:
        raise DatasetError(
            f"{place} has the id {twice[0]!r} more than once. Give every pair an id of its own."
        )
    return TargetSet(place.name, tuple(pairs))


def _pair_of(row: CsvRow, number: int, language: str) -> TargetPair:
    own = [(row["first_prompt"], row["first"]), (row["second_prompt"], row["second"])]
    if not all(text for _, text in own):
        raise DatasetError(
            f"{row.place}: the text of the {'first' if not own[0][1] else 'second'} group is missing. A target is told "
            "of both groups, so that they can be compared. Write it, or remove the row."
        )
    named = [prompt for prompt, _ in own if prompt]
    if len(named) == 1:
        raise DatasetError(
            f"{row.place}: it has one prompt, {named[0]!r}. Give both groups a prompt, or neither."
        )
    prompts = (own[0][0], own[1][0]) if named else _shipped_prompts(language)
    if prompts[0] == prompts[1]:
        raise DatasetError(
            f"{row.place}: both prompts are {prompts[0]!r}. Two groups are compared; name two."
        )
    return _made_pair(
        row["id"] or str(number),
        _regard_named(row["regard"], row.place),
        prompts,
        (own[0][1], own[1][1]),
        context=row["context"],
    )


def _regard_named(label: str, place: str) -> TargetRegard:
    try:
        return _CODES.get(label) or TargetRegard(label.lower())
    except ValueError:
        raise DatasetError(
            f"{place}: {label!r} is no regard. Write negative, neutral or positive, or -1, 0 or 1."
        ) from None


def _made_pair(
    id_: str, regard: TargetRegard, prompts: Sides, texts: Sides, *, context: str = ""
) -> TargetPair:
    first, second = (
        text.strip().removeprefix(prompt).strip() for text, prompt in zip(texts, prompts, strict=True)
    )
    return TargetPair(
        id_, regard, context or " ".join(first.split()[:CONTEXT_WORDS]), prompts, (first, second)
    )


def _shipped_prompts(language: str) -> Sides:
    (pair,) = shipped_pairs(language)
    return pair.first.words, pair.second.words


def _from_folder(folder: Path, *, language: str) -> TargetSet:
    prompts = _shipped_prompts(language)
    pairs: list[TargetPair] = []
    for regard in TargetRegard:
        files = [folder / regard / f"{side}_{regard}_regard.txt" for side in ("FEMALE", "MALE")]
        missing = [file for file in files if not file.is_file()]
        if missing:
            raise DatasetError(
                f"{folder} has no file {missing[0].relative_to(folder)}. A folder of targets has the folders negative, "
                "neutral and positive, each with FEMALE_..._regard.txt and MALE_..._regard.txt; or give a CSV file."
            )
        sides = [read_plain_texts(file) for file in files]
        if len(sides[0]) != len(sides[1]):
            raise DatasetError(
                f"{files[0]} has {len(sides[0]):,} texts and {files[1].name} {len(sides[1]):,}. They are pairs line by "
                "line, so both need the same number."
            )
        pairs += [
            _made_pair(f"{regard}-{number}", regard, prompts, texts)
            for number, texts in enumerate(zip(*sides, strict=True), start=1)
        ]
    return TargetSet(folder.name, tuple(pairs))


def targets_from_annotations(
    texts: RegardTexts, *, language: str, persons: Sequence[PersonPair] | None = None
) -> TargetSet:
    """Target pairs of annotated texts about a person, *The person worked as ...*, told of two persons.

    Of several annotators only texts are taken that at least two labelled, and all alike, as published; labels of a
    single annotator are taken as they are. A text that cannot be told of both with certainty is left out, and counted.

    Args:
        texts: With votes.
        language: Of the texts.
        persons: Whom texts are told of, one target pair per text for each two; a woman and a man if not given.

    Raises:
        DatasetError: If too few texts are left.
    """
    told = tuple(persons or shipped_pairs(language))
    words = person_words(language)
    settled = texts.unanimous if texts.votes.shape[1] > 1 else texts.labels >= 0
    left_out: Counter[str] = Counter()
    pairs = []
    for number, text in enumerate(texts.rows.texts):
        if not settled[number]:
            left_out["annotators do not agree"] += 1
            continue
        code = texts.classes[int(texts.labels[number])]
        if code not in _CODES:
            raise UnknownNameError("regard", code, _CODES)
        for own in told:
            versions = words.versions(text, own)
            if isinstance(versions, Rejected):
                left_out[versions.reason] += 1
                break
            id_ = str(number) if len(told) == 1 else f"{own.name}-{number}"
            pairs.append(_made_pair(id_, _CODES[code], _prompts_of(own), versions))
    return TargetSet(texts.name, tuple(pairs), dict(left_out))


def _prompts_of(pair: PersonPair) -> Sides:
    return pair.first.words, pair.second.words


@dataclass(frozen=True, slots=True)
class TargetSplit:
    """The pairs that a search sees, and those that it is judged by."""

    search: TargetSet
    judged: TargetSet
    by_context: bool
    """Whether no context is in both; otherwise there were too few, and pairs were drawn."""


def split_targets(targets: TargetSet, *, seed: int) -> TargetSplit:
    """Hold out about a third of the pairs: whole contexts if possible, otherwise a third of each regard.

    Args:
        targets: All pairs.
        seed: Of the choice; it depends on nothing else.

    Raises:
        DatasetError: If a regard has a single pair, so that it cannot be in both parts.
    """
    generator = np.random.default_rng(seed)
    whole = _held_out_contexts(targets.pairs, generator)
    judged = whole or _held_out_pairs(targets, generator)
    return TargetSplit(
        search=targets.having(pair for pair in targets.pairs if pair.id not in judged),
        judged=targets.having(pair for pair in targets.pairs if pair.id in judged),
        by_context=bool(whole),
    )


def _held_out_contexts(pairs: Sequence[TargetPair], generator: np.random.Generator) -> set[str]:
    """Pairs of some contexts, such that both parts have every regard; none if there is no such choice."""
    contexts = sorted({pair.context for pair in pairs})
    if len(contexts) < FEWEST_CONTEXTS:
        return set()
    remaining, judged = list(pairs), list[TargetPair]()
    for number in generator.permutation(len(contexts)):
        if len(judged) >= JUDGED_SHARE * len(pairs) and _has_all(judged):
            break
        own = [pair for pair in remaining if pair.context == contexts[number]]
        others = [pair for pair in remaining if pair.context != contexts[number]]
        if _has_all(others) and len(judged) + len(own) <= len(pairs) / 2:
            remaining, judged = others, judged + own
    return {pair.id for pair in judged} if _has_all(judged) else set()


def _held_out_pairs(targets: TargetSet, generator: np.random.Generator) -> set[str]:
    judged: set[str] = set()
    for regard in TargetRegard:
        own = [pair.id for pair in targets.pairs if pair.regard is regard]
        if len(own) < 2:
            raise DatasetError(
                f"{targets.name} has one target pair of {regard} regard. One is needed to search with and another to "
                "judge by. Add some."
            )
        count = max(1, int(JUDGED_SHARE * len(own)))
        judged |= {own[place] for place in generator.permutation(len(own))[:count]}
    return judged


def _has_all(pairs: Sequence[TargetPair]) -> bool:
    return {pair.regard for pair in pairs} == set(TargetRegard)
