"""The commands of the server, of surveys and of annotation projects."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from evenhand.cli.help import CommandWithNames
from evenhand.studio.annotation_commands import (
    collect_command,
    delete_command,
    link_command,
    new_command,
    revoke_command,
)
from evenhand.studio.serve_commands import serve_app
from evenhand.studio.survey_commands import survey_app


def attach(groups: Mapping[str, typer.Typer]) -> None:
    """Add the commands."""
    annotate = groups["annotate"]
    annotate.command("new")(new_command)
    annotate.command("link")(link_command)
    annotate.command("revoke")(revoke_command)
    annotate.command("delete")(delete_command)
    annotate.command("collect", cls=CommandWithNames)(collect_command)
    groups[""].add_typer(survey_app, name="survey")
    groups[""].add_typer(serve_app, name="serve")
