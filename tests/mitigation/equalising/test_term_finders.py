"""Which sentences serve for equalising, and what could stand in their gaps."""

from __future__ import annotations

import pytest
from plain_swapper import DOUBTFUL, PlainSwapper

from evenhand.core.experiments import Experiment
from evenhand.core.items import Span
from evenhand.core.probes import TermPairs
from evenhand.mitigation.equalising.gaps import (
    GERMAN_ENDINGS,
    NEUTRAL,
    OnlyTerm,
    TermFinder,
    TermForms,
    grammar_finder,
    skipping_names,
    vocabulary_finder,
)
from evenhand.text.swappers import Rejected, Role, Swap, Twin, swapper_for

PRONOUNS = TermPairs(("he",), ("she",))
POSSESSIVES = TermPairs(("his",), ("her",))
NAMES = TermPairs(("James", "Robert"), ("Mary", "Linda"))
ENGLISH = {Experiment.HE_SHE: PRONOUNS, Experiment.HIS_HER: POSSESSIVES, Experiment.NAMES: NAMES}
GERMAN = {
    Experiment.HE_SHE: TermPairs(("er",), ("sie",)),
    Experiment.HIS_HER: TermPairs(("sein",), ("ihr",)),
    Experiment.NAMES: TermPairs(("Thomas",), ("Sabine",)),
}
VOCABULARY = frozenset(
    {"he", "she", "him", "her", "his", "king", "queen", "James", "Mary", "Robert", "Linda"}
)

HE = TermPairs(("He",), ("She",))
HIS = TermPairs(("His",), ("Her",))


def listed(find: TermFinder, sentence: str) -> tuple[str, str] | None:
    """The experiment and the word of a sentence's only term."""
    found = find(sentence)
    return (found.experiment.value, found.span.of(sentence)) if isinstance(found, OnlyTerm) else None


def english_finder() -> TermFinder:
    return vocabulary_finder(ENGLISH, VOCABULARY, language="en")


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("The doctor said he was late.", ("he-she", "he")),
        ("She was late.", ("he-she", "She")),
        ("We saw her coat.", ("his-her", "her")),
        ("I asked James about it.", ("names", "James")),
        ("I asked James, about it; it's late.", ("names", "James")),
        ("he's late", ("he-she", "he")),
        ("The sea is cold.", None),
        ("He met the king.", None),
        ("He met the King.", None),
        ("He met the KING.", None),
        ("He saw him.", None),
        ("She said she was late.", None),
        ("James said he was late.", None),
        ("The king slept.", None),
        ("HE slept.", None),
        ("The mary slept.", None),
        ("The sheep were there.", None),
        ("", None),
    ],
)
def test_the_term_must_be_the_only_listed_word(sentence: str, wanted: tuple[str, str] | None) -> None:
    assert listed(english_finder(), sentence) == wanted


def test_a_term_counts_as_gendered_although_it_is_not_in_the_vocabulary() -> None:
    find = vocabulary_finder(ENGLISH, frozenset(), language="en")
    assert listed(find, "Then he slept.") == ("he-she", "he")
    assert find("Then he saw his dog.") is None
    german = vocabulary_finder(GERMAN, frozenset(), language="de")
    assert german("Dann sah er seinen Hund.") is None


@pytest.mark.parametrize(
    ("sentence", "choices"),
    [
        ("Then he slept.", (PRONOUNS, NAMES, POSSESSIVES)),
        ("Then she slept.", (PRONOUNS, NAMES, POSSESSIVES)),
        ("He slept.", (HE, NAMES, HIS)),
        ("It was her dog.", (POSSESSIVES, PRONOUNS, NAMES)),
        ("Her dog barks.", (HIS, HE, NAMES)),
        ("Then James slept.", (NAMES, PRONOUNS, POSSESSIVES)),
    ],
)
def test_what_could_stand_there_has_the_capital_that_is_due(
    sentence: str, choices: tuple[TermPairs, ...]
) -> None:
    found = english_finder()(sentence)
    assert isinstance(found, OnlyTerm)
    assert found.choices == choices
    # A name can stand where "he" can; where "his" does, or a name, a pronoun may not.
    assert found.fits == (2 if found.experiment is Experiment.HE_SHE else 1)


