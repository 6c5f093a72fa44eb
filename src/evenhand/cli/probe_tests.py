"""What each test of ``evenhand probe`` needs, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.output import say, warn
from evenhand.cli.progress import progress_bar
from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.progress import Progress

if TYPE_CHECKING:
    from evenhand.core.probes import ProbeSet
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.references import ModelRef
    from evenhand.runs.probe_runs import ProbeRun
    from evenhand.stats.resampling import Resampling


DEFAULT_LANGUAGE = "en"


class ProbeTest(StrEnum):
    """What a probe computes."""

    MALOR = "malor"
    COSINE = "cosine"
    DIRECT_BIAS = "direct-bias"
    CROWS_PAIRS = "crows-pairs"


def named_test(name: str) -> ProbeTest:
    """The test of this name."""
    if name not in set(ProbeTest):
        raise UnknownNameError("test", name, [known.value for known in ProbeTest])
    return ProbeTest(name)


@dataclass(frozen=True, slots=True)
class ProbeWishes:
    """What was asked for on the command line."""

    test: ProbeTest
    experiment: str
    direction: str
    language: str | None
    structures: Path | None
    occupations: Path | None
    terms: Path | None
    shares: str | None
    score: str
    case: str
    data: str | None
    corpus: tuple[Path, ...]
    layer: int
    max_tokens: int | None
    resampling: Resampling


def probed(reference: ModelRef, wishes: ProbeWishes, *, out: Path, fresh: bool) -> ProbeRun:
    """One model through one test; what a stopped run had done is not done again."""
    from evenhand.models.engine.batch_store import BatchStore
    from evenhand.models.language_model import load_language_model

    _refuse_missing_data(wishes)
    say(f"Loading {reference.id}")
    model = load_language_model(reference)
    language = _language(model, wishes)
    name = f"{reference.short_name}_{language}_{wishes.test.value}"
    unfinished = out / f".{name}.scoring"
    if fresh:
        BatchStore(unfinished, "").remove()
    if wishes.test is ProbeTest.MALOR:
        run = _malor(model, language, wishes, folder=out / name, unfinished=unfinished, fresh=fresh)
    else:
        with progress_bar(name, "sentences") as report:
            run = _beside_malor(model, language, wishes, name=name, unfinished=unfinished, report=report)
    BatchStore(unfinished, "").remove()
    return run


def probe_that_is_there(folder: Path, fingerprint: str) -> ProbeRun | None:
    """The same probe if the folder holds it, None if there is no folder; another run is refused."""
    from evenhand.runs.probe_runs import open_probe_run, read_probe_record

    if not folder.exists():
        return None
    if read_probe_record(folder).fingerprint != fingerprint:
        raise EvenhandError(
            f"{folder} holds another run: other weights, data, options or version. Choose another --out, or replace "
            "it with --fresh."
        )
    return open_probe_run(folder)


def _refuse_missing_data(wishes: ProbeWishes) -> None:
    if wishes.test is ProbeTest.DIRECT_BIAS and not wishes.corpus:
        raise EvenhandError("--test direct-bias needs --corpus PATH: text files, or folders of them.")


def _language(model: LanguageModel, wishes: ProbeWishes) -> str:
    """The language that is asked in: that of the pairs, the one wished for, a lab model's own, or English."""
    from evenhand.data.crows_pairs import load_pairs
    from evenhand.runs.mitigation_records import lab_origin

    if wishes.test is ProbeTest.CROWS_PAIRS:
        return load_pairs(wishes.data or "crows-pairs", language=wishes.language).language
    planted = lab_origin(model.loaded.ref.location)
    return wishes.language or (planted.language if planted else DEFAULT_LANGUAGE)


def _beside_malor(
    model: LanguageModel, language: str, wishes: ProbeWishes, *, name: str, unfinished: Path, report: Progress
) -> ProbeRun:
    if wishes.test is ProbeTest.CROWS_PAIRS:
        return _crows_pairs(model, wishes, name=name, unfinished=unfinished, report=report)
    if wishes.test is ProbeTest.COSINE:
        return _cosine(model, wishes, name=name, report=report)
    return _direct_bias(model, language, wishes, name=name, report=report)


def _malor(
    model: LanguageModel, language: str, wishes: ProbeWishes, *, folder: Path, unfinished: Path, fresh: bool
) -> ProbeRun:
    from evenhand.instruments.malor.probe import ProbeOptions, planned_record, probe

    probes = _probes(model, language, wishes)
    for warning in probes.warnings:
        warn(str(warning))
    options = ProbeOptions(
        experiment=wishes.experiment,
        direction=wishes.direction,
        score=wishes.score,
        case=wishes.case,
        max_tokens=wishes.max_tokens,
        resampling=wishes.resampling,
        shares=_shares(wishes),
        name=folder.name,
        unfinished=unfinished,
    )
    done = None
    if not fresh:
        done = probe_that_is_there(folder, planned_record(model, probes, options).fingerprint)
    if done:
        return done
    with progress_bar(folder.name, "sentences") as report:
        return probe(model, probes, options=options, report=report)


def _probes(model: LanguageModel, language: str, wishes: ProbeWishes) -> ProbeSet:
    """The lab's own probes for its models, unless others are given; for all others those of the package."""
    from evenhand.data.probes import load_probes
    from evenhand.lab.probe_set import lab_probes
    from evenhand.runs.mitigation_records import lab_origin

    own = (wishes.structures, wishes.occupations, wishes.terms)
    if lab_origin(model.loaded.ref.location) and not any(own):
        return lab_probes(language)
    return load_probes(
        language, structures=wishes.structures, occupations=wishes.occupations, terms=wishes.terms
    )


def _shares(wishes: ProbeWishes) -> Mapping[str, Mapping[str, float]]:
    from evenhand.data.winogender import EMPLOYED, WRITTEN, occupation_shares

    if wishes.shares is None:
        return {}
    return {column: occupation_shares(wishes.shares, column=column) for column in (EMPLOYED, WRITTEN)}


def _crows_pairs(
    model: LanguageModel, wishes: ProbeWishes, *, name: str, unfinished: Path, report: Progress
) -> ProbeRun:
    from evenhand.instruments.crows_pairs import probe_pairs

    return probe_pairs(
        model,
        wishes.data or "crows-pairs",
        language=wishes.language,
        name=name,
        resampling=wishes.resampling,
        max_tokens=wishes.max_tokens,
        unfinished=unfinished,
        report=report,
    )


def _cosine(model: LanguageModel, wishes: ProbeWishes, *, name: str, report: Progress) -> ProbeRun:
    from evenhand.instruments.cosine import probe_cosine

    return probe_cosine(
        model,
        wishes.data or "winogender",
        layer=wishes.layer,
        name=name,
        resampling=wishes.resampling,
        report=report,
    )


def _direct_bias(
    model: LanguageModel, language: str, wishes: ProbeWishes, *, name: str, report: Progress
) -> ProbeRun:
    from evenhand.instruments.direct_bias.probe import probe_direct_bias

    return probe_direct_bias(
        model,
        wishes.corpus,
        language=language,
        layer=wishes.layer,
        name=name,
        resampling=wishes.resampling,
        report=report,
    )
