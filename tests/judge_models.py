"""Tiny models with next-sentence heads, and pairs to train them on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import zoo
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from evenhand.data.corpus_sources import corpus_sources
from evenhand.data.next_sentence_building import NextSentenceOptions, build_next_sentence_pairs
from evenhand.data.next_sentence_pairs import NextSentencePairs

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
    lines = [
        {
            "sentences": [
                f"The {SUBJECTS[number % 5]} likes the {OBJECTS[number // 5 % 5]} very much {'indeed ' * (number // 25)}.",
                f"He has seen {'many ' * (number // 25)} {OBJECTS[number // 5 % 5]} with the {SUBJECTS[number % 5]}.",
                f"She buys the {OBJECTS[number // 5 % 5]} {'again ' * (number // 25)} for the {SUBJECTS[number % 5]}.",
            ]
        }
        for number in range(articles)
    ]
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
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        tokenizer.save_pretrained(folder)
        model.save_pretrained(folder)
    return folder
