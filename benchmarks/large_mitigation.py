"""Whether a model of 6.7 billion weights can be equalised on one GPU: one epoch with LoRA, weights at random.

    python benchmarks/large_mitigation.py --corpus novels/ --tokenizer GPT2_FOLDER [--gaps 1000]

The model has the shape of Llama 2 7B with GPT-2's vocabulary and is made on the GPU in bf16; ``--tokenizer`` is a
folder with ``vocab.json`` and ``merges.txt``. Told are the seconds of the epoch and the most memory on the GPU.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from models_of_size import gpt2_tokenizer, llama_7b
from torch import Tensor

from evenhand.api.defaults.mitigating import default_data
from evenhand.core.recipes import LoraRecipe, Precision, Recipe
from evenhand.mitigation.equalising.equalise import EQUALISE, EqualiseOptions
from evenhand.mitigation.texts import TrainingText
from evenhand.mitigation.training_mitigation import MitigationInputs
from evenhand.models.families.decoder import DECODER
from evenhand.models.language_model import LanguageModel
from evenhand.models.loading import Loaded
from evenhand.models.objectives.objective import Objective, Piece
from evenhand.models.references import ModelRef
from evenhand.training.adapters import Adapters
from evenhand.training.trainer import EpochTrainer


@dataclass
class FirstExamples:
    """An objective over its first examples alone."""

    whole: Objective
    count: int
    name: str = "equalise"

    @property
    def pads(self) -> bool:
        """See ``Objective``."""
        return self.whole.pads

    @property
    def examples(self) -> Sequence[Any]:
        """See ``Objective``."""
        return self.whole.examples[: self.count]

    def lay_out(self, examples: Sequence[Any], generator: np.random.Generator) -> Sequence[Piece]:
        """See ``Objective``."""
        return self.whole.lay_out(examples, generator)

    def loss(self, model: Any, pieces: Sequence[Any]) -> Tensor:
        """See ``Objective``."""
        return self.whole.loss(model, pieces)


def large_model(tokenizer_folder: Path) -> LanguageModel:
    """The model, as if it had been loaded in bf16."""
    tokenizer = gpt2_tokenizer(tokenizer_folder)
    torch.manual_seed(0)
    model = llama_7b(tokenizer, "cuda").eval()
    ref = ModelRef(id="llama-7b-shape", device="cuda", precision=Precision.BF16)
    device = torch.device("cuda")
    return LanguageModel(Loaded(ref, DECODER, model.config, tokenizer, model, device, torch.bfloat16))


def main() -> None:
    """Train one epoch."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--gaps", type=int, default=1_000)
    chosen = parser.parse_args()
    model = large_model(chosen.tokenizer)
    weights = sum(weight.numel() for weight in model.loaded.model.parameters())
    data = default_data(model.ref, [chosen.corpus])
    recipe = Recipe(learning_rate=1e-4, epochs=1, lora=LoraRecipe(), precision=Precision.BF16)
    with tempfile.TemporaryDirectory() as scratch:
        prepared = EQUALISE.prepare(
            model,
            MitigationInputs(
                text=TrainingText(data.sources, data.held_out_sentences(), None),
                probes=data.probes,
                experiments=data.experiments,
                recipe=recipe,
                scratch=Path(scratch),
            ),
            EqualiseOptions(),
        )
        objective = FirstExamples(prepared.objective, chosen.gaps)
        print(f"{weights / 1e9:.2f} billion weights, {len(objective.examples):,} gaps", flush=True)
        Adapters(model.loaded.model, recipe.lora or LoraRecipe())
        trainer = EpochTrainer(
            model.loaded.model,
            objective,
            recipe,
            device=model.loaded.device,
            memory=model.memory,
            scratch=Path(scratch) / "logs",
            after_epoch=lambda _epoch, _trainer: True,
            progress=lambda done, total: (
                print(f"step {done} of {total}", flush=True) if done % 8 == 0 else None
            ),
        )
        began = time.perf_counter()
        trainer.train()
        torch.cuda.synchronize()
        print(f"one epoch: {time.perf_counter() - began:.1f} s")
        print(f"left out: {dict(trainer.micro_batches.skipped)}")
        print(f"tokens that were run together: at most {trainer.micro_batches.max_tokens:,}")
        allocated, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        print(f"GPU memory: at most {allocated / 2**30:.1f} GB allocated, {reserved / 2**30:.1f} GB reserved")


if __name__ == "__main__":
    main()
