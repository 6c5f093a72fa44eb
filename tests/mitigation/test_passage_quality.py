"""Quality is watched in passages too, where a model reads so far and the held-out text has them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import zoo
from long_decoders import build_long_decoder, slow_perplexity

from evenhand.core.experiments import Experiment
from evenhand.core.recipes import Recipe
from evenhand.lab.items import lab_probes
from evenhand.mitigation.equalising.equalise import EqualiseOptions
from evenhand.mitigation.mitigate import mitigate
from evenhand.mitigation.mitigation import MitigationData
from evenhand.mitigation.texts import HeldOutSentences, SentenceList, keep_back, read_held_out
from evenhand.mitigation.training_mitigation import quality_texts
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelRef
from evenhand.text.passages import FEWEST_PASSAGES, MOST_PASSAGES, PASSAGE

LONG = tuple(
    f"The baker of street {number} sold {number * 7 % 31} loaves near the gate of the old town, "
    + " and ".join(f"gave {digit * number % 17} more to his neighbour" for digit in range(1, 34))
    + "."
    for number in range(84)
)
"""Four of them make a passage."""


@pytest.fixture(scope="module")
def long_reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_long_decoder(tmp_path_factory.mktemp("decoder"))


def in_fours(sentences: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(" ".join(sentences[start : start + 4]) for start in range(0, len(sentences) - 3, 4))


def test_the_sentences_have_the_length_that_these_tests_rely_on() -> None:
    assert all(PASSAGE / 4 <= len(sentence) + 1 < PASSAGE / 3 for sentence in LONG)
    assert len(in_fours(LONG)) == 21 >= FEWEST_PASSAGES


def test_text_that_is_given_is_read_in_passages() -> None:
    assert read_held_out((SentenceList("given", LONG),)).passages() == in_fours(LONG)


def test_sentences_that_were_kept_back_of_a_corpus_do_not_follow_each_other() -> None:
    many = tuple(f"{sentence[:-1]} {number}." for number in range(30) for sentence in LONG)
    held_out = keep_back((SentenceList("corpus", many),))
    assert sum(map(len, held_out.sentences)) > FEWEST_PASSAGES * PASSAGE
    assert held_out.passages() == ()


def test_a_text_of_few_passages_has_none() -> None:
    assert read_held_out((SentenceList("short", LONG[: 4 * FEWEST_PASSAGES - 1]),)).passages() == ()


def test_passages_of_a_long_text_are_spread_over_it() -> None:
    many = tuple(f"{number:04d}{'x' * PASSAGE}" for number in range(3 * MOST_PASSAGES))
    held_out = HeldOutSentences("long", many, (0,) * len(many), in_a_row=True)
    assert held_out.passages() == many[::3]


def test_perplexity_in_passages_is_that_of_reading_them_token_by_token(long_reader: Path) -> None:
    model = load_language_model(str(long_reader), device="cpu")
    texts = quality_texts(read_held_out((SentenceList("given", LONG),)), model)
    assert list(texts) == ["perplexity", "perplexity in passages"]
    found = texts["perplexity in passages"].loss(model.loaded.model).perplexity
    assert found == pytest.approx(slow_perplexity(long_reader, in_fours(LONG)), rel=1e-5)


@pytest.mark.parametrize("species", ["gpt2", "bert"])
def test_a_short_window_and_a_masked_model_are_asked_in_sentences_alone(species: str, tmp_path: Path) -> None:
    model = load_language_model(str(zoo.build(species, tmp_path / species)), device="cpu")
    assert list(quality_texts(read_held_out((SentenceList("given", LONG),)), model)) == ["perplexity"]


def test_an_epoch_that_loses_passages_is_not_within_the_margin(
    long_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training that spoils positions far behind the length of a sentence, and nothing else."""
    from evenhand.mitigation.equalising.objective import EqualisingObjective

    def spoiled(_: EqualisingObjective, network: torch.nn.Module, __: object) -> torch.Tensor:
        positions = network.get_parameter("transformer.wpe.weight")
        return -(positions[400:] ** 2).sum()

    monkeypatch.setattr(EqualisingObjective, "loss", spoiled)
    data = MitigationData(
        (SentenceList("text", ("At night he sleeps.", "She likes tea.", "My neighbour sings.")),),
        lab_probes("en").first(2),
        (Experiment.HE_SHE,),
        held_out=(SentenceList("given", LONG),),
    )
    recipe = Recipe(epochs=1, batch_size=2, learning_rate=0.5, plateau=None)
    done = mitigate(
        ModelRef(id=str(long_reader), device="cpu"),
        "equalise",
        data=data,
        out=tmp_path / "out",
        options=EqualiseOptions(recipe=recipe, replayed=2),
    )
    training = done.record.chosen
    assert training is not None
    before, after = training.curve.original.quality, training.best.quality
    assert after["perplexity"] == pytest.approx(before["perplexity"], rel=1e-6)
    assert after["perplexity in passages"] > (1 + recipe.quality_margin) * before["perplexity in passages"]
    assert not training.keeps_quality
