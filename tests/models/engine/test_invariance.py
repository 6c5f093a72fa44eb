"""What must not change a score: how the work is cut, ordered, padded, shared or projected."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
import zoo
from engine_scores import Scores, assert_same, combined, engine_scores, questions, scores_without_sharing
from running import HANG
from zoo_fixtures import Zoo
from zoo_items import MALFORMED_BLANKS, MALFORMED_CONTEXTS, starter_items

from evenhand.core.items import Association, Task
from evenhand.instruments.association.ways import tasks_of_model
from evenhand.models.engine.execution import execute
from evenhand.models.engine.plan import MaskedInput, Seq2SeqInput
from evenhand.models.engine.projection import WholeProjection
from evenhand.models.engine.trees import CausalInput
from evenhand.models.families.decoder import DECODER
from evenhand.models.language_model import LanguageModel, load_language_model

MODELS = zoo.names()
DECODERS = zoo.names(DECODER)
NEVER_SPLIT: frozenset[str] = frozenset()
NEVER_SHARING = frozenset({"bloom"})
"""BLOOM's positions are a bias on the attention that follows from the plain mask."""
HIDES_SHARING = frozenset({"mistral"})
"""Its window in the zoo is shorter than any row with several sequences."""


def some_items(model: LanguageModel) -> list[Association]:
    """Items of all tasks that a model can do."""
    items = [*starter_items(Task.INTRASENTENCE)[::3], *MALFORMED_BLANKS]
    if Task.INTERSENTENCE in tasks_of_model(model):
        items += [*starter_items(Task.INTERSENTENCE)[::3], *MALFORMED_CONTEXTS]
    return items


def scores_now(model: LanguageModel) -> Scores:
    return engine_scores(model, some_items(model))


usual_scores = cache(scores_now)
"""What the others are compared with, computed once for each model."""


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("budget", [16, 64, 4096])
def test_the_size_of_batches_does_not_matter(menagerie: Zoo, name: str, budget: int) -> None:
    model = menagerie.model(name)
    assert_same(engine_scores(model, some_items(model), max_tokens=budget), usual_scores(model))


@pytest.mark.parametrize("name", MODELS)
def test_the_order_of_items_and_candidates_does_not_matter(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    turned = [replace(item, candidates=item.candidates[::-1]) for item in reversed(some_items(model))]
    assert_same(engine_scores(model, turned), usual_scores(model))


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "bart"])
def test_the_number_of_threads_does_not_matter(
    menagerie: Zoo, name: str, request: pytest.FixtureRequest
) -> None:
    model = menagerie.model(name)
    assert torch.get_num_threads() == 1
    alone = scores_now(model)
    request.getfixturevalue("two_threads")
    assert_same(scores_now(model), alone)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_side_on_which_a_tokenizer_pads_does_not_matter(menagerie: Zoo, name: str, side: str) -> None:
    model = load_language_model(str(menagerie.folder(name)), device="cpu")
    model.loaded.tokenizer.padding_side = side
    assert_same(scores_now(model), usual_scores(menagerie.model(name)))


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("protocol", ["evenhand.v2", "multilingual-2023"])
def test_sharing_what_sequences_start_with_does_not_matter(menagerie: Zoo, name: str, protocol: str) -> None:
    model = menagerie.model(name)
    items = some_items(model)
    for inter in ("d", "e"):
        apart = scores_without_sharing(model, items, protocol=protocol, inter=inter)
        assert_same(engine_scores(model, items, protocol=protocol, inter=inter), apart)


@pytest.mark.parametrize("name", MODELS)
def test_projecting_only_what_is_needed_does_not_matter(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    asked = questions(model, some_items(model))
    plan, forward = model.plan([request for each in asked for request in each.requests])
    plain = model.family.runner(model.loaded, WholeProjection(model.loaded.model), share_prefixes=plan.joined)
    runners = {**model.runners(plan), MaskedInput: plain, CausalInput: plain, Seq2SeqInput: plain}
    assert_same(combined(asked, execute(plan, forward, runners)), usual_scores(model))


@pytest.mark.parametrize("name", MODELS)
def test_every_architecture_is_split_between_body_and_head(menagerie: Zoo, name: str) -> None:
    assert menagerie.model(name).is_split == (name not in NEVER_SPLIT)


def branches(entry: CausalInput) -> bool:
    """Whether there is more in the row than one sequence."""
    return entry.depths != tuple(range(len(entry.depths)))


@pytest.mark.parametrize("name", DECODERS)
def test_every_decoder_but_bloom_shares_beginnings(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    assert model.shares_prefixes == (name not in NEVER_SHARING)
    asked = questions(model, starter_items(Task.INTERSENTENCE))
    plan, _ = model.plan([request for each in asked for request in each.requests])
    shared = [entry for entry in plan.inputs if isinstance(entry, CausalInput) and branches(entry)]
    expected = 0 if name in NEVER_SHARING | HIDES_SHARING else len(starter_items(Task.INTERSENTENCE))
    assert len(shared) == expected


def test_half_precision_changes_few_preferences(menagerie: Zoo) -> None:
    # Transformers' DeBERTa mixes number formats and cannot run in half precision.
    folders = [menagerie.folder(name) for name in MODELS if name != "deberta"]
    script = Path(__file__).with_name("half_precision.py")
    path = os.pathsep.join([str(script.parents[2]), *sys.path])
    done = subprocess.run(
        [sys.executable, script, *folders],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG,
    )
    if done.returncode < 0 or "BFloat16" in done.stderr:
        pytest.skip(f"this processor cannot run half precision: {done.returncode} {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    changed: dict[str, tuple[int, int]] = json.loads(done.stdout)
    assert changed.keys() == {folder.name for folder in folders}
    total = sum(pairs for _, pairs in changed.values())
    assert sum(swapped for swapped, _ in changed.values()) < 0.03 * total, changed
    assert all(swapped <= 0.1 * pairs for swapped, pairs in changed.values()), changed
