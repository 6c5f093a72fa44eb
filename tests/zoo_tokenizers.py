"""Small tokenizers of every kind, trained on the spot on the bundled starter set in five languages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    AlbertTokenizer,
    BertTokenizer,
    CamembertTokenizer,
    DebertaTokenizer,
    DebertaV2Tokenizer,
    DistilBertTokenizer,
    GemmaTokenizer,
    GPT2Tokenizer,
    GPTNeoXTokenizer,
    LlamaTokenizer,
    MBartTokenizer,
    PhobertTokenizer,
    PreTrainedTokenizerFast,
    Qwen2Tokenizer,
    RobertaTokenizer,
    T5Tokenizer,
    XLMRobertaTokenizer,
)

import evenhand

LANGUAGES = ("en", "de", "es", "fr", "tr")
ENTRIES = 700
"""Few enough that most candidates have several tokens."""

WHOLE_WORDS = (
    "he", "she", "his", "her", "him", "himself", "herself", "er", "sie", "ihn", "ihm", "ihr", "sein",
    "seine", "seinen", "seinem", "seiner", "seines", "ihre", "ihren", "ihrem", "ihrer", "ihres",
    "James", "Mary", "Robert", "Patricia", "Michael", "Jennifer", "Maria", "Thomas", "Sabine",
    "Andreas", "Susanne",
)  # fmt: skip
"""Words that are one token in the tokenizers of real models, whatever else those split."""

SENTINELS = tuple(f"<extra_id_{number}>" for number in range(5))


@cache
def sentences() -> tuple[str, ...]:
    """All text of the starter set."""
    return tuple(
        text
        for language in LANGUAGES
        for item in evenhand.load_dataset("starter", language=language)
        for text in (item.context, *(candidate.text for candidate in item.candidates))
    )


@cache
def byte_level() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary and merges of byte-level BPE."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=ENTRIES, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    return _trained(tokenizer, trainer)


@cache
def metaspace_bpe() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary and merges of BPE over text whose spaces became underscores, as SentencePiece makes it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return _trained(tokenizer, trainers.BpeTrainer(vocab_size=ENTRIES, show_progress=False))


@cache
def word_pieces(*, lower_case: bool) -> tuple[str, ...]:
    """Pieces of WordPiece."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower_case)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        sentences(),
        trainers.WordPieceTrainer(vocab_size=ENTRIES, special_tokens=["[UNK]"], show_progress=False),
    )
    vocabulary = tokenizer.get_vocab()
    trained = sorted(vocabulary, key=vocabulary.__getitem__)[1:]
    words = [word.lower() for word in WHOLE_WORDS] if lower_case else _written(WHOLE_WORDS)
    return tuple(dict.fromkeys([*trained, *words]))


@cache
def unigrams(*, plain: bool = False) -> tuple[tuple[str, float], ...]:
    """Pieces of a Unigram model with their scores; ``plain`` has small letters without accents only."""
    tokenizer = Tokenizer(models.Unigram())
    if plain:
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
        )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(
        sentences(),
        trainers.UnigramTrainer(
            vocab_size=ENTRIES,
            show_progress=False,
            special_tokens=["<unk>"],
            unk_token="<unk>",
        ),
    )
    trained = dict(json.loads(tokenizer.to_str())["model"]["vocab"])
    words = [word.lower() for word in WHOLE_WORDS] if plain else _written(WHOLE_WORDS)
    likely = max(score for piece, score in trained.items() if len(piece) > 1)
    vocabulary = {**trained, **dict.fromkeys((f"▁{word}" for word in words), likely)}
    return tuple((piece, score) for piece, score in vocabulary.items() if piece != "<unk>")


