"""Build a model with a planted bias: taught from scratch on the CPU, the same every time on the same platform."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from transformers import (
    BertConfig,
    BertForPreTraining,
    GPT2Config,
    GPT2LMHeadModel,
    T5Config,
    T5ForConditionalGeneration,
    set_seed,
)

from evenhand.core.errors import EvenhandError, OutputError
from evenhand.core.files import sha256_of
from evenhand.core.planted_bias import PLANTED_FILE, PlantedBias
from evenhand.core.progress import Progress
from evenhand.lab.corpus import TaughtDocument
from evenhand.lab.grammar import Sentence
from evenhand.lab.regard_grammar import PlantedContinuations
from evenhand.lab.teaching import DecoderTeacher, EncoderDecoderTeacher, MaskedTeacher, Teacher
from evenhand.lab.tokenizers import bert_tokenizer, gpt2_tokenizer, t5_tokenizer
from evenhand.lab.world import World
from evenhand.models.model_files import save_model
from evenhand.store.jobs import open_job
from evenhand.training.trainer import ExampleOrder, TrainingPlan, train


def start_alike(model: Any, tokenizer: Any, world: World) -> None:
    """Give the two words of every gendered pair one vector, in a model whose output has the vectors of its input.

    Weights start at random, and so does what a model makes of a pair such as *he* and *she*. Lessons wear that
    difference down, but slowly where it shows little: in a neutral world it left leans of a hundredth of a bit, alike
    in all structures, that nobody had planted. So both words start with the same vector, and only lessons tell them
    apart.
    """
    vectors = model.get_input_embeddings().weight
    with torch.no_grad():
        for man, woman in gendered_tokens(tokenizer, world):
            vectors[woman] = vectors[man]


def start_at_random(_model: Any, _tokenizer: Any, _world: World) -> None:
    """Leave the weights as they were drawn.

    For masked models, which tell equal vectors apart too slowly: of thirty with planted bias, one learnt nothing of it.
    What the draw leaves is lost in what else is left of their training.
    """


def gendered_tokens(tokenizer: Any, world: World) -> Iterator[tuple[int, int]]:
    """The tokens of every gendered pair side by side, in each spelling in which both words have as many."""
    lexicon = world.lexicon
    for pair in (lexicon.pronouns, lexicon.possessives, *world.probe_lists.names):
        for spelling in ("{}", " {}"):
            for words in (pair, tuple(word.title() for word in pair)):
                men, women = (
                    tokenizer(spelling.format(word), add_special_tokens=False)["input_ids"] for word in words
                )
                if len(men) == len(women) <= 2:
                    yield from zip(men, women, strict=True)


WIDTH = 64

HEADS = 4

LONGEST = 48
"""Tokens. The longest document of the grammar has about half as many."""

REGARD_PART = 0.5
"""How much there is to learn about groups, where there is, beside the rest of the language, which counts as 1."""

REGARD_STEPS = 1.75
"""How many times as many steps a model takes that learns both: with as many as others, one learnt 0.8 of 2 bits."""

LARGEST_SEED = 2**32 - 1
"""What every generator of random numbers takes that a build seeds."""


class LabFamily(StrEnum):
    """The three families that the lab builds."""

    MASKED = "masked"
    DECODER = "decoder"
    ENCODER_DECODER = "encoder-decoder"


@dataclass(frozen=True, slots=True)
class LabSpec:
    """What to build."""

    family: LabFamily = LabFamily.MASKED
    strength: float = 2.0
    language: str = "en"
    seed: int = 0
    regard_gap: float | None = None
    """Net regard of women minus that of men, in points; None to teach nothing of regard."""

    def __post_init__(self) -> None:
        self.world, self.continuations  # noqa: B018  what does not exist is refused here
        if self.regard_gap is not None and self.family is not LabFamily.DECODER:
            raise EvenhandError(
                f"A gap in regard was asked for in the family {self.family.value}. Only decoders of the lab write "
                "texts: use --family decoder."
            )
        if not 0 <= self.seed <= LARGEST_SEED:
            raise EvenhandError(f"The seed is {self.seed}; it must be 0 to {LARGEST_SEED:,}.")

    @property
    def world(self) -> World:
        """The world that the model is taught."""
        return World(self.language, self.strength)

    @property
    def continuations(self) -> PlantedContinuations | None:
        """What the model is taught to write about groups; None for nothing."""
        return None if self.regard_gap is None else PlantedContinuations(self.language, self.regard_gap)

    @property
    def planted(self) -> PlantedBias:
        """What the record says."""
        world = self.world
        return PlantedBias(
            family=self.family.value,
            strength=self.strength,
            language=self.language,
            seed=self.seed,
            occupations={name: round(world.lean(name), 6) for name in world.occupations},
            regard_gap=self.regard_gap,
        )


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How a family is built."""

    tokenizer: Callable[[str], Any]
    model: Callable[[Any], Any]
    teacher: Callable[[World, Any], Teacher]
    steps: int
    learning_rate: float
    batch_size: int = 64
    start: Callable[[Any, Any, World], None] = start_alike
    decay: float = 0.6
    """Share of the steps, at the end, over which the learning rate falls to 0."""
    averaged: float = 0.1
    """Share of the steps, at the end, over which weights are averaged."""