@pytest.mark.parametrize(
    "sentence",
    [
        "James slept.",
        '"James slept."',
        "It was late. James slept.",
        "Is it late? James slept.",
        "They said: “James slept.”",
        "They said, “James slept.”",
    ],
)
@pytest.mark.parametrize("make", [english_finder, lambda: grammar_finder(swapper_for("en"), ENGLISH)])
def test_beside_a_name_that_opens_a_sentence_pronouns_have_a_capital(sentence: str, make: object) -> None:
    found = make()(sentence)  # type: ignore[operator]
    assert isinstance(found, OnlyTerm)
    assert found.choices == (NAMES, HE, HIS)


@pytest.mark.parametrize("sentence", ["Then James slept.", "“Yes,” James said.", "Late, James slept."])
def test_beside_a_name_within_a_sentence_they_have_none(sentence: str) -> None:
    found = english_finder()(sentence)
    assert isinstance(found, OnlyTerm)
    assert found.choices == (NAMES, PRONOUNS, POSSESSIVES)


def test_only_the_experiments_that_are_asked_for_have_terms() -> None:
    find = vocabulary_finder({Experiment.HE_SHE: PRONOUNS}, VOCABULARY, language="en")
    found = find("Then he slept.")
    assert found == OnlyTerm(Experiment.HE_SHE, Span(5, 7), (PRONOUNS,))
    assert find("It was her dog.") is None
    assert find("Then James slept.") is None


def test_a_word_of_two_experiments_is_of_none_unless_its_role_is_known() -> None:
    both = {Experiment.HE_SHE: PRONOUNS, Experiment.HIS_HER: TermPairs(("his",), ("she",))}
    forms = TermForms(both, language="en")
    assert forms.of("she", before="Then ") is None
    assert forms.of("he", before="Then ") is not None
    found = forms.of("she", before="Then ", experiment=Experiment.HIS_HER)
    assert found == (Experiment.HIS_HER, (both[Experiment.HIS_HER], PRONOUNS))
    assert vocabulary_finder(both, frozenset(), language="en")("Then she slept.") is None


@pytest.mark.parametrize("ending", GERMAN_ENDINGS)
def test_german_possessives_have_the_same_ending_on_both_sides(ending: str) -> None:
    forms = TermForms(GERMAN, language="de")
    others = (GERMAN[Experiment.HE_SHE], GERMAN[Experiment.NAMES])
    own = TermPairs((f"sein{ending}",), (f"ihr{ending}",))
    for word in own.all:
        assert forms.of(word, before="Da ist ") == (Experiment.HIS_HER, (own, *others))
    capital = TermPairs((f"Sein{ending}",), (f"Ihr{ending}",))
    found = forms.of(f"Ihr{ending}", before="")
    assert found == (
        Experiment.HIS_HER,
        (capital, TermPairs(("Er",), ("Sie",)), GERMAN[Experiment.NAMES]),
    )


def test_endings_are_for_german_possessives_alone() -> None:
    assert TermForms(GERMAN, language="de").of("ere", before="da ") is None
    assert TermForms(GERMAN, language="de").of("Thomase", before="da ") is None
    assert TermForms(GERMAN, language="en").of("seine", before="da ") is None
    assert TermForms(GERMAN, language="de").of("seinx", before="da ") is None


def plain_finder() -> TermFinder:
    return grammar_finder(PlainSwapper(), {**ENGLISH, Experiment.HIS_HER: TermPairs(("his",), ("hers",))})


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("Then he slept.", ("he-she", "he")),
        ("Mary slept.", ("names", "Mary")),
        ("It is hers dog.", ("his-her", "hers")),
        ("He met a woman.", None),
        ("They saw him.", None),
        ("The man slept.", None),
        ("Nobody slept.", None),
        # The swapper knows a pair of names that is not among the terms.
        ("Jennifer slept.", None),
    ],
)
def test_a_swapper_tells_what_is_gendered(sentence: str, wanted: tuple[str, str] | None) -> None:
    assert listed(plain_finder(), sentence) == wanted


def test_a_sentence_that_the_swapper_leaves_out_does_not_serve() -> None:
    sentence = "He said that it was theirs."
    assert PlainSwapper().twin(sentence) == Rejected(DOUBTFUL)
    assert plain_finder()(sentence) is None


