"""``evenhand models``: what a model is and what it can be measured with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from evenhand.cli.help import CommandWithNames
from evenhand.cli.options import MODEL_FORMS, Device, Json
from evenhand.cli.output import plain_table, print_json, print_table, say

models_app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="Look at models.")


@models_app.callback()
def _models() -> None:
    """Look at models."""


@models_app.command("inspect", cls=CommandWithNames)
def inspect_command(
    model: Annotated[str, typer.Argument(help=MODEL_FORMS)],
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Show a model's family, capabilities and special tokens, what it can be measured with, and why not.

    **Examples**

    `evenhand models inspect bert-base-cased`

    `evenhand models inspect ./my-model --json`
    """
    say(f"Inspecting {model}")
    from evenhand.models.backends import require_backends

    require_backends([model], purpose="evenhand models inspect")
    from evenhand.api.models import describe_model
    from evenhand.models.references import load_model

    facts = describe_model(load_model(model, device=device))
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


@models_app.command("cache", cls=CommandWithNames)
def cache_command(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all kept models.")] = False,
    json: Json = False,
) -> None:
    """Show or clear the dequantised models that are kept of GGUF files.

    A GGUF file is read once and kept as an ordinary folder, which loads in a fraction of the time. EVENHAND_CACHE_LIMIT
    is what all of them may take (10GB if not set, 0 keeps none); the least recently used give way.

    **Examples**

    `evenhand models cache`

    `evenhand models cache --clear`
    """
    from evenhand.core.memory import show_memory
    from evenhand.models.gguf_cache import cache_folder, cache_limit, clear_cache, kept_models

    limit = cache_limit()
    if clear:
        freed = clear_cache()
        if json:
            print_json({"freed": freed})
        else:
            say(f"Removed {show_memory(freed)} from {cache_folder()}")
        return
    models = kept_models()
    total = sum(kept.size for kept in models)
    if json:
        rows = [{"source": kept.source, "folder": str(kept.folder), "size": kept.size} for kept in models]
        print_json({"folder": str(cache_folder()), "limit": limit, "size": total, "models": rows})
        return
    table = plain_table("", "size", "last used")
    for kept in models:
        used = datetime.fromtimestamp(kept.last_used, tz=UTC).astimezone()
        table.add_row(kept.source, show_memory(kept.size), f"{used:%Y-%m-%d %H:%M}")
    if models:
        print_table(table)
    say(f"{show_memory(total)} of {show_memory(limit)} in {cache_folder()}")
