"""The commands of translation."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from evenhand.cli.help import CommandWithNames
from evenhand.translation.repair_commands import repair_command
from evenhand.translation.review_commands import review_command
from evenhand.translation.translate_commands import publish_command, translate_command


def attach(groups: Mapping[str, typer.Typer]) -> None:
    """Add the commands."""
    data = groups["data"]
    data.command("translate", cls=CommandWithNames)(translate_command)
    data.command("repair", cls=CommandWithNames)(repair_command)
    data.command("review", cls=CommandWithNames)(review_command)
    data.command("publish", cls=CommandWithNames)(publish_command)
