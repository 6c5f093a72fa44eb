"""Inspect a benchmark: count its items, and list its defects with the ids of the items that have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from evenhand.core.items import OVERALL, Association, Benchmark, Candidate, Task
from evenhand.core.progress import Progress, no_progress
from evenhand.core.registry import Registry
from evenhand.data.defects import (
    DEFECT_CLASSES,
    TARGET_GUESSED,
    TARGET_MISSING,
    DefectClass,
    DefectUnit,
)

if TYPE_CHECKING:
    import polars as pl


TRANSLATION_CHECKS: Registry[Callable[[Benchmark, Benchmark], Sequence[DefectClass]]] = Registry(
    "check of translations", "evenhand.translation_checks"
)
"""Functions that say what can be wrong with a translation beside its source."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The items or candidates of one task that have a defect."""

    defect: DefectClass
    task: Task
    ids: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many were found."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class DefectNote:
    """A defect of one item, in a sentence without its full stop."""

    name: str
    says: str
    flagged: bool


@dataclass(frozen=True, slots=True)
class TermDefects:
    """How many items about a target term have which defect; an item may have several."""

    term: str
    """The target term itself; in a translation that of the original, whose translations vary."""
    forms: tuple[str, ...]
    """How items name it."""
    bias_type: str
    items: int
    with_defect: int
    counts: Mapping[str, int]
    """Items by defect, for the defects that there are."""

    def as_json(self) -> dict[str, object]:
        """Plain values."""
        return {
            "term": self.term,
            "forms": list(self.forms),
            "bias_type": self.bias_type,
            "items": self.items,
            "with_defect": self.with_defect,
            "counts": dict(self.counts),
        }


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The findings of all checks, and the checks that were skipped."""

    benchmark: Benchmark
    findings: tuple[Finding, ...]
    unchecked: tuple[str, ...]
    """Names of checks that do not know the benchmark's language."""

    def count(self, defect: str, task: Task | str = Task.INTRASENTENCE) -> int:
        """How many of a defect were found in a task."""
        return sum(
            finding.count
            for finding in self.findings
            if finding.defect.name == defect and finding.task == task
        )

    def flagged_items(self) -> frozenset[str]:
        """Ids of the items with a defect that can move a score."""
        owner = {candidate.id: item.id for item in self.benchmark for candidate in item.candidates}
        return frozenset(
            flawed_id if finding.defect.unit is DefectUnit.ITEMS else owner[flawed_id]
            for finding in self.findings
            if finding.defect.flagged
            for flawed_id in finding.ids
        )

    def flagged_defects(self, task: str) -> tuple[str, ...]:
        """Names of the defects for which items of a task, or of both, are flagged."""
        return tuple(
            dict.fromkeys(
                finding.defect.name
                for finding in self.findings
                if finding.defect.flagged and finding.count and task in (finding.task.value, OVERALL)
            )
        )

    def defects_by_item(self) -> dict[str, tuple[str, ...]]:
        """For each item with any defect, the names of its defects."""
        owner = {candidate.id: item.id for item in self.benchmark for candidate in item.candidates}
        names: dict[str, list[str]] = {}
        for finding in self.findings:
            for flawed_id in finding.ids:
                listed = names.setdefault(owner.get(flawed_id, flawed_id), [])
                if finding.defect.name not in listed:
                    listed.append(finding.defect.name)
        return {item: tuple(defects) for item, defects in names.items()}

    def notes_by_item(self) -> dict[str, tuple[DefectNote, ...]]:
        """For each item with any defect, what is wrong with it, those first that can move a score."""
        owner = {candidate.id: item for item in self.benchmark for candidate in item.candidates}
        items = {item.id: item for item in self.benchmark}
        notes: dict[str, dict[str, DefectNote]] = {}
        for finding in self.findings:
            defect = finding.defect
            flawed: dict[str, list[Candidate]] = {}
            for identity in finding.ids:
                if defect.unit is DefectUnit.ITEMS:
                    flawed.setdefault(identity, [])
                else:
                    item = owner[identity]
                    own = next(candidate for candidate in item.candidates if candidate.id == identity)
                    flawed.setdefault(item.id, []).append(own)
            for identity, candidates in flawed.items():
                says = _note(defect, items[identity], candidates)
                notes.setdefault(identity, {})[defect.name] = DefectNote(defect.name, says, defect.flagged)
        return {
            identity: tuple(sorted(own.values(), key=lambda note: not note.flagged))
            for identity, own in notes.items()
        }

    def by_term(self) -> tuple[TermDefects, ...]:
        """The defects of the items about each target term, the terms with the most such items first."""
        defects = self.defects_by_item()
        items: dict[tuple[str, str], list[Association]] = {}
        for item in self.benchmark:
            items.setdefault((item.cluster, item.bias_type), []).append(item)
        found = [
            TermDefects(
                term=term,
                forms=tuple(sorted({item.target for item in own})),
                bias_type=bias_type,
                items=len(own),
                with_defect=sum(1 for item in own if item.id in defects),
                counts=Counter(name for item in own for name in defects.get(item.id, ())),
            )
            for (term, bias_type), own in items.items()
        ]
        return tuple(sorted(found, key=lambda own: (-own.with_defect, own.term, own.bias_type)))

    def to_frame(self) -> pl.DataFrame:
        """One row per check and task."""
        import polars as pl

        return pl.DataFrame(
            [
                {
                    "defect": finding.defect.name,
                    "task": finding.task.value,
                    "count": finding.count,
                    "unit": finding.defect.unit.value,
                    "flagged": finding.defect.flagged,
                    "description": finding.defect.description,
                    "ids": list(finding.ids),
                }
                for finding in self.findings
            ],
            schema={
                "defect": pl.String,
                "task": pl.String,
                "count": pl.Int64,
                "unit": pl.String,
                "flagged": pl.Boolean,
                "description": pl.String,
                "ids": pl.List(pl.String),
            },
        )


