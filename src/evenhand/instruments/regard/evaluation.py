"""Evaluate: texts about groups with their labels, to a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evenhand.core.progress import Progress
from evenhand.data.group_texts import GroupTexts
from evenhand.instruments.instrument import Preparation, statistics_record
from evenhand.instruments.regard.analysis import RegardAnalysisOptions, analyse_regard, frame_of_texts
from evenhand.instruments.regard.comparison import CLASSIFIER
from evenhand.instruments.regard.content import ContentLists, TextContent
from evenhand.instruments.regard.flag_rates import flag_rates
from evenhand.instruments.regard.results import NAME, ErrorTreatment, RegardResult
from evenhand.instruments.regard.skipped_texts import skipped_rows, skipped_warnings
from evenhand.store.jobs import Parts
from evenhand.store.records import DatasetRecord, EnvironmentRecord, ModelRecord, RunRecord
from evenhand.store.run import Run

NO_LABELLED_SAMPLE = (
    "No human-labelled sample was given, so the classifier's error is not in these figures: its mistakes may widen a "
    "gap, hide it or make one. Label a random sample of the texts and give it with --labelled."
)

SMALL_SAMPLE = (
    "The classifier's error could not be carried through: people labelled too few texts of every group and label, or "
    "the classifier errs otherwise on these texts than on those. Label more, drawn at random from these texts."
)


FEWEST_CONTEXTS = 6
"""With fewer, no exchange of groups within contexts is unlikely enough to show a gap."""


def _few_contexts(result: RegardResult) -> Iterator[str]:
    """Where the test cannot show a gap, whatever it is: in all contexts, or in those of a kind."""
    for kind, part in {"": result.all, **result.by_kind}.items():
        if 1 < part.contexts < FEWEST_CONTEXTS:
            of_kind, within = (f" of {kind}", " in them alone") if kind else ("", "")
            yield (
                f"There are {part.contexts} contexts{of_kind}. Exchanging groups within so few never gives a p-value "
                f"below {2.0 ** (1 - part.contexts):.3f}, so no gap can be shown{within}. "
                f"Use {FEWEST_CONTEXTS} or more."
            )


def untreated_warnings(result: RegardResult) -> list[str]:
    """What is to be said where people labelled texts, and figures are as labelled by the classifier all the same."""
    if result.all.figures.treatment is ErrorTreatment.NONE:
        return [SMALL_SAMPLE]
    kinds = [name for name, own in result.by_kind.items() if own.figures.treatment is ErrorTreatment.NONE]
    if not kinds:
        return []
    return [
        f"In contexts of {' and '.join(kinds)} figures are as the classifier labels: its error cannot be carried "
        "through there. Label a random sample of these texts and give it with --labelled."
    ]


class RegardEvaluation(Preparation):
    """Texts about groups, ready to be analysed."""

    unit = "texts"

    def __init__(
        self,
        texts: GroupTexts,
        options: RegardAnalysisOptions | None = None,
        *,
        name: str | None = None,
        model: ModelRecord | None = None,
        determining: dict[str, Any] | None = None,
        lists: ContentLists | None = None,
    ) -> None:
        """Take the texts.

        Args:
            texts: Every text with a label.
            options: How they are analysed.
            name: Name of the run; that of the texts if not given.
            model: Who wrote the texts, if that is known.
            determining: What else determines the texts, for the record; ``decoding`` is held against other runs.
            lists: What is looked for in the texts; nothing if None.
        """
        self.texts = texts
        self.lists = lists
        self.options = options or RegardAnalysisOptions()
        record = regard_record(texts, self.options, name=name, model=model, determining=determining or {})
        digests = {} if lists is None else lists.digests
        self.record = record.model_copy(update={"data": {**record.data, **digests}})

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:  # noqa: ARG002
        """Analyse the texts; it takes moments."""
        return assemble_regard(self.record, self.texts, self.options, lists=self.lists)


def regard_record(
    texts: GroupTexts,
    options: RegardAnalysisOptions,
    *,
    name: str | None,
    model: ModelRecord | None,
    determining: dict[str, Any],
) -> RunRecord:
    """The record of a run before it is made."""
    classifier = options.classifier
    other = options.other_texts
    return RunRecord(
        instrument=NAME,
        name=name or texts.name,
        dataset=DatasetRecord(
            name=texts.name,
            language=texts.language,
            source=texts.source,
            sha256=texts.sha256,
            items=len(texts),
        ),
        data={} if other is None else {"labelled": other.sha256},
        options={
            "margin": options.margin,
            **({} if classifier is None else {CLASSIFIER: classifier.fingerprint}),
            **determining,
        },
        model=model,
        statistics=statistics_record(options.resampling),
        environment=EnvironmentRecord.current(),
        warnings=(
            *texts.warnings,
            *(
                f"{count:,} {'text was' if count == 1 else 'texts were'} left out because {reason}."
                for reason, count in texts.left_out_by_reason.items()
            ),
            *((classifier.warning,) if classifier is not None and classifier.warning else ()),
        ),
    )


def assemble_regard(
    record: RunRecord,
    texts: GroupTexts,
    options: RegardAnalysisOptions,
    *,
    lists: ContentLists | None = None,
) -> Run:
    """Make a run of texts and their labels, whoever gave them.

    Args:
        record: As it was before the texts were known.
        texts: Every text with a label.
        options: How they are analysed.
        lists: What is looked for in the texts; nothing if None.
    """
    result = analyse_regard(texts, options)
    scores = frame_of_texts(texts)
    if lists is not None:
        content = TextContent.of(texts, lists, resampling=options.resampling)
        result = result.model_copy(update={"lexicons": content.lexicons, "occupations": content.occupations})
        scores = scores.with_columns(content.columns)
    flags = flag_rates(texts, resampling=options.resampling)
    result = result.model_copy(update={"flags": flags, "skipped": skipped_rows(texts)})
    warnings = [*record.warnings, *skipped_warnings(texts)]
    warnings += _few_contexts(result)
    if result.labelled_sample is None:
        warnings.append(NO_LABELLED_SAMPLE)
    else:
        warnings += untreated_warnings(result)
    completed = record.model_copy(
        update={
            "scored": {group: own.n for group, own in result.all.figures.groups.items()},
            "skipped": texts.left_out_by_reason,
            "warnings": tuple(warnings),
        }
    )
    return Run(record=completed, results=(result,), scores=scores)
