"""How a model fills the gap of settled sentences: with the right pronoun, the wrong one, or a nonsense word.

Whether the right pronoun beats the wrong one is what a model knows of gender. Whether it beats nonsense is asked before
any figure of pronouns is read: a model that does not know the words has no lean worth measuring.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evenhand.core.estimates import Estimate
from evenhand.core.progress import Progress
from evenhand.core.settled import SettledSentence
from evenhand.instruments.word_scoring import OpenQuestion, WordAnswer, WordScorer
from evenhand.stats.intervals import wilson_interval
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts

WHOLE = 100.0

GUESSING = 50.0
"""The share in which one of two words wins that a model does not tell apart, in percent."""

KNOWN = 70.0
"""The share in which words that a model knows beat nonsense at least, in percent."""

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
    sentence: SettledSentence, words: Sequence[WordAnswer], *, compares_lengths: bool
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
    were drawn, not sentences. The interval is that of as many independent comparisons as would vary as much as these
    do where pronouns and nonsense words are in any order.
    """
    cells: dict[str, dict[str, list[float]]] = {}
    for answer in answers:
        if not math.isnan(answer.beats_nonsense):
            row = cells.setdefault(answer.sentence.right.casefold(), {})
            row.setdefault(answer.sentence.nonsense, []).append(answer.beats_nonsense)
    if not cells:
        return Estimate.undefined("no nonsense word has as many tokens as the pronoun in its place")
    weights: dict[tuple[str, str], float] = {}
    share = 0.0
    for pronoun, row in cells.items():
        count = sum(map(len, row.values()))
        for word, wins in row.items():
            weights[pronoun, word] = len(wins) / count / len(cells)
            share += math.fsum(wins) / count / len(cells)
    independent = max(1, int(1 / (4 * _variance_by_chance(weights))))
    interval = wilson_interval(share, independent, confidence=resampling.confidence)
    return Estimate(
        value=WHOLE * share,
        low=WHOLE * interval.low,
        high=WHOLE * interval.high,
        n=sum(len(wins) for row in cells.values() for wins in row.values()),
        clusters=len(cells),
        method=f"{interval.method}, over words",
    )


def _variance_by_chance(weights: Mapping[tuple[str, str], float]) -> float:
    """Of a weighted mean of which of two words wins, if all words were in any order.

    Two comparisons that share a word have the covariance 1/12, as in the test of Mann and Whitney.
    """
    variance = math.fsum(weight**2 for weight in weights.values()) / 4
    for side in (0, 1):
        totals: dict[str, list[float]] = {}
        for pair, weight in weights.items():
            totals.setdefault(pair[side], []).append(weight)
        variance += math.fsum(sum(own) ** 2 - sum(one**2 for one in own) for own in totals.values()) / 12
    return variance


def knows_words(sense: Estimate) -> bool:
    """Whether sense is shown to beat nonsense; True where that could not be asked."""
    return not sense.defined or (sense.value >= KNOWN and not sense.low <= GUESSING)
