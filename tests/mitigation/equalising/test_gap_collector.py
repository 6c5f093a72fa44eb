"""Gaps: the tokens around a term, the tree of what could stand there, and the sentences that do not serve."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from zoo_fixtures import Zoo

from evenhand.core.errors import EvenhandError
from evenhand.core.experiments import Experiment
from evenhand.core.probes import TermPairs
from evenhand.mitigation.equalising import gaps as gaps_module
from evenhand.mitigation.equalising.gaps import GapCollector, OnlyTerm, TermFinder, vocabulary_finder
from evenhand.mitigation.equalising.term_trees import GenderedGroup, build_term_tree
from evenhand.models.engine.requests import Tokens
from evenhand.models.families.decoder import DECODER
from evenhand.models.language_model import LanguageModel
from evenhand.models.limits import longest_input
from evenhand.models.references import ModelError
from evenhand.text.digests import digest_of

TERMS = {
    Experiment.HE_SHE: TermPairs(("he",), ("she",)),
    Experiment.HIS_HER: TermPairs(("his",), ("her",)),
    Experiment.NAMES: TermPairs(("James", "Robert", "Wolfgang"), ("Mary", "Linda", "Annemarie")),
}
SENTENCES = (
    "The doctor said that he was late.",
    "She likes tea.",
    "Every night her dog barks at the sea.",
    "We asked Wolfgang, the doctor.",
    "Linda is our nurse",
    '"He is late," they said.',
    "Somebody (she?) was there.",
    "Was it he",
)
ORDINARY = ("The sea is cold.", "He met her.", "James said that he was late.")
NAMES = (
    "bert", "distilbert", "roberta", "gpt2", "llama", "mgpt", "t5",
)  # fmt: skip

find = vocabulary_finder(TERMS, frozenset(), language="en")


def collected(
    model: LanguageModel, sentences: Iterable[str], finder: TermFinder = find
) -> tuple[GapCollector, list[str]]:
    found = GapCollector(model)
    return found, [sentence.text for sentence in found.collect(sentences, finder)]


def whole(model: LanguageModel, sentence: str) -> Tokens:
    """What the model is given for a sentence."""
    tokenizer = model.loaded.tokenizer
    if model.family is not DECODER:
        return tuple(tokenizer(sentence)["input_ids"])
    own = tuple(tokenizer(sentence, add_special_tokens=False)["input_ids"])
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    return (start, *own)


@pytest.mark.parametrize("name", NAMES)
def test_before_word_and_after_are_the_sentence(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    found, others = collected(model, [*SENTENCES, *ORDINARY])
    assert others == list(ORDINARY)
    assert not found.rejections
    for sentence, gap in zip(SENTENCES, found.gaps, strict=True):
        assert (*gap.before, *gap.word, *gap.after) == whole(model, sentence)
        assert len(gap) == len(whole(model, sentence))
        # The word's own characters and no others.
        (term,) = [only.span.of(sentence) for only in [find(sentence)] if isinstance(only, OnlyTerm)]
        assert model.loaded.tokenizer.decode(gap.word).strip().casefold() == term.casefold()
    assert found.experiments == {Experiment.HE_SHE: 5, Experiment.HIS_HER: 1, Experiment.NAMES: 2}


@pytest.mark.parametrize("name", NAMES)
def test_words_of_the_tree_are_those_of_the_sentence_with_another_term(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    found, _ = collected(model, SENTENCES)
    for sentence, gap in zip(SENTENCES, found.gaps, strict=True):
        only = find(sentence)
        assert isinstance(only, OnlyTerm)

        def tokens_of(term: str, sentence: str = sentence, gap: gaps_module.SentenceGap = gap) -> Tokens:
            term_of = find(sentence)
            assert isinstance(term_of, OnlyTerm)
            filled = sentence[: term_of.span.start] + term + sentence[term_of.span.end :]
            ids = whole(model, filled)
            assert ids[: len(gap.before)] == gap.before
            assert ids[len(ids) - len(gap.after) :] == gap.after
            return ids[len(gap.before) : len(ids) - len(gap.after)]

        groups = [
            GenderedGroup(tuple(map(tokens_of, pairs.male)), tuple(map(tokens_of, pairs.female)))
            for pairs in only.choices
        ]
        tree = found.trees[gap.tree]
        assert tree.groups == build_term_tree(groups).groups
        assert gap.word in tree.words
        assert gap.word in tree.fitting[0].male + tree.fitting[0].female


def test_a_tokenizer_that_joins_the_term_with_what_follows_has_fewer_gaps(menagerie: Zoo) -> None:
    model = menagerie.model("flaubert")  # its tokenizer takes "Wolfgang," for one word
    sentences = ("We asked Wolfgang, the doctor.", "We asked Wolfgang about tea.")
    found, _ = collected(model, sentences)
    assert found.rejections == {"the term's tokens are not its own": 1}
    (gap,) = found.gaps
    assert (*gap.before, *gap.word, *gap.after) == whole(model, sentences[1])


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_sentences_of_one_kind_share_a_tree(menagerie: Zoo, name: str) -> None:
    found, _ = collected(menagerie.model(name), ["Then he slept.", "Tonight she sleeps.", "He slept."])
    first, second, third = found.gaps
    assert first.tree == second.tree
    assert first.tree != third.tree
    assert len(found.trees) == 2


def test_blocks_do_not_change_what_is_found(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model = menagerie.model("bert")
    mixed = [sentence for pair in zip(SENTENCES, ORDINARY * 3, strict=False) for sentence in pair]
    one, others = collected(model, mixed)
    monkeypatch.setattr(gaps_module, "BLOCK", 3)
    several, again = collected(model, mixed)
    assert one.gaps == several.gaps
    assert others == again
    assert len(one.gaps) == len(SENTENCES)


def test_a_word_that_the_tokenizer_does_not_know_is_left_out(menagerie: Zoo) -> None:
    model = menagerie.model("bert")
    terms = {Experiment.NAMES: TermPairs(("James", "工"), ("Mary", "Linda"))}
    finder = vocabulary_finder(terms, frozenset(), language="en")
    found, _ = collected(model, ["We saw James.", "We saw 工.", "We saw Mary."], finder)
    assert model.loaded.tokenizer("工")["input_ids"][1] == model.loaded.tokenizer.unk_token_id
    assert found.rejections == {"the term's tokens are not its own": 1}
    assert found.experiments == {Experiment.NAMES: 2}
    (tree,) = found.trees
    assert (len(tree.groups[0].male), len(tree.groups[0].female)) == (1, 2)


def test_terms_of_which_one_side_is_unknown_have_no_gap(menagerie: Zoo) -> None:
    terms = {Experiment.NAMES: TermPairs(("工",), ("Mary",))}
    finder = vocabulary_finder(terms, frozenset(), language="en")
    found, others = collected(menagerie.model("bert"), ["We saw 工.", "We saw Mary."], finder)
    assert (found.gaps, found.trees, others) == ([], [], [])
    with pytest.raises(ModelError, match=r"No sentence can be used for names: the term's tokens .* \(2\)"):
        found.refuse_if_missing([Experiment.NAMES])


def test_names_that_an_uncased_tokenizer_spells_alike_are_left_out(menagerie: Zoo) -> None:
    terms = {Experiment.NAMES: TermPairs(("René", "James"), ("Rene", "Mary"))}
    finder = vocabulary_finder(terms, frozenset(), language="en")
    found, _ = collected(
        menagerie.model("distilbert"), ["We saw René.", "We saw Rene.", "We saw Mary."], finder
    )
    assert found.rejections == {"the term's tokens are not its own": 2}
    assert len(found.trees[0].words) == 2


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_sentences_that_are_too_long_are_counted(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    longest = model.longest_input
    assert longest is not None
    most = max(map(len, collected(model, ["Then he slept."])[0].trees[0].words))

    def long(words: int) -> str:
        return f"Then he slept {' '.join(['x'] * words)}."

    def room(words: int) -> int:
        """Tokens of the sentence with the longest word in the gap."""
        (he,) = collected(model, ["Then he slept."])[0].gaps
        return len(whole(model, long(words))) - len(he.word) + most

    fits = next(words for words in range(1000) if room(words + 1) > longest)
    found, _ = collected(model, [long(fits), long(fits + 1), long(fits + 400)])
    assert [len(gap) for gap in found.gaps] == [len(whole(model, long(fits)))]
    assert found.rejections == {f"it is longer than the {longest:,} tokens that a row may have": 2}


def test_rows_can_be_kept_shorter_than_the_model_allows(menagerie: Zoo) -> None:
    model = menagerie.model("bert")
    short, long = "She likes tea.", "She likes tea and the cold sea and the rain and all the dogs that bark."
    pronouns = vocabulary_finder({Experiment.HE_SHE: TERMS[Experiment.HE_SHE]}, frozenset(), language="en")
    length = max(len(whole(model, sentence)) for sentence in (short, "He likes tea."))
    found = GapCollector(model, max_tokens=length)
    assert list(found.collect([short, long], pronouns)) == []
    assert [len(gap) for gap in found.gaps] == [len(whole(model, short))]
    assert found.rejections == {f"it is longer than the {length:,} tokens that a row may have": 1}


def test_of_too_many_gaps_those_with_the_lowest_digests_are_kept(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = menagerie.model("bert")
    many = [f"Then he said: {number} dogs." for number in range(40)]
    names = ["We asked Linda."] * 3
    monkeypatch.setattr(gaps_module, "MOST_GAPS", 12)
    kept = set(sorted(many, key=digest_of)[:12])
    limited, _ = collected(model, [*many, *names])
    expected, _ = collected(model, [*(sentence for sentence in many if sentence in kept), *names])
    assert limited.gaps == expected.gaps
    assert limited.experiments == {Experiment.HE_SHE: 12, Experiment.NAMES: 3}
    assert limited.rejections == {"more than 12 for an experiment": 28}


def test_a_model_without_limit_takes_any_length(menagerie: Zoo) -> None:
    model = menagerie.model("t5")
    assert longest_input(model.loaded) is None
    found, _ = collected(model, [f"Then he slept {' '.join(['x'] * 2000)}."])
    assert len(found.gaps) == 1


def test_a_decoder_without_start_token_expects_no_first_word(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = menagerie.model("gpt2")
    monkeypatch.setattr(type(model.family), "text_start", lambda *_: None)
    found, _ = collected(model, ["He slept.", "Then he slept."])
    assert found.rejections == {"nothing stands before the term, so the model cannot expect it": 1}
    (gap,) = found.gaps
    own = tuple(model.loaded.tokenizer("Then he slept.", add_special_tokens=False)["input_ids"])
    assert (*gap.before, *gap.word, *gap.after) == own
    assert gap.before


def test_a_corpus_without_a_match_is_refused(menagerie: Zoo) -> None:
    found, others = collected(menagerie.model("bert"), ["The sea is cold.", "He met her."])
    assert others == ["The sea is cold.", "He met her."]
    with pytest.raises(
        EvenhandError, match=r"The corpus has no sentence for he-she, names: .*Give more text"
    ):
        found.refuse_if_missing([Experiment.HE_SHE, Experiment.NAMES])


def test_an_experiment_that_is_missing_is_named_alone(menagerie: Zoo) -> None:
    found, _ = collected(menagerie.model("bert"), ["Then he slept."])
    found.refuse_if_missing([Experiment.HE_SHE])
    with pytest.raises(EvenhandError, match="The corpus has no sentence for his-her: "):
        found.refuse_if_missing([Experiment.HE_SHE, Experiment.HIS_HER])


def test_one_side_alone_serves(menagerie: Zoo) -> None:
    found, _ = collected(menagerie.model("bert"), ["Then he slept.", "He slept."])
    found.refuse_if_missing([Experiment.HE_SHE])
    assert found.experiments == {Experiment.HE_SHE: 2}


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_decoders_gap_is_known_at_the_beginning_of_a_sentence_too(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    sentences = ("At noon he was late.", "He was late.", "They said that Robert was late.")
    found, _ = collected(model, sentences)
    opened = ("He was late.", None, "Robert was late.")
    for gap, wanted in zip(found.gaps, opened, strict=True):
        if wanted is None:
            assert gap.opening is None
            continue
        opening = gap.opening
        assert opening is not None
        assert (*opening.before, *opening.word, *opening.after) == whole(model, wanted)
        assert len(opening.before) == 1
        assert opening.word in found.trees[opening.tree].words
    # What the sentence begins with is what another sentence begins with: one tree serves both.
    first, second, _ = found.gaps
    assert first.opening == replace(second, weight=1.0)


@pytest.mark.parametrize("name", ["bert", "t5"])
def test_a_model_that_sees_the_whole_sentence_has_no_openings(menagerie: Zoo, name: str) -> None:
    found, _ = collected(menagerie.model(name), SENTENCES)
    assert all(gap.opening is None for gap in found.gaps)