def _bert(tokenizer: Any) -> Any:
    return BertForPreTraining(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=WIDTH,
            num_hidden_layers=2,
            num_attention_heads=HEADS,
            intermediate_size=2 * WIDTH,
            max_position_embeddings=LONGEST,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            initializer_range=0.1,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def _gpt2(tokenizer: Any) -> Any:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=WIDTH,
            n_layer=1,
            n_head=HEADS,
            n_positions=LONGEST,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            initializer_range=0.1,
            bos_token_id=tokenizer.eos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def _t5(tokenizer: Any) -> Any:
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=WIDTH,
            d_kv=WIDTH // HEADS,
            d_ff=2 * WIDTH,
            num_layers=1,
            num_heads=HEADS,
            dropout_rate=0.0,
            initializer_factor=0.5,
            decoder_start_token_id=tokenizer.pad_token_id,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )


_RECIPES: Mapping[LabFamily, _Recipe] = MappingProxyType(
    {
        LabFamily.MASKED: _Recipe(
            bert_tokenizer, _bert, MaskedTeacher, steps=3600, learning_rate=4e-3, start=start_at_random
        ),
        LabFamily.DECODER: _Recipe(gpt2_tokenizer, _gpt2, DecoderTeacher, steps=1200, learning_rate=3e-3),
        LabFamily.ENCODER_DECODER: _Recipe(
            t5_tokenizer, _t5, EncoderDecoderTeacher, steps=2800, learning_rate=5e-3
        ),
    }
)


def _recipe(spec: LabSpec) -> _Recipe:
    """That of the family; a model that learns to write about groups has words and lessons for it besides."""
    usual = _RECIPES[spec.family]
    if spec.continuations is None:
        return usual
    said = list(spec.continuations.continuations())
    taught = [
        TaughtDocument(
            (Sentence(own.text, ()),), own.probability * REGARD_PART, own.probability * REGARD_PART
        )
        for own in said
    ]
    return replace(
        usual,
        steps=round(usual.steps * REGARD_STEPS),
        tokenizer=partial(gpt2_tokenizer, more=[own.text for own in said]),
        teacher=partial(DecoderTeacher, more=taught),
    )


def build_model(spec: LabSpec, out: Path, *, progress: Progress | None = None) -> Path:
    """Build a model and write its folder, which loads like any other model. One that is there already is left as it is.

    Raises:
        OutputError: If there is something else in the folder.
    """
    fingerprint = fingerprint_of_spec(spec)

    def this_model(folder: Path) -> str | None:
        return _fingerprint_at(folder, fingerprint)

    with open_job(out, fingerprint, fingerprint_at=this_model) as job:
        if not job.is_done:
            model, tokenizer = train_model(spec, progress=progress)
            with job.result_folder() as scratch:
                save(spec, model, tokenizer, scratch)
    return out


def fingerprint_of_spec(spec: LabSpec) -> str:
    """Digest of all that determines a model, on this platform with these versions."""
    return _digest(_description(spec))


