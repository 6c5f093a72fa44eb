"""Judges: networks that say whether one sentence follows another, each a body with a next-sentence head.

A judge has weights of its own: training it leaves the model that it was made of as it is.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModelForNextSentencePrediction

from evenhand.core.errors import RunError
from evenhand.core.remembered_digests import remembered_sha256
from evenhand.models.loading import Loaded, MissingWeightsError, load_weights
from evenhand.models.next_sentence import has_next_sentence_class, vocabulary_digest
from evenhand.models.references import ModelError
from evenhand.store.head_records import (
    HEAD_FILE,
    HEAD_WEIGHTS_FILE,
    HeadKind,
    HeadRecord,
    PairEncoding,
    model_weights_digest,
    read_head_record,
)

BERT_FOLLOWS_CLASS = 0
"""Of BERT's own head; heads that are trained here say 1."""

HEAD_WIDTH = 300

PROMPTS = {
    "en": "binary classification: ",
    "de": "binäre Klassifikation: ",
    "es": "clasificación binaria: ",
    "fr": "classification binaire: ",
}
"""Of encoder-decoders of one language, as published. Those of many languages have none."""

MOST_WRITTEN = 3
"""Tokens that an encoder-decoder may write as its answer."""


class Judge(nn.Module, ABC):
    """Says whether the second sentence of an encoded pair follows the first."""

    record: HeadRecord

    @abstractmethod
    def losses(self, ids: Tensor, mask: Tensor, types: Tensor, classes: Tensor) -> Tensor:
        """How far each pair is from its class, in nats."""

    @abstractmethod
    def log_follows(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """The natural log-probability that each pair follows."""

    @abstractmethod
    def answers(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """The class that it answers for each pair; -1 where it answers something else."""

    @abstractmethod
    def head_parameters(self) -> Iterator[nn.Parameter]:
        """The weights that may have a learning rate of their own."""


class ClassJudge(Judge):
    """A judge with one score for each class."""

    @abstractmethod
    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """The scores of both classes."""

    def losses(self, ids: Tensor, mask: Tensor, types: Tensor, classes: Tensor) -> Tensor:
        """See ``Judge``."""
        return functional.cross_entropy(self(ids, mask, types).float(), classes, reduction="none")

    def log_follows(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """See ``Judge``."""
        logs: Tensor = self(ids, mask, types).float().log_softmax(-1)
        return logs[:, self.record.follows_class]

    def answers(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """The likelier class."""
        likelier: Tensor = self(ids, mask, types).argmax(-1)
        return likelier


class OwnJudge(ClassJudge):
    """The next-sentence class of Transformers."""

    def __init__(self, network: Any, record: HeadRecord) -> None:
        super().__init__()
        self.network = network
        self.record = record

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """See ``ClassJudge``."""
        scores: Tensor = self.network(input_ids=ids, attention_mask=mask, token_type_ids=types)[0]
        return scores

    def head_parameters(self) -> Iterator[nn.Parameter]:
        """None: its head was trained with its body."""
        return iter(())


class PooledJudge(ClassJudge):
    """Linear layers, without activation, over the mean of the body's last states; padding has no part in the mean."""

    def __init__(self, body: Any, record: HeadRecord) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Sequential(*(nn.Linear(size, to) for size, to in pairwise(record.layers)))
        self.record = record
        taken = inspect.signature(body.forward).parameters
        self._options = {"use_cache": False} if "use_cache" in taken else {}
        # GPT-2 takes types of tokens for tokens; only where pairs are encoded as such do they mean sentences.
        types = "token_type_ids" in taken and getattr(body.config, "type_vocab_size", 0) > 1
        self._takes_types = types and record.encoding is PairEncoding.PAIR

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """See ``ClassJudge``."""
        further = {"token_type_ids": types} if self._takes_types else {}
        states = self.body(input_ids=ids, attention_mask=mask, **further, **self._options)[0]
        weights = mask.unsqueeze(-1).to(states.dtype)
        scores: Tensor = self.head((states * weights).sum(1) / weights.sum(1))
        return scores

    def head_parameters(self) -> Iterator[nn.Parameter]:
        """The linear layers."""
        return self.head.parameters()


class LabelJudge(Judge):
    """An encoder-decoder that answers with a label."""

    def __init__(
        self, network: Any, record: HeadRecord, *, labels: Sequence[Sequence[int]], end: int
    ) -> None:
        super().__init__()
        self.network = network
        self.record = record
        self._labels = [list(label) for label in labels]
        self._end = end

    def losses(self, ids: Tensor, mask: Tensor, types: Tensor, classes: Tensor) -> Tensor:
        """The mean over the tokens of the label and its end."""
        del types
        width = max(map(len, self._labels)) + 1
        ended = [[*label, self._end] for label in self._labels]
        table = torch.tensor([[*own, *[-100] * (width - len(own))] for own in ended], device=ids.device)
        targets = table[classes]
        scores = self.network(input_ids=ids, attention_mask=mask, labels=targets).logits.float()
        each = functional.cross_entropy(scores.transpose(1, 2), targets, ignore_index=-100, reduction="none")
        return each.sum(1) / (targets != -100).sum(1)

    def log_follows(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """Of the label that means so, token after token; what ends it is not counted."""
        del types
        label = torch.tensor(self._labels[self.record.follows_class], device=ids.device)
        targets = label.expand(len(ids), -1)
        logs = self.network(input_ids=ids, attention_mask=mask, labels=targets).logits.float().log_softmax(-1)
        total: Tensor = logs.gather(2, targets.unsqueeze(-1)).sum((1, 2))
        return total

    def answers(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """What it writes by itself. Led through the label, it would be right nearly always."""
        del types
        written = self.network.generate(
            input_ids=ids, attention_mask=mask, max_new_tokens=MOST_WRITTEN, do_sample=False, num_beams=1
        )
        ended = [[*label, self._end] for label in self._labels]
        answers = []
        for row in written[:, 1:].tolist():
            matching = [number for number, label in enumerate(ended) if row[: len(label)] == label]
            answers.append(matching[0] if matching else -1)
        return torch.tensor(answers, device=ids.device)

    def head_parameters(self) -> Iterator[nn.Parameter]:
        """None: all of it writes."""
        return iter(())


def usual_prompt(loaded: Loaded, languages: Sequence[str]) -> str:
    """What stands before pairs as published: a few words for T5 in one language, nothing for anybody else."""
    if loaded.config.model_type != "t5" or len(languages) != 1:
        return ""
    return PROMPTS.get(languages[0], "")


def new_head_record(loaded: Loaded, *, prompt: str = "") -> HeadRecord:
    """What a new head of a model is like, as suits its family.

    Raises:
        ModelError: If there is none for the family.
    """
    family, tokenizer = loaded.family, loaded.tokenizer
    known = {"body": loaded.config.model_type, "tokenizer": vocabulary_digest(tokenizer)}
    kind = family.head_kind
    if kind is None:
        raise ModelError(
            f"{loaded.ref.id} is an {family.name}, for which there is no next-sentence head to train. Use a decoder, "
            "a masked model, or a T5-style model."
        )
    if kind is HeadKind.LABELS:
        return HeadRecord(follows_class=1, kind=kind, encoding=PairEncoding.JOINED, prompt=prompt, **known)
    if prompt:
        raise ModelError(
            f"{loaded.ref.id} answers with a class, so it has no use for the prompt {prompt!r}. Leave out --prompt."
        )
    own = _own_judge(loaded, HeadRecord(follows_class=BERT_FOLLOWS_CLASS, **known))
    if own is not None:
        return own.record
    layers = (_state_size(loaded), HEAD_WIDTH, HEAD_WIDTH, 2)
    encoding = PairEncoding.PAIR if family.encodes_pairs else PairEncoding.JOINED
    return HeadRecord(follows_class=1, kind=kind, encoding=encoding, pooling="mean", layers=layers, **known)


def _state_size(loaded: Loaded) -> int:
    """Numbers in a state of the body; a configuration does not always say so."""
    token = torch.zeros(1, 1, dtype=torch.long, device=loaded.device)
    with torch.no_grad():
        states: Tensor = loaded.family.body(loaded.model)(
            input_ids=token, attention_mask=torch.ones_like(token)
        )[0]
    return states.shape[-1]


def new_judge(loaded: Loaded, record: HeadRecord, *, seed: int = 0) -> Judge:
    """A judge with the weights of a model and, where its head is new, a random head."""
    judge: Judge
    if record.kind is HeadKind.OWN:
        own = _own_judge(loaded, record)
        if own is None:
            raise ModelError(f"{loaded.ref.id} has no next-sentence head of its own.")
        judge = own
    elif record.kind is HeadKind.LABELS:
        judge = _label_judge(loaded, record)
    else:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            judge = PooledJudge(copy.deepcopy(loaded.family.body(loaded.model)), record)
    return judge.to(loaded.device, loaded.dtype).eval()


def _label_judge(loaded: Loaded, record: HeadRecord) -> LabelJudge:
    labels = [loaded.tokenizer(label, add_special_tokens=False)["input_ids"] for label in record.labels]
    unknown = loaded.tokenizer.unk_token_id
    if any(not label or unknown in label for label in labels) or labels[0] == labels[1]:
        raise ModelError(
            f"The tokenizer of {loaded.ref.id} has no tokens for the labels {' and '.join(record.labels)}, which the "
            "model would have to write. Use another model."
        )
    return LabelJudge(copy.deepcopy(loaded.model), record, labels=labels, end=loaded.tokenizer.eos_token_id)


def _own_judge(loaded: Loaded, record: HeadRecord) -> OwnJudge | None:
    if not has_next_sentence_class(loaded.config):
        return None
    try:
        network = load_weights(loaded.ref, AutoModelForNextSentencePrediction, loaded.dtype)
    except MissingWeightsError:
        return None
    return OwnJudge(network, record)


def load_judge(loaded: Loaded) -> Judge | None:
    """The judge of a model's folder; None if it has no next-sentence head.

    Raises:
        ModelError: If the head belongs to another model or tokenizer, or its record or weights are damaged.
    """
    folder = Path(loaded.ref.location)
    try:
        record = read_head_record(folder)
    except RunError as problem:
        raise ModelError(str(problem)) from None
    if record is None or record.weights is None:
        own = _own_judge(loaded, record or HeadRecord(follows_class=BERT_FOLLOWS_CLASS))
        return None if own is None else own.to(loaded.device).eval()
    if record.body != loaded.config.model_type:
        raise ModelError(
            f"The next-sentence head of {folder} was made for a body of type {record.body!r}, and the model is "
            f"{loaded.config.model_type!r}. Remove {HEAD_FILE} and {HEAD_WEIGHTS_FILE}, or train a head for this model."
        )
    if record.tokenizer != vocabulary_digest(loaded.tokenizer):
        raise ModelError(
            f"The next-sentence head of {folder} was made with another tokenizer than the one beside it. Put the "
            "tokenizer back that it was trained with, or train a head for this model."
        )
    _refuse_other_weights(loaded, record, folder)
    path = folder / HEAD_WEIGHTS_FILE
    try:
        intact = remembered_sha256(path) == record.weights
        weights = load_file(path) if intact else {}
    except (OSError, SafetensorError):
        weights = {}
    if not weights:
        raise ModelError(f"{path} is missing or not what {HEAD_FILE} says. Copy the whole folder again.")
    _refuse_other_layers(record, weights, path)
    judge = new_judge(loaded, record)
    put_judge_weights(judge, weights, source=str(path))
    return judge


def _refuse_other_layers(record: HeadRecord, weights: Mapping[str, Tensor], path: Path) -> None:
    """Layers of another size than the weights have would be made first, however large they are."""
    sizes = list(pairwise(record.layers))
    stored = [weights[name].shape for n in range(len(sizes)) if (name := f"head.{n}.weight") in weights]
    if [tuple(shape) for shape in stored] != [(width, states) for states, width in sizes]:
        raise ModelError(
            f"{path} has layers of other sizes than {HEAD_FILE} says. Copy the whole folder again."
        )


def _refuse_other_weights(loaded: Loaded, record: HeadRecord, folder: Path) -> None:
    """A head is a copy of the whole model: beside other weights it would speak for a model that is not there."""
    if loaded.ref.adapters:
        raise ModelError(
            f"The next-sentence head of {folder} was trained without {loaded.ref.adapters[0]}, so it would not be the "
            "model with the adapter that judges. Train a head for that model, or use a copy of the folder without "
            f"{HEAD_FILE} and {HEAD_WEIGHTS_FILE}."
        )
    if record.model_weights != model_weights_digest(folder):
        raise ModelError(
            f"The next-sentence head of {folder} was trained with other weights than those beside it, so it would not "
            "be this model that judges. Train a head for this model with evenhand train next-sentence, or remove "
            f"{HEAD_FILE} and {HEAD_WEIGHTS_FILE}."
        )


def judge_weights(judge: Judge) -> dict[str, Tensor]:
    """All weights of a judge, those that are tied once."""
    return {name: weight.detach().to("cpu", copy=True) for name, weight in judge.named_parameters()}


def put_judge_weights(judge: Judge, weights: Mapping[str, Tensor], *, source: str) -> None:
    """Give a judge its weights; each must have its place and its size.

    Raises:
        ModelError: If they are those of a head for another body.
    """
    own = dict(judge.named_parameters())
    differing = sorted(own.keys() ^ weights.keys()) or sorted(
        name for name, weight in weights.items() if weight.shape != own[name].shape
    )
    if differing:
        raise ModelError(
            f"{source} holds a next-sentence head for another body: it does not fit in {differing[0]}"
            f"{f' and {len(differing) - 1:,} more' if len(differing) > 1 else ''}. Use it with the model that it was "
            "trained with."
        )
    with torch.no_grad():
        for name, weight in weights.items():
            own[name].copy_(weight)
