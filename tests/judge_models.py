"""Tiny models with next-sentence heads, and pairs to train them on."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
import zoo
from safetensors.torch import load_file
from transformers import (
    AutoModel,
    AutoModelForNextSentencePrediction,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
)

from evenhand.data.corpus_sources import corpus_sources
from evenhand.heads.pair_building import build_next_sentence_pairs
from evenhand.heads.pairs import NextSentenceOptions, NextSentencePairs

SUBJECTS = ("doctor", "nurse", "farmer", "teacher", "engineer")
OBJECTS = ("tea", "road", "sea", "house", "child")

RECIPE: dict[str, Any] = {
    "batch_size": 8,
    "checkpoints": 3,
    "max_tokens": 48,
    "report_every": 16,
    "test_pairs": 16,
}


def small_pairs(folder: Path, *, language: str = "en", articles: int = 40) -> NextSentencePairs:
    """Pairs whose sentences that follow one another are about the same thing."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = folder / f"{language}.jsonl"
    lines = []
    for number in range(articles):
        who, what, more = SUBJECTS[number % 5], OBJECTS[number // 5 % 5], "very " * (number // 25)
        sentences = [f"The {who} {more}likes the {what}.", f"He has seen {more}many {what} with the {who}."]
        lines.append({"sentences": [*sentences, f"She buys the {what} {more}again for the {who}."]})
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = NextSentenceOptions(language, test_share=0.3)
    return build_next_sentence_pairs(corpus_sources([corpus]).sources, folder / language, options=options)


def model_folder(name: str, folder: Path) -> Path:
    """A model of the zoo; an encoder-decoder gets tokens for its labels."""
    zoo.build(name, folder)
    if name in ("t5", "mt5"):
        tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        tokenizer.add_tokens(["0", "1"])
        model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder)
        with torch.random.fork_rng():  # the same weights whatever ran before
            torch.manual_seed(0)
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        tokenizer.save_pretrained(folder)
        model.save_pretrained(folder)
    return folder


class SlowJudge:
    """The judge of a folder behind the plainest code there is: one pair at a time, no padding."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = json.loads((folder / "next_sentence.json").read_text())
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.weights = load_file(folder / "next_sentence.safetensors")
        self._part = cache(self._loaded)

    def follows(self, first: str, second: str) -> float:
        """The probability that the second sentence follows."""
        with torch.inference_mode():
            return {"own": self._own, "pooled": self._pooled, "labels": self._labels}[self.record["kind"]](
                first, second
            )

    def _encoded(self, first: str, second: str) -> dict[str, Any]:
        if self.record["encoding"] == "pair":
            return dict(self.tokenizer(first, second, return_tensors="pt"))
        first = first if first[-1] in ".!?…\"'”’»)" else f"{first}."
        return dict(self.tokenizer(f"{self.record['prompt']}{first} {second}", return_tensors="pt"))

    def _loaded(self, auto_class: Any, part: str) -> Any:
        network = auto_class.from_pretrained(self.folder)
        own = {
            name.removeprefix(part): weight for name, weight in self.weights.items() if name.startswith(part)
        }
        missing, strange = network.load_state_dict(own, strict=False)
        assert not strange
        tied = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"}
        assert {name for name in missing if "pooler" not in name} <= tied
        return network.eval()

    def _own(self, first: str, second: str) -> float:
        network = self._part(AutoModelForNextSentencePrediction, "network.")
        scores = network(**self._encoded(first, second)).logits[0].double()
        return float(scores.softmax(-1)[self.record["follows_class"]])

    def _pooled(self, first: str, second: str) -> float:
        body = self._part(AutoModel, "body.")
        encoded = self._encoded(first, second)
        types = encoded.pop("token_type_ids", None)
        if self.record["encoding"] == "pair" and getattr(body.config, "type_vocab_size", 0) > 1:
            encoded["token_type_ids"] = types
        state = body(**encoded).last_hidden_state[0].double().mean(0)
        for layer in range(3):
            weight, bias = (self.weights[f"head.{layer}.{part}"].double() for part in ("weight", "bias"))
            state = weight @ state + bias
        return float(state.softmax(-1)[self.record["follows_class"]])

    def _labels(self, first: str, second: str) -> float:
        network = self._part(AutoModelForSeq2SeqLM, "network.")
        ids = self._encoded(first, second)["input_ids"]
        written, probability = [network.config.decoder_start_token_id], 1.0
        label = self.record["labels"][self.record["follows_class"]]
        for token in self.tokenizer(label, add_special_tokens=False)["input_ids"]:
            scores = network(input_ids=ids, decoder_input_ids=torch.tensor([written])).logits[0, -1].double()
            probability *= float(scores.softmax(-1)[token])
            written.append(token)
        return probability
