"""The loss of triggers and its gradient, against a loop over texts and against small changes of the embeddings."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from slow_triggers import PAIRS, SENTENCES, SlowTriggers
from zoo_fixtures import Zoo

from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.triggers import scoring
from evenhand.triggers.objective import TriggerSurprises
from evenhand.triggers.recipes import PUBLISHED_WEIGHTS, ObjectiveWeights
from evenhand.triggers.scoring import TriggerScorer
from evenhand.triggers.vocabulary import TriggerVocabulary, prefix_of

pytestmark = pytest.mark.torch

TARGETS_ONLY = ObjectiveWeights(divergence=0, fluency=0, margin=0.05)


def vocabulary_of(model: LanguageModel) -> TriggerVocabulary:
    return TriggerVocabulary(model.loaded, prompts=["The woman", "The man"])


def scorer_of(
    model: LanguageModel, weights: ObjectiveWeights, *, slots: int = 3, sentences: tuple[str, ...] = ()
) -> TriggerScorer:
    return TriggerScorer(
        model, vocabulary_of(model), PAIRS, sentences=sentences, slots=slots, weights=weights
    )


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma", "mistral", "bloom"])
@pytest.mark.parametrize("weights", [TARGETS_ONLY, PUBLISHED_WEIGHTS], ids=["ours", "published"])
def test_the_loss_is_that_of_a_loop_over_texts(menagerie: Zoo, name: str, weights: ObjectiveWeights) -> None:
    model = menagerie.model(name)
    vocabulary = vocabulary_of(model)
    triggers = vocabulary.random_triggers(3, 3, np.random.default_rng(1))
    slow = SlowTriggers(model)

    expected = [slow.loss(prefix_of(vocabulary.text_of(trigger)), PAIRS, weights) for trigger in triggers]

    assert scorer_of(model, weights).losses(triggers) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_divergence_and_fluency_are_those_of_a_loop(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    vocabulary = vocabulary_of(model)
    (trigger,) = vocabulary.random_triggers(1, 3, np.random.default_rng(1))
    slow = SlowTriggers(model)
    before = prefix_of(vocabulary.text_of(trigger))
    scorer = scorer_of(model, ObjectiveWeights(), sentences=SENTENCES)

    found = scorer.components(trigger)

    expected = []
    for sentence in SENTENCES:
        tokens = (slow.tokens(before + sentence), slow.tokens(sentence))
        same = next(
            (n for n, (a, b) in enumerate(zip(tokens[0][::-1], tokens[1][::-1], strict=False)) if a != b),
            len(tokens[1]),
        )
        places = sorted({1 + (same - 1) * number // 3 for number in range(4)})
        expected.append(slow.divergence(before, sentence, places))
    assert found["divergence"] == pytest.approx(sum(expected) / 2, abs=1e-5)
    assert found["fluency"] == pytest.approx(slow.fluency(trigger, len(vocabulary.lead)), abs=1e-5)
    assert found["gap"] == pytest.approx(abs(slow.gap(before, PAIRS)), abs=1e-5)


def test_what_a_text_weighs_depends_on_its_tokens_alone_and_padding_weighs_nothing(menagerie: Zoo) -> None:
    """Published: padding was compared with -1 and was -100, so it was scored with the targets."""
    model = menagerie.model("gpt2")
    (trigger,) = vocabulary_of(model).random_triggers(1, 3, np.random.default_rng(2))
    scorer = scorer_of(model, PUBLISHED_WEIGHTS)
    together = scorer.surprises([trigger]).nats[0]

    alone = []
    for pair in PAIRS:
        others = [other for other in PAIRS if other.regard is not pair.regard]
        own = TriggerScorer(model, vocabulary_of(model), [pair, *others], slots=3, weights=PUBLISHED_WEIGHTS)
        alone += own.surprises([trigger]).nats[0, :2].tolist()

    assert together.tolist() == pytest.approx(alone, abs=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "llama", "bloom"])
@pytest.mark.parametrize(
    "weights", [ObjectiveWeights(margin=0.5), PUBLISHED_WEIGHTS], ids=["ours", "published"]
)
def test_the_gradient_is_that_of_the_scored_loss(
    menagerie: Zoo, name: str, weights: ObjectiveWeights
) -> None:
    """Published: gradients were sums over batches and scores means, so ranking and scoring differed."""
    model = load_language_model(ModelRef(id=str(menagerie.folder(name)), device="cpu"))
    vocabulary = vocabulary_of(model)
    (trigger,) = vocabulary.random_triggers(1, 3, np.random.default_rng(3))
    scorer = scorer_of(model, weights, sentences=SENTENCES)
    other = int(np.flatnonzero(vocabulary.allowed)[40])
    slot = 1
    promised = float(scorer.gradient(trigger)[slot, other])

    embeddings = model.loaded.model.get_input_embeddings()  # type: ignore[operator]
    step = 1e-2
    losses = []
    for sign in (1, -1):
        towards = step * sign * (embeddings.weight[other] - embeddings.weight[trigger[slot]]).detach()

        def moved(_m: object, _a: object, output: torch.Tensor, by: torch.Tensor = towards) -> torch.Tensor:
            shifted = output.clone()
            shifted[:, len(vocabulary.lead) + slot] += by
            return shifted

        handle = embeddings.register_forward_hook(moved)
        losses.append(scorer.losses([trigger])[0])
        handle.remove()

    assert promised == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=0.02, abs=2e-4)
    assert all(weight.grad is None for weight in model.loaded.model.parameters())
    assert all(weight.requires_grad for weight in model.loaded.model.parameters())


def test_the_token_in_place_changes_nothing(menagerie: Zoo) -> None:
    model = menagerie.model("gpt2")
    (trigger,) = vocabulary_of(model).random_triggers(1, 3, np.random.default_rng(3))
    changes = scorer_of(model, PUBLISHED_WEIGHTS).gradient(trigger)

    assert changes.shape == (3, model.loaded.config.vocab_size)
    assert changes[torch.arange(3), list(trigger)].abs().max() == 0


def test_a_trigger_that_was_scored_is_not_run_again_before_its_gradient(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = menagerie.model("gpt2")
    triggers = vocabulary_of(model).random_triggers(5, 3, np.random.default_rng(2))
    scorer = scorer_of(model, ObjectiveWeights(margin=0.05), sentences=SENTENCES)
    anew = [scorer.gradient(trigger) for trigger in triggers]
    monkeypatch.setattr(scoring, "REMEMBERED", 4)
    scorer.losses(triggers)
    runs: list[int] = []
    whole = TriggerScorer.surprises

    def counted(self: TriggerScorer, own: list[tuple[int, ...]]) -> TriggerSurprises:
        runs.append(len(own))
        return whole(self, own)

    monkeypatch.setattr(TriggerScorer, "surprises", counted)
    known = [scorer.gradient(trigger) for trigger in triggers]

    assert runs == [1], "the first of five is forgotten"
    for one, other in zip(anew, known, strict=True):
        assert torch.equal(one, other)


def test_a_trigger_of_one_token_has_a_gradient_too(menagerie: Zoo) -> None:
    scorer = scorer_of(menagerie.model("gpt2"), ObjectiveWeights(), slots=1)
    token = int(np.flatnonzero(vocabulary_of(menagerie.model("gpt2")).allowed)[0])

    assert scorer.gradient((token,)).abs().max() > 0
    assert scorer.components((token,))["fluency"] == 0


def test_batches_do_not_matter(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Published: triggers were scored on twenty batches of one shuffle, and the remainder was dropped."""
    model = menagerie.model("llama")
    triggers = vocabulary_of(model).random_triggers(5, 3, np.random.default_rng(4))
    scorer = scorer_of(model, ObjectiveWeights(), sentences=SENTENCES)
    losses, gradient = scorer.losses(triggers), scorer.gradient(triggers[0])

    monkeypatch.setattr("evenhand.triggers.scoring.batch_tokens", lambda _device: 1)

    assert scorer.losses(triggers) == pytest.approx(losses, abs=1e-5)
    assert torch.allclose(scorer.gradient(triggers[0]), gradient, atol=1e-5)


def test_a_batch_that_does_not_fit_is_run_in_halves(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_language_model(ModelRef(id=str(menagerie.folder("gpt2")), device="cpu"))
    triggers = vocabulary_of(model).random_triggers(4, 3, np.random.default_rng(4))
    scorer = scorer_of(model, ObjectiveWeights(), sentences=SENTENCES)
    losses, gradient = scorer.losses(triggers), scorer.gradient(triggers[0])
    whole = scorer._read

    def read(batch: object, *arguments: object) -> None:
        if len(batch) > 1:  # type: ignore[arg-type]
            raise MemoryError
        whole(batch, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(scorer, "_read", read)

    assert scorer.losses(triggers) == pytest.approx(losses, abs=1e-5)
    assert torch.allclose(scorer.gradient(triggers[0]), gradient, atol=1e-5)


def test_a_trigger_longer_than_the_context_is_refused(menagerie: Zoo) -> None:
    with pytest.raises(
        ModelError,
        match=r"A trigger and the longest text behind it have 144 tokens together; .* takes 128. Ask for fewer --slots",
    ):
        scorer_of(menagerie.model("gpt2"), PUBLISHED_WEIGHTS, slots=125)
