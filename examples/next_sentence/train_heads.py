"""Teach a real decoder and a T5 of our own to judge next sentences, and measure both with their heads and without.

    python examples/next_sentence/train_heads.py --corpora CORPORA --decoder SMOLLM2_FOLDER --out runs/next-sentence

``CORPORA`` has ``novels_en/`` and ``wikitext-2/``. Pairs for training come from the novels; pairs from WikiText-2 show
how far a head carries over to other text. The T5 is trained from scratch. Its embeddings start from which tokens stand
in sentences next to each other: from random ones it hardly learned to judge. Then it learns by span corruption
on passages of the novels: the articles for training, a few sentences at a time. Both models then learn to judge, the
decoder as published, the T5 at a rate and for as many passes as suit a model from scratch; at the published 1e-4 it
writes no labels. Both are measured on the inter-sentence items of ``--data`` by their head and by the probability of
tokens. ``results.json`` has every figure.

Stopped and started again, the same command goes on: finished steps are not repeated, and a head goes on from its last
checkpoint. Only the T5's own pre-training starts anew. ``--only t5`` leaves the decoder out. ``--size small`` is a
check that takes a few minutes on a CPU.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import T5Config, T5ForConditionalGeneration, T5Tokenizer

from evenhand.api.measure import audit
from evenhand.core.files import folder_written_whole
from evenhand.core.items import Task
from evenhand.core.progress import Monitor
from evenhand.core.recipes import Recipe
from evenhand.heads.encoded_pairs import PairSelection, encode_pairs
from evenhand.heads.judged_pairs import judge_pairs
from evenhand.heads.pairs import NextSentenceOptions, NextSentencePairs
from evenhand.heads.pairs_workflow import build_next_sentence_pairs
from evenhand.heads.workflow import NextSentenceTraining, train_next_sentence
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.models.language_model import load_language_model
from evenhand.models.next_sentence import PairEncoder
from evenhand.models.references import ModelRef
from evenhand.training.pretraining import pretraining_objective
from evenhand.training.trainer import EpochTrainer

SENTINELS = 100
MEASURES = ("LMS", "SS", "ICAT")


@dataclass(frozen=True)
class Size:
    """How much is trained."""

    vocabulary: int
    width: int
    layers: int
    passages: int | None
    epochs: int
    """Of pre-training."""
    max_pairs: int | None
    test_pairs: int
    t5_passes: int
    limit: int | None
    """Items of the benchmark."""


SIZES = {
    "full": Size(8_000, 192, 2, None, 20, None, 4_000, 3, None),
    "small": Size(600, 32, 2, 400, 1, 64, 20, 1, 6),
}
VARIANTS = {
    "decoder": ("next-sentence", "orig", "b", "c", "d", "e", "f"),
    "t5": ("next-sentence", "d"),
}
T5_RATE = 1e-3
PASSAGE = 6
"""Sentences that the T5 sees at a time."""


class Printed:
    """A monitor that prints what is worth knowing."""

    def stage(self, title: str, unit: str = "items") -> Any:
        """Nothing is told about the progress of a stage."""
        from evenhand.core.progress import SILENT

        print(f"  {title}", flush=True)
        return SILENT.stage(title, unit)

    def note(self, message: str) -> None:
        """Print it."""
        print(f"  {message}", flush=True)

    warn = note


def passages_of(pairs: NextSentencePairs, most: int | None) -> list[str]:
    """A few sentences at a time, in the order in which the pairs for training say that they follow each other."""
    after: dict[str, str] = {}
    for frame in pairs.frames("train"):
        follow = frame.filter(frame["follows"])
        after.update(zip(follow["first"].to_list(), follow["second"].to_list(), strict=True))

    def passages() -> Iterator[str]:
        met: set[str] = set()
        openings = after.keys() - set(after.values())
        for sentence in (*(first for first in after if first in openings), *after):
            run: list[str] = []
            following: str | None = sentence
            while following is not None and following not in met:
                met.add(following)
                run.append(following)
                following = after.get(following)
            yield from (" ".join(run[start : start + PASSAGE]) for start in range(0, len(run), PASSAGE))

    return list(islice(passages(), most))


def t5_tokenizer(passages: list[str], vocabulary: int) -> Any:
    """Unigram with sentinels, trained on the passages; both labels are tokens of it."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=vocabulary, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(passages, trainer)
    pieces = [(piece, score) for piece, score in json.loads(tokenizer.to_str())["model"]["vocab"][1:]]
    known = {piece for piece, _ in pieces}
    rarest = min(score for _, score in pieces)
    pieces += [(piece, rarest) for piece in ("▁0", "▁1") if piece not in known]
    sentinels = [f"<extra_id_{number}>" for number in range(SENTINELS)]
    special = [(piece, 0.0) for piece in ("<pad>", "</s>", "<unk>")]
    return T5Tokenizer(
        vocab=[*special, *pieces, *((piece, 0.0) for piece in reversed(sentinels))],
        extra_ids=SENTINELS,
        additional_special_tokens=sentinels,
    )