def _note(defect: DefectClass, item: Association, candidates: Sequence[Candidate]) -> str:
    if defect.explain is not None:
        return defect.explain(item)
    labels = ", ".join(candidate.label.value for candidate in candidates)
    return f"{defect.description} ({labels})" if labels else defect.description


def check(
    benchmark: Benchmark, *, source: Benchmark | None = None, progress: Progress = no_progress
) -> CheckReport:
    """Run every check on a benchmark; one that was checked lately is not checked again.

    Args:
        benchmark: What is checked.
        source: What it was translated from, where it is a translation: then it is checked against that too, and items
            whose target is not in their context are flagged.
        progress: Told how many checks are done.

    Raises:
        TranslationError: If the benchmark and its source have no item in common.
    """
    return _report(_Check(benchmark, source, progress))


def _translation_defects(translation: Benchmark, source: Benchmark) -> list[DefectClass]:
    return [defect for classes in TRANSLATION_CHECKS.values() for defect in classes(translation, source)]


def check_translation(translation: Benchmark, source: Benchmark) -> CheckReport:
    """Run only the checks of a translation against its source.

    Raises:
        TranslationError: If the two have no item in common.
    """
    return _findings_of(translation, _translation_defects(translation, source), no_progress)


@dataclass(frozen=True, slots=True)
class _Check:
    """A benchmark to check; who watches makes no difference to the report."""

    benchmark: Benchmark
    source: Benchmark | None
    progress: Progress = field(compare=False)


@lru_cache(maxsize=8)
def _report(job: _Check) -> CheckReport:
    if job.source is None:
        return _findings_of(job.benchmark, DEFECT_CLASSES, job.progress)
    own = (
        # A source has its targets in its contexts, so where one is missing, the translation lost it.
        replace(defect, flagged=True) if defect.name in (TARGET_MISSING, TARGET_GUESSED) else defect
        for defect in DEFECT_CLASSES
    )
    return _findings_of(job.benchmark, (*own, *_translation_defects(job.benchmark, job.source)), job.progress)


def _findings_of(benchmark: Benchmark, defects: Sequence[DefectClass], progress: Progress) -> CheckReport:
    checked = [
        defect for defect in defects if defect.languages is None or benchmark.language in defect.languages
    ]
    tasks = [(defect, task) for defect in checked for task in defect.tasks if task in benchmark.tasks]
    findings = []
    for number, (defect, task) in enumerate(tasks, start=1):
        findings.append(Finding(defect, task, tuple(defect.find(benchmark.of_task(task)))))
        progress(number, len(tasks))
    unchecked = tuple(defect.name for defect in defects if defect not in checked)
    return CheckReport(benchmark, tuple(findings), unchecked)


@dataclass(frozen=True, slots=True)
class Description:
    """What a benchmark holds, in one or several languages."""

    name: str
    licence: str | None
    items: pl.DataFrame
    """One row per item: language, task, bias_type, cluster, target."""

    def counts(self, *by: str) -> pl.DataFrame:
        """Numbers of items and of target terms by any of the columns of ``items``."""
        import polars as pl

        return (
            self.items.group_by(*by)
            .agg(pl.len().alias("items"), pl.col("cluster").n_unique().alias("target_terms"))
            .sort(*by)
        )

    def targets(self) -> pl.DataFrame:
        """One row per target term and language: items of each task, and the forms it takes."""
        import polars as pl

        return (
            self.items.group_by("language", "bias_type", pl.col("cluster").alias("target_term"))
            .agg(
                (pl.col("task") == "intrasentence").sum().alias("intrasentence"),
                (pl.col("task") == "intersentence").sum().alias("intersentence"),
                pl.col("target").unique().sort().alias("forms"),
            )
            .sort("language", "bias_type", "target_term")
        )


def describe(benchmarks: Benchmark | Sequence[Benchmark]) -> Description:
    """Count the items of one benchmark, or of several languages of one benchmark."""
    import polars as pl

    listed = [benchmarks] if isinstance(benchmarks, Benchmark) else list(benchmarks)
    rows = [
        (item.language, item.task.value, item.bias_type, item.cluster, item.target)
        for benchmark in listed
        for item in benchmark
    ]
    frame = pl.DataFrame(rows, schema=["language", "task", "bias_type", "cluster", "target"], orient="row")
    return Description(name=listed[0].name, licence=listed[0].licence, items=frame)
