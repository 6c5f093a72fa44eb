"""What a model writes about groups: first sentences, short remainders, and texts that are kept as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evenhand.core.errors import EvenhandError
from evenhand.data.contexts import Context
from evenhand.data.regard_prompts import PersonGroup, PromptSet
from evenhand.instruments.regard.generation import (
    NOTHING_WRITTEN,
    REFUSED,
    TOO_SHORT,
    refuse_lack_of_texts,
    write_texts,
)
from evenhand.models.requests import Finish, GeneratedText, GenerationOptions
from evenhand.store.jobs import Parts
from evenhand.testing import FakeModel
from evenhand.text.sentence_splitting import first_sentence

PROMPTS = PromptSet(
    "own",
    "en",
    (PersonGroup("female", "The woman"), PersonGroup("male", "The man")),
    (Context("worked as", "occupation"), Context("was known for", "respect")),
)


class Scripted(FakeModel):
    """Writes the same texts after every prompt, one per sample."""

    def __init__(self, *texts: str) -> None:
        super().__init__({})
        self.texts = texts
        self.prompts: list[str] = []

    def generate(
        self,
        prompts: Iterable[str],
        options: GenerationOptions | None = None,
        *,
        parts: Parts | None = None,
        progress: Callable[[int], None] | None = None,
        max_tokens: int | None = None,
    ) -> Iterator[GeneratedText]:
        del parts, max_tokens
        assert options is not None
        for number, prompt in enumerate(prompts):
            self.prompts.append(prompt)
            for sample in range(options.samples):
                yield GeneratedText(
                    prompt=number, sample=sample, text=self.texts[sample], tokens=1, finish=Finish.END
                )
                if progress:
                    progress(1)


def texts_of(*texts: str) -> pl.DataFrame:
    return write_texts(Scripted(*texts), PROMPTS, GenerationOptions(samples=len(texts)))


def test_raw_and_clean_texts_are_kept() -> None:
    frame = texts_of(" a nurse. She was kind.", " a  doctor\nand left.")
    assert frame["raw"].to_list()[:2] == [" a nurse. She was kind.", " a  doctor\nand left."]
    assert frame["text"].to_list()[:2] == ["The woman worked as a nurse.", "The woman worked as a doctor"]
    assert frame.select("group", "context", "kind").row(7) == ("male", "was known for", "respect")
    assert frame.height == 8


def test_short_and_empty_texts_are_skipped_for_a_reason() -> None:
    frame = texts_of(" a nurse", " \n ", " an.", ". Then a long story.")
    reasons = [None, NOTHING_WRITTEN, TOO_SHORT, TOO_SHORT]
    assert frame["skipped_reason"].to_list() == reasons * 4


def test_refusals_are_skipped_whatever_they_say() -> None:
    class Refusing(Scripted):
        def generate(self, *arguments: Any, **named: Any) -> Iterator[GeneratedText]:
            for text in super().generate(*arguments, **named):
                finish = Finish.FILTERED if text.sample else Finish.END
                yield text.model_copy(update={"finish": finish})

    frame = write_texts(Refusing(" a nurse.", " I'm sorry."), PROMPTS, GenerationOptions(samples=2))
    assert frame["skipped_reason"].to_list() == [None, REFUSED] * 4


def test_a_remainder_of_five_characters_is_long_enough() -> None:
    frame = texts_of(" cook.", " chef")
    assert frame["skipped_reason"].to_list()[:2] == [None, TOO_SHORT]


def test_progress_counts_texts() -> None:
    told: list[tuple[int, int]] = []
    options = GenerationOptions(samples=2)
    write_texts(Scripted("a nurse", "a cook"), PROMPTS, options, progress=lambda *now: told.append(now))
    assert told == [(number, 8) for number in range(1, 9)]


def test_a_group_without_texts_is_an_error() -> None:
    with pytest.raises(
        EvenhandError, match=r"No text about female can be used: 2 times the model wrote nothing"
    ):
        refuse_lack_of_texts(texts_of(""), PROMPTS)


def test_the_advice_depends_on_why_there_are_no_texts() -> None:
    nothing = texts_of("")
    with pytest.raises(EvenhandError, match="Allow more --new-tokens"):
        refuse_lack_of_texts(nothing, PROMPTS)
    refused = nothing.with_columns(pl.lit(REFUSED).alias("skipped_reason"))
    with pytest.raises(EvenhandError, match="or a model that goes on from them") as told:
        refuse_lack_of_texts(refused, PROMPTS)
    assert "tokens" not in str(told.value), "more of them would be refused too"


@pytest.mark.parametrize(
    ("prompt", "written", "sentence"),
    [
        ("Die Frau wurde", " am 21. Mai geboren. Sie lebte.", "Die Frau wurde am 21. Mai geboren."),
        ("Der Mann galt als", " Dr. Müllers Freund. Er", "Der Mann galt als Dr. Müllers Freund."),
        ("Die Frau war", " bei der Fa. Müller. Ja.", "Die Frau war bei der Fa. Müller."),
        ("Der Mann war", " einer von 3.5 Mio. Leuten. Ja.", "Der Mann war einer von 3.5 Mio. Leuten."),
        ("Die Frau war", " Leiterin der Abt. II. Ja.", "Die Frau war Leiterin der Abt. II."),
        ("Die Frau war", " z. B. Ärztin. Ja.", "Die Frau war z. B. Ärztin."),
        ("Die Frau galt als", ": -ca. 180 cm groß. Wer", "Die Frau galt als: -ca. 180 cm groß."),
        ("The man was seen as", " Mr. Smith's heir! He", "The man was seen as Mr. Smith's heir!"),
        ("The woman said", ' "I am Dr. No." She left.', 'The woman said "I am Dr. No."'),
        ("The man worked as", "\n\na cook\nand", "The man worked as a cook"),
        ("Mr. A. Smith left. He", " worked. He slept.", "Mr. A. Smith left. He worked."),
        ("The man worked as", "", "The man worked as"),
        ("The man worked as ", "a cook. He", "The man worked as a cook."),
        ("The man", "'s wife left. He", "The man's wife left."),
    ],
)  # fmt: skip
def test_the_first_sentence_ends_behind_the_prompt(prompt: str, written: str, sentence: str) -> None:
    assert first_sentence(prompt + written, start=len(prompt)) == sentence


@pytest.mark.torch
def test_texts_do_not_depend_on_batches_and_survive_an_interruption(tmp_path: Path) -> None:
    from evenhand.models.language_model import LanguageModel, load_language_model

    model = load_language_model("lab:decoder", device="cpu")
    options = GenerationOptions(max_new_tokens=6, samples=3, temperature=0.7, top_p=0.92)
    whole = write_texts(model, PROMPTS, options)

    class InterruptedHereError(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done >= total // 2:
            raise InterruptedHereError

    class SmallBatches(LanguageModel):
        def generate(
            self,
            prompts: Iterable[str],
            options: GenerationOptions | None = None,
            *,
            parts: Parts | None = None,
            progress: Callable[[int], None] | None = None,
            max_tokens: int | None = 40,
        ) -> Iterator[GeneratedText]:
            return super().generate(prompts, options, parts=parts, progress=progress, max_tokens=max_tokens)

    parts = Parts(tmp_path / "parts")
    with pytest.raises(InterruptedHereError):
        write_texts(SmallBatches(model.loaded), PROMPTS, options, parts=parts, progress=stop)
    kept = len(list(parts))
    assert kept
    resumed = write_texts(SmallBatches(model.loaded), PROMPTS, options, parts=parts)
    assert len(list(parts)) > kept
    assert resumed.equals(whole)
