"""Mitigations as commands run them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.output import (
    TerminalMonitor,
    exit_when_interrupted,
    print_json,
    print_trigger,
    say,
)

if TYPE_CHECKING:
    from evenhand.mitigation.mitigation import MitigationData, MitigationOptions
    from evenhand.models.references import ModelRef


def mitigation_data(
    ref: ModelRef,
    *,
    corpus: list[str] | None,
    experiment: list[str] | None,
    language: str | None,
    held_out: list[Path] | None,
    probe_files: tuple[Path | None, Path | None, Path | None],
) -> MitigationData:
    """The text, probes and experiments of a mitigation, from what was given."""
    from evenhand.data.probes import ProbeFiles
    from evenhand.workflows.defaults.mitigating import default_data

    return default_data(
        ref,
        corpus or (),
        experiments=experiment or ("all",),
        language=language,
        held_out=held_out or (),
        probe_files=ProbeFiles(*probe_files),
    )


def run_mitigation(
    ref: ModelRef,
    method: str,
    *,
    data: MitigationData,
    options: MitigationOptions,
    out: Path,
    fresh: bool,
    json: bool,
    files: tuple[Path | None, Path | None, Path | None] = (None, None, None),
) -> None:
    """Mitigate a model, and print what was done and how to measure it, with the files that it was trained with."""
    from evenhand.cli.results import show_mitigation
    from evenhand.data.probes import ProbeFiles
    from evenhand.workflows.mitigate import mitigate

    with exit_when_interrupted():
        mitigated = mitigate(
            ref,
            method,
            out=out,
            data=data,
            options=options,
            fresh=fresh,
            monitor=TerminalMonitor(),
            command=shlex.join(["evenhand", *sys.argv[1:]]),
        )
    name = f"{ref.id}@{ref.revision}" if ref.revision else ref.id
    certify = ["evenhand", "certify", name, str(out), *ProbeFiles(*files).arguments]
    say(f"Wrote {out}. Measure the difference with: {shlex.join(certify)}")
    if json:
        print_json(mitigated.record.model_dump(mode="json"))
    elif mitigated.record.trigger:
        print_trigger(mitigated.record.trigger)
    else:
        show_mitigation(mitigated.record)
