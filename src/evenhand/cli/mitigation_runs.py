"""Mitigations as commands run them."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.output import (
    TerminalMonitor,
    exit_when_interrupted,
    print_json,
    print_trigger,
    say,
)
from evenhand.twins.noun_list import mention_noun_list

if TYPE_CHECKING:
    from evenhand.mitigation.mitigation import MitigationData, MitigationOptions
    from evenhand.models.references import ModelRef


ProbePaths = tuple[Path | None, Path | None, Path | None]
"""Files of structures, occupations and terms, where they were given."""


@dataclass(frozen=True, slots=True)
class GivenText:
    """The text, experiments and probes of a mitigation as they were given on the command line."""

    corpus: list[str] | None
    held_out: list[Path] | None
    experiments: list[str] | None
    language: str | None
    probes: ProbePaths


def run_on_text(
    ref: ModelRef,
    method: str,
    options: MitigationOptions,
    given: GivenText,
    *,
    out: Path,
    fresh: bool,
    json: bool,
) -> None:
    """Mitigate a model with text, and print what was done."""
    from evenhand.api.defaults.mitigating import default_data
    from evenhand.data.probes import ProbeFiles

    data = default_data(
        ref,
        given.corpus or (),
        experiments=given.experiments or ("all",),
        language=given.language,
        held_out=given.held_out or (),
        probe_files=ProbeFiles(*given.probes),
    )
    if given.corpus:
        mention_noun_list(data.probes.language)
    run_mitigation(
        ref, method, data=data, options=options, files=given.probes, out=out, fresh=fresh, json=json
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
    files: ProbePaths = (None, None, None),
) -> None:
    """Mitigate a model, and print what was done and how to measure it, with the files that it was trained with."""
    from evenhand.api.mitigate import mitigate
    from evenhand.cli.results import show_mitigation
    from evenhand.data.probes import ProbeFiles

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