def topic_vectors(pairs: NextSentencePairs, tokenizer: Any, width: int) -> dict[int, npt.NDArray[np.float64]]:
    """Vectors of tokens that are alike where the tokens stand in sentences next to each other.

    They are the largest singular directions of positive pointwise mutual information, every vector as long as a random
    one of T5 is on average.
    """
    follow = pl.concat([frame.filter(pl.col("follows")) for frame in pairs.frames("train")])
    sides = [_tokens_by_sentence(follow[side].to_list(), tokenizer) for side in ("first", "second")]
    together = sides[0].T @ sides[1]
    counts = (together + together.T).tocoo()
    totals = np.asarray(counts.sum(axis=1)).ravel()
    information = np.log(counts.data * totals.sum() / (totals[counts.row] * totals[counts.col]))
    telling = (information > 0) & (counts.data > 1)
    matrix = csr_matrix(
        (information[telling], (counts.row[telling], counts.col[telling])), shape=counts.shape
    )
    start = np.random.default_rng(0).normal(size=len(tokenizer))
    directions, sizes, _ = svds(matrix, k=width, v0=start)
    vectors = directions * np.sqrt(sizes)
    lengths = np.sqrt((vectors**2).mean(axis=1))
    return {int(token): vectors[token] / lengths[token] for token in np.flatnonzero(lengths > 1e-9)}


def _tokens_by_sentence(sentences: list[str], tokenizer: Any) -> Any:
    """A row for each sentence and a column for each token, 1 where it occurs."""
    tokens = [set(ids) for ids in tokenizer(sentences, add_special_tokens=False)["input_ids"]]
    rows = np.repeat(np.arange(len(tokens)), [len(own) for own in tokens])
    columns = np.array([token for own in tokens for token in own])
    return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(sentences), len(tokenizer)))


