"""Families are recognised by what they are, and another package can add one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from builders import inter
from zoo_fixtures import Zoo

from evenhand.core.items import Task
from evenhand.core.registry import PluginError
from evenhand.instruments.association.ways import Continuation, MethodOptions, choose_method
from evenhand.models.families import FAMILIES, recognise
from evenhand.models.families.masked import MaskedFamily
from evenhand.models.references import ModelError


@pytest.mark.parametrize(
    ("name", "family"),
    [("bert", "masked"), ("gpt2", "decoder"), ("t5", "sentinel"), ("bart", "denoiser"), ("mgpt", "decoder")],
)
def test_models_are_of_the_family_that_their_configuration_says(
    menagerie: Zoo, name: str, family: str
) -> None:
    assert menagerie.model(name).family is FAMILIES.get(family)


class Riddles(MaskedFamily):
    """A family of another package, for models that ours would take for its own."""

    name = "riddles"

    def recognises(self, config: Any, _tokenizer: Any) -> bool:
        """By a mark of its own."""
        return bool(getattr(config, "riddles", False))


def test_a_family_of_another_package_is_asked_first(menagerie: Zoo) -> None:
    loaded = menagerie.model("bert").loaded
    marked = SimpleNamespace(**{**vars(loaded.config), "model_type": "bert", "riddles": True})
    marked.is_encoder_decoder = False
    FAMILIES.register("riddles", Riddles())
    try:
        assert recognise(marked, loaded.tokenizer, "here").name == "riddles"
        assert recognise(loaded.config, loaded.tokenizer, "here").name == "masked"
    finally:
        FAMILIES.unregister("riddles")


def test_a_family_that_lacks_something_is_refused(menagerie: Zoo) -> None:
    loaded = menagerie.model("bert").loaded
    FAMILIES.register("empty", object())  # type: ignore[arg-type]
    try:
        with pytest.raises(PluginError, match="it lacks name, auto_class, capabilities, recognises"):
            recognise(loaded.config, loaded.tokenizer, "here")
    finally:
        FAMILIES.unregister("empty")


def test_a_type_without_a_class_is_refused(menagerie: Zoo) -> None:
    tokenizer = menagerie.model("bert").loaded.tokenizer
    for is_encoder_decoder in (False, True):
        config = SimpleNamespace(model_type="abacus", is_encoder_decoder=is_encoder_decoder)
        with pytest.raises(ModelError, match="'abacus'"):
            recognise(config, tokenizer, "here")


@pytest.mark.parametrize(
    ("letter", "name"),
    [
        ("orig", "alone-per-context"),
        ("b", "given-context-per-full"),
        ("c", "full"),
        ("d", "given-context"),
        ("e", "given-context-per-alone"),
        ("f", "full-per-alone"),
    ],
)
def test_published_letters_and_names_that_explain_themselves_mean_the_same(
    menagerie: Zoo, letter: str, name: str
) -> None:
    model = menagerie.model("gpt2")
    methods = [
        choose_method(model, Task.INTERSENTENCE, MethodOptions.named("evenhand.v2", inter=way))
        for way in (letter, name)
    ]

    item = inter()
    asked, same = ([own.requests(item, candidate) for candidate in item.candidates] for own in methods)
    values = [[-1.0, -2.0], [-3.0, -5.0, -4.0], [-6.0]][: len(asked[0])]
    assert asked == same
    assert methods[0].combine(values) == methods[1].combine(values)
    assert methods[0].name == f"continuation {letter}"
    assert Continuation[letter.upper()] is Continuation(letter)
