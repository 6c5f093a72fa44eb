"""The classifier's own bias: the same texts about two groups, and what lowers a difference at which cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from evenhand.core.errors import DatasetError
from evenhand.core.estimates import Estimate
from evenhand.core.files import sha256_of
from evenhand.core.progress import SILENT, Monitor
from evenhand.regard.bias_check import MARGIN, BiasCheck, check_labelled_pairs
from evenhand.regard.classifier import RegardClassifier, open_classifier, write_check
from evenhand.regard.evaluation import HeldOutPredictions
from evenhand.regard.features import MissingEmbeddings
from evenhand.regard.fitting import ClassifierPlan, FittedClassifier, LabelledRows, prepare_fit, prepare_folds
from evenhand.regard.persons import (
    PersonPair,
    PersonTreatment,
    person_words,
    shipped_pairs,
    starter_file,
    versions_of,
)
from evenhand.regard.splits import Split
from evenhand.regard.texts import RegardTexts, read_regard_texts
from evenhand.stats.classification import balanced_accuracy, confusion_totals, estimate_measure
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import holm
from evenhand.store.classifier_records import ClassifierCheck, PairCheck
from evenhand.store.records import DatasetRecord, StatisticsRecord

FEWEST_PAIRS = 30
"""With fewer pairs nothing but the coarsest bias shows."""


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What a classifier is checked with.

    Attributes:
        texts: Texts about nobody in particular, which begin with *The person* or *Die Person*; the starter set of the
            classifier's language if not given.
        pairs: The persons to compare; woman and man if not given.
        margin: The largest gap that does not matter, in points.
        resampling: For sign flips, and the confidence level of the gap.
        device: Where networks of the classifier run: cpu, cuda, or auto for a GPU where there is one.
    """

    texts: tuple[str, ...] | None = None
    pairs: tuple[PersonPair, ...] | None = None
    margin: float = MARGIN
    resampling: Resampling = field(default_factory=Resampling)
    device: str = "auto"


def check_classifier(
    folder: str | Path, options: CheckOptions | None = None, *, monitor: Monitor = SILENT
) -> ClassifierCheck:
    """Check a classifier for a bias of its own, and mark its folder with the result."""
    chosen = options or CheckOptions()
    check = checked(open_classifier(folder, device=chosen.device), chosen, monitor=monitor)
    write_check(folder, check)
    return check


def checked(
    classifier: RegardClassifier, options: CheckOptions, *, monitor: Monitor = SILENT
) -> ClassifierCheck:
    """What a classifier makes of the same texts about two groups; nothing is written."""
    if isinstance(classifier.fitted.features, MissingEmbeddings):
        raise DatasetError(
            f"The classifier {classifier.record.name} takes embeddings that are computed elsewhere, so it cannot label "
            "texts about other persons. Label both versions of the texts yourself, and compare the files with: "
            "evenhand regard check --texts FILE FILE"
        )
    language = classifier.record.dataset.language
    texts, name = _texts(options, language)
    pairs = options.pairs or shipped_pairs(language)
    left_out: Counter[str] = Counter()
    results = []
    with monitor.stage("labelling pairs", "pairs of groups") as progress:
        for number, pair in enumerate(pairs):
            progress(number, len(pairs))
            results.append(_compared(classifier, texts, pair, options=options, left_out=left_out))
    return ClassifierCheck(
        classifier=classifier.record.fingerprint,
        texts=DatasetRecord(
            name=name,
            language=language,
            source=name,
            sha256=sha256_of("\n".join(texts).encode()),
            items=len(texts),
        ),
        left_out=dict(left_out),
        margin=options.margin,
        pairs=_adjusted(results),
        statistics=StatisticsRecord(
            resamples=options.resampling.resamples,
            seed=options.resampling.seed,
            confidence=options.resampling.confidence,
        ),
    )


def advice_after_failure(check: ClassifierCheck, treatment: PersonTreatment) -> str:
    """What may lower the bias that a check found, of what was not done yet.

    Masking and counterfactuals are about women and men. Whatever else tells two persons apart, such as *gay*, stays.

    Args:
        check: A check that the classifier failed.
        treatment: What was done about persons when it was trained.
    """
    words = person_words(check.texts.language)
    by_gender = [pair for pair in check.failed if words.alike_if_masked(pair.first, pair.second)]
    others = [pair for pair in check.failed if pair not in by_gender]
    left = [own for own in (PersonTreatment.MASK, PersonTreatment.COUNTERFACTUAL) if own is not treatment]
    parts = []
    if by_gender:
        already = (
            "" if treatment is PersonTreatment.KEEP else f"It was trained with --persons {treatment.value}. "
        )
        options = " or ".join(f"--persons {own.value}" for own in left)
        parts.append(
            f"{already}To lower the gap, train again with {options}. What it costs: the same command with --retrain "
            "FILE."
        )
    if others:
        named = "; ".join(f"{pair.first} and {pair.second}" for pair in others)
        parts.append(
            f"--persons cannot help with {named}: it masks or exchanges women and men, not what else these words say. "
            "Add training texts about both with the same label, or label a random sample of the texts that you analyse "
            "and give it with --labelled, which takes the classifier's error off."
        )
    return " ".join(parts)


