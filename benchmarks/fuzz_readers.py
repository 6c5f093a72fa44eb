"""Every reader of files, and what a user does with what it reads.

A reader gets a folder, which may be damaged, the intact one that it was copied from, and perhaps an empty folder for
results; without one, nothing is written and no page is made, which is quicker.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import fuzz_inputs
import fuzz_models
import fuzz_regard
import fuzz_texts
from fuzz_inputs import QUICK

import evenhand as eh
from evenhand.api.measure import evaluate_scores
from evenhand.api.models import describe_model
from evenhand.certificate.mitigated import summarise
from evenhand.core.errors import EvenhandError
from evenhand.core.files import write_text
from evenhand.core.recipes import Plateau
from evenhand.data.bec_pro import ProfessionSentences
from evenhand.data.corpora import sentences
from evenhand.data.crows_pairs import load_pairs
from evenhand.data.datasets import read_calibration as load_calibration
from evenhand.data.labelled import load_labelled
from evenhand.data.winogender import occupation_shares
from evenhand.lab.items import lab_benchmark
from evenhand.mitigation.pairs.twin_pairs import read_twin_pairs
from evenhand.mitigation.texts import keep_back, text_sources
from evenhand.reporting import render_calibration_page
from evenhand.reporting.certificate.words import certificate_sentences
from evenhand.reporting.model_cards import mitigation_card
from evenhand.store.conditions import Condition
from evenhand.store.mitigation_records import read_mitigation_record
from evenhand.testing.fake import Drawn, FakeModel
from evenhand.training.checkpoints import Checkpoints

FEW = eh.AuditOptions(data=None, limit=3, resampling=QUICK)

Read = Callable[[Path, Path, Path | None], object]


@dataclass(frozen=True, slots=True)
class Reader:
    """A kind of input.

    Attributes:
        name: As the table has it.
        share: Of all damages, relative to the others.
        make: Writes intact inputs into a folder, each into a folder of its own.
        read: Reads an input as a user would: its folder, the intact one, and where results go.
        seal: Makes hashes right again after damage, so that more than the hash is tried.
    """

    name: str
    share: int
    make: Callable[[Path], object]
    read: Read
    seal: Callable[[Path], object] | None = None


def read_model(folder: Path, _intact: Path, out: Path | None) -> None:
    """Load, describe and audit a model."""
    model = eh.load(str(folder), device="cpu")
    describe_model(model)
    eh.audit(model, lab_benchmark("en"), options=FEW, out=out)


def read_run(folder: Path, intact: Path, out: Path | None) -> None:
    """Open a run, show it in every form, and compare it with an intact one."""
    run = eh.open_run(folder)
    other = eh.open_run(intact)
    run.items()
    _ = run.figures
    for form in ("csv", "markdown", "latex"):
        eh.report(run, format=form)
    for condition in ("SS>1", "MALoR>1", "score>1", "cosine>1", "direct_bias>1"):
        with suppress(EvenhandError):
            Condition.parse(condition).holds(run)
    with suppress(EvenhandError):  # what cannot be compared can still be shown
        eh.compare(other, run, resampling=QUICK)
        eh.compare(run, other, by_group=True, resampling=QUICK)
    if out:
        eh.report([other, run], out=out / "page.html")


def read_certificate(folder: Path, _intact: Path, out: Path | None) -> None:
    """Read a certificate and write its page."""
    certificate = eh.read_certificate(folder / "certificate.json")
    certificate_sentences(certificate)
    if out:
        eh.write_certificate_page(certificate, out / "page.html")


def read_mitigation(folder: Path, _intact: Path, out: Path | None) -> None:
    """Read the record, write its card, and score with the model."""
    record = read_mitigation_record(folder)
    mitigation_card(record)
    summarise(record)
    eh.audit(str(folder), lab_benchmark("en"), options=FEW, out=out)


def read_checkpoint(folder: Path, _intact: Path, _out: Path | None) -> None:
    """Go on from the learning curve of the newest checkpoint."""
    latest = Checkpoints(folder).latest
    if latest is None:
        raise EvenhandError(f"{folder} has no checkpoint.")
    curve = latest.curve
    curve.describe_last()
    if curve.trained:
        curve.best(margin=0.01)
    curve.is_flat(Plateau())


def read_benchmark(folder: Path, _intact: Path, out: Path | None) -> None:
    """Load, describe, check and audit a benchmark."""
    path = folder / f"{folder.name}.json"
    benchmark = eh.load_dataset(path, language=path.stem)
    eh.describe(benchmark)
    eh.check(benchmark)
    eh.audit(
        FakeModel(Drawn("a"), name="a"),
        benchmark,
        options=eh.AuditOptions(limit=20, resampling=QUICK),
        out=out,
    )


def read_predictions(folder: Path, _intact: Path, out: Path | None) -> None:
    """Evaluate scores."""
    path = folder / f"scores.{folder.name}"
    eh.evaluate(path, "starter", resampling=QUICK, out=out)


def read_probe_files(folder: Path, _intact: Path, out: Path | None) -> None:
    """Read all four, and probe with the structures."""
    files = {name: folder / f"{name}.csv" for name in ("structures", "occupations", "terms")}
    probes = eh.load_probes(folder.name, **files)
    occupation_shares(folder / "shares.tsv")
    options = eh.MalorOptions(
        data=probes, experiment=probes.experiments[0].value, resampling=QUICK, language=folder.name
    )
    eh.probe(FakeModel(Drawn("a"), name="a"), "malor", options=options, out=out)


def read_pairs(folder: Path, _intact: Path, out: Path | None) -> None:
    """Load pairs and measure them."""
    path = folder / "pairs_en.csv"
    load_pairs(path)
    eh.probe(
        FakeModel(Drawn("a"), name="a"), "crows-pairs", options=_options("crows-pairs", data=path), out=out
    )


def read_bec_pro(folder: Path, _intact: Path, _out: Path | None) -> None:
    """Load BEC-Pro's sentences."""
    eh.load_dataset(folder / "BEC-Pro_EN.tsv", kind=ProfessionSentences)