def new_t5(pairs: NextSentencePairs, tokenizer: Any, size: Size) -> T5ForConditionalGeneration:
    """A T5 that has learned nothing but which tokens go together."""
    torch.manual_seed(0)
    network = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=size.width,
            d_kv=max(8, size.width // 6),
            d_ff=4 * size.width,
            num_layers=size.layers,
            num_heads=6,
            dropout_rate=0.0,
            decoder_start_token_id=tokenizer.pad_token_id,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    with torch.no_grad():
        for token, vector in topic_vectors(pairs, tokenizer, size.width).items():
            network.shared.weight[token] = torch.tensor(vector, dtype=torch.float32)
    return network


def train_t5(pairs: NextSentencePairs, out: Path, size: Size, *, device: str) -> None:
    """A T5 from scratch, by span corruption."""
    passages = passages_of(pairs, size.passages)
    tokenizer = t5_tokenizer(passages, size.vocabulary)
    with tempfile.TemporaryDirectory() as scratch:
        new_t5(pairs, tokenizer, size).save_pretrained(scratch)
        tokenizer.save_pretrained(scratch)
        model = load_language_model(scratch, device=device)
        trainer = EpochTrainer(
            model.loaded.model,
            pretraining_objective(passages, model),
            Recipe(epochs=size.epochs, batch_size=128, learning_rate=1e-3, plateau=None),
            device=model.loaded.device,
            memory=model.memory,
            scratch=Path(scratch) / "logs",
            after_epoch=lambda epoch, _: print(f"  epoch {epoch}", flush=True) or epoch >= size.epochs,
        )
        trainer.train()
        with folder_written_whole(out) as folder:
            network: Any = model.loaded.model
            network.eval().save_pretrained(folder)
            tokenizer.save_pretrained(folder)


def transfer(
    trained: NextSentenceTraining, pairs: NextSentencePairs, size: Size, *, device: str
) -> dict[str, Any]:
    """How often a head is right about pairs of other text."""
    model = load_language_model(trained.ref.id, device=device)
    judge = model.judge
    if judge is None:
        raise RuntimeError(f"{trained.ref.id} has no head")
    with tempfile.TemporaryDirectory() as scratch:
        encoded = encode_pairs(
            PairSelection((pairs,), "test", size.test_pairs),
            Path(scratch) / "pairs",
            PairEncoder(model.tokenizer, judge.record),
            longest=256,
        )
        return judge_pairs(judge, encoded, pad=model.loaded.pad_id).accuracy.model_dump(mode="json")


def measured(
    folder: Path, variant: str, data: str | None, size: Size, *, device: str, out: Path
) -> dict[str, Any]:
    """LMS, SS and ICAT of the inter-sentence items."""
    run = audit(
        ModelRef(id=str(folder), device=device),
        data,
        language="en",
        options=AuditOptions(inter=variant, tasks=(Task.INTERSENTENCE,), limit=size.limit),
        name=f"{folder.name}-{variant}",
        out=out,
    )
    result = run.result.tasks[Task.INTERSENTENCE.value]
    return {name: getattr(result, name).model_dump(mode="json") for name in MEASURES}


def main() -> None:
    """Pairs, models, heads, figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--decoder", type=Path, help="Folder of a decoder, such as SmolLM2.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", help="Benchmark; the starter set if not given.")
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", choices=VARIANTS, help="One of the two models.")
    parser.add_argument("--t5-rate", type=float, default=T5_RATE, help="Learning rate of the T5's head.")
    parser.add_argument("--t5-passes", type=int, help="How often the T5 sees every pair.")
    chosen = parser.parse_args()
    names = [chosen.only] if chosen.only else list(VARIANTS)
    if "decoder" in names and chosen.decoder is None:
        parser.error("give --decoder FOLDER, or --only t5")
    size, out, device = SIZES[chosen.size], chosen.out, chosen.device
    monitor: Monitor = Printed()
    options = NextSentenceOptions("en", test_share=0.1)
    pairs = {
        name: build_next_sentence_pairs(
            chosen.corpora / corpus, out / "pairs" / name, options=options, monitor=monitor
        )
        for name, corpus in (("novels", "novels_en"), ("wikitext", "wikitext-2"))
    }
    if "t5" in names and not (out / "t5").exists():
        print("Training a T5 from scratch", flush=True)
        train_t5(pairs["novels"], out / "t5", size, device=device)
    results: dict[str, Any] = {
        name: own.record.model_dump(mode="json", exclude={"shards", "sources"}) for name, own in pairs.items()
    }
    sources = {"decoder": chosen.decoder, "t5": out / "t5"}
    recipes: dict[str, dict[str, Any]] = {
        "decoder": {},
        "t5": {
            "body_rate": chosen.t5_rate,
            "head_rate": chosen.t5_rate,
            "passes": chosen.t5_passes or size.t5_passes,
        },
    }
    for name in names:
        source = sources[name]
        print(f"Teaching {source} to judge", flush=True)
        trained = train_next_sentence(
            ModelRef(id=str(source), device=device),
            [pairs["novels"].folder],
            out=out / f"{name}-judge",
            recipe={"test_pairs": size.test_pairs, **recipes[name]},
            max_pairs=size.max_pairs,
            monitor=monitor,
        )
        results[name] = {
            "head": trained.record.model_dump(mode="json"),
            "wikitext_accuracy": transfer(trained, pairs["wikitext"], size, device=device),
            "inter": {
                variant: measured(
                    out / f"{name}-judge", variant, chosen.data, size, device=device, out=out / "runs"
                )
                for variant in VARIANTS[name]
            },
        }
        (out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for name in names:
        head = results[name]["head"]
        accuracy = head["test_accuracy"]
        missing = f", no label for {head['without_label']}" if head["without_label"] is not None else ""
        print(
            f"{name}: {accuracy['value']:.3f} [{accuracy['low']:.3f}, {accuracy['high']:.3f}] of pairs right{missing}"
        )
        for variant, figures in results[name]["inter"].items():
            print(f"  {variant:14}", *(f"{measure} {figures[measure]['value']:.2f}" for measure in MEASURES))


if __name__ == "__main__":
    main()