class OneSwap:
    """A swapper that finds the second word in every sentence, in the role that it was told."""

    language = "en"

    def __init__(self, role: Role) -> None:
        self.role = role

    def twin(self, sentence: str) -> Twin | Rejected:
        first, word, *_ = sentence.split()
        span = Span(len(first) + 1, len(first) + 1 + len(word))
        return Twin(sentence, (Swap(span, word, "other", self.role, male=False),))


@pytest.mark.parametrize("role", Role)
def test_the_role_decides_on_the_experiment(role: Role) -> None:
    found = grammar_finder(OneSwap(role), ENGLISH)("About her dog.")
    assert (found is not None) == (role is Role.POSSESSIVE)


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("Then he slept.", ("he-she", "he")),
        ("The doctor took her coat.", ("his-her", "her")),
        ("Her coat was wet.", ("his-her", "Her")),
        ("Then Mary slept.", ("names", "Mary")),
        ("The doctor saw her.", None),
        ("The book is hers.", None),
        ("The doctor hurt herself.", None),
        ("He took his coat.", None),
        ("The king said that he was late.", None),
        ("Then Mary said that she was late.", None),
        ("The tea was cold.", None),
    ],
)
def test_english_sentences_with_one_term(sentence: str, wanted: tuple[str, str] | None) -> None:
    assert listed(grammar_finder(swapper_for("en"), ENGLISH), sentence) == wanted


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("Heute ist er müde.", ("he-she", "er")),
        ("Da liegt sein Buch.", ("his-her", "sein")),
        ("Thomas schläft.", ("names", "Thomas")),
        ("Er sucht seine Brille.", None),
        ("Das Wasser ist kalt.", None),
        ("Der König ist müde.", None),
    ],
)
def test_german_sentences_with_one_term(sentence: str, wanted: tuple[str, str] | None) -> None:
    assert listed(grammar_finder(swapper_for("de"), GERMAN), sentence) == wanted


@pytest.mark.parametrize(
    ("sentence", "serves"),
    [
        ("Then he slept.", True),
        ("He slept in the garden.", True),
        ("Late at night he and I slept.", True),
        ("It was late. Then he slept.", True),
        ("“Late,” they said. “Then he slept.”", True),
        ("They said: Then he slept.", True),
        ("They slept — Then he came.", True),
        ("Then he met Smith.", False),
        ("Smith he met.", True),
        ("At night he went to London.", False),
        ("At night Smith said he was late.", False),
        ("At night Élodie said he was late.", False),
        ("At night O said he was late.", False),
        ("The sea was cold.", False),
    ],
)
def test_another_word_with_a_capital_may_be_a_name(sentence: str, serves: bool) -> None:
    find = vocabulary_finder({Experiment.HE_SHE: PRONOUNS}, VOCABULARY, language="en")
    found = skipping_names(find)(sentence)
    assert isinstance(found, OnlyTerm) == serves
    assert found is None or found == find(sentence)


def test_the_term_itself_is_no_other_name() -> None:
    found = skipping_names(english_finder())("Then James slept.")
    assert isinstance(found, OnlyTerm)
    assert found.span == Span(5, 10)
    assert skipping_names(english_finder())("Then James Smith slept.") is None


@pytest.mark.parametrize(
    "find",
    [english_finder(), grammar_finder(swapper_for("en"), ENGLISH)],
    ids=["vocabulary", "grammar"],
)
@pytest.mark.parametrize(
    ("sentence", "neutral"),
    [
        ("The sea is cold.", True),
        ("They like tea, and so do I.", True),
        ("", True),
        ("Then he slept.", False),
        ("She said she was late.", False),
        ("The king slept.", False),
    ],
)
def test_a_sentence_without_a_gendered_word_is_neutral(
    find: TermFinder, sentence: str, neutral: bool
) -> None:
    assert (find(sentence) is NEUTRAL) is neutral


def test_a_sentence_that_may_have_a_name_is_not_neutral() -> None:
    find = skipping_names(english_finder())
    assert find("The sea at Whitby is cold.") is None
    assert find("The sea is cold.") is NEUTRAL


def test_german_sentences_without_a_gendered_word_are_neutral() -> None:
    find = grammar_finder(swapper_for("de"), GERMAN)
    assert find("Das Meer ist kalt.") is NEUTRAL
    assert find("Die Mutter schläft.") is None
