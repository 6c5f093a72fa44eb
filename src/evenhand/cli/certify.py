"""``evenhand certify``: what did a mitigation do to bias and to quality?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.certificate_options import (
    AssociationData,
    CrowsPairs,
    FinetuneSeeds,
    FinetuneSteps,
    Labelled,
)
from evenhand.cli.exit_codes import INTERRUPTED, QUALITY_LOST
from evenhand.cli.monitor import progress_bar
from evenhand.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    Confidence,
    Json,
    Resamples,
    Seed,
    resampling,
)
from evenhand.cli.output import plain_table, print_json, print_lines, print_table, say, warn
from evenhand.core.errors import EvenhandError
from evenhand.core.extras import require_extra

if TYPE_CHECKING:
    from evenhand.models.references import ModelRef
    from evenhand.runs.certificates import Certificate
    from evenhand.workflows.certificate_plans import CertifyWishes


def certify_command(
    before: Annotated[str, typer.Argument(help="The original: a model folder, hub id or lab:NAME.")],
    after: Annotated[str, typer.Argument(help="The mitigated model, or the folder of an adapter.")],
    trained: Annotated[
        list[str] | None,
        typer.Option(
            "--trained",
            help="An experiment that was trained on; read from mitigation.json if not given. May be repeated.",
        ),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            "--margin",
            help="perplexity=1%, LMS=2 or accuracy=1: by how much it may be worse. May be repeated.",
            show_default="these; perplexity=5% in the lab",
        ),
    ] = None,
    held_out: Annotated[
        list[Path] | None,
        typer.Option("--held-out", help="Text files or folders that no training saw. May be repeated."),
    ] = None,
    sentences: Annotated[int, typer.Option(help="Held-out sentences to draw.", min=20)] = 2_000,
    data: AssociationData = None,
    crows_pairs: CrowsPairs = None,
    labelled: Labelled = None,
    finetune_seeds: FinetuneSeeds = 5,
    finetune_steps: FinetuneSteps = 300,
    finetune_rate: Annotated[float, typer.Option(help="Learning rate of the fine-tuning.")] = 5e-5,
    language: Annotated[
        str | None,
        typer.Option(
            "--language", "-l", help="en or de; that of the mitigation or of a lab model if not given."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page; the JSON goes beside it.")] = Path(
        "certificate.html"
    ),
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    precision: Annotated[str, typer.Option(help="fp32, bf16 or fp16.")] = "fp32",
    json: Json = False,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
) -> None:
    """Certify what a mitigation did: bias lowered or not, quality kept, lost or undecided.

    Both models answer the same questions. The page and the JSON say whether the weights changed, by how much bias fell
    (trained on or not), which occupations were pushed too far, and whether quality stayed within the margins. The exit
    code is 5 when quality is lost, so that a certificate can gate a release; when nothing changed it is 0.

    The runs of both models stay in a folder beside the page; a stopped certificate goes on from there.

    **Examples**

    `evenhand certify bert-base-uncased ./bert-evened --held-out novels/ --out certificate.html`

    `evenhand certify gpt2 ./gpt2-evened --data stereoset --crows-pairs crows-pairs --margin perplexity=0.5%`

    `evenhand certify bert-base-uncased ./bert-evened --labelled sst2/ --finetune-seeds 5 --margin accuracy=1`

    `evenhand certify lab:masked lab:masked-neutral`
    """
    require_extra("hf", purpose="evenhand certify")
    from evenhand.certificate import Finetuning
    from evenhand.cli.options import model_reference
    from evenhand.workflows.certificate_plans import CertifyWishes, margins_for

    page, record = output_files(out)
    references = [
        model_reference(
            text, precision=precision, device=device, allow_pickle_weights=False, trust_remote_code=False
        )
        for text in (before, after)
    ]
    wishes = CertifyWishes(
        trained=tuple(trained) if trained else None,
        margins=margins_for(references[0], margin or ()),
        held_out=tuple(held_out or ()),
        sentences=sentences,
        data=data,
        crows_pairs=crows_pairs,
        labelled=labelled,
        finetuning=Finetuning(seeds=finetune_seeds, steps=finetune_steps, learning_rate=finetune_rate),
        language=language,
        resampling=resampling(resamples, seed, confidence),
        mitigated=references[1],
    )
    made = _certified(references, wishes, work=page.with_suffix(""))
    keep_certificate(made, page, record)
    if json:
        print_json(made.model_dump(mode="json"))
    else:
        show_certificate(made)
    leave_if_quality_is_lost(made)


def _certified(references: Sequence[ModelRef], wishes: CertifyWishes, *, work: Path) -> Certificate:
    """Load both models, and certify the second."""
    from evenhand.certificate import certify
    from evenhand.models.language_model import load_language_model
    from evenhand.workflows.certificate_plans import certificate_plan

    models = []
    for reference in references:
        say(f"Loading {reference.id}{f'@{reference.revision}' if reference.revision else ''}")
        models.append(load_language_model(reference))
    plan = certificate_plan(models[0], wishes)
    if plan.held_out is None:
        say("No --held-out text was given, so perplexity is not measured.")
    try:
        return certify(models[0], models[1], plan, work=work, stage=progress_bar)
    except KeyboardInterrupt:
        say("Stopped. Give the same command again to go on from here.")
        raise typer.Exit(INTERRUPTED) from None


def output_files(out: Path) -> tuple[Path, Path]:
    """The page and the JSON beside it."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise EvenhandError(f"--out {out} must end in .html; the JSON and the runs are named after it.")
    runs = out.with_suffix("")
    if runs.is_file() or (runs.is_dir() and {path.name for path in runs.iterdir()} - {"before", "after"}):
        raise EvenhandError(
            f"The runs of both models go into {runs}, and that is something else already. Choose another --out."
        )
    return out, out.with_suffix(".json")


def keep_certificate(certificate: Certificate, page: Path, record: Path) -> None:
    """Write the JSON and the page."""
    from evenhand.core.files import write_text
    from evenhand.report.certificate.page import write_certificate_page

    write_text(record, certificate.model_dump_json(indent=1) + "\n")
    write_certificate_page(certificate, page)
    say(f"Wrote {page} and {record}")


def show_certificate(certificate: Certificate) -> None:
    """Print the figures and the verdict."""
    from evenhand.report.certificate.tables import CERTIFICATE_COLUMNS, certificate_rows

    table = plain_table(*CERTIFICATE_COLUMNS, right=("before", "after", "difference"))
    for row in certificate_rows(certificate):
        table.add_row(*row)
    print_table(table)
    for caveat in certificate.caveats:
        warn(caveat)
    print_lines(certificate.words)


def leave_if_quality_is_lost(certificate: Certificate) -> None:
    """Exit with a code of its own when quality is lost."""
    from evenhand.runs.certificates import QualityVerdict

    if certificate.verdict.quality is QualityVerdict.LOST:
        say("Failed: quality is lost.")
        raise typer.Exit(QUALITY_LOST)
