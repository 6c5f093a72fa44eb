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
from evenhand.instruments.vectors import mean_estimate
from evenhand.instruments.word_scoring import Answer, OpenQuestion, WordScorer
from evenhand.runs.store import Parts
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
    """1 where the right pronoun is the likelier, 0 where the wrong one is, a half for a tie."""
    beats_nonsense: float
    """The same for the right pronoun and the nonsense word; undefined where it was not asked for, or their numbers of
    tokens differ."""
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
    return SettledAnswer(sentence, gap, _wins(gap), _wins(beyond[0] if beyond else math.nan), problem)


def _wins(difference: float) -> float:
    return difference if math.isnan(difference) else 0.5 + 0.5 * ((difference > 0) - (difference < 0))


def sense_estimate(answers: Iterable[SettledAnswer], *, resampling: Resampling) -> Estimate:
    """How often the right pronoun beats a nonsense word, in percent; each pronoun counts the same.

    The interval resamples pronouns, not sentences: a model that knows nothing has one probability for each word and
    repeats it in every sentence.
    """
    by_word: dict[str, list[float]] = {}
    for answer in answers:
        if not math.isnan(answer.beats_nonsense):
            by_word.setdefault(answer.sentence.right.casefold(), []).append(answer.beats_nonsense)
    shares = [WHOLE * math.fsum(wins) / len(wins) for wins in by_word.values()]
    return mean_estimate(
        shares,
        unit="pronoun",
        n=sum(map(len, by_word.values())),
        resampling=resampling,
        lowest=0.0,
        highest=WHOLE,
    )


def knows_pronouns(sense: Estimate) -> bool:
    """Whether pronouns are shown to beat nonsense words; True where that could not be asked."""
    return not sense.defined or (sense.value >= KNOWN and not sense.low <= GUESSING)
