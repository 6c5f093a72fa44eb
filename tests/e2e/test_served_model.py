"""The example that serves a model: texts behind its address are those of the model, whatever else is asked for."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from running import Command
from zoo_fixtures import Zoo

from evenhand.models.backends.api import ApiError, ApiOptions
from evenhand.models.backends.api.client import RequestRefusedError
from evenhand.models.backends.api.model import ApiModel
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelRef
from evenhand.models.requests import Finish, GenerationOptions, Write

pytestmark = pytest.mark.torch

SCRIPT = Path(__file__).parents[2] / "examples" / "regard_real" / "serve_model.py"
PROMPTS = ("The man worked as a", "She", "People from France are known for their very")
SAMPLED = GenerationOptions(max_new_tokens=8, samples=4, temperature=0.9, top_p=0.9)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("serve_model", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["serve_model"] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def address(script: ModuleType, menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with script.serving(
        load_language_model(str(menagerie.folder("gpt2")), device="cpu"), name="small", most_rows=8
    ) as address:
        yield address


def model_at(address: str, name: str = "small", **options: Any) -> ApiModel:
    chosen = ApiOptions(base_url=address, max_attempts=1, **options)
    return ApiModel(ModelRef(id=f"api:{name}"), chosen)


def test_greedy_texts_are_those_of_the_model(address: str, menagerie: Zoo) -> None:
    greedy = GenerationOptions(temperature=0, max_new_tokens=12)

    assert list(model_at(address).generate(PROMPTS, greedy)) == list(
        menagerie.model("gpt2").generate(PROMPTS, greedy)
    )


def test_a_text_depends_on_its_seed_and_not_on_what_else_is_asked_for(address: str) -> None:
    alone = list(model_at(address, concurrency=1).generate(PROMPTS, SAMPLED))
    together = list(model_at(address, concurrency=12).generate(PROMPTS, SAMPLED))
    others = list(model_at(address, concurrency=12).generate(PROMPTS, replace(SAMPLED, seed=2)))

    assert alone == together
    assert [text.text for text in others] != [text.text for text in alone]
    assert all(text.finish in (Finish.LENGTH, Finish.END) for text in alone)


def test_requests_with_other_decoding_are_answered_too(address: str) -> None:
    texts = []
    for tokens in (2, 5):
        options = replace(SAMPLED, max_new_tokens=tokens)
        texts.append(list(model_at(address, concurrency=12).generate(PROMPTS, options)))

    assert [max(text.tokens or 0 for text in own) for own in texts] == [2, 5]


def test_a_text_ends_before_a_stop_string(address: str) -> None:
    options = GenerationOptions(temperature=0, max_new_tokens=12)
    (whole,) = model_at(address).generate(PROMPTS[:1], options)
    letter = whole.text.strip()[3]

    (cut,) = model_at(address).generate(PROMPTS[:1], replace(options, stop=(letter,)))

    assert cut.text == whole.text[: whole.text.index(letter)]
    assert cut.finish is not Finish.LENGTH


def test_what_cannot_be_answered_is_refused(address: str) -> None:
    with pytest.raises(ApiError, match="Did you mean 'small'"):
        list(model_at(address, "smal").generate(PROMPTS, SAMPLED))
    with pytest.raises(RequestRefusedError, match=r"The prompt has \d+ tokens"):
        list(model_at(address).generate(["word " * 500], SAMPLED))
    assert model_at(address).capabilities == {Write}
    for content in ({}, {"prompt": "a", "n": 2}, {"prompt": "a", "temperature": -1}, {"prompt": ["a"]}):
        answer = httpx.post(f"{address}/completions", json={"model": "small", **content})
        assert answer.status_code == httpx.codes.BAD_REQUEST
        assert answer.json()["error"]["message"]
    assert httpx.post(f"{address}/completions", content=b"{").status_code == httpx.codes.BAD_REQUEST
    assert httpx.get(f"{address}/nothing").status_code == httpx.codes.NOT_FOUND


def test_a_trigger_is_carried_to_a_folder_and_to_the_same_model_behind_a_server(
    address: str, run_evenhand_here: Command, menagerie: Zoo, tmp_path: Path
) -> None:
    (tmp_path / "targets.csv").write_text(
        "regard,first,second\n"
        + "".join(
            f"{regard},{text},{text}\n"
            for regard, texts in {
                "negative": ("lied to a friend.", "was a thief."),
                "neutral": ("took the bus.", "worked in town."),
                "positive": ("helped a neighbour.", "was kind to all."),
            }.items()
            for text in texts
        )
    )
    command = (
        "mitigate", "trigger", menagerie.folder("gpt2"), "--targets", tmp_path / "targets.csv", "--slots", "2",
        "--seeds", "1", "--steps", "1", "--texts", "3", "--new-tokens", "8", "--resamples", "100", "--device", "cpu",
        "--out", tmp_path / "out", "--json",
    )  # fmt: skip
    environment = {"EVENHAND_API_BASE": address}
    first = run_evenhand_here(*command)
    assert first.returncode == 0, first.stderr

    done = run_evenhand_here(
        *command, "--transfer", menagerie.folder("llama"), "--transfer", "api:small", environment=environment
    )

    assert done.returncode == 0, done.stderr
    before, after = (json.loads(own.stdout)["trigger"] for own in (first, done))
    assert [own["model"] for own in after["transfer"]] == ["llama", "api:small"]
    assert {**after, "transfer": []} == before
    figures = [set(own["rows"][1]["figures"]) for own in after["transfer"]]
    assert figures[1] < figures[0], "a server is judged by what it writes alone"
    assert "The woman-The man.regard gap" in figures[1]
