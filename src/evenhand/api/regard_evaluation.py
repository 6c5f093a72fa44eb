"""Evaluate texts about groups: label them where they are not, put people's labels beside, analyse, keep the run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from evenhand.api.measure import kept
from evenhand.core.errors import EvenhandError, how_to_install
from evenhand.core.progress import SILENT, Monitor
from evenhand.data.group_text_files import UNKNOWN_LANGUAGE
from evenhand.data.group_texts import GroupTexts
from evenhand.instruments.regard.analysis import RegardAnalysisOptions
from evenhand.instruments.regard.content import ContentFiles, ContentLists
from evenhand.instruments.regard.evaluation import RegardEvaluation
from evenhand.regard.classifier import open_classifier
from evenhand.regard.labelling import add_labelled_sample, describe_classifier, label_group_texts
from evenhand.regard.texts import RegardTexts
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class RegardEvaluationOptions:
    """How texts about groups are labelled and analysed.

    Attributes:
        classifier: Folder of the classifier that labels texts without a label.
        labelled: A random sample of the texts with people's votes, which carries the classifier's error through.
        content: Own lexicon, occupations and reviewed matches; what ships in the language of the texts if not given.
        margin: The largest gap that is called no difference, in points.
        resampling: Resamples, seed and confidence level.
    """

    classifier: str | Path | None = None
    labelled: RegardTexts | None = None
    content: ContentFiles = field(default_factory=ContentFiles)
    margin: float = 5.0
    resampling: Resampling = field(default_factory=Resampling)


def evaluate_regard(
    texts: GroupTexts,
    options: RegardEvaluationOptions | None = None,
    *,
    name: str | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> Run:
    """How texts speak of groups: shares of labels, gaps, intervals and tests.

    Args:
        texts: Texts about two groups or more; ``read_group_texts`` reads files of them.
        options: How they are labelled and analysed.
        name: Name of the run; that of the texts if not given.
        out: Folder for the run folder; nothing is kept without it.
        fresh: Replace another run in its place.
        monitor: Told what is worth knowing.
    """
    chosen = options or RegardEvaluationOptions()
    if texts.unlabelled and chosen.classifier is None:
        raise EvenhandError(
            f"{texts.unlabelled:,} of {len(texts):,} texts have no label. Name the column of labels with --label, or "
            "give a classifier that labels them with --classifier."
        )
    classifier = None if chosen.classifier is None else open_classifier(chosen.classifier)
    if classifier is not None:
        texts = label_group_texts(texts, classifier)
    analysis = RegardAnalysisOptions(
        margin=chosen.margin,
        classifier=None if classifier is None else describe_classifier(classifier).about(texts.persons),
        resampling=chosen.resampling,
    )
    if chosen.labelled is not None:
        sampled = add_labelled_sample(texts, chosen.labelled, classifier)
        texts = replace(sampled.texts, warnings=(*texts.warnings, *sampled.warnings))
        analysis = replace(analysis, other_texts=sampled.other_texts)
    preparation = RegardEvaluation(
        texts, analysis, name=name, lists=_lists(texts.language, chosen.content, monitor)
    )
    return kept(preparation, out=None if out is None else Path(out), fresh=fresh, monitor=monitor)


def _lists(language: str, files: ContentFiles, monitor: Monitor) -> ContentLists | None:
    """What is looked for in the texts; nothing where lemmas cannot be had and no list was asked for."""
    if files == ContentFiles() and find_spec("simplemma") is None:
        monitor.note(
            "Lexicons and occupations are left out, because simplemma is not installed. "
            f"{how_to_install('regard')}"
        )
        return None
    lists = ContentLists.load(language, files)
    if language == UNKNOWN_LANGUAGE and lists.lexicon is None and lists.occupations is None:
        monitor.warn(
            "Lexicons and occupations are left out, because the language of the texts is not known. Name it with "
            "--language."
        )
    return lists