def _trained(tokenizer: Tokenizer, trainer: Any) -> tuple[dict[str, int], list[tuple[str, str]]]:
    tokenizer.train_from_iterator(sentences(), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    vocabulary, merges = model["vocab"], [(left, right) for left, right in model["merges"]]
    for text in (text for word in _written(WHOLE_WORDS) for text in (f" {word}", word)):
        tokenizer.model = models.BPE(vocab=vocabulary, merges=merges)
        first, *rest = tokenizer.encode(text).tokens
        for piece in rest:
            merges.append((first, piece))
            first += piece
            vocabulary.setdefault(first, len(vocabulary))
    return vocabulary, merges


def _written(words: Iterable[str]) -> list[str]:
    """Words as they stand in a sentence and at its start."""
    return list(dict.fromkeys(form for word in words for form in (word, word.capitalize())))


def _numbered(*groups: Iterator[str] | tuple[str, ...] | dict[str, int]) -> dict[str, int]:
    """A vocabulary in this order."""
    return {
        piece: number
        for number, piece in enumerate(dict.fromkeys(piece for group in groups for piece in group))
    }


def _scored(*special: str, plain: bool = False, last: tuple[str, ...] = ()) -> list[tuple[str, float]]:
    """A Unigram vocabulary with special entries before and behind."""
    return [*((piece, 0.0) for piece in special), *unigrams(plain=plain), *((piece, 0.0) for piece in last)]


def _mask(text: str) -> AddedToken:
    """A mask that takes the space before it, as in the families that do so."""
    return AddedToken(text, lstrip=True, special=True)


BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
MERGED_SPECIAL = ("<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)))


def bert() -> Any:
    """Cased WordPiece."""
    return BertTokenizer(vocab=_numbered(BERT_SPECIAL, word_pieces(lower_case=False)), do_lower_case=False)


def distilbert() -> Any:
    """Uncased WordPiece, accents stripped."""
    return DistilBertTokenizer(
        vocab=_numbered(BERT_SPECIAL, word_pieces(lower_case=True)), do_lower_case=True
    )


def electra() -> Any:
    """Uncased WordPiece under BERT's class, as ELECTRA has it."""
    return BertTokenizer(vocab=_numbered(BERT_SPECIAL, word_pieces(lower_case=True)), do_lower_case=True)


def roberta() -> Any:
    """Byte-level BPE, padding id 1, a mask that takes the space before it."""
    pieces, merges = byte_level()
    return RobertaTokenizer(
        vocab=_numbered(ROBERTA_SPECIAL, pieces, ("<mask>",)), merges=merges, mask_token=_mask("<mask>")
    )


def deberta() -> Any:
    """Byte-level BPE with BERT's special tokens."""
    pieces, merges = byte_level()
    return DebertaTokenizer(vocab=_numbered(BERT_SPECIAL, pieces), merges=merges, mask_token=_mask("[MASK]"))


def modernbert() -> Any:
    """Byte-level BPE with BERT's special tokens and no class of its own."""
    pieces, merges = byte_level()
    backend = Tokenizer(models.BPE(vocab=_numbered(pieces, BERT_SPECIAL), merges=merges))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = _bert_frame(backend)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token=_mask("[MASK]"),
    )


def _bert_frame(backend: Tokenizer) -> processors.TemplateProcessing:
    return processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )


def xlm_roberta() -> Any:
    """Unigram with RoBERTa's special tokens."""
    return XLMRobertaTokenizer(vocab=_scored(*ROBERTA_SPECIAL, last=("<mask>",)), mask_token=_mask("<mask>"))


def camembert() -> Any:
    """Unigram with CamemBERT's unused entries."""
    special = ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>")
    return CamembertTokenizer(vocab=_scored(*special, last=("<mask>",)))


def albert() -> Any:
    """Unigram, lower case, accents stripped."""
    special = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
    return AlbertTokenizer(vocab=_scored(*special, plain=True), mask_token=_mask("[MASK]"))


