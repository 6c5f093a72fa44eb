"""Classifiers that are trained by gradients: small networks over features, and encoders with a new head.

All of them go through ``EpochTrainer``. After every epoch the loss on rows that are held back is read, and in the end
the network has the weights of its best epoch.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from transformers import AutoConfig, AutoModelForSequenceClassification

from evenhand.core.errors import EvenhandError
from evenhand.core.recipes import Precision, Recipe
from evenhand.models.engine.halving import attempt
from evenhand.models.engine.memory import MemoryBudget
from evenhand.models.engine.modes import eval_mode
from evenhand.models.language_model import LanguageModel
from evenhand.models.loading import choose_device
from evenhand.models.objectives.objective import Batch, padded
from evenhand.models.references import ModelError
from evenhand.stats.resampling import Floats
from evenhand.training.checkpoints import copied_weights, put_weights
from evenhand.training.trainer import EpochTrainer, single_thread

MOST_LENGTH = 2**15
"""Words or tokens of a batch that is classified, padding included."""

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}


@dataclass(frozen=True, slots=True)
class ClassificationExample:
    """The input of one text, and the weight of each class for it."""

    values: Any
    target: npt.NDArray[np.float32]
    length: int = 1
    """Words or tokens."""
    rows: int = 1

    @property
    def tokens(self) -> int:
        """As many as it is long."""
        return self.length

    def __len__(self) -> int:
        return self.length


InputLayout = Callable[[Sequence[ClassificationExample]], Batch]
"""From examples to what a network's ``forward`` takes."""


@dataclass(frozen=True, slots=True)
class ClassificationPlan:
    """How long and how fast a classifier is trained."""

    epochs: int
    batch_size: int
    learning_rate: float
    patience: int
    """Epochs without a lower loss on the rows that are held back, after which training ends."""
    seed: int = 0
    device: str = "auto"


class ClassificationObjective:
    """The weighted cross-entropy of classes."""

    name = "classification"
    pads = True

    def __init__(
        self, examples: Sequence[ClassificationExample], layout: InputLayout, *, batch_size: int
    ) -> None:
        self.examples = examples
        self.layout = layout
        self._batch_size = batch_size

    def lay_out(
        self, examples: Sequence[ClassificationExample], _generator: np.random.Generator
    ) -> Sequence[ClassificationExample]:
        """One piece per example."""
        return examples

    def loss(self, model: Any, pieces: Sequence[ClassificationExample]) -> torch.Tensor:
        """The sum over pieces, as a share of a full batch."""
        logits = scores_of(model, self.layout(pieces))
        targets = torch.from_numpy(np.stack([piece.target for piece in pieces])).to(logits.device)
        return -(targets * logits.log_softmax(dim=-1)).sum() / self._batch_size


def scores_of(network: Any, batch: Batch) -> torch.Tensor:
    """The scores of classes before the softmax, in 32 bits."""
    device = next(network.parameters()).device
    output = network(**{name: part.to(device) for name, part in batch.items()})
    scores: torch.Tensor = getattr(output, "logits", output)
    return scores.float()


