"""What models are asked about: lists of texts that can be written down and that fit into the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from builders import benchmark, intra
from pair_scores import answers_of
from zoo_fixtures import Zoo

import evenhand as eh
from evenhand.api.models import describe_model
from evenhand.core.errors import EvenhandError
from evenhand.core.items import PairDirection, SentencePair
from evenhand.models.language_model import LanguageModel
from evenhand.models.limits import MOST_TOKENS, longest_input
from evenhand.models.references import ModelError, UnscorableError
from evenhand.testing import FakeModel

LONG = "The baker was late, and the nurse was not. " * 25_000
"""A megabyte."""


@pytest.fixture(scope="module")
def bert(menagerie: Zoo) -> LanguageModel:
    return menagerie.model("bert")


def ask_texts(model: Any, texts: Any) -> object:
    return model.score_texts(texts)


def ask_fills(model: Any, texts: Any) -> object:
    return model.score_fills("The BLANK is here.", texts)


def ask_followers(model: Any, texts: Any) -> object:
    return model.score_followers("The baker is here.", texts)


ASKING = [ask_texts, ask_fills, ask_followers]


@pytest.mark.parametrize("ask", ASKING)
def test_a_single_text_is_not_taken_for_its_letters(
    bert: LanguageModel, ask: Callable[[Any, Any], object]
) -> None:
    for model in (bert, FakeModel({}, otherwise=0.5)):
        with pytest.raises(ModelError, match=r"is the text 'abc'; a list of texts is needed"):
            ask(model, "abc")


def test_half_a_surrogate_pair_is_no_prompt(menagerie: Zoo) -> None:
    with pytest.raises(ModelError, match=r"prompts\[1\] has half of a surrogate pair"):
        list(menagerie.model("gpt2").generate(["The baker", "\ud800"]))


def test_nothing_is_no_list_of_texts(bert: LanguageModel) -> None:
    with pytest.raises(ModelError, match="texts is None; a list of texts is needed"):
        ask_texts(bert, None)


def test_a_single_prompt_is_not_taken_for_its_letters(menagerie: Zoo) -> None:
    for model in (menagerie.model("gpt2"), FakeModel({}, otherwise=0.5)):
        with pytest.raises(ModelError, match=r"prompts is the text 'abc'"):
            list(model.generate("abc"))


@pytest.mark.parametrize("ask", ASKING)
@pytest.mark.parametrize(
    ("text", "message"), [(7, r"\[1\] is 7; a text is needed"), ("a\ud800", "half of a surrogate")]
)
def test_what_is_no_text_is_refused_with_its_place(
    bert: LanguageModel, ask: Callable[[Any, Any], object], text: Any, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        ask(bert, ["fine", text])


@pytest.mark.parametrize("ask", [ask_texts, ask_fills, ask_followers])
def test_a_text_that_is_too_long_is_an_error_of_ours(
    bert: LanguageModel, ask: Callable[[Any, Any], object]
) -> None:
    for text in ("baker " * 300, LONG):
        with pytest.raises(ModelError, match=r"cannot be asked about '(The )?baker"):
            ask(bert, [text])


def test_what_cannot_be_scored_is_an_error_of_ours() -> None:
    assert issubclass(UnscorableError, EvenhandError)


@pytest.mark.parametrize(("name", "score"), [("bert", None), ("bert", "pll"), ("gpt2", None), ("t5", None)])
def test_an_item_of_a_megabyte_is_skipped_with_a_reason(menagerie: Zoo, name: str, score: str | None) -> None:
    long = intra("long", context=f"{LONG} The BLANK is here.", fills=("baker", "nurse", "house"))
    short = intra("short", context="The BLANK is here.", fills=("baker", "nurse", "house"))
    options = eh.AuditOptions(score=score, resampling=eh.Resampling(resamples=100))
    run = eh.audit(menagerie.model(name), benchmark(long, short), options=options)
    reasons = {row["item"]: row["skipped_reason"] for row in run.items().iter_rows(named=True)}
    assert reasons["intra-short"] is None
    assert reasons["intra-long"].startswith("a text of it is longer than 20,000 characters")


def test_a_fill_of_a_megabyte_is_skipped_with_a_reason(bert: LanguageModel) -> None:
    item = intra("long", context="The BLANK is here.", fills=(LONG.strip(), "nurse", "house"))
    run = eh.audit(bert, benchmark(item), options=eh.AuditOptions(resampling=eh.Resampling(resamples=100)))
    (reason,) = run.items()["skipped_reason"].to_list()
    assert reason.startswith("a text of it is longer than 20,000 characters")


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_a_pair_of_a_megabyte_is_skipped_with_a_reason(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    pair = SentencePair("1", "en", "gender", PairDirection.STEREO, f"The baker. {LONG}", f"The nurse. {LONG}")
    ((more, less),) = answers_of(model, [pair])
    for answer in (more, less):
        assert answer.problem is not None
        assert "long" in answer.problem


def test_a_model_that_names_no_limit_has_one_all_the_same(menagerie: Zoo) -> None:
    model = menagerie.model("t5")
    assert longest_input(model.loaded) is None
    assert model.longest_input == MOST_TOKENS
    assert describe_model(model)["longest_input"] == "no limit"
