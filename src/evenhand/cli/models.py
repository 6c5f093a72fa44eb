"""``evenhand models``: what a model is and what it can be measured with."""

from __future__ import annotations

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
    from evenhand.models.description import describe_model
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
