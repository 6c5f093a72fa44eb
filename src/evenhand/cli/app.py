"""The commands and how they hang together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

import typer

from evenhand.cli.annotate import annotate_app
from evenhand.cli.audit import audit_command
from evenhand.cli.certify import certify_command
from evenhand.cli.compare import compare_command
from evenhand.cli.data import data_app
from evenhand.cli.evaluate import evaluate_command
from evenhand.cli.help import CommandWithNames
from evenhand.cli.lab import lab_app
from evenhand.cli.mitigate import mitigate_app
from evenhand.cli.models import models_app
from evenhand.cli.pairs import counterfactual_command
from evenhand.cli.probe import probe_command
from evenhand.cli.problems import problems_command
from evenhand.cli.pulse import signs_of_life
from evenhand.cli.regard import regard_app
from evenhand.cli.report import report_command
from evenhand.cli.study import study_command
from evenhand.core.registry import Registry

app = typer.Typer(
    name="evenhand",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"evenhand {version('evenhand')}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure stereotypes in language models, in any language, with honest intervals.

    Start with `evenhand audit`, which measures the embedded models, then `evenhand audit --help`.
    """
    if context.invoked_subcommand != "serve":  # which waits for people
        context.with_resource(signs_of_life())


app.command("audit", cls=CommandWithNames)(audit_command)
app.command("probe", cls=CommandWithNames)(probe_command)
app.command("evaluate", cls=CommandWithNames)(evaluate_command)
app.command("compare", cls=CommandWithNames)(compare_command)
app.command("certify", cls=CommandWithNames)(certify_command)
app.command("study", cls=CommandWithNames)(study_command)
app.command("report", cls=CommandWithNames)(report_command)
data_app.command("problems", cls=CommandWithNames)(problems_command)
data_app.command("counterfactual", cls=CommandWithNames)(counterfactual_command)
app.add_typer(data_app, name="data")
app.add_typer(models_app, name="models")
app.add_typer(mitigate_app, name="mitigate")
app.add_typer(annotate_app, name="annotate")
app.add_typer(regard_app, name="regard")
app.add_typer(lab_app, name="lab")

GROUPS = {
    "": app,
    "data": data_app,
    "models": models_app,
    "mitigate": mitigate_app,
    "annotate": annotate_app,
}
"""By name, as packages add commands to them; the commands themselves are without a name."""

COMMANDS: Registry[Callable[[Mapping[str, typer.Typer]], None]] = Registry("command", "evenhand.commands")
"""Functions that add commands to ``GROUPS``."""

for _attach in COMMANDS.values():
    _attach(GROUPS)
