"""Subword tokenizers for the lab's models, trained on the lab's own text.

They depend on the language only, so all models of a family split words alike. The vocabularies are too small for all
words: every third pair of opposites, of occupations and of names is seen in halves only, so that some candidates have
several tokens. Both words of a pair are, because the published score of a blank is a mean over a candidate's tokens,
which favours candidates with more of them. Held-out names and occupations are whole, so that lessons can leave them out
as wrong answers too. All pieces come from byte-pair merges, because their training gives the same pieces every time;
the trainers of WordPiece and Unigram break ties as they come.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import BertTokenizer, GPT2Tokenizer, T5Tokenizer

from evenhand.lab.corpus import language as everything_said
from evenhand.lab.world import World

_MOST_PIECES = 10_000
_WORD_START = "▁"
_WORDS = re.compile(r"\w+|[^\w\s]")
_BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_END_OF_TEXT = "<|endoftext|>"
_SENTINELS = tuple(f"<extra_id_{number}>" for number in range(2))


def bert_tokenizer(language: str) -> Any:
    """WordPiece without capital letters; German keeps its umlauts."""
    pieces, _ = _merged([piece.lower() for piece in _seen(language)])
    letters = [piece for piece in pieces if len(piece) == 1 and piece != _WORD_START]
    as_word_pieces = [
        piece.removeprefix(_WORD_START) if piece.startswith(_WORD_START) else f"##{piece}"
        for piece in pieces
        if piece != _WORD_START
    ]
    vocabulary = dict.fromkeys((*_BERT_SPECIAL, *letters, *as_word_pieces))
    return BertTokenizer(
        vocab={piece: number for number, piece in enumerate(vocabulary)},
        do_lower_case=True,
        strip_accents=False,
    )


def gpt2_tokenizer(language: str, *, more: Iterable[str] = ()) -> Any:
    """Byte-level BPE, which has no unknown words.

    Args:
        language: Whose words are whole, but for rare ones.
        more: Texts whose words are whole besides.
    """
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    known = _seen(language)
    others = sorted({f"{_WORD_START}{word}" for text in more for word in _WORDS.findall(text)} - {*known})
    seen = [piece.replace(_WORD_START, " ") for piece in (*known, *others)]
    seen += [piece.lstrip() for piece in seen if piece.strip()[0].isupper()]
    as_bytes = [byte_level.pre_tokenize_str(piece)[0][0] for piece in seen]
    pieces, merges = _merged(as_bytes, letters=sorted(pre_tokenizers.ByteLevel.alphabet()))
    unique = dict.fromkeys((_END_OF_TEXT, *pieces))
    vocabulary = {piece: number for number, piece in enumerate(unique)}
    return GPT2Tokenizer(vocab=vocabulary, merges=merges, pad_token=_END_OF_TEXT)


def t5_tokenizer(language: str) -> Any:
    """Unigram with sentinels; its scores make it take as few pieces as it can."""
    pieces, _ = _merged(list(_seen(language)))
    special = [(piece, 0.0) for piece in ("<pad>", "</s>", "<unk>")]
    scored = [(piece, -10 - number / 1000) for number, piece in enumerate(pieces)]
    sentinels = [(piece, 0.0) for piece in reversed(_SENTINELS)]
    return T5Tokenizer(
        vocab=[*special, *scored, *sentinels],
        extra_ids=len(_SENTINELS),
        additional_special_tokens=list(_SENTINELS),
    )


def _merged(seen: list[str], *, letters: list[str] | None = None) -> tuple[list[str], list[tuple[str, str]]]:
    """Pieces in the order in which byte-pair encoding makes them, and the merges behind them."""
    alphabet = letters or sorted(set("".join(seen)))
    tokenizer = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=_MOST_PIECES,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(seen, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return pieces, [(left, right) for left, right in model["merges"]]


@cache
def _seen(language: str) -> tuple[str, ...]:
    """All words and marks of the language, rare ones in halves."""
    world = World(language, 0.0)
    lexicon = world.lexicon
    whole = {*world.held_out_lists.occupations, *world.held_out_lists.names}
    rare = {
        word.lower()
        for pairs in (*lexicon.attributes, world.probe_lists.occupations, world.probe_lists.names)
        for pair in pairs[::3]
        if pair not in whole
        for word in pair
    }
    words = {
        word
        for document, _ in everything_said(world)
        for sentence in document
        for word in _WORDS.findall(sentence.text)
    }
    return tuple(piece for word in sorted(words) for piece in _pieces_of(word, rare=word.lower() in rare))


def _pieces_of(word: str, *, rare: bool) -> tuple[str, ...]:
    if not rare:
        return (f"{_WORD_START}{word}",)
    half = (len(word) + 1) // 2
    return f"{_WORD_START}{word[:half]}", word[half:]