def read_records(folder: Path, _intact: Path, _out: Path | None) -> None:
    """Load, describe and check items in the hub's layout."""
    benchmark = eh.load_dataset(folder / "items", language="en")
    eh.describe(benchmark)
    eh.check(benchmark)


def read_log(folder: Path, _intact: Path, out: Path | None) -> None:
    """Evaluate scores of pairs."""
    evaluate_scores(folder / "scores", out=out)


def read_winogender(folder: Path, _intact: Path, out: Path | None) -> None:
    """Measure cosines on the sentences."""
    options = _options("cosine", data=folder / "all_sentences.tsv")
    eh.probe(FakeModel(Drawn("a"), name="a"), "cosine", options=options, out=out)


def read_labelled(folder: Path, _intact: Path, _out: Path | None) -> None:
    """Load labelled text and tokenise it, as fine-tuning does."""
    path = folder if folder.name == "folder" else folder / f"labelled.{folder.name}"
    data = load_labelled(path)
    texts = [example.text for example in (*data.train, *data.judged)]
    _masked().tokenizer(texts, truncation=True, max_length=32)


@cache
def _masked() -> Any:
    return eh.load("lab:masked", device="cpu")


def read_corpus(folder: Path, _intact: Path, out: Path | None) -> None:
    """Read every sentence, hold some out, make pairs and measure direct bias."""
    for _ in sentences(folder):
        pass
    keep_back(text_sources([folder]))
    if out:
        eh.build_pairs(folder, out / "pairs.jsonl")
    options = _options("direct-bias", corpus=(folder,))
    eh.probe(FakeModel(Drawn("a"), name="a"), "direct-bias", options=options, out=out)


def read_twins(folder: Path, _intact: Path, _out: Path | None) -> None:
    """Read the pairs, and build them again in their place."""
    list(read_twin_pairs(folder / "pairs.jsonl"))
    keep_back(text_sources([folder / "pairs.jsonl"]))


def read_calibration(folder: Path, _intact: Path, out: Path | None) -> None:
    """Read a calibration and write its page."""
    calibration = load_calibration(folder / "calibration.json")
    if out:
        write_text(out / "page.html", render_calibration_page(calibration))


