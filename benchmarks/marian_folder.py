"""A Marian model of any size with random weights and a tokenizer of its own kind, as a folder that can be loaded.

    python benchmarks/marian_folder.py FOLDER --width 512 --layers 6 --words 58000

Its answers are nonsense. It takes the time and the memory of a published model of that size, and goes through the same
code: sentence pieces, a vocabulary that both languages share, beams.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import sentencepiece
import torch
from transformers import GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer

from evenhand.data import load_dataset

_SPECIAL = ("</s>", "<unk>")


def make_marian(
    folder: Path, *, width: int, layers: int, words: int = 0, beams: int = 1, positions: int = 512
) -> None:
    """Write a model and its tokenizer.

    Args:
        folder: Where they go.
        width: Numbers per token.
        layers: Of the encoder, and of the decoder.
        words: Size of the vocabulary; what the starter set gives if that is more.
        beams: How it decodes unless told otherwise.
        positions: Tokens that it takes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write_tokenizer(folder, words=words)
    size = len(json.loads((folder / "vocab.json").read_text(encoding="utf-8")))
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=size,
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=max(2, width // 64),
        decoder_attention_heads=max(2, width // 64),
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        max_position_embeddings=positions,
        pad_token_id=size - 1,
        eos_token_id=0,
        decoder_start_token_id=size - 1,
        forced_eos_token_id=0,
    )
    model = MarianMTModel(config)
    model.generation_config = GenerationConfig(
        num_beams=beams, pad_token_id=size - 1, eos_token_id=0, decoder_start_token_id=size - 1
    )
    model.save_pretrained(folder)


def _write_tokenizer(folder: Path, *, words: int) -> None:
    texts = [
        candidate.text for item in load_dataset("starter", language="en") for candidate in item.candidates
    ]
    sentences = folder / "sentences.txt"
    sentences.write_text("\n".join(texts), encoding="utf-8")
    for side in ("source", "target"):
        sentencepiece.SentencePieceTrainer.train(
            input=str(sentences),
            model_prefix=str(folder / side),
            vocab_size=500,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
    lines = (folder / "source.vocab").read_text(encoding="utf-8").splitlines()
    pieces = [line.partition("\t")[0] for line in lines]
    vocabulary = {word: place for place, word in enumerate(dict.fromkeys([*_SPECIAL, *pieces]))}
    while len(vocabulary) < words - 1:
        vocabulary[f"▁filler{len(vocabulary)}"] = len(vocabulary)
    vocabulary["<pad>"] = len(vocabulary)
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")
        tokenizer = MarianTokenizer(
            str(folder / "source.spm"),
            str(folder / "target.spm"),
            str(folder / "vocab.json"),
            source_lang="en",
            target_lang="de",
        )
    tokenizer.save_pretrained(folder)
    for name in ("sentences.txt", "source.vocab", "target.vocab"):
        (folder / name).unlink()


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--words", type=int, default=58_000)
    parser.add_argument("--beams", type=int, default=4)
    options = parser.parse_args()
    make_marian(
        options.folder, width=options.width, layers=options.layers, words=options.words, beams=options.beams
    )
    print(options.folder)


if __name__ == "__main__":
    main()
