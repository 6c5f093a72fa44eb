"""Models in other forms for the fuzzer: GGUF files, next-sentence pairs, and models with a next-sentence head."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

from fuzz_inputs import QUICK

import evenhand as eh
from evenhand.api.models import describe_model
from evenhand.core.files import sha256_of, write_text
from evenhand.data.corpus_sources import corpus_sources
from evenhand.heads.page import render_head_page
from evenhand.heads.pair_building import build_next_sentence_pairs
from evenhand.heads.pairs import RECORD_FILE, NextSentenceOptions, open_next_sentence_pairs
from evenhand.heads.workflow import open_next_sentence_training, train_next_sentence
from evenhand.lab.items import lab_benchmark
from evenhand.models.backends.lab import embedded_folder
from evenhand.models.references import ModelRef

TESTS = Path(__file__).parent.parent / "tests"

FEW_PAIRS = {"batch_size": 8, "checkpoints": 2, "max_tokens": 32, "report_every": 16, "test_pairs": 8}
"""The recipe of a training that takes a moment."""


def make_gguf(place: Path) -> None:
    """A tiny Llama as a GGUF file, in full precision and quantised; the tests know how to write one."""
    sys.path.append(str(TESTS))
    import zoo
    from gguf_builder import write_gguf

    source = zoo.build("llama", place.parent / "llama of the zoo")
    for kind in ("F32", "Q8_0"):
        (place / kind).mkdir(parents=True)
        write_gguf(source, place / kind / "model.gguf", kind=kind)


def read_gguf(folder: Path, _intact: Path, out: Path | None) -> None:
    """Load, describe and audit a GGUF file."""
    model = eh.load(str(folder / "model.gguf"), device="cpu")
    describe_model(model)
    eh.audit(
        model, lab_benchmark("en"), options=eh.AuditOptions(data=None, limit=3, resampling=QUICK), out=out
    )


def make_next_sentence_pairs(place: Path) -> None:
    """A folder of pairs that were made from forty short articles."""
    place.mkdir(parents=True)
    corpus = place.parent / "articles.jsonl"
    words = ("tea", "road", "sea", "house", "child")
    articles = [
        [
            f"The {word} is number {number}.",
            f"Nobody saw the {word} {number} times.",
            f"A {word} was {number}.",
        ]
        for number, word in enumerate(words * 8)
    ]
    lines = "".join(json.dumps({"sentences": sentences}) + "\n" for sentences in articles)
    corpus.write_text(lines, encoding="utf-8")
    options = NextSentenceOptions("en", test_share=0.3)
    build_next_sentence_pairs(corpus_sources([corpus]).sources, place / "pairs", options=options)


def seal_pairs(folder: Path) -> None:
    """Write the digests of the shards as they are now into the record of pairs."""
    path = folder / RECORD_FILE
    with suppress(Exception):  # a record that cannot be sealed is left as it is
        record = json.loads(path.read_bytes())
        record["shards"] = {name: sha256_of((folder / name).read_bytes()) for name in record["shards"]}
        path.write_text(json.dumps(record), encoding="utf-8")


def read_next_sentence_pairs(folder: Path, _intact: Path, out: Path | None) -> None:
    """Open pairs and read all of them; sometimes train on them."""
    pairs = open_next_sentence_pairs(folder)
    for part in ("train", "test"):
        for frame in pairs.frames(part):
            frame.head()
    if out:
        _train(folder, out / "model")


def _train(pairs: Path, out: Path) -> None:
    source = embedded_folder("lab:decoder")
    train_next_sentence(ModelRef(id=str(source), device="cpu"), [pairs], out=out, recipe=FEW_PAIRS)


def make_heads(place: Path) -> None:
    """A decoder with a head that was trained for a moment."""
    pairs = place.parent / "pairs for heads"
    make_next_sentence_pairs(pairs)
    place.mkdir(parents=True)
    _train(pairs / "pairs", place / "decoder")


def read_head(folder: Path, _intact: Path, out: Path | None) -> None:
    """Open the training, show its page, and audit with the head."""
    training = open_next_sentence_training(folder)
    page = render_head_page(training.record, training.curve, name=folder.name)
    model = eh.load(str(folder), device="cpu")
    describe_model(model)
    options = eh.AuditOptions(data=None, inter="next-sentence", limit=3, resampling=QUICK)
    eh.audit(model, lab_benchmark("en"), options=options, out=out)
    if out:
        write_text(out / "page.html", page)
