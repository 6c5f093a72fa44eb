"""A model without weights that answers from a table or a function."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from evenhand.core.items import BLANK
from evenhand.models.model import Model, missing_capability
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import (
    Answer,
    Continue,
    Embed,
    Fill,
    Finish,
    Follow,
    GeneratedText,
    Messages,
    Part,
    Request,
    Write,
)
from evenhand.store.records import ModelRecord

EVERYTHING = frozenset({Fill, Continue, Follow, Embed, Write})

LAYERS = 2
DIMENSIONS = 8
"""Of the vectors of words."""


class FakeModel(Model):
    """Gives every text the probability that a table or a function has for it.

    A word in a blank has the probability of the sentence with the word in place, a sentence that follows another the
    probability of the two with a space between them. A text's probability is shared evenly by its words, which are its
    tokens. Vectors and generated texts depend on the texts alone. Messages are read as a dialogue, one to a line.

        >>> model = FakeModel({"He is kind.": 0.2, "She is kind.": 0.1})
        >>> model.score_fills("BLANK is kind.", ["He"])[0].total
        -1.6094379124341003

    Args:
        answers: Probabilities by text, or a function from a text to its probability.
        otherwise: The probability of texts that a table lacks; without it, such a text is an error.
        name: The model's name in records, behind ``fake:``.
        capabilities: What the model can be asked; everything that needs no weights if not given.
    """

    takes_messages = True

    def __init__(
        self,
        answers: Mapping[str, float] | Callable[[str], float],
        *,
        otherwise: float | None = None,
        name: str = "model",
        capabilities: Iterable[type] = EVERYTHING,
    ) -> None:
        self.answers = answers
        self.otherwise = otherwise
        self.ref = ModelRef(id=f"fake:{name}", device="cpu")
        self._capabilities = frozenset(capabilities)

    @property
    def capabilities(self) -> frozenset[type]:
        """Those that it was made with."""
        return self._capabilities

    @property
    def record(self) -> ModelRecord:
        """What identifies it: a digest of the table, or the function's name."""
        return ModelRecord(
            id=self.ref.id,
            revision=None,
            weights=_identity(self.answers, self.otherwise),
            family="fake",
            architecture=type(self).__name__,
            precision=self.ref.precision.value,
            device=self.ref.device,
            prefix=self.ref.prefix,
        )

    def probability(self, text: str) -> float:
        """The probability of a text.

        Raises:
            ModelError: If there is none, or what there is is no probability.
        """
        value = self.answers(text) if callable(self.answers) else self.answers.get(text, self.otherwise)
        if value is None:
            raise ModelError(
                f"The table of {self.ref.id} has no probability of {text!r}. Add one, or say with otherwise= what the "
                "probability of all other texts is."
            )
        if not 0 <= value <= 1:
            raise ModelError(f"{self.ref.id} gives {text!r} the probability {value}; it must be from 0 to 1.")
        return value

    def answer_batch(self, requests: Sequence[Request]) -> list[Answer]:
        """Each word in a blank and each second sentence as one token, each text word by word."""
        for request in requests:
            if type(request) not in self.capabilities:
                kind = type(request)
                raise missing_capability(self, kind, purpose=f"answer {kind.__name__} requests")
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Answer:
        match request:
            case Fill():
                return Answer((_log(self.probability(request.text.replace(BLANK, request.word))),))
            case Follow():
                return Answer((_log(self.probability(f"{request.first} {request.second}")),))
            case Continue():
                before = _dialogue(request.messages) if request.messages else request.prefix
                text = before if request.part is Part.PREFIX else f"{before} {request.text}".strip()
                words = len(text.split())
                asked = words if request.part is Part.PREFIX else len(request.text.split())
                if not asked:
                    return Answer(problem="it has no word")
                return Answer((_log(self.probability(text)) / words,) * asked)
            case Embed():
                return Answer(vector=self._vector(request))
            case Write():
                return Answer(texts=self._texts(request))
        raise ModelError(f"{self.ref.id} cannot be asked for {request!r}.")

    def layer_number(self, layer: int) -> int:
        """A layer counted from the embeddings; there are two above them."""
        if not -LAYERS - 1 <= layer <= LAYERS:
            raise ModelError(f"{self.ref.id} has the layers 0 to {LAYERS}; {layer} was asked for.")
        return layer if layer >= 0 else LAYERS + 1 + layer

    def _vector(self, request: Embed) -> Any:
        """A vector that depends on the word, its text and the layer."""
        import numpy as np

        text, layer = request.text, self.layer_number(request.layer)
        seed = _digest(f"{request.span.of(text)} in {text} at {layer}")
        return np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)

    def _texts(self, request: Write) -> tuple[GeneratedText, ...]:
        """The words of a prompt again, from its end to its beginning."""
        prompt = _dialogue(request.messages) if request.messages else request.prompt
        words = prompt.split()[::-1][: request.decoding.max_new_tokens]
        return tuple(
            GeneratedText(
                prompt=request.number,
                sample=sample,
                text=" ".join(words),
                tokens=len(words),
                finish=Finish.END,
            )
            for sample in range(request.decoding.samples)
        )


class FakeBackend:
    """Makes models whose probabilities are drawn from their name: ``fake:NAME``."""

    name = "fake"
    summary = "a model without weights whose answers depend on its name, for trying things out"

    def location(self, ref: ModelRef) -> str:
        """There are no weights."""
        return ref.id

    def load(self, ref: ModelRef) -> FakeModel:
        """A model that answers at once."""
        _, _, name = ref.id.partition(":")
        return FakeModel(Drawn(name), name=name)


class Drawn:
    """Probabilities that depend on a name and a text alone."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, text: str) -> float:
        """The probability of a text."""
        return (1 + _digest(f"{self.name}\0{text}") % 998) / 1000

    def __repr__(self) -> str:
        return f"drawn from {self.name!r}"


FAKE = FakeBackend()


def _identity(answers: Mapping[str, float] | Callable[[str], float], otherwise: float | None) -> str:
    if isinstance(answers, Drawn):
        return repr(answers)
    if callable(answers):
        known: Any = answers
        name = getattr(known, "__qualname__", type(known).__qualname__)
        return f"function {getattr(known, '__module__', '')}.{name}"
    content = json.dumps([sorted(answers.items()), otherwise])
    return f"table {hashlib.sha256(content.encode()).hexdigest()}"


def _dialogue(messages: Messages) -> str:
    return "\n".join(f"{role}: {content}" for role, content in messages)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf
