"""Certify: two models to a certificate, its page, and the runs behind it.

OUT.html           what was found, for people
OUT.json           the same, for machines
OUT/before, after  the runs of both models
OUT/baseline       the run of the trivial baseline
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from evenhand.api.defaults.mitigating import CertifyOptions, default_plan
from evenhand.api.executors import HERE, Assignment, Executor, executor_at
from evenhand.api.models import reference_to
from evenhand.certificate import CertificatePlan
from evenhand.certificate import certify as make_certificate
from evenhand.certificate.certification import rows_of
from evenhand.certificate.measuring import ModelMeasurer
from evenhand.certificate.power import quality_power
from evenhand.certificate.seeds import ModelRows, compare_seeds, refuse_few_models
from evenhand.core.errors import EvenhandError
from evenhand.core.files import refuse_unwritable, sha256_of_file, write_text
from evenhand.core.progress import SILENT, Monitor
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.loading import family_of
from evenhand.models.references import ModelRef
from evenhand.reporting import write_certificate_page
from evenhand.store.certificate_files import is_certificate, runs_folder
from evenhand.store.certificate_inputs import INPUTS_FILE
from evenhand.store.certificate_power import CertificatePower
from evenhand.store.certificate_seeds import SeedsComparison
from evenhand.store.certificates import AFTER, BASELINE, BEFORE, Certificate, TakenOver
from evenhand.store.claims import claimed
from evenhand.store.head_records import model_weights_digest
from evenhand.store.records import RECORD_FILE

DEFAULT_PAGE = Path("certificate.html")

_OF_A_CERTIFICATE = re.compile(rf"{BEFORE}|{AFTER}(-[0-9]+)?|{BASELINE}|{re.escape(INPUTS_FILE)}|\..*")
"""What lies in the folder beside a page: runs, what else the certificate was made from, and hidden files."""


def certify(
    before: str | ModelRef,
    after: str | ModelRef,
    *,
    options: CertifyOptions | CertificatePlan | None = None,
    out: str | Path = DEFAULT_PAGE,
    on: str | Executor = HERE,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> Certificate:
    """Measure two models on the same questions, say what became of bias and quality, and write it down.

    Called again with the same, it opens the certificate; if it was interrupted, it goes on. A sample of the answers
    that lie there is asked again. What decides over a release should be measured anew: ``fresh``.

    Args:
        before: The original: a name or folder, or a reference.
        after: The mitigated model.
        options: What both are measured on, and the margins: what was chosen of it, or a whole plan.
        out: The page; the JSON and the runs of both models go beside it.
        on: Where the runs are measured: ``here``, ``ray`` or ``ray:ADDRESS``.
        fresh: Forget the certificate and all that lies in its folder, and measure everything anew.
        monitor: Told how it goes.
    """
    page = Path(out)
    refuse_unfit_page(page)
    first, second = reference_to(before), reference_to(after)
    plan = _plan_of(first, second, options)
    if plan.held_out is None:
        monitor.note("No --held-out text was given, so perplexity is not measured.")
    if fresh:
        _discard(page)
    measured_now: Collection[Path] = ()
    if on != HERE:
        measured_now = _measure_ahead(
            executor_at(on), plan, {BEFORE: first, AFTER: second}, runs_folder(page), monitor
        )
    models = []
    for ref in (first, second):
        monitor.note(f"Loading {ref.id}{f'@{ref.revision}' if ref.revision else ''}")
        models.append(load_language_model(ref))
    record = page.with_suffix(".json")
    certificate = make_certificate(
        models[0], models[1], plan, place=record, measured_now=measured_now, monitor=monitor
    )
    write_certificate_page(certificate, page)
    monitor.note(f"Wrote {page} and {record}")
    return certificate


def certificate_power(
    before: str | ModelRef, after: str | ModelRef, *, options: CertifyOptions | CertificatePlan | None = None
) -> CertificatePower:
    """What loss the data of a certificate can exclude, and how much data its margins need. No weights are loaded.

    Args:
        before: The original.
        after: The mitigated model.
        options: As for ``certify``.
    """
    first, second = reference_to(before), reference_to(after)
    plan = _plan_of(first, second, options)
    return CertificatePower(
        before=first.id,
        after=second.id,
        confidence=plan.resampling.confidence,
        qualities=quality_power(plan, is_decoder=family_of(first).reads_left_to_right),
    )


def _plan_of(
    before: ModelRef, after: ModelRef, options: CertifyOptions | CertificatePlan | None
) -> CertificatePlan:
    if isinstance(options, CertificatePlan):
        return options
    return default_plan(before, options or CertifyOptions(), after=after)


def certify_seeds(
    before: str | ModelRef,
    after: Sequence[str | ModelRef],
    *,
    options: CertifyOptions | CertificatePlan | None = None,
    out: str | Path = DEFAULT_PAGE,
    certificate: Certificate | None = None,
    monitor: Monitor = SILENT,
) -> SeedsComparison:
    """Compare several mitigated models of one recipe with their original, by the rows of a certificate.

    Args:
        before: The original.
        after: At least three mitigated models, trained with different seeds.
        options: What all are measured on, and the margins; a certificate of the first with the same is gone on from.
        out: The page of the certificate; the comparison goes beside it, as ``OUT.seeds.json``.
        certificate: That of the first of them: its page is written again, with the comparison on it.
        monitor: Told how it goes.
    """
    page = Path(out)
    refuse_unfit_page(page)
    original, *mitigated = (reference_to(model) for model in (before, *after))
    refuse_unfit_models(original, mitigated)
    plan = _plan_of(original, mitigated[0], options)

    def measurer_of(ref: ModelRef, folder: str, *, original: LanguageModel | None = None) -> ModelMeasurer:
        monitor.note(f"Loading {ref.id}")
        return ModelMeasurer(
            load_language_model(ref),
            plan,
            folder=runs_folder(page) / folder,
            original=original,
            monitor=monitor,
            taken_over=taken_over,
        )

    taken_over: dict[str, TakenOver] = {}
    first = measurer_of(original, BEFORE)
    measured = first.measure()
    found = []
    for number, ref in enumerate(mitigated, start=1):
        folder = AFTER if number == 1 else f"{AFTER}-{number}"
        other = measurer_of(ref, folder, original=first.model)
        bias, quality = rows_of((first, other), (measured, other.measure()), plan)
        found.append(ModelRows(name=ref.id, bias=bias, quality=quality))
    comparison = compare_seeds(original.id, found, confidence=plan.resampling.confidence)
    others = tuple(own for name, own in sorted(taken_over.items()) if name.startswith(f"{AFTER}-"))
    comparison = comparison.model_copy(update={"taken_over": others})
    place = _seeds_file(page)
    write_text(place, comparison.model_dump_json(indent=1) + "\n")
    monitor.note(f"Wrote {place}")
    if certificate is not None:
        write_certificate_page(certificate, page, seeds=comparison)
    return comparison


def refuse_unfit_models(before: ModelRef, after: Sequence[ModelRef]) -> None:
    """Refuse models that are not several results of one recipe, before any is loaded.

    Raises:
        EvenhandError: If they are too few, or if two have the same weights, or one has those of the original.
    """
    refuse_few_models(len(after))
    known = {_weights_of(before): "the original"}
    for ref in after:
        weights = _weights_of(ref)
        if weights in known:
            raise EvenhandError(
                f"{ref.id} has the same weights as {known[weights]}. What a seed does is told by models that were "
                "mitigated with different seeds: give each of them once."
            )
        known[weights] = ref.id


def _weights_of(ref: ModelRef) -> tuple[str, ...]:
    """What tells the weights of models apart without loading them."""
    folder = Path(ref.location)
    own = model_weights_digest(folder) if any(folder.glob("*.safetensors")) else ref.location
    return own, ref.revision or "", ref.prefix, *ref.adapters


def refuse_unfit_page(page: Path) -> None:
    """Refuse a page that cannot be written, or whose neighbours would be in the way, before anything is loaded.

    Raises:
        EvenhandError: If the page is none, or something else has its place or that of its JSON or its runs.
        OutputError: If nothing can be written there.
    """
    if page.suffix.lower() not in (".html", ".htm"):
        raise EvenhandError(f"--out {page} must end in .html; the JSON and the runs are named after it.")
    runs, record = runs_folder(page), page.with_suffix(".json")
    for path in (page, record, _seeds_file(page)):
        if path.is_dir():
            raise EvenhandError(f"{path} is a folder, and a file has to go there. Choose another --out.")
    if runs.is_file() or (
        runs.is_dir() and not all(_OF_A_CERTIFICATE.fullmatch(path.name) for path in runs.iterdir())
    ):
        raise EvenhandError(
            f"The runs of both models go into {runs}, and that is something else already. Choose another --out."
        )
    if record.exists() and not is_certificate(record):
        raise EvenhandError(
            f"The certificate goes into {record}, and that is something else already. Choose another --out."
        )
    refuse_unwritable(page)


def _seeds_file(page: Path) -> Path:
    """Where the comparison of several mitigated models goes."""
    return page.with_suffix(".seeds.json")


def _measure_ahead(
    executor: Executor, plan: CertificatePlan, models: dict[str, ModelRef], runs: Path, monitor: Monitor
) -> list[Path]:
    """Make the runs that the certificate will open, every model and instrument as a job of its own.

    Returns:
        Those that were not there before.
    """
    places = [runs / side / measurement.name for side in models for measurement in plan.measurements]
    there = {place: _digest_of_record(place) for place in places}
    assignments = [
        Assignment(
            title=f"{side}: {measurement.name}",
            work=partial(
                _measure, ref, replace(plan, measurements=(measurement,), trained=None), runs / side
            ),
            folder=runs / side,
            device=ref.device,
        )
        for side, ref in models.items()
        for measurement in plan.measurements
    ]
    executor.execute(assignments, monitor=monitor)
    return [place for place in places if _digest_of_record(place) != there[place]]


def _digest_of_record(run: Path) -> str | None:
    record = run / RECORD_FILE
    return sha256_of_file(record) if record.is_file() else None


def _discard(page: Path) -> None:
    """Forget a certificate and everything in its folder."""
    record, runs = page.with_suffix(".json"), runs_folder(page)
    with claimed(record):
        for path in (record, _seeds_file(page), runs / INPUTS_FILE):
            path.unlink(missing_ok=True)
        for path in runs.glob("[!.]*"):
            path.unlink() if path.is_symlink() else shutil.rmtree(path)


def _measure(ref: ModelRef, plan: CertificatePlan, folder: Path, monitor: Monitor) -> None:
    ModelMeasurer(load_language_model(ref), plan, folder=folder, monitor=monitor).measure()