def _texts(options: CheckOptions, language: str) -> tuple[tuple[str, ...], str]:
    if options.texts is not None:
        return options.texts, "texts"
    return read_regard_texts([starter_file(language)]).rows.texts, f"regard starter set ({language})"


def _compared(
    classifier: RegardClassifier,
    texts: Sequence[str],
    pair: PersonPair,
    *,
    options: CheckOptions,
    left_out: Counter[str],
) -> tuple[PersonPair, BiasCheck]:
    words = person_words(classifier.record.dataset.language)
    first, second, rejected = versions_of(texts, pair, words)
    left_out.update(rejected)
    if len(first) < FEWEST_PAIRS:
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in rejected.most_common(3))
        raise DatasetError(
            f"Only {len(first):,} of {len(texts):,} texts can be told about {pair.first.words} and "
            f"{pair.second.words}; at least {FEWEST_PAIRS} are needed. Left out: {reasons or 'none'}. Give more texts."
        )
    check = check_labelled_pairs(
        classifier.label(first).codes,
        classifier.label(second).codes,
        scheme=classifier.scheme,
        groups=(pair.first.words, pair.second.words),
        margin=options.margin,
        resampling=options.resampling,
    )
    return pair, check


def _adjusted(results: Sequence[tuple[PersonPair, BiasCheck]]) -> tuple[PairCheck, ...]:
    """Every pair has two tests. Holm's adjustment is over all of them, so that many pairs fail nobody by luck."""
    tests = [p for _, check in results for p in (check.stuart_maxwell.p_value, check.sign_flip_p)]
    adjusted = holm(tests)
    return tuple(
        PairCheck(
            name=pair.name,
            first=pair.first.words,
            second=pair.second.words,
            n=check.pairs,
            labels=check.labels,
            table=check.counts,
            chi_squared=check.chi_squared.statistic,
            stuart_maxwell=check.stuart_maxwell.statistic,
            p=check.stuart_maxwell.p_value,
            p_sign_flip=check.sign_flip_p,
            p_adjusted=float(np.nanmin(adjusted[2 * number : 2 * number + 2])),
            gap=check.gap,
            is_equivalent=check.equivalence is not None and check.equivalence.holds,
        )
        for number, (pair, check) in enumerate(results)
    )


@dataclass(frozen=True, slots=True)
class TreatmentResult:
    """What a treatment of persons does to a classifier's own bias, and what it costs."""

    treatment: PersonTreatment
    pairs: tuple[PairCheck, ...]
    balanced_accuracy: Estimate
    """Of texts in folds, each labelled by a classifier that was not trained on its author."""


def compare_treatments(
    classifier: RegardClassifier,
    texts: RegardTexts,
    plan: ClassifierPlan,
    *,
    splits: Sequence[Split],
    labelled: LabelledRows,
    settings: object,
    options: CheckOptions,
    monitor: Monitor = SILENT,
) -> tuple[TreatmentResult, ...]:
    """Train with every treatment of persons, with the same settings and folds, and check each.

    Args:
        classifier: As it was trained.
        texts: What it was trained on.
        plan: How.
        splits: Folds.
        labelled: The training rows of the folds.
        settings: Of the head.
        options: What is checked.
        monitor: Told how it goes.
    """
    results = []
    language = classifier.record.dataset.language
    with monitor.stage("training with every treatment", "treatments") as progress:
        for number, treatment in enumerate(PersonTreatment):
            progress(number, len(PersonTreatment))
            words = None if treatment is PersonTreatment.KEEP else person_words(language)
            own = replace(plan, persons=treatment, person_words=words)
            trained = np.unique(np.concatenate([split.held_out for split in splits]))
            fitted = prepare_fit(own, labelled.take(trained)).fit(settings)
            predictions = _in_folds(own, texts, labelled, splits, settings)
            totals = confusion_totals(
                predictions.labels,
                predictions.predicted,
                classes=len(texts.classes),
                clusters=predictions.clusters,
            )
            results.append(
                TreatmentResult(
                    treatment,
                    checked(replace(classifier, fitted=fitted), options).pairs,
                    estimate_measure(balanced_accuracy, totals, resampling=options.resampling),
                )
            )
    return tuple(results)


def _in_folds(
    plan: ClassifierPlan,
    texts: RegardTexts,
    labelled: LabelledRows,
    splits: Sequence[Split],
    settings: object,
) -> HeldOutPredictions:
    parts: list[tuple[Split, FittedClassifier]] = [
        (fold.split, fold.prepared.fit(settings)) for fold in prepare_folds(plan, labelled, splits)
    ]
    places = np.concatenate([split.held_out for split, _ in parts])
    probabilities = [fitted.probabilities(texts.rows.take(split.held_out)) for split, fitted in parts]
    return HeldOutPredictions.of(texts, places, np.concatenate(probabilities))