def deberta_v2() -> Any:
    """Unigram over the whole text, in which a lone space can be a token."""
    return DebertaV2Tokenizer(vocab=_scored("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))


def phobert(folder: Path) -> Any:
    """A tokenizer in Python, which tells no characters."""
    trained = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    trained.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    pieces, merges = _trained(
        trained, trainers.BpeTrainer(vocab_size=ENTRIES, end_of_word_suffix="</w>", show_progress=False)
    )
    names = (piece.removesuffix("</w>") if piece.endswith("</w>") else f"{piece}@@" for piece in pieces)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary, codes = folder / "vocab.txt", folder / "bpe.codes"
    vocabulary.write_text(
        "".join(f"{name} 1\n" for name in [*dict.fromkeys(names), "<mask>"]), encoding="utf-8"
    )
    codes.write_text("".join(f"{left} {right} 1\n" for left, right in merges), encoding="utf-8")
    return PhobertTokenizer(str(vocabulary), str(codes))


def gpt2() -> Any:
    """Byte-level BPE with one special token."""
    pieces, merges = byte_level()
    return GPT2Tokenizer(vocab=_numbered(pieces, ("<|endoftext|>",)), merges=merges)


def gpt_neox() -> Any:
    """Byte-level BPE with a padding token."""
    pieces, merges = byte_level()
    return GPTNeoXTokenizer(vocab=_numbered(("<|endoftext|>", "<|padding|>"), pieces), merges=merges)


def opt() -> Any:
    """Byte-level BPE that starts every text with </s>."""
    pieces, merges = byte_level()
    tokenizer = GPT2Tokenizer(
        vocab=_numbered(ROBERTA_SPECIAL, pieces),
        merges=merges,
        bos_token="</s>",
        eos_token="</s>",
        unk_token="</s>",
        pad_token="<pad>",
    )
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="</s> $A", special_tokens=[("</s>", tokenizer.convert_tokens_to_ids("</s>"))]
    )
    return tokenizer


def llama() -> Any:
    """BPE with byte fallback, a space before the text and <s> before that; no padding token."""
    pieces, merges = metaspace_bpe()
    tokenizer = LlamaTokenizer(vocab=_numbered(MERGED_SPECIAL, pieces), merges=merges)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", tokenizer.bos_token_id)]
    )
    return tokenizer


def gemma() -> Any:
    """BPE with byte fallback, no space before the text."""
    pieces, merges = metaspace_bpe()
    special = ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>", *MERGED_SPECIAL[3:])
    tokenizer = GemmaTokenizer(vocab=_numbered(special, pieces), merges=merges)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", tokenizer.bos_token_id)]
    )
    return tokenizer


def qwen2() -> Any:
    """Byte-level BPE with neither a start token nor a padding token of its own."""
    pieces, merges = byte_level()
    return Qwen2Tokenizer(vocab=_numbered(pieces, ("<|endoftext|>",)), merges=merges, pad_token=None)


def bloom() -> Any:
    """Byte-level BPE whose words are split by BLOOM's expression."""
    pieces, merges = byte_level()
    backend = Tokenizer(models.BPE(vocab=_numbered(("<unk>", "<s>", "</s>", "<pad>"), pieces), merges=merges))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r" ?[^(\s|[.,!?…。，、।۔،])]+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        padding_side="left",
    )


def t5() -> Any:
    """Unigram with sentinels, </s> behind every text."""
    return T5Tokenizer(
        vocab=_scored("<pad>", "</s>", "<unk>", last=SENTINELS[::-1]),
        extra_ids=len(SENTINELS),
        additional_special_tokens=list(SENTINELS),
    )


def mgpt() -> Any:
    """mT5's tokenizer under a decoder: no start token, </s> behind every text."""
    return T5Tokenizer(vocab=_scored("<pad>", "</s>", "<unk>"), extra_ids=0)


def mbart() -> Any:
    """Unigram, </s> and the language behind every text."""
    from transformers.models.mbart.tokenization_mbart import FAIRSEQ_LANGUAGE_CODES

    return MBartTokenizer(
        vocab=_scored(*ROBERTA_SPECIAL, last=(*FAIRSEQ_LANGUAGE_CODES, "<mask>")), mask_token=_mask("<mask>")
    )
