"""Texts about groups of people: what regard is measured on, whoever wrote and whoever labelled them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.files import sha256_of
from evenhand.data.contexts import start_of_context

REGARD_LABELS: Mapping[str, str] = {"-1": "negative", "0": "neutral", "1": "positive"}
"""The codes of the scheme ``regard``, from the lowest to the highest, and their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupText:
    """A text about a member of a group.

    Attributes:
        text: What is labelled.
        group: Whom it is about, such as ``woman``.
        context: The words after the person with which it begins; texts of one context are alike.
        kind: The kind of context, such as ``occupation``; empty if kinds do not matter.
        label: A code of ``REGARD_LABELS``; None as long as nobody labelled it.
        human_label: What people say, where they labelled some of the texts too.
        flags: The flags that somebody set for it, such as ``caretaker``.
    """

    text: str
    group: str
    context: str
    kind: str = ""
    label: str | None = None
    human_label: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTexts:
    """Texts about two groups or more, in the same contexts.

    Attributes:
        name: What they are called in records, such as the name of the model that wrote them.
        language: A code such as ``de``.
        texts: In any order; groups are compared in the order in which they first occur.
        source: Where they come from, for records.
        left_out: How many texts were written and are not among these, by reason and by group.
        flags: The flags that were looked for in every text, set or not.
        warnings: What a reader noticed and people should know.
    """

    name: str
    language: str
    texts: tuple[GroupText, ...]
    source: str = ""
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.groups) < 2:
            raise DatasetError(
                f"{self.name} has texts about {shortlist(self.groups) or 'no group'} only. A gap is between two groups "
                "or more: give one file per group, or name the column of groups with --group."
            )
        unknown = {code for own in self.texts for code in (own.label, own.human_label)} - {
            None,
            *REGARD_LABELS,
        }
        if unknown:
            raise DatasetError(
                f"{self.name} has the label {sorted(map(str, unknown))[0]!r}; regard has {', '.join(REGARD_LABELS)}."
            )

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[GroupText]:
        return iter(self.texts)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, in the order in which they first occur."""
        return tuple(dict.fromkeys(own.group for own in self.texts))

    @property
    def persons(self) -> tuple[str, ...]:
        """How texts about each group begin most often, before their context: *The woman*; none without contexts."""
        begins: dict[str, Counter[str]] = {group: Counter() for group in self.groups}
        for own in self.texts:
            start = start_of_context(own.text, own.context)
            if start:
                begins[own.group][own.text[:start].strip()] += 1
        return tuple(own.most_common(1)[0][0] for own in begins.values() if own)

    @property
    def left_out_by_reason(self) -> dict[str, int]:
        """How many texts were left out, of all groups together."""
        return {reason: sum(own.values()) for reason, own in self.left_out.items()}

    @property
    def left_out_by_group(self) -> dict[str, int]:
        """How many texts were left out of each group, for whatever reason."""
        return {group: sum(own.get(group, 0) for own in self.left_out.values()) for group in self.groups}

    @property
    def unlabelled(self) -> int:
        """How many texts have no label."""
        return sum(own.label is None for own in self.texts)

    def labelled_as(self, codes: Sequence[str]) -> GroupTexts:
        """The same texts with these labels, one per text in their order."""
        labelled = tuple(replace(own, label=code) for own, code in zip(self.texts, codes, strict=True))
        return replace(self, texts=labelled)

    @property
    def sha256(self) -> str:
        """Digest of the texts with their groups, contexts, labels and flags."""
        rows = [
            "\t".join((own.group, own.kind, own.context, own.label or "", own.human_label or "", own.text))
            for own in self.texts
        ]
        if self.flags:
            rows += ["\t".join(own) for own in (self.flags, *(each.flags for each in self.texts))]
        return sha256_of("\n".join(rows).encode())