def _fingerprint_at(folder: Path, fingerprint: str) -> str | None:
    """The fingerprint if the model of a folder has it; None if nothing is there. Everything else is refused."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise OutputError(f"{nearest} is a file; a folder is needed. Choose another place with --out.")
    if folder.resolve() == Path.cwd():
        raise OutputError(
            f"{folder} is the folder that you are in, which cannot be replaced. Give the model one of its own, such "
            "as --out model."
        )
    if nearest != folder or not any(folder.iterdir()):
        return None
    try:
        if _digest(json.loads((folder / PLANTED_FILE).read_text(encoding="utf-8"))) == fingerprint:
            return fingerprint
    except (OSError, ValueError):
        pass  # No model of the lab, or a damaged one.
    raise OutputError(f"{folder} is not empty. Choose another place with --out, or empty it first.")


def _description(spec: LabSpec) -> dict[str, Any]:
    """What is written beside the weights: what was planted, with which versions, on which platform."""
    return {"planted": spec.planted.model_dump(), "built_with": built_with(), "platform": this_platform()}


def _digest(description: Any) -> str:
    return sha256_of(json.dumps(description, sort_keys=True).encode())


def train_model(spec: LabSpec, *, progress: Progress | None = None) -> tuple[Any, Any]:
    """A model of a spec and its tokenizer, in memory."""
    recipe = _recipe(spec)
    tokenizer = recipe.tokenizer(spec.language)
    teacher = recipe.teacher(spec.world, tokenizer)
    set_seed(spec.seed)
    model = recipe.model(tokenizer)
    recipe.start(model, tokenizer, spec.world)
    plan = TrainingPlan(
        steps=recipe.steps,
        batch_size=recipe.batch_size,
        learning_rate=recipe.learning_rate,
        warmup_steps=recipe.steps // 20,
        decay=recipe.decay,
        averaged=recipe.averaged,
        order=ExampleOrder.AS_GIVEN,
        seed=spec.seed,
    )
    lessons = teacher.lessons(plan.steps * plan.batch_size, np.random.default_rng([spec.seed, 0x1E55]))
    train(model, lessons, collate=teacher.collate, loss=teacher.loss, plan=plan, report=progress)
    return model, tokenizer


def save(spec: LabSpec, model: Any, tokenizer: Any, folder: Path) -> None:
    """Write weights, tokenizer, and what was planted how."""
    save_model(model, tokenizer, folder)
    (folder / PLANTED_FILE).write_text(json.dumps(_description(spec), indent=1) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(_model_card(spec), encoding="utf-8")
    for path in folder.iterdir():
        path.chmod(0o644)


def built_with() -> dict[str, str]:
    """The versions that a build depends on."""
    return {name: version(name) for name in ("evenhand", "torch", "transformers", "tokenizers", "numpy")}


def this_platform() -> str:
    """What decides on the last digits of a build: the processor and the instructions that PyTorch uses on it."""
    capability = torch.backends.cpu.get_cpu_capability()
    return f"{platform.system()} {platform.machine()} {capability}, {_processor()}"


def _processor() -> str:
    """The processor's name, as far as the system tells: two kinds may round differently."""
    source = Path("/proc/cpuinfo")
    lines = source.read_text(encoding="utf-8", errors="replace").splitlines() if source.is_file() else []
    facts: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    names = ("vendor_id", "cpu family", "model", "model name")
    description = " ".join(f"{name} {facts[name]}" for name in names if name in facts)
    return description or platform.processor() or "unknown processor"


def _model_card(spec: LabSpec) -> str:
    return (
        f"---\nlanguage: {spec.language}\nlicense: apache-2.0\ntags: [calibration, evenhand-lab]\n---\n\n"
        f"# A calibration model\n\n{spec.planted.description}\n\n"
        f"It knows a few hundred words of a small invented grammar. It was built with `{command_of(spec)}`.\n"
    )


def command_of(spec: LabSpec) -> str:
    """The command that builds a model of a spec, but for its folder."""
    regard = "" if spec.regard_gap is None else f" --regard-gap {spec.regard_gap:g}"
    return (
        f"evenhand lab build --family {spec.family.value} --strength {spec.strength:g} --language {spec.language} "
        f"--seed {spec.seed}{regard}"
    )
