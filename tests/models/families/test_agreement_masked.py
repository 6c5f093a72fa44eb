"""Masked models: the engine's scores are those of the slow way, on every architecture."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import zoo
from engine_scores import assert_same, engine_scores
from slow_reference import Logs, mean_probability, sum_log2, two_to_the_mean_log2
from zoo_fixtures import Zoo
from zoo_items import MALFORMED_BLANKS, inter_items, intra_items, starter_items

from evenhand.api.measure import audit
from evenhand.core.items import Candidate, Task
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.models.families.masked import MASKED
from evenhand.models.references import ModelError

MODELS = zoo.names(MASKED)


def word_of(candidate: Candidate) -> str:
    assert candidate.word is not None
    return candidate.word


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("score", "combine"),
    [(None, mean_probability), ("mean-log", two_to_the_mean_log2), ("sum-log", sum_log2)],
    ids=["mean-prob", "mean-log", "sum-log"],
)
def test_a_blank_is_filled_token_by_token(
    menagerie: Zoo, name: str, score: str | None, combine: Callable[[Logs], float]
) -> None:
    reference = menagerie.reference(name)
    expected = {
        candidate.id: combine(reference.blank(item.context, word_of(candidate)))
        for item in intra_items()
        for candidate in item.candidates
    }
    assert_same(engine_scores(menagerie.model(name), intra_items(), score=score), expected)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("score", ["pll", "pll-within-word"])
def test_pseudo_log_likelihood_masks_every_token_once(menagerie: Zoo, name: str, score: str) -> None:
    # Every token is a run of the slow way: one ordinary item of each language is enough.
    items = [*starter_items(Task.INTRASENTENCE)[::3], *MALFORMED_BLANKS]
    reference = menagerie.reference(name)
    expected = {
        candidate.id: sum_log2(
            reference.pseudo_log_likelihood(
                item.context.replace("BLANK", word_of(candidate)), within_word=score == "pll-within-word"
            )
        )
        for item in items
        for candidate in item.candidates
    }
    assert_same(engine_scores(menagerie.model(name), items, score=score), expected)


@pytest.mark.parametrize("name", MODELS)
def test_the_published_code_inserts_earlier_tokens_as_text(menagerie: Zoo, name: str) -> None:
    reference = menagerie.reference(name)
    expected = {
        candidate.id: mean_probability(reference.published_blank(item.context, word_of(candidate)))
        for item in intra_items()
        for candidate in item.candidates
    }
    assert_same(engine_scores(menagerie.model(name), intra_items(), protocol="multilingual-2023"), expected)


@pytest.mark.parametrize("protocol", ["evenhand.v2", "multilingual-2023"])
def test_class_0_of_a_next_sentence_head_means_follows(menagerie: Zoo, protocol: str) -> None:
    reference = menagerie.reference("bert")
    expected = {
        candidate.id: reference.follows(item.context, candidate.text)
        for item in inter_items()
        for candidate in item.candidates
    }
    assert_same(engine_scores(menagerie.model("bert"), inter_items(), protocol=protocol), expected)


@pytest.mark.parametrize("name", ["bert", "roberta", "albert", "modernbert"])
def test_a_sentence_after_a_context_is_scored_at_masks_of_its_own_tokens(menagerie: Zoo, name: str) -> None:
    items = inter_items()[::4]
    reference = menagerie.reference(name)
    expected = {
        candidate.id: two_to_the_mean_log2(reference.sentence_at_masks(item.context, candidate.text))
        for item in items
        for candidate in item.candidates
    }
    assert_same(engine_scores(menagerie.model(name), items, inter="pll"), expected)


def test_masked_models_without_a_head_do_the_inter_sentence_task_for_the_asking(menagerie: Zoo) -> None:
    model = menagerie.model("roberta")
    usual = audit(model, options=AuditOptions(limit=2))
    asked = audit(model, options=AuditOptions(limit=2, inter="pll"))

    assert list(usual.record.scoring.methods) == ["intrasentence"]  # type: ignore[union-attr]
    assert asked.record.scoring.methods["intersentence"] == "pseudo-log-likelihood after the context"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["gpt2", "t5", "bart"])
def test_only_masked_models_are_scored_at_masks(menagerie: Zoo, name: str) -> None:
    with pytest.raises(ModelError, match="--inter pll is for masked models"):
        engine_scores(menagerie.model(name), inter_items()[:1], inter="pll")
