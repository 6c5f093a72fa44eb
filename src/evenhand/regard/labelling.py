"""Labels for texts about groups: a classifier's for those that have none, and people's for a sample of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.data.group_text_files import UNKNOWN_LANGUAGE
from evenhand.data.group_texts import REGARD_LABELS, GroupText, GroupTexts
from evenhand.instruments.regard.analysis import FEWEST_LABELLED, LabelPairs
from evenhand.instruments.regard.audit import SampledTexts
from evenhand.instruments.regard.results import LabellingClassifier
from evenhand.regard.classifier import RegardClassifier
from evenhand.regard.texts import RegardTexts, text_key


def label_group_texts(texts: GroupTexts, classifier: RegardClassifier) -> GroupTexts:
    """The texts with a classifier's labels where they had none.

    Raises:
        EvenhandError: If the classifier was trained on texts of another language, or gives other labels.
    """
    refuse_unsuitable(classifier, texts.language)
    places = [place for place, own in enumerate(texts) if own.label is None]
    if not places:
        return texts
    codes = dict(
        zip(places, classifier.label([texts.texts[place].text for place in places]).codes, strict=True)
    )
    labelled = tuple(
        replace(own, label=codes[place]) if place in codes else own for place, own in enumerate(texts)
    )
    return replace(texts, texts=labelled)


def refuse_unsuitable(classifier: RegardClassifier, language: str) -> None:
    """Refuse a classifier whose labels say nothing about texts in a language.

    Raises:
        EvenhandError: With what it was made for.
    """
    record = classifier.record
    if set(record.classes) != set(REGARD_LABELS):
        raise EvenhandError(
            f"The classifier {record.name} gives the labels {', '.join(record.classes)}; regard has "
            f"{', '.join(REGARD_LABELS)}. Train one with the scheme regard."
        )
    own = record.dataset.language
    if own and language not in (UNKNOWN_LANGUAGE, own):
        raise EvenhandError(
            f"The classifier {record.name} was trained on texts in the language {own!r}, and these are in "
            f"{language!r}. Use a classifier of that language, or name the language of the texts with --language."
        )


def describe_classifier(classifier: RegardClassifier) -> LabellingClassifier:
    """What a result says about the classifier that labelled its texts."""
    return LabellingClassifier(
        name=classifier.record.name,
        fingerprint=classifier.record.fingerprint,
        verdict=classifier.verdict,
        warning=classifier.bias_warning,
        checked=tuple(
            dict.fromkeys(
                person
                for check in classifier.checks
                for pair in check.pairs
                for person in (pair.first, pair.second)
            )
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ClassifierLabeller:
    """Labels texts about groups with a classifier, beside which people labelled a sample where there is one."""

    classifier: RegardClassifier
    sample: RegardTexts | None = None

    @property
    def description(self) -> LabellingClassifier:
        """What a result says about the classifier."""
        return describe_classifier(self.classifier)

    @property
    def sample_digest(self) -> str | None:
        """Digest of the sample; None without one."""
        return None if self.sample is None else self.sample.digest

    def refuse_unsuitable(self, language: str) -> None:
        """Refuse texts in another language than the classifier's, and a sample with other labels than regard has."""
        refuse_unsuitable(self.classifier, language)
        if self.sample is not None:
            refuse_other_labels(self.sample)

    def label(self, texts: GroupTexts) -> SampledTexts:
        """The texts with the classifier's labels, and with people's."""
        labelled = label_group_texts(texts, self.classifier)
        if self.sample is None:
            return SampledTexts(labelled)
        return add_labelled_sample(labelled, self.sample, self.classifier)


def add_labelled_sample(
    texts: GroupTexts, sample: RegardTexts, classifier: RegardClassifier | None = None
) -> SampledTexts:
    """Put people's labels beside those of the texts.

    Where too few texts of the sample are among them, the classifier labels the whole sample too, which tells how it
    confuses labels.

    Args:
        texts: Every text with a label.
        sample: Texts with people's votes.
        classifier: Labels the sample where it is of other texts.

    Raises:
        DatasetError: If the sample has none of the texts and there is no classifier to label it.
    """
    refuse_other_labels(sample)
    voted = {
        text_key(text): sample.classes[label]
        for text, label in zip(sample.rows.texts, sample.labels.tolist(), strict=True)
        if label >= 0
    }
    own = tuple(replace(text, human_label=voted.get(text_key(text.text))) for text in texts)
    matched = {text_key(text.text) for text in own if text.human_label is not None}
    others = len(voted) - len(matched)
    of_group = Counter(text.group for text in own if text.human_label is not None)
    enough = min(of_group[group] for group in texts.groups) >= FEWEST_LABELLED
    if matched and (enough or not others or classifier is None):
        notice = (
            f"{others:,} of the {len(voted):,} texts of {sample.name} are not among the texts in question and were not "
            "used."
        )
        return SampledTexts(replace(texts, texts=own), warnings=(notice,) if others else ())
    if classifier is None:
        raise DatasetError(
            f"None of the {len(voted):,} texts of {sample.name} is among the texts in question, such as "
            f"{_shortened(texts.texts)!r}. Label a random sample of them, or give the classifier with --classifier so "
            "that it labels the sample too."
        )
    kept = [text for text, label in zip(sample.rows.texts, sample.labels, strict=True) if label >= 0]
    human = tuple(sample.classes[label] for label in sample.labels if label >= 0)
    pairs = LabelPairs(human=human, predicted=tuple(classifier.label(kept).codes), sha256=sample.digest)
    return SampledTexts(
        texts,
        pairs,
        (
            f"{f'Only {len(matched):,}' if matched else 'None'} of the {len(voted):,} texts of {sample.name} "
            f"{'are' if len(matched) > 1 else 'is'} among the texts in question, so the classifier labelled all of "
            "them too, and is taken to make the same mistakes on both.",
        ),
    )


def refuse_other_labels(sample: RegardTexts) -> None:
    """Refuse a sample whose labels are not those of regard.

    Raises:
        DatasetError: With its labels.
    """
    if not set(sample.classes) <= set(REGARD_LABELS):
        raise DatasetError(
            f"{sample.name} has the labels {', '.join(sample.classes)}; regard has {', '.join(REGARD_LABELS)}."
        )


def _shortened(texts: Sequence[GroupText]) -> str:
    return texts[0].text[:60]
