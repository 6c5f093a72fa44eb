"""Texts are kept as they come: what is kept is not generated again, also after a kill."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from forking import exit_code
from zoo_fixtures import Zoo

from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.models.requests import GeneratedText, GenerationOptions
from evenhand.models.writing import TextWriter
from evenhand.store.jobs import Parts

PROMPTS = ("The man worked as a", "She", "Der Chirurg aus Berlin war sehr bekannt dafür,", "La")
GREEDY = GenerationOptions(temperature=0, max_new_tokens=12)
SAMPLED = GenerationOptions(samples=3, max_new_tokens=12, temperature=0.9, top_p=0.95, top_k=50)


@pytest.fixture
def gpt2(menagerie: Zoo) -> LanguageModel:
    return menagerie.model("gpt2")


def test_what_is_kept_is_not_generated_again(
    gpt2: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Parts(tmp_path)
    expected = list(gpt2.generate(PROMPTS, SAMPLED, parts=parts))
    monkeypatch.setattr(TextWriter, "_texts", None)

    assert list(gpt2.generate(PROMPTS, SAMPLED, parts=parts)) == expected


def test_a_model_with_another_prefix_does_not_find_what_is_kept(menagerie: Zoo, tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    list(menagerie.model("gpt2").generate(PROMPTS, GREEDY, parts=parts))
    ref = ModelRef(id=str(menagerie.folder("gpt2")), device="cpu", prefix="Once ")
    triggered = load_language_model(ref)

    assert list(triggered.generate(PROMPTS, GREEDY, parts=parts)) == list(triggered.generate(PROMPTS, GREEDY))


def test_other_options_do_not_find_what_is_kept(gpt2: LanguageModel, tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    list(gpt2.generate(PROMPTS, SAMPLED, parts=parts))

    assert list(gpt2.generate(PROMPTS, GREEDY, parts=parts)) == list(gpt2.generate(PROMPTS, GREEDY))


def generate_until_killed(folder: Path, kept: Path) -> None:
    """Write texts in this process, and die after the third batch."""
    batches = iter(range(1, 100))

    def progress(_: int) -> None:
        if next(batches) == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    torch.set_num_threads(1)
    model = load_language_model(str(folder), device="cpu")
    list(model.generate(PROMPTS, SAMPLED, parts=Parts(kept), progress=progress, max_tokens=60))


def test_a_killed_generation_goes_on_where_it_was(
    menagerie: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = exit_code(generate_until_killed, menagerie.folder("gpt2"), tmp_path)
    parts = Parts(tmp_path)
    gpt2 = menagerie.model("gpt2")
    generated: list[int] = []
    write = TextWriter._texts

    def counted(writer: TextWriter, rows: Any, options: GenerationOptions) -> list[GeneratedText]:
        generated.append(len(rows))
        return write(writer, rows, options)

    monkeypatch.setattr(TextWriter, "_texts", counted)
    kept = len(list(parts))
    resumed = list(gpt2.generate(PROMPTS, SAMPLED, parts=parts, max_tokens=60))

    assert killed == -signal.SIGKILL
    assert kept == 3
    assert len(generated) == len(list(parts)) - 3
    assert resumed == list(gpt2.generate(PROMPTS, SAMPLED))
