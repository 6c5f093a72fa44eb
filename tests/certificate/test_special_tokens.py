"""The share of probability on tokens that no text has, against a plain computation of it, one sentence at a time."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from certificate_runs import small_plan

from evenhand.certificate.measuring import FIGURES_FOLDER, ModelMeasurer
from evenhand.certificate.text_tokens import text_tokens
from evenhand.core.errors import RunError
from evenhand.models.language_model import LanguageModel
from evenhand.store.jobs import Parts
from evenhand.training.perplexity import HeldOut

SENTENCES = (
    "The baker likes fresh bread.",
    "Bread.",
    "The gardener planted two tall old trees near the gate, and the neighbour watered them every evening.",
)


def slow_share(model: LanguageModel, others: list[int]) -> list[float]:
    """Of each sentence, the probability of some tokens added up over its places, from the model's own softmax."""
    sums = []
    for row in model.held_out_rows(SENTENCES, seed=0).rows:
        inputs = {"input_ids": torch.tensor([row.source or row.ids])}
        if row.source:
            inputs["decoder_input_ids"] = torch.tensor([row.ids])
        with torch.no_grad():
            probabilities = model.loaded.model(**inputs).logits[0].double().softmax(-1)
        sums.append(sum(float(probabilities[place, token]) for place in row.places for token in others))
    return sums


def tokens_beyond_text(model: LanguageModel, names: tuple[str, ...]) -> list[int]:
    """Entries by name, and numbers of the head beyond the last entry."""
    tokenizer = model.tokenizer
    network: Any = model.loaded.model
    width = network.get_output_embeddings().weight.shape[0]
    entries = {*tokenizer.get_vocab().values()}
    return [tokenizer.convert_tokens_to_ids(name) for name in names] + [
        token for token in range(width) if token not in entries
    ]


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("bert", ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]")),
        ("t5", ("<pad>", "<unk>")),
        ("llama", ("<s>", "<unk>")),
    ],
)
def test_the_share_is_that_of_a_plain_computation(menagerie: Any, name: str, names: tuple[str, ...]) -> None:
    shared = menagerie.model(name).loaded
    network: Any = deepcopy(shared.model)
    network.resize_token_embeddings(len(shared.tokenizer) + 7)
    model = LanguageModel(replace(shared, model=network))
    rows = model.held_out_rows(SENTENCES, seed=0)
    found = HeldOut(SENTENCES, model, rows=rows).figures(
        model.loaded.model, text_tokens=text_tokens(model, rows)
    )
    expected = slow_share(model, tokens_beyond_text(model, names))
    assert found.special == pytest.approx(expected, rel=1e-4)
    assert min(expected) > 0
    plain = HeldOut(SENTENCES, model).loss(model.loaded.model)
    assert found.loss.nats == pytest.approx(plain.nats)


def test_shares_that_were_put_beside_a_certificate_are_asked_again(menagerie: Any, tmp_path: Path) -> None:
    plan = small_plan()
    assert plan.held_out is not None

    def measurer() -> ModelMeasurer:
        return ModelMeasurer(menagerie.model("bert"), plan, folder=tmp_path)

    figures = measurer().held_out(plan.held_out)
    parts = Parts(tmp_path / FIGURES_FOLDER)
    (key,) = parts
    shape = (4, len(plan.held_out.sentences))
    kept = parts.get_array(key, shape)
    assert kept is not None
    assert kept[2] == pytest.approx(figures.special)
    kept[2] += 0.2 * kept[1]
    parts.put_array(key, kept)
    with pytest.raises(RunError, match="share of unused and special tokens"):
        measurer().held_out(plan.held_out)


def test_which_tokens_are_special_is_said_by_the_original(menagerie: Any, tmp_path: Path) -> None:
    """A tokenizer that calls padding a word does not hide what a model puts on it."""
    plan = small_plan()
    assert plan.held_out is not None
    original = menagerie.model("bert")
    loaded = replace(original.loaded, tokenizer=deepcopy(original.tokenizer))
    loaded.tokenizer.add_special_tokens({"pad_token": "the"})
    after = LanguageModel(loaded)
    assert (
        text_tokens(after, after.held_out_rows(SENTENCES, seed=0)).tolist()
        != text_tokens(original, original.held_out_rows(SENTENCES, seed=0)).tolist()
    )
    own, others = (
        ModelMeasurer(model, plan, folder=tmp_path / name, original=original).held_out(plan.held_out)
        for name, model in (("before", original), ("after", after))
    )
    assert others.special == pytest.approx(own.special)