def fit_classification(
    network: nn.Module,
    examples: Sequence[ClassificationExample],
    *,
    held_back: Sequence[ClassificationExample],
    layout: InputLayout,
    plan: ClassificationPlan,
) -> int:
    """Train a network in place, leave it with the weights of its best epoch, and say which that was."""
    objective = ClassificationObjective(examples, layout, batch_size=plan.batch_size)
    best, best_loss, best_weights = 0, math.inf, copied_weights(network)

    def after_epoch(epoch: int, _trainer: EpochTrainer) -> bool:
        nonlocal best, best_loss, best_weights
        loss = classification_loss(network, held_back, layout=layout, batch_size=plan.batch_size)
        if not math.isfinite(loss):
            raise EvenhandError(
                f"Training diverged: after epoch {epoch} the classifier's probabilities are no numbers any more. Lower "
                f"the learning rate ({plan.learning_rate:g})."
            )
        if loss < best_loss:
            best, best_loss, best_weights = epoch, loss, copied_weights(network)
        return epoch - best >= plan.patience

    device = choose_device(plan.device)
    recipe = Recipe(
        epochs=plan.epochs,
        batch_size=plan.batch_size,
        learning_rate=plan.learning_rate,
        seed=plan.seed,
        precision=Precision.FP32,
        plateau=None,
    )
    with tempfile.TemporaryDirectory() as scratch, single_thread():
        EpochTrainer(
            network,
            objective,
            recipe,
            device=device,
            memory=MemoryBudget.on(device),
            scratch=Path(scratch),
            after_epoch=after_epoch,
        ).train()
    put_weights(network, best_weights)
    network.zero_grad(set_to_none=True)
    network.eval()
    return best


def classification_loss(
    network: nn.Module, examples: Sequence[ClassificationExample], *, layout: InputLayout, batch_size: int
) -> float:
    """The weighted cross-entropy per unit of weight; the network is left in the mode that it was in."""
    probabilities = class_probabilities(network, examples, layout=layout, batch_size=batch_size)
    targets = np.stack([example.target for example in examples])
    return float(-(targets * np.log(np.maximum(probabilities, 1e-12))).sum() / targets.sum())


def class_probabilities(
    network: nn.Module, examples: Sequence[ClassificationExample], *, layout: InputLayout, batch_size: int
) -> Floats:
    """One row per example, in batches of about one length; in halves where memory does not suffice.

    Args:
        network: The classifier.
        examples: What is classified.
        layout: Makes tensors of examples.
        batch_size: The most examples of a batch; fewer where they are long.

    Raises:
        ModelError: If there is too little memory for a single example.
    """
    order = np.argsort([-example.length for example in examples], kind="stable")
    parts: list[Floats] = []
    with torch.no_grad(), eval_mode(network):
        start = 0
        while start < len(order):
            fitting = MOST_LENGTH // max(1, examples[order[start]].length)
            end = start + max(1, min(batch_size, fitting))
            parts += _probabilities(network, [examples[place] for place in order[start:end]], layout)
            start = end
    probabilities = np.empty_like(np.concatenate(parts))
    probabilities[order] = np.concatenate(parts)
    return probabilities


def _probabilities(
    network: nn.Module, examples: Sequence[ClassificationExample], layout: InputLayout
) -> list[Floats]:
    """Rows of examples in one part, or in several where they do not fit into memory together."""
    rows = attempt(lambda: scores_of(network, layout(examples)).double().softmax(dim=-1).cpu().numpy())
    if rows is not None:
        return [rows]
    if len(examples) == 1:
        raise ModelError(
            f"There is not enough memory to classify a text of length {examples[0].length:,}. Use a smaller model, a "
            "larger device, or shorter texts."
        )
    half = len(examples) // 2
    return [
        part for own in (examples[:half], examples[half:]) for part in _probabilities(network, own, layout)
    ]