def _options(instrument: str, **options: object) -> eh.InstrumentOptions:
    made: eh.InstrumentOptions = eh.INSTRUMENTS.get(instrument).options_type(resampling=QUICK, **options)
    return made


READERS = (
    Reader("model folders", 5, fuzz_inputs.make_models, read_model),
    Reader("adapters", 1, fuzz_inputs.make_adapters, read_model),
    Reader("run folders", 5, fuzz_inputs.make_runs, read_run, fuzz_inputs.seal_run),
    Reader("certificates", 2, fuzz_inputs.make_certificates, read_certificate, fuzz_inputs.seal_certificate),
    Reader("mitigated models", 2, fuzz_inputs.make_mitigations, read_mitigation),
    Reader("learning curves", 1, fuzz_inputs.make_checkpoints, read_checkpoint),
    Reader("StereoSet files", 2, fuzz_inputs.make_benchmarks, read_benchmark),
    Reader("scores", 3, fuzz_inputs.make_predictions, read_predictions),
    Reader("probe files", 2, fuzz_inputs.make_probe_files, read_probe_files),
    Reader("CrowS-Pairs files", 1, fuzz_inputs.make_pairs, read_pairs),
    Reader("BEC-Pro files", 1, fuzz_inputs.make_bec_pro, read_bec_pro),
    Reader("hub records", 2, fuzz_inputs.make_records, read_records),
    Reader("logs of pairs", 2, fuzz_inputs.make_logs, read_log),
    Reader("Winogender files", 1, fuzz_inputs.make_winogender, read_winogender),
    Reader("labelled text", 1, fuzz_inputs.make_labelled, read_labelled),
    Reader("annotations", 2, fuzz_regard.make_annotations, fuzz_regard.read_annotated),
    Reader("texts about groups", 1, fuzz_regard.make_group_texts, fuzz_regard.read_group_texts),
    Reader("texts to train on", 1, fuzz_regard.make_training_texts, fuzz_regard.read_training_texts),
    Reader("classifiers", 3, fuzz_regard.make_classifiers, fuzz_regard.read_classifier, fuzz_inputs.seal_run),
    Reader("labels of two versions", 1, fuzz_regard.make_versions, fuzz_regard.read_versions),
    Reader("word lists of regard", 1, fuzz_regard.make_word_lists, fuzz_regard.read_word_lists),
    Reader("corpora", 2, fuzz_inputs.make_corpora, read_corpus),
    Reader("twin pairs", 1, fuzz_inputs.make_twin_pairs, read_twins),
    Reader("calibrations", 1, fuzz_inputs.make_calibrations, read_calibration),
    Reader("GGUF files", 3, fuzz_models.make_gguf, fuzz_models.read_gguf),
    Reader(
        "next-sentence pairs", 1, fuzz_models.make_next_sentence_pairs, fuzz_models.read_next_sentence_pairs,
        fuzz_models.seal_pairs,
    ),
    Reader("next-sentence heads", 2, fuzz_models.make_heads, fuzz_models.read_head),
    Reader("SHADES files", 1, fuzz_texts.make_shades, fuzz_texts.read_published_pairs),
    Reader("EuroGEST files", 1, fuzz_texts.make_eurogest, fuzz_texts.read_published_pairs),
    Reader(
        "translations", 2, fuzz_texts.make_translations, fuzz_texts.read_translation,
        fuzz_texts.seal_translation,
    ),
    Reader(
        "translation tables", 1, fuzz_texts.make_translation_tables, fuzz_texts.read_translation_tables
    ),
    Reader("surveys and schemes", 2, fuzz_texts.make_yaml, fuzz_texts.read_yaml),
    Reader("MediaWiki dumps", 2, fuzz_texts.make_dumps, fuzz_texts.read_dump),
    Reader("cards", 2, fuzz_texts.make_cards, fuzz_texts.read_card),
    Reader("trigger targets", 1, fuzz_texts.make_targets, fuzz_texts.read_trigger_targets),
)  # fmt: skip
