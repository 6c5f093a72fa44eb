"""How a model fills the gap of settled sentences: with the right pronoun, the wrong one, or a nonsense word.

Whether the right pronoun beats the wrong one is what a model knows of gender. Whether it beats nonsense is asked before
any figure of pronouns is read: a model that does not know the words has no lean worth measuring.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evenhand.core.estimates import Estimate
from evenhand.core.progress import Progress
from evenhand.core.settled import SettledSentence
from evenhand.instruments.word_scoring import Answer, OpenQuestion, WordScorer
from evenhand.runs.store import Parts
from evenhand.stats.intervals import wilson_interval
from evenhand.stats.resampling import Resampling

WHOLE = 100.0

GUESSING = 50.0
"""The share in which one of two words wins that a model does not tell apart, in percent."""

KNOWN = 70.0
"""The share in which pronouns that a model knows beat nonsense words at least, in percent."""

NONSENSE_EVERY = 2
"""One sentence of so many pairs is asked with a nonsense word too: as good as all of them, for less."""

UNEVEN = (
    "the pronouns have different numbers of tokens, and in a gap every further token makes a word less likely"
)


@dataclass(frozen=True, slots=True)
class SettledAnswer:
    """What a model says about one sentence; undefined where there is a problem."""

    sentence: SettledSentence
    gap: float
    """log2 P(right) - log2 P(wrong)."""
    is_right: float
    """1 where the right pronoun is likelier than the wrong one, and than the nonsense word where that was asked for
    and compares; 0 where one of them is likelier, a half for a tie."""
    beats_nonsense: float
    """The same against the nonsense word alone; undefined where it was not asked for or does not compare."""
    problem: str | None = None


def ask_settled(
    scorer: WordScorer,
    sentences: Sequence[SettledSentence],
    *,
    beside_nonsense: Sequence[SettledSentence],
    max_tokens: int | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> list[SettledAnswer]:
    """The answers of a model to settled sentences.

    Args:
        scorer: Asks the model.
        sentences: What is asked.
        beside_nonsense: Those of them that are asked with a nonsense word too.
        max_tokens: Most tokens in a batch.
        parts: Where answers are kept as they come.
        progress: Told how much is done.
    """
    with_nonsense = {sentence.id for sentence in beside_nonsense}
    questions = [
        OpenQuestion(
            sentence.text,
            (sentence.right, sentence.wrong, *([sentence.nonsense] if sentence.id in with_nonsense else [])),
        )
        for sentence in sentences
    ]
    answers = scorer.answers(questions, max_tokens=max_tokens, parts=parts, progress=progress)
    return [
        _settled_answer(sentence, words, compares_lengths=scorer.compares_lengths)
        for sentence, words in zip(sentences, answers, strict=True)
    ]


def _settled_answer(
    sentence: SettledSentence, words: Sequence[Answer], *, compares_lengths: bool
) -> SettledAnswer:
    right, wrong, *others = words
    problem = right.problem or wrong.problem
    if problem is None and not compares_lengths and right.tokens != wrong.tokens:
        problem = UNEVEN
    gap = math.nan if problem else (right.log_probability - wrong.log_probability) / math.log(2)
    # A word of more tokens loses to any other in a model that knows nothing, also where whole sentences are scored.
    beyond = [
        right.log_probability - nonsense.log_probability
        for nonsense in others
        if not (right.problem or nonsense.problem) and right.tokens == nonsense.tokens
    ]
    against = [_wins(gap), *map(_wins, beyond)]
    return SettledAnswer(
        sentence,
        gap,
        is_right=math.nan if problem else min(against),
        beats_nonsense=against[1] if beyond else math.nan,
        problem=problem,
    )


def _wins(difference: float) -> float:
    return 0.5 + 0.5 * ((difference > 0) - (difference < 0))


def sense_estimate(answers: Iterable[SettledAnswer], *, resampling: Resampling) -> Estimate:
    """How often the right pronoun beats a nonsense word, in percent; each pronoun counts the same.

    A model that knows nothing has one probability for each word and repeats it in every sentence, so it is words that
    were drawn, not sentences. If the m pronouns and k nonsense words had any order, the share would vary as that of
    Mann and Whitney does, with variance (m + k + 1) / 12 m k: as of 3 m k / (m + k + 1) independent comparisons. Those
    are what the interval knows of.
    """
    compared = [answer for answer in answers if not math.isnan(answer.beats_nonsense)]
    if not compared:
        return Estimate.undefined("no nonsense word has as many tokens as the pronoun in its place")
    by_word: dict[str, list[float]] = {}
    for answer in compared:
        by_word.setdefault(answer.sentence.right.casefold(), []).append(answer.beats_nonsense)
    share = math.fsum(math.fsum(wins) / len(wins) for wins in by_word.values()) / len(by_word)
    pronouns, nonsense = len(by_word), len({answer.sentence.nonsense for answer in compared})
    independent = max(1, 3 * pronouns * nonsense // (pronouns + nonsense + 1))
    interval = wilson_interval(share, independent, confidence=resampling.confidence)
    return Estimate(
        value=WHOLE * share,
        low=WHOLE * interval.low,
        high=WHOLE * interval.high,
        n=len(compared),
        clusters=pronouns,
        method=f"{interval.method}, over words",
    )


def knows_pronouns(sense: Estimate) -> bool:
    """Whether pronouns are shown to beat nonsense words; True where that could not be asked."""
    return not sense.defined or (sense.value >= KNOWN and not sense.low <= GUESSING)
