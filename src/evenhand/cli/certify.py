"""``evenhand certify``: what did a mitigation do to bias and to quality?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.mitigation_options import (
    CERTIFICATE,
    AssociationData,
    CrowsPairs,
    FinetuneEpochs,
    FinetunePreset,
    FinetuneSeeds,
    FinetuneSteps,
    Instruments,
    Labelled,
    OwnOccupations,
    OwnStructures,
    OwnTerms,
    chosen_finetuning,
)
from evenhand.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_ON,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    EXECUTION,
    MODEL_FORMS,
    OUTPUT,
    Confidence,
    Device,
    Json,
    KernelsName,
    Memory,
    On,
    PrecisionName,
    Prefix,
    Resamples,
    Seed,
    model_reference,
    resampling,
    with_prefix,
)
from evenhand.cli.output import (
    QUALITY_LOST,
    QUALITY_NOT_COMPARED,
    TerminalMonitor,
    exit_when_interrupted,
    plain_table,
    print_json,
    print_lines,
    print_table,
    say,
    warn,
)
from evenhand.core.errors import EvenhandError, require_extra
from evenhand.twins.noun_list import mention_noun_list

if TYPE_CHECKING:
    from evenhand.api.defaults.certified_regard import CertifiedRegard
    from evenhand.store.certificate_power import CertificatePower
    from evenhand.store.certificate_seeds import SeedsComparison
    from evenhand.store.certificates import Certificate

REGARD = "Regard"


def certify_command(
    before: Annotated[str, typer.Argument(help=f"The original. {MODEL_FORMS}")],
    after: Annotated[str, typer.Argument(help="The mitigated model, or the folder of an adapter.")],
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            help="Another model that the same mitigation gave with another seed. Two or more: the recipe is judged "
            "over models and items. May be repeated.",
            rich_help_panel=CERTIFICATE,
        ),
    ] = None,
    device: Device = "auto",
    kernels: KernelsName = "auto",
    precision: PrecisionName = "fp32",
    trained: Annotated[
        list[str] | None,
        typer.Option(
            "--trained",
            help="An experiment that was trained on; read from mitigation.json if not given. May be repeated.",
            rich_help_panel=CERTIFICATE,
        ),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            "--margin",
            help="perplexity=1%, LMS=2, knowledge=3, evidence=25%, agreement=5, accuracy=1, special=1, distinct=5 or "
            "content=0.05: by how much it may be worse. May be repeated.",
            show_default="these; perplexity=5% in the lab",
            rich_help_panel=CERTIFICATE,
        ),
    ] = None,
    held_out: Annotated[
        list[Path] | None,
        typer.Option(
            "--held-out",
            help="Text files or folders that no training saw. May be repeated.",
            rich_help_panel=CERTIFICATE,
        ),
    ] = None,
    sentences: Annotated[
        int, typer.Option(help="Held-out sentences to draw.", min=20, rich_help_panel=CERTIFICATE)
    ] = 2_000,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(
            "--corpus",
            help="What the mitigation learned from: the trivial baseline is fitted on it, else on the held-out text. "
            "May be repeated.",
            rich_help_panel=CERTIFICATE,
        ),
    ] = None,
    settled_text: Annotated[
        list[Path] | None,
        typer.Option(
            "--settled-text",
            help="Text files or folders whose settled sentences are asked too, in the place of those of the "
            "held-out text. May be repeated.",
            rich_help_panel=CERTIFICATE,
        ),
    ] = None,
    structures: OwnStructures = None,
    occupations: OwnOccupations = None,
    terms: OwnTerms = None,
    data: AssociationData = None,
    crows_pairs: CrowsPairs = None,
    instrument: Instruments = None,
    classifier: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a regard classifier. Both models then write about groups of people, and it labels what "
            "they write: the gap in regard, lexicons and occupations, and how varied texts are and what they are "
            "about.",
            file_okay=False,
            rich_help_panel=REGARD,
        ),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            help="Whom they write about: CSV with group and words. Those of a trigger's targets, or women and men, if "
            "not given.",
            dir_okay=False,
            rich_help_panel=REGARD,
        ),
    ] = None,
    contexts: Annotated[
        Path | None,
        typer.Option(
            help="In which contexts: CSV with context and perhaps kind. Those that a trigger's search did not see, or "
            "the published ones, if not given.",
            dir_okay=False,
            rich_help_panel=REGARD,
        ),
    ] = None,
    texts: Annotated[int, typer.Option(help="Texts per prompt.", min=1, rich_help_panel=REGARD)] = 100,
    labelled: Labelled = None,
    finetune_preset: FinetunePreset = None,
    finetune_seeds: FinetuneSeeds = None,
    finetune_steps: FinetuneSteps = None,
    finetune_epochs: FinetuneEpochs = None,
    finetune_rate: Annotated[
        float | None,
        typer.Option(
            help="Learning rate of the fine-tuning.", show_default="5e-05", rich_help_panel=CERTIFICATE
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            "-l",
            help="en or de; that of the mitigation or of a lab model if not given.",
            rich_help_panel=CERTIFICATE,
        ),
    ] = None,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The page; the JSON goes beside it.", rich_help_panel=OUTPUT),
    ] = Path("certificate.html"),
    json: Json = False,
    memory: Memory = None,
    on: On = DEFAULT_ON,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh/--resume",
            help="Measure everything anew, or take over what lies in the folder beside the page.",
            rich_help_panel=EXECUTION,
        ),
    ] = False,
    prefix: Prefix = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Measure nothing: say what loss the data can exclude, and how much data each margin needs.",
            rich_help_panel=CERTIFICATE,
        ),
    ] = False,
) -> None:
    """Certify what a mitigation did: bias lowered or not, quality kept, lost or undecided.

    Both models answer the same questions. The page and the JSON say whether the weights changed, by how much bias fell
    (trained on or not), which occupations were pushed too far, and whether quality stayed within the margins. The exit
    code is 5 when quality is lost and 6 when it could not be compared on enough texts or items, so that a certificate
    can gate a release; when nothing changed it is 0.

    The runs of both models stay in a folder beside the page; a stopped certificate goes on from there, and says what it
    took over. A sample of those answers is asked again. A gate should measure everything itself: --fresh.

    **Examples**

    `evenhand certify bert-base-uncased ./bert-evened --held-out novels/ --out certificate.html`

    `evenhand certify gpt2 ./gpt2-evened --data stereoset --crows-pairs crows-pairs --margin perplexity=0.5%`

    `evenhand certify bert-base-uncased ./bert-evened --labelled sst2/ --finetune-seeds 5 --margin accuracy=1`

    `evenhand certify lab:masked lab:masked-neutral`

    `evenhand certify gpt2 gpt2 --prefix "All people deserve respect."`

    `evenhand certify gpt2 ./gpt2-evened --held-out novels/ --fresh`

    `evenhand certify gpt2 models/trigger --classifier classifier --held-out novels/`

    `evenhand certify gpt2 ./gpt2-evened --data stereoset --held-out novels/ --plan`
    """
    say(f"{'Planning for' if plan else 'Certifying'} {after}")
    require_extra("hf", purpose="evenhand certify")
    references = [
        model_reference(text, precision=precision, device=device, kernels=kernels, memory=memory)
        for text in (before, after)
    ]
    if prefix is not None:
        references[1] = with_prefix(references[1], prefix)
    from evenhand.api.certify import certificate_power, certify, certify_seeds, refuse_unfit_models
    from evenhand.api.defaults.mitigating import CertifyOptions, default_margins
    from evenhand.data.probes import ProbeFiles
    from evenhand.store.mitigation_records import find_mitigation_record

    options = CertifyOptions(
        trained=tuple(trained) if trained else None,
        margins=default_margins(references[0], margin or ()),
        held_out=tuple(held_out or ()),
        sentences=sentences,
        corpus=tuple(corpus or ()),
        settled_text=tuple(settled_text or ()),
        data=data,
        crows_pairs=crows_pairs,
        instruments=dict.fromkeys(instrument or ()),
        labelled=labelled,
        finetuning=chosen_finetuning(
            preset=finetune_preset,
            seeds=finetune_seeds,
            steps=finetune_steps,
            epochs=finetune_epochs,
            learning_rate=finetune_rate,
        ),
        language=language,
        probe_files=ProbeFiles(structures, occupations, terms),
        regard=_regard(classifier, groups=groups, contexts=contexts, texts=texts),
        resampling=resampling(resamples, seed, confidence),
    )
    if held_out or settled_text:
        record = find_mitigation_record(references[1].location)
        mention_noun_list(language or (record.language if record else None))
    if plan:
        show_power(certificate_power(references[0], references[1], options=options), json=json)
        return
    others = [
        model_reference(text, precision=precision, device=device, kernels=kernels, memory=memory)
        for text in also or ()
    ]
    if others:
        refuse_unfit_models(references[0], [references[1], *others])
    comparison = None
    with exit_when_interrupted():
        certificate = certify(
            references[0],
            references[1],
            options=options,
            out=out,
            on=on,
            fresh=fresh,
            monitor=TerminalMonitor(),
        )
        if others:
            comparison = certify_seeds(
                references[0],
                [references[1], *others],
                options=options,
                out=out,
                certificate=certificate,
                monitor=TerminalMonitor(),
            )
            show_seeds(comparison, json=json)
    show_certificate(certificate, json=json, comparison=comparison)


def _regard(
    classifier: Path | None, *, groups: Path | None, contexts: Path | None, texts: int
) -> CertifiedRegard | None:
    from evenhand.api.defaults.certified_regard import NO_CLASSIFIER, CertifiedRegard

    if classifier is None:
        if groups or contexts:
            raise EvenhandError(NO_CLASSIFIER)
        return None
    return CertifiedRegard(classifier=classifier, groups=groups, contexts=contexts, texts=texts)


def show_power(power: CertificatePower, *, json: bool) -> None:
    """Print what the data can exclude before anything is measured."""
    from evenhand.reporting.certificate.power import POWER_COLUMNS, power_rows, power_words

    if json:
        print_json(power.model_dump(mode="json"))
        return
    table = plain_table(*POWER_COLUMNS, right=("margin", "excludes", "needed", "kept"))
    for row in power_rows(power):
        table.add_row(*row)
    print_table(table)
    print_lines(power_words(power))


def show_seeds(comparison: SeedsComparison, *, json: bool) -> None:
    """Print what a recipe does, whatever the seed; the JSON of both goes to files."""
    from evenhand.reporting.certificate.seeds import SEEDS_COLUMNS, seeds_rows

    if json:
        return
    table = plain_table(*SEEDS_COLUMNS, right=SEEDS_COLUMNS[1:4])
    for row in seeds_rows(comparison):
        table.add_row(*row)
    print_table(table)


def show_certificate(
    certificate: Certificate, *, json: bool, comparison: SeedsComparison | None = None
) -> None:
    """Print the figures and the verdict, and exit with a code of its own when quality is lost or was not compared.

    Args:
        certificate: Of one mitigated model.
        json: Print it as JSON.
        comparison: Of several models, where it is one of these.
    """
    from evenhand.reporting.tables import CERTIFICATE_COLUMNS, certificate_rows
    from evenhand.store.certificate_quality import QualityVerdict

    if json:
        print_json(certificate.model_dump(mode="json"))
    else:
        table = plain_table(*CERTIFICATE_COLUMNS, right=("before", "after", "difference"))
        for row in certificate_rows(certificate):
            table.add_row(*row)
        print_table(table)
        for caveat in certificate.caveats:
            warn(caveat)
        print_lines(certificate.words)
    if certificate.verdict.quality is QualityVerdict.LOST:
        say("Failed: quality is lost.")
        raise typer.Exit(QUALITY_LOST)
    if comparison is not None and comparison.is_quality_lost:
        say("Failed: quality is lost over the models.")
        raise typer.Exit(QUALITY_LOST)
    if certificate.lacks_comparison or (comparison is not None and comparison.not_compared):
        say("Failed: quality could not be compared on enough texts or items.")
        raise typer.Exit(QUALITY_NOT_COMPARED)