class DenseNetwork(nn.Module):
    """Layers over one vector per text, whose columns are standardised."""

    def __init__(
        self,
        centre: npt.NDArray[Any],
        scale: npt.NDArray[Any],
        *,
        classes: int,
        hidden: Sequence[int],
        dropout: float,
        activation: str,
    ) -> None:
        super().__init__()
        self.centre = nn.Buffer(torch.as_tensor(centre, dtype=torch.float32))
        self.scale = nn.Buffer(torch.as_tensor(scale, dtype=torch.float32))
        layers: list[nn.Module] = []
        size = len(centre)
        for width in hidden:
            layers += [nn.Linear(size, width), ACTIVATIONS[activation](), nn.Dropout(dropout)]
            size = width
        self.layers = nn.Sequential(*layers, nn.Linear(size, classes))

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Scores of classes."""
        scores: torch.Tensor = self.layers((vectors - self.centre) / self.scale)
        return scores


def vector_layout(examples: Sequence[ClassificationExample]) -> Batch:
    """One vector per text; rows of a sparse matrix become dense here and not before."""
    rows = [
        example.values.toarray() if hasattr(example.values, "toarray") else example.values
        for example in examples
    ]
    return {"vectors": torch.from_numpy(np.concatenate(rows).astype(np.float32))}


class GruNetwork(nn.Module):
    """A GRU over standardised word vectors, read where each text ends and not where the longest of its batch does."""

    def __init__(
        self,
        centre: npt.NDArray[Any],
        scale: npt.NDArray[Any],
        *,
        classes: int,
        units: int,
        layers: int,
        directions: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.centre = nn.Buffer(torch.as_tensor(centre, dtype=torch.float32))
        self.scale = nn.Buffer(torch.as_tensor(scale, dtype=torch.float32))
        self.gru = nn.GRU(
            len(centre),
            units,
            num_layers=layers,
            bidirectional=directions == 2,
            dropout=dropout if layers > 1 else 0.0,
            batch_first=True,
        )
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(units * directions, classes)
        self._directions = directions

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Scores of classes."""
        standard = (words - self.centre) / self.scale
        packed = pack_padded_sequence(standard, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, states = self.gru(packed)
        last = torch.cat(list(states[-self._directions :]), dim=-1)
        scores: torch.Tensor = self.head(self.dropout(last))
        return scores


def word_layout(examples: Sequence[ClassificationExample]) -> Batch:
    """Word vectors, each text filled up to the longest."""
    words = [torch.from_numpy(np.asarray(example.values, dtype=np.float32)) for example in examples]
    return {
        "words": pad_sequence(words, batch_first=True),
        "lengths": torch.tensor([len(own) for own in words]),
    }


def token_layout(pad: int) -> InputLayout:
    """Tokens of an encoder, each text filled up to the longest."""

    def lay_out(examples: Sequence[ClassificationExample]) -> Batch:
        return {
            "input_ids": padded([example.values for example in examples], pad),
            "attention_mask": padded([[1] * example.length for example in examples], 0),
        }

    return lay_out


_LABEL_NAMES = ("id2label", "label2id")
"""Names of the classes that a model had before."""

_LEAST_SHARE = 0.9
"""Of a classifier's body, what must come from the model; a pooling layer of its own may be new."""


def new_classifier(model: LanguageModel, classes: int, *, seed: int) -> Any:
    """A classifier with the body of a model as it is loaded and a new head.

    The body is taken from the loaded model and not from its files: an adapter counts, and parts that only one of two
    folders happens to hold (BERT's pooling layer) are new in both.
    """
    loaded = model.loaded
    if type(loaded.config) not in AutoModelForSequenceClassification._model_mapping:
        raise ModelError(
            f"{loaded.ref.id} is of type {loaded.config.model_type!r}, for which there is no classifier to fine-tune."
        )
    known = {name: value for name, value in loaded.config.to_dict().items() if name not in _LABEL_NAMES}
    config = AutoConfig.for_model(**{**known, "num_labels": classes})
    if config.pad_token_id is None:
        config.pad_token_id = loaded.pad_id
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        classifier: Any = AutoModelForSequenceClassification.from_config(config)
    body = classifier.base_model
    original: Any = loaded.model.base_model
    source = {
        name: tensor.detach().to("cpu", torch.float32) for name, tensor in original.state_dict().items()
    }
    missing = set(body.load_state_dict(source, strict=False).missing_keys)
    sizes = {name: tensor.numel() for name, tensor in body.state_dict().items()}
    if sum(sizes[name] for name in missing) > (1 - _LEAST_SHARE) * sum(sizes.values()):
        raise ModelError(
            f"A classifier cannot be made from {loaded.ref.id}: {len(missing):,} of its tensors, such as "
            f"{min(missing)}, are not in the model."
        )
    return classifier
