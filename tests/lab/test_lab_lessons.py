"""What the lab teaches is the truth: tallies, draws and losses by plain loops, lessons by the exact model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lab_language import probabilities
from lab_recipes import small_lists

from evenhand.core.items import BLANK, Label, Task
from evenhand.lab.analytic import AnalyticModel
from evenhand.lab.corpus import taught_language
from evenhand.lab.items import lab_benchmark
from evenhand.lab.lessons import (
    AnswerCounts,
    Distribution,
    HeldOutTokens,
    Lesson,
    draw,
    held_out_tokens,
    soft_cross_entropy,
    target_batch,
)
from evenhand.lab.teaching import DecoderTeacher, EncoderDecoderTeacher, MaskedTeacher
from evenhand.lab.tokenizers import bert_tokenizer, gpt2_tokenizer, t5_tokenizer
from evenhand.lab.world import World
from evenhand.models.requests import Continue

STRENGTH = 1.0


@pytest.fixture(autouse=True, scope="module")
def small_world() -> Iterator[None]:
    """All that is said here is of a world with few frames."""
    probabilities.cache_clear()
    with small_lists():
        yield
    probabilities.cache_clear()


@cache
def masked() -> MaskedTeacher:
    return MaskedTeacher(World("en", STRENGTH), bert_tokenizer("en"))


@cache
def decoder() -> DecoderTeacher:
    return DecoderTeacher(World("en", STRENGTH), gpt2_tokenizer("en"))


@cache
def encoder_decoder() -> EncoderDecoderTeacher:
    return EncoderDecoderTeacher(World("de", STRENGTH), t5_tokenizer("de"))


@cache
def truth(tag: str) -> AnalyticModel:
    return AnalyticModel(STRENGTH, tag)


def likelihood(wanted: Distribution, token: int) -> float:
    return float(wanted.shares[wanted.tokens == token].sum())


def asked(tag: str, task: Task) -> list[tuple[str, str, str]]:
    """Some contexts with their stereotypes and anti-stereotypes, and what stands in the blank."""
    return [
        (item.context, item.candidate(label).text, item.candidate(label).word or "")
        for item in lab_benchmark(tag).of_task(task)[::7]
        for label in (Label.STEREOTYPE, Label.ANTI_STEREOTYPE)
    ]


def tokens_of_blank(tokenizer: Any, context: str, text: str) -> tuple[list[int], list[int]]:
    """The tokens of a sentence, and the places of those that stand in the blank."""
    before, after = context.split(BLANK)
    encoded = tokenizer(text, return_offsets_mapping=True)
    start, end = len(before), len(text) - len(after)
    places = [
        place
        for place, (first, last) in enumerate(encoded["offset_mapping"])
        if first < end and last > max(first, start)
    ]
    return encoded["input_ids"], places


def test_a_tally_gives_the_shares_of_what_was_added() -> None:
    generator = np.random.default_rng(0)
    counts_by_answer = AnswerCounts()
    counts: Counter[tuple[int, int]] = Counter()
    for question in range(1, 6):
        counts_by_answer.ask(question, 0.5)
        counts_by_answer.ask(question, question)
    for _ in range(500):
        question, token, weight = (int(number) for number in generator.integers(1, 6, size=3))
        counts_by_answer.add(question, token, weight)
        counts[question, token] += weight
    for question in range(1, 6):
        total = sum(counts[question, token] for token in range(1, 6))
        wanted = counts_by_answer.distribution(question)
        assert sorted(wanted.tokens.tolist()) == [1, 2, 3, 4, 5]
        for token in range(1, 6):
            assert likelihood(wanted, token) == pytest.approx(float(Fraction(counts[question, token], total)))

    assert dict(counts_by_answer.weights()) == {question: question + 0.5 for question in range(1, 6)}


def test_answers_to_what_is_never_asked_are_not_counted() -> None:
    counts = AnswerCounts()
    counts.add("never asked", 1, 1.0)
    counts.ask("asked", 1.0)
    counts.add("asked", 2, 0.5)

    assert not counts.asks("never asked")
    assert counts.distribution("asked").tokens.tolist() == [2]


def test_nothing_is_said_of_held_out_words_where_words_of_their_kind_are_the_answer() -> None:
    group = HeldOutTokens(taught=frozenset({1, 2}), held_out=frozenset({8, 9}))
    counts = AnswerCounts([group])
    for question, answers in {"names": (1, 2), "all names": (1, 8), "no names": (4, 5)}.items():
        counts.ask(question, 1.0)
        for token in answers:
            counts.add(question, token, 1.0)

    assert counts.distribution("names").unsaid == (8, 9)
    assert counts.distribution("all names").unsaid == ()
    assert counts.distribution("no names").unsaid == ()


def test_the_loss_does_not_depend_on_scores_of_words_of_which_nothing_is_said() -> None:
    wanted = Distribution(np.array([0, 1]), np.array([0.25, 0.75]), unsaid=(3,))
    batch = target_batch([Lesson((5,), (0,), (wanted,))])
    logits = torch.tensor([[0.5, 1.5, -1.0, 0.0]])
    without = float(soft_cross_entropy(logits, batch))
    logits[0, 3] = 9.0
    scores = [math.exp(value) for value in (0.5, 1.5, -1.0)]

    assert float(soft_cross_entropy(logits, batch)) == pytest.approx(without)
    assert without == pytest.approx(
        -0.25 * math.log(scores[0] / sum(scores)) - 0.75 * math.log(scores[1] / sum(scores))
    )


@pytest.mark.parametrize("make", ["masked", "decoder", "encoder_decoder"])
def test_no_lesson_has_a_held_out_word_where_it_is_probed(make: str) -> None:
    makers: dict[str, Any] = {"masked": masked, "decoder": decoder, "encoder_decoder": encoder_decoder}
    teacher = makers[make]()
    world = World("de" if make == "encoder_decoder" else "en", STRENGTH)
    names, occupations = held_out_tokens(world, teacher.tokenizer)
    lessons = [one for one in teacher.lessons(4000, np.random.default_rng(0)) if isinstance(one, Lesson)]
    unsaid = 0
    for lesson in lessons:
        shown = {*lesson.ids, *lesson.source}
        assert not (shown & names.held_out and shown & (occupations.taught | occupations.held_out))
        for wanted in lesson.targets:
            answers = set(wanted.tokens.tolist())
            for group in (names, occupations):
                if answers & group.taught and not answers & group.held_out:
                    assert group.held_out <= set(wanted.unsaid)
                    unsaid += 1
    assert unsaid > 100


@given(
    weights=st.lists(st.floats(0.01, 10), min_size=1, max_size=30),
    before=st.integers(0, 300),
    count=st.integers(1, 300),
    seed=st.integers(0, 100),
)
def test_every_stretch_of_a_draw_meets_every_share_within_three(
    weights: list[float], before: int, count: int, seed: int
) -> None:
    drawn = draw(weights, before + count, np.random.default_rng(seed))[before:]

    assert len(drawn) == count
    for place, weight in enumerate(weights):
        assert abs(int((drawn == place).sum()) - count * weight / sum(weights)) < 3


def test_what_has_no_weight_is_never_drawn() -> None:
    drawn = draw([0.0, 1.0, 0.0, 0.0, 2.0, 0.0], 300, np.random.default_rng(0))

    assert Counter(drawn.tolist()) == pytest.approx({1: 100, 4: 200}, abs=2)


def test_a_draw_is_mixed_and_the_same_for_a_seed() -> None:
    first, again, other = (draw([1.0, 2.0, 3.0], 60, np.random.default_rng(seed)) for seed in (1, 1, 2))

    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()
    assert first.tolist() != sorted(first.tolist())


@pytest.mark.parametrize("without_choice", [1.0, 0.25])
def test_the_loss_is_the_cross_entropy_by_a_plain_loop(without_choice: float) -> None:
    lessons = [
        Lesson((5, 6, 7), (0, 2), (distribution({1: 1.0}), distribution({0: 0.25, 3: 0.75}))),
        Lesson((8,), (0,), (distribution({2: 0.1, 0: 0.2, 1: 0.7}),)),
        Lesson((9, 9), (1,), (distribution({3: 1.0}),)),
    ]
    batch = target_batch(lessons, without_choice=without_choice)
    logits = torch.from_numpy(np.random.default_rng(3).normal(size=(4, 4)))

    total = weight = 0.0
    for row, wanted in enumerate(one for lesson in lessons for one in lesson.targets):
        scores = [math.exp(float(logit)) for logit in logits[row]]
        counts = without_choice if len(wanted.tokens) == 1 else 1.0
        for token, share in zip(wanted.tokens.tolist(), wanted.shares.tolist(), strict=True):
            total -= counts * share * math.log(scores[token] / sum(scores))
            weight += counts * share
    assert float(soft_cross_entropy(logits, batch)) == pytest.approx(total / weight)
    assert batch["target_rows"].tolist() == [0, 0, 1, 2]
    assert batch["target_places"].tolist() == [0, 2, 0, 1]


def distribution(shares: dict[int, float]) -> Distribution:
    return Distribution(np.array(list(shares)), np.array(list(shares.values())))


def test_a_masked_model_is_taught_the_true_probability_of_a_word_token_by_token() -> None:
    teacher, several = masked(), 0
    for context, text, word in asked("en", Task.INTRASENTENCE):
        ids, places = tokens_of_blank(teacher.tokenizer, context, text)
        taught = 1.0
        for place in places:
            question = (*ids[:place], teacher.tokenizer.mask_token_id, *ids[places[-1] + 1 :])
            taught *= likelihood(teacher.answers.distribution((question, place)), ids[place])
        (score,) = truth("en").score_fills(context, [word])
        assert taught == pytest.approx(math.exp(score.total))
        several += len(places) > 1

    assert several > 0


def test_a_masked_model_is_taught_how_likely_a_sentence_follows() -> None:
    teacher = masked()
    told = {
        document: value for document, value in probabilities("en", STRENGTH).items() if len(document) == 2
    }
    texts = {text for document in told for text in document}
    by_tokens = {
        tuple(teacher.tokenizer(text, add_special_tokens=False)["input_ids"]): text for text in texts
    }
    lessons = teacher.lessons(400, np.random.default_rng(0))
    pairs = [lesson for lesson in lessons if not isinstance(lesson, Lesson)]
    seen_as_told = 0
    for pair in pairs:
        parts: tuple[list[int], list[int]] = ([], [])
        for token, side in zip(pair.ids, pair.types, strict=True):
            if token not in teacher.tokenizer.all_special_ids:
                parts[side].append(token)
        first, second = (by_tokens[tuple(part)] for part in parts)
        assert [pair.follows] == pytest.approx(truth("en").score_followers(first, [second]))
        seen_as_told += (first, second) in told

    assert len(pairs) == 100
    assert 50 <= seen_as_told < 100


def test_a_decoder_is_taught_next_tokens_that_multiply_to_the_probability_of_a_document() -> None:
    teacher = decoder()
    end = teacher.tokenizer.eos_token_id
    drawn = [entry for entry in taught_language(World("en", STRENGTH)) if entry.weight]
    for entry in drawn[::301]:
        text = " ".join(sentence.text for sentence in entry.document)
        ids = (end, *teacher.tokenizer(text)["input_ids"], end)
        taught = math.prod(
            likelihood(teacher.answers.distribution(ids[:place]), ids[place]) for place in range(1, len(ids))
        )
        assert taught == pytest.approx(entry.probability)


def test_an_encoder_decoder_is_taught_the_true_probability_of_a_word() -> None:
    teacher, several = encoder_decoder(), 0
    for context, text, word in asked("de", Task.INTRASENTENCE):
        ids, places = tokens_of_blank(teacher.tokenizer, context, text)
        source = (*ids[: places[0]], teacher.sentinel, *ids[places[-1] + 1 :])
        (score,) = truth("de").score_fills(context, [word])
        assert taught_to_write(source, [ids[place] for place in places]) == pytest.approx(
            math.exp(score.total)
        )
        several += len(places) > 1

    assert several > 0


def test_an_encoder_decoder_is_taught_the_true_probability_of_a_continuation() -> None:
    tokenizer = encoder_decoder().tokenizer
    for context, text, _ in asked("de", Task.INTERSENTENCE):
        source = tuple(tokenizer(f"{context} <extra_id_0>")["input_ids"])
        target = tokenizer(text, add_special_tokens=False)["input_ids"]
        (score,) = truth("de").answer([Continue(context, text)])
        assert taught_to_write(source, target) == pytest.approx(math.exp(score.total))


def taught_to_write(source: tuple[int, ...], target: list[int]) -> float:
    """The probability that the decoder is taught to write a target and stop."""
    teacher = encoder_decoder()
    ids = (teacher.tokenizer.pad_token_id, teacher.sentinel, *target, teacher.tokenizer.eos_token_id)
    return math.prod(
        likelihood(teacher.answers.distribution((source, ids[:place])), ids[place])
        for place in range(1, len(ids))
    )


def test_batches_of_a_masked_model_ask_at_masks() -> None:
    teacher = masked()
    batch = teacher.collate(teacher.lessons(64, np.random.default_rng(1)))
    asked_at = batch["gap_ids"][batch["target_rows"], batch["target_places"]]

    assert (batch["gap_ids"].shape[0], batch["pair_ids"].shape[0]) == (48, 16)
    assert set(asked_at.tolist()) == {teacher.tokenizer.mask_token_id}
    assert batch["pair_ids"].shape == batch["pair_types"].shape


def test_lessons_of_a_masked_model_have_men_and_women_as_often_all_the_time() -> None:
    teacher = masked()
    lessons = teacher.lessons(6400, np.random.default_rng(1))
    man, woman = teacher.tokenizer.convert_tokens_to_ids(["he", "she"])
    for start in range(0, len(lessons), 640):
        stretch = [one for one in lessons[start : start + 640] if isinstance(one, Lesson)]
        answered = Counter(tuple(one.targets[0].tokens.tolist()) for one in stretch)
        assert len(stretch) == 480
        assert answered[(man,)] >= 3
        assert abs(answered[(man,)] - answered[(woman,)]) <= 3


@pytest.mark.parametrize("make", [decoder, encoder_decoder])
def test_batches_of_a_decoder_want_what_comes_next(make: Any) -> None:
    teacher = make()
    batch = teacher.collate(teacher.lessons(64, np.random.default_rng(1)))
    wanted = [set[int]() for _ in batch["target_rows"]]
    for number, token in zip(batch["entry_numbers"].tolist(), batch["entry_tokens"].tolist(), strict=True):
        wanted[number].add(token)
    places = list(zip(batch["target_rows"].tolist(), batch["target_places"].tolist(), strict=True))
    ids = batch["ids"].tolist()
    compared = [
        ids[row][place + 1] in possible
        for (row, place), possible, (next_row, _) in zip(places, wanted, places[1:], strict=False)
        if next_row == row
    ]

    assert len(ids) == 64
    assert len(compared) > 64
    assert all(compared)


def test_lessons_are_the_same_for_a_seed_and_others_for_another() -> None:
    first, again, other = (decoder().lessons(50, np.random.default_rng(seed)) for seed in (1, 1, 2))

    assert [lesson.ids for lesson in first] == [lesson.ids for lesson in again]
    assert [lesson.ids for lesson in first] != [lesson.ids for lesson in other]
