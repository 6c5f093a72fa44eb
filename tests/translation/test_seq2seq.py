"""Sequence-to-sequence models translate in batches as they do one by one; pickled weights only where allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from marian_folder import make_marian  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers, processors  # noqa: E402
from transformers import (  # noqa: E402
    MarianConfig,
    MarianMTModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from evenhand.core.errors import EvenhandError, TranslationError  # noqa: E402
from evenhand.models.engine import memory  # noqa: E402
from evenhand.translation.translators import (  # noqa: E402
    LanguagePair,
    TranslatorOptions,
    open_translator,
    seq2seq,
)
from evenhand.translation.translators.seq2seq import SEQ2SEQ, _batches, _direction  # noqa: E402

WORDS = [
    "<pad>",
    "</s>",
    "<unk>",
    "the",
    "baker",
    "likes",
    "bread",
    "BLANK",
    "translate",
    "English",
    "to",
    "German:",
]
TEXTS = [
    "the baker",
    "bread",
    "the baker likes BLANK bread",
    "the the the",
    "likes bread the baker likes the bread",
]
UNKNOWN = {"unk_token": "<unk>"}
ENDS = {"pad_token": "<pad>", "eos_token": "</s>"}
ENGLISH_TO_GERMAN = LanguagePair("en", "de")


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(3)
    config = MarianConfig(
        vocab_size=len(WORDS),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=32,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        forced_eos_token_id=None,
        init_std=1.0,
    )
    return saved(MarianMTModel(config), tmp_path_factory.mktemp("marian"))


def saved(model: MarianMTModel | T5ForConditionalGeneration, folder: Path) -> Path:
    model.save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, **UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **UNKNOWN, **ENDS).save_pretrained(folder)
    return folder


def test_a_batch_gives_what_single_texts_give(marian: Path) -> None:
    translator = SEQ2SEQ.open(str(marian), ENGLISH_TO_GERMAN)

    together = translator.translate(TEXTS)

    assert together == [translator.translate([text])[0] for text in TEXTS]
    assert len(set(together)) > 1


def test_batches_hold_every_text_once_within_the_budget() -> None:
    lengths = [3000, 10, 5000, 2000, 9000, 1, 4000]

    batches = _batches(lengths, rows=1_000)

    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert all(
        len(batch) == 1 or max(lengths[place] for place in batch) * len(batch) <= 8_192 for batch in batches
    )


def test_scores_over_a_large_vocabulary_bound_a_batch(marian: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = SEQ2SEQ.open(str(marian), ENGLISH_TO_GERMAN)
    expected = translator.translate(TEXTS)
    beams = translator._model.generation_config.num_beams or 1
    room = 3 * beams * 4 * 4 * len(WORDS)  # for the scores of three texts, in four copies of four bytes
    monkeypatch.setattr(memory, "free_on", lambda _: 4 * room)
    monkeypatch.setattr(memory, "LEAST", 1)
    sizes = []
    generate = translator._generate

    def counted(rows: list[list[int]]) -> list[str]:
        sizes.append(len(rows))
        return generate(rows)

    monkeypatch.setattr(translator, "_generate", counted)
    assert translator.translate(TEXTS) == expected
    assert max(sizes) <= 3
    assert sum(sizes) == len(TEXTS)


def test_a_batch_that_does_not_fit_is_halved(marian: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = SEQ2SEQ.open(str(marian), ENGLISH_TO_GERMAN)
    expected = translator.translate(TEXTS)
    generate, most = translator._generate, 2

    def limited(rows: list[list[int]]) -> list[str]:
        if len(rows) > most:
            raise torch.OutOfMemoryError
        return generate(rows)

    monkeypatch.setattr(translator, "_generate", limited)
    assert translator.translate(TEXTS) == expected
    most = 0
    with pytest.raises(TranslationError, match="not enough memory to translate a text"):
        translator.translate(TEXTS[:1])


def test_a_t5_model_is_told_the_languages_in_words(tmp_path: Path) -> None:
    config = T5Config(
        vocab_size=len(WORDS),
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
    )
    translator = SEQ2SEQ.open(str(saved(T5ForConditionalGeneration(config), tmp_path)), ENGLISH_TO_GERMAN)

    assert translator._prefix == "translate English to German: "
    assert len(translator.translate(TEXTS)) == len(TEXTS)


def test_other_weights_have_answers_of_their_own(marian: Path, tmp_path: Path) -> None:
    other = saved(MarianMTModel.from_pretrained(marian), tmp_path)
    settings = [SEQ2SEQ.open(str(folder), ENGLISH_TO_GERMAN).settings for folder in (marian, other)]

    assert "sha256" in settings[0]["weights"]
    assert settings[0] != settings[1]


class ManyLanguages:
    """What a tokenizer of a Marian with several target languages shows."""

    supported_language_codes = (">>est<<", ">>deu<<", ">>fra<<", ">>es<<")


@pytest.mark.parametrize(("language", "prefix"), [("es", ">>es<< "), ("de", ">>deu<< "), ("fr", ">>fra<< ")])
def test_a_model_of_several_languages_is_told_which(marian: Path, language: str, prefix: str) -> None:
    model = MarianMTModel.from_pretrained(marian)

    assert _direction(model, ManyLanguages(), LanguagePair("en", language)) == (prefix, None)


def test_a_language_that_a_model_lacks_is_refused(marian: Path) -> None:
    model = MarianMTModel.from_pretrained(marian)

    with pytest.raises(TranslationError, match=r"does not translate into 'tr'; it knows >>deu<<"):
        _direction(model, ManyLanguages(), LanguagePair("en", "tr"))


def test_a_text_that_is_too_long_is_translated_in_pieces(marian: Path) -> None:
    translator = SEQ2SEQ.open(str(marian), ENGLISH_TO_GERMAN)
    parts = ["bread " * 31, "bread " * 9]

    together = translator.translate(["the baker", "bread " * 40])

    assert together == [
        *translator.translate(["the baker"]),
        " ".join(map(str, translator.translate([part.strip() for part in parts]))),
    ]


def test_pickled_weights_are_read_if_somebody_allows_them(marian: Path, tmp_path: Path) -> None:
    for path in marian.iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save(MarianMTModel.from_pretrained(marian).state_dict(), tmp_path / "pytorch_model.bin")

    allowed = SEQ2SEQ.open_with(
        str(tmp_path), ENGLISH_TO_GERMAN, TranslatorOptions(allow_pickle_weights=True)
    )

    assert allowed.translate(TEXTS) == SEQ2SEQ.open(str(marian), ENGLISH_TO_GERMAN).translate(TEXTS)


def test_pickles_of_other_things_than_tensors_are_not_read(marian: Path, tmp_path: Path) -> None:
    for path in marian.iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save({"weight": Path("code")}, tmp_path / "pytorch_model.bin")

    with pytest.raises(EvenhandError, match="cannot be loaded"):
        SEQ2SEQ.open_with(str(tmp_path), ENGLISH_TO_GERMAN, TranslatorOptions(allow_pickle_weights=True))


def test_what_has_no_weights_takes_no_pickled_ones() -> None:
    with pytest.raises(TranslationError, match="apertium has no weights"):
        open_translator("apertium", LanguagePair("en", "es"), TranslatorOptions(allow_pickle_weights=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("opus")
    make_marian(folder, width=16, layers=1, positions=24)
    return folder


class TestSentencePieces:
    """A model with the tokenizer that published Marian models have."""

    def test_texts_are_translated_alone_and_together_without_a_warning(
        self, folder: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        translator = SEQ2SEQ.open(str(folder), ENGLISH_TO_GERMAN)
        texts = ["The baker likes BLANK bread.", "bread", "The baker gets up early. " * 20]

        together = translator.translate(texts)

        assert together == [translator.translate([text])[0] for text in texts]
        assert all(isinstance(text, str) for text in together)
        assert "sacremoses" not in capfd.readouterr().err
        assert "Token indices" not in capfd.readouterr().err

    @pytest.mark.parametrize("is_installed", [True, False])
    def test_punctuation_is_normalised_where_that_is_possible_and_the_record_says_it(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, is_installed: bool
    ) -> None:
        monkeypatch.setattr(seq2seq, "find_spec", lambda _: object() if is_installed else None)
        translator = SEQ2SEQ.open(str(folder), ENGLISH_TO_GERMAN)
        seen: list[str] = []

        def normalise(text: str) -> str:
            seen.append(text)
            return text

        monkeypatch.setattr(translator._tokenizer, "punc_normalizer", normalise)

        translator.translate(["«bread»"])

        assert seen
        assert (translator.settings["punctuation"] == "normalised by sacremoses") is is_installed
        assert bool(translator.prepare()) is not is_installed

    def test_another_tokenizer_has_answers_of_its_own(self, folder: Path, tmp_path: Path) -> None:
        before = SEQ2SEQ.open(str(folder), ENGLISH_TO_GERMAN).settings["weights"]
        for path in folder.iterdir():
            (tmp_path / path.name).write_bytes(path.read_bytes())
        (tmp_path / "other.spm").write_bytes(b"pieces")

        after = SEQ2SEQ.open(str(tmp_path), ENGLISH_TO_GERMAN).settings["weights"]

        assert before.partition("sha256")[2] != after.partition("sha256")[2]


def test_weights_that_can_run_code_are_refused(marian: Path, tmp_path: Path) -> None:
    for path in marian.iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save({}, tmp_path / "pytorch_model.bin")

    with pytest.raises(EvenhandError, match=r"only as \.bin files, which can run code"):
        SEQ2SEQ.open(str(tmp_path), ENGLISH_TO_GERMAN)


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvenhandError, match=r"without a config\.json"):
        SEQ2SEQ.open(str(tmp_path), ENGLISH_TO_GERMAN)
