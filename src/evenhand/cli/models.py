"""``evenhand models``: what a model is and what it can be measured with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.options import Json
from evenhand.cli.output import plain_table, print_json, print_table, say
from evenhand.core.extras import require_extra

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel

models_app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="Look at models.")


@models_app.callback()
def _models() -> None:
    """Look at models."""


@models_app.command("inspect")
def inspect_command(
    model: Annotated[str, typer.Argument(help="A model folder or hub id, with @revision if wanted.")],
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    json: Json = False,
) -> None:
    """Show a model's family, capabilities and special tokens, what it can be measured with, and why not.

    **Examples**

    `evenhand models inspect bert-base-cased`

    `evenhand models inspect ./my-model --json`
    """
    require_extra("hf", purpose="evenhand models inspect")
    from evenhand.models.language_model import load_language_model

    say(f"Loading {model}")
    facts = describe_model(load_language_model(model, device=device))
    if json:
        print_json(facts)
        return
    table = plain_table("", model)
    for name, value in facts.items():
        shown = (
            ", ".join(f"{key} {entry}" for key, entry in value.items())
            if isinstance(value, dict)
            else str(value)
        )
        table.add_row(name.replace("_", " "), shown)
    print_table(table)


def describe_model(model: LanguageModel) -> dict[str, Any]:
    """Facts about a loaded model, as plain values."""
    from evenhand.core.items import Task
    from evenhand.core.protocols import DEFAULT_PROTOCOL
    from evenhand.models.measurable import choose_method
    from evenhand.models.references import ModelError
    from evenhand.models.tokenised_text import start_token

    loaded = model.loaded
    tokenizer = loaded.tokenizer
    tasks = {}
    for task in Task:
        try:
            method = choose_method(model, task, protocol=DEFAULT_PROTOCOL)
            tasks[task.value] = f"yes, by {method.name}: {method.description}"
        except ModelError as reason:
            tasks[task.value] = f"no: {reason}"
    start = start_token(tokenizer, loaded.config)
    speed = "fast" if tokenizer.is_fast else "slow"
    specials = ("bos_token", "eos_token", "pad_token", "mask_token", "unk_token", "cls_token", "sep_token")
    return {
        "family": model.family.name,
        "class": type(loaded.model).__name__,
        "type": loaded.config.model_type,
        "parameters": f"{sum(weight.numel() for weight in loaded.model.parameters()):,}",
        "tokenizer": f"{type(tokenizer).__name__}, {speed}, {len(tokenizer):,} entries",
        "special_tokens": {
            name: getattr(tokenizer, name) for name in specials if getattr(tokenizer, name, None)
        },
        "start_of_a_text": "none: the first token is not scored"
        if start is None
        else tokenizer.convert_ids_to_tokens(start),
        "longest_input": model.longest_input or "no limit",
        "only_needed_positions_projected": "yes" if model.is_split else "no",
        "shared_beginnings_computed_once": "yes" if model.shares_prefixes else "no",
        "next_sentence_head": "yes" if model.judges_next_sentence else "no",
        **tasks,
        "probe_terms_of_one_token": _single_tokens(model),
    }


def _single_tokens(model: LanguageModel) -> dict[str, str]:
    """How many terms and occupations of the probes are one token inside a sentence, in each language."""
    from evenhand.core.probes import Experiment
    from evenhand.data.probes import PROBE_LANGUAGES, load_probes
    from evenhand.models.blanks import filled_blanks

    def counted(words: Sequence[str]) -> str:
        tokenizer = model.loaded.tokenizer
        fills = [filled_blanks(tokenizer, "x BLANK x", word)[0].fill for word in words]
        single = sum(len(fill) == 1 and fill[0] != tokenizer.unk_token_id for fill in fills)
        return f"{single} of {len(words)}"

    found = {}
    for language in PROBE_LANGUAGES:
        probes = load_probes(language)
        pronouns = [
            word
            for experiment in (Experiment.HE_SHE, Experiment.HIS_HER)
            for word in probes.terms[experiment].all
        ]
        found[f"{language} pronouns"] = counted(pronouns)
        found[f"{language} names"] = counted(probes.terms[Experiment.NAMES].all)
        found[f"{language} occupations"] = counted(
            [form.noun for occupation in probes.occupations for form in occupation.forms]
        )
    return found
