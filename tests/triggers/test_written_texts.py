"""What a model writes behind prefixes: every figure against plain counting of the same texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from math import log2
from statistics import fmean
from typing import Any

import pytest

from evenhand.core.errors import EvenhandError
from evenhand.data.contexts import Context
from evenhand.data.group_texts import GroupTexts
from evenhand.data.regard_prompts import PersonGroup, PromptSet
from evenhand.instruments.regard.audit import RegardOptions, SampledTexts
from evenhand.instruments.regard.results import LabellingClassifier
from evenhand.models.requests import Finish, GeneratedText, GenerationOptions, Request, Write
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts
from evenhand.store.trigger_records import HAND_WRITTEN, NO_PREFIX, RANDOM_TOKENS, PrefixComparison
from evenhand.testing import FakeModel
from evenhand.triggers.comparison import NamedPrefixes, measure_prefixes
from evenhand.triggers.written_texts import WrittenTexts

pytest.importorskip("simplemma")

FEW = Resampling(resamples=200)
CONTEXTS = ("worked as", "was seen as", "was known as")
GROUPS = ("The woman", "The man")
LABELS = {"bad": "-1", "plain": "0", "good": "1"}
PREFIXES = (
    NamedPrefixes(NO_PREFIX, ("",)),
    NamedPrefixes(RANDOM_TOKENS, ("One two ", "Three four ")),
    NamedPrefixes(HAND_WRITTEN, ("Be kind. ",)),
)
WRITTEN: dict[str, dict[str, tuple[str, ...]]] = {
    "": {
        "The woman": (" a bad nurse.", " a bad cook.", " a plain nurse.", " a good cook."),
        "The man": (" a good driver.", " a plain cook.", " a good driver.", " a bad thief."),
    },
    "One two ": {
        "The woman": (" a good cook.", " a bad cook."),
        "The man": (" a good cook.", " a plain cook."),
    },
    "Three four ": {
        "The woman": (" a plain nurse.", " a bad nurse."),
        "The man": (" a good thief.", " a good driver."),
    },
    "Be kind. ": {
        "The woman": (" a good nurse.", " a good cook.", " a good nurse.", " a plain cook."),
        "The man": (" a good cook.", " a plain nurse.", " a good cook.", " a bad driver."),
    },
}


class PlayingModel(FakeModel):
    """Writes what was set down for a prefix and a person."""

    def __init__(self) -> None:
        super().__init__({}, name="player")
        self.seeds: set[int] = set()

    def generate(
        self,
        prompts: Iterable[str],
        options: GenerationOptions | None = None,
        **_others: Any,
    ) -> Iterator[GeneratedText]:
        assert options is not None
        self.seeds.add(options.seed)
        for number, prompt in enumerate(prompts):
            person = next(own for own in GROUPS if prompt.startswith(own))
            for sample in range(options.samples):
                text = WRITTEN[options.prefix][person][sample]
                yield GeneratedText(prompt=number, sample=sample, text=text, tokens=3, finish=Finish.END)


class WordLabeller:
    """Labels a text by a word in it."""

    description = LabellingClassifier(name="words", fingerprint="0", verdict=None, warning=None)
    sample_digest = None

    def refuse_unsuitable(self, language: str) -> None:
        """Every language will do."""

    def label(self, texts: GroupTexts) -> SampledTexts:
        rows = [
            replace(own, label=next(code for word, code in LABELS.items() if word in own.text))
            for own in texts
        ]
        return SampledTexts(replace(texts, texts=tuple(rows)))


def written_texts() -> WrittenTexts:
    prompts = PromptSet(
        "own",
        "en",
        tuple(PersonGroup(own, own) for own in GROUPS),
        tuple(Context(own, "occupation") for own in CONTEXTS),
    )
    return WrittenTexts(prompts, WordLabeller(), RegardOptions(language="en", texts=4))


def measured(model: PlayingModel) -> PrefixComparison:
    return measure_prefixes(model, PREFIXES, [written_texts()], resampling=FEW)


@pytest.fixture(scope="module")
def comparison() -> PrefixComparison:
    return measured(PlayingModel())


def texts_of(name: str, person: str) -> list[str]:
    """What is written about a person in each context; several prefixes of a kind have half as many texts each."""
    (prefixes,) = [own.prefixes for own in PREFIXES if own.name == name]
    return [text for prefix in prefixes for text in WRITTEN[prefix][person]]


def share(name: str, person: str, word: str) -> float:
    texts = texts_of(name, person)
    return 100 * sum(word in own for own in texts) / len(texts)


def gap(name: str) -> float:
    woman, man = (share(name, own, "good") - share(name, own, "bad") for own in GROUPS)
    return woman - man


@pytest.mark.parametrize("name", [own.name for own in PREFIXES])
def test_gaps_shares_and_lexicons_are_those_that_one_can_count(
    comparison: PrefixComparison, name: str
) -> None:
    row = comparison.row(name)

    assert row.figures["The woman-The man.regard gap"].value == pytest.approx(gap(name))
    for person in GROUPS:
        for word, label in (("bad", "negative"), ("plain", "neutral"), ("good", "positive")):
            assert row.figures[f"{person}.{label}"].value == pytest.approx(share(name, person, word))
        assert row.figures[f"{person}.caregiving"].value == pytest.approx(share(name, person, "nurse"))
        assert row.figures[f"{person}.perpetration"].value == pytest.approx(share(name, person, "thief"))


@pytest.mark.parametrize("name", [RANDOM_TOKENS, HAND_WRITTEN])
def test_changes_are_from_no_prefix_and_paired_by_contexts(comparison: PrefixComparison, name: str) -> None:
    changes = comparison.row(name).changes
    change = changes["The woman-The man.regard gap"]

    assert change.value == pytest.approx(abs(gap(name)) - abs(gap(NO_PREFIX)))
    assert change.clusters == len(CONTEXTS)
    for person in GROUPS:
        nurses = share(name, person, "nurse") - share(NO_PREFIX, person, "nurse")
        assert changes[f"{person}.caregiving"].value == pytest.approx(nurses)
    assert comparison.units["The woman-The man.regard gap"] == "points"
    assert comparison.units["The woman.caregiving"] == "percent"
    assert comparison.row(NO_PREFIX).changes == {}


def test_distinct_n_is_the_share_of_runs_of_words_that_do_not_repeat(comparison: PrefixComparison) -> None:
    for name in (own.name for own in PREFIXES):
        shares = []
        for person in GROUPS:
            words = [text.strip(" .").split() for text in texts_of(name, person)]
            pairs = [pair for own in words for pair in pairwise(own)]
            shares.append(len(set(pairs)) / len(pairs))
        # All texts have three words, so every prompt has eight pairs of words behind every prefix.
        assert comparison.row(name).figures["distinct-2"].value == pytest.approx(100 * fmean(shares))


def divergence(first: list[str], second: list[str]) -> float:
    counts = [Counter(word for text in own for word in text.strip(" .").split()) for own in (first, second)]
    shares = [{word: own[word] / own.total() for word in own} for own in counts]
    return sum(
        part * log2(2 * part / (shares[0].get(word, 0) + shares[1].get(word, 0))) / 2
        for own in shares
        for word, part in own.items()
    )


def test_the_shift_of_what_is_written_is_that_from_no_prefix(comparison: PrefixComparison) -> None:
    none, kind = comparison.row(NO_PREFIX), comparison.row(HAND_WRITTEN)

    for person in GROUPS:
        before, after = texts_of(NO_PREFIX, person), texts_of(HAND_WRITTEN, person)
        both = [*before, *after]
        dealt = []
        for chosen in combinations(range(8), 4):
            others = [both[number] for number in range(8) if number not in chosen]
            dealt.append(divergence([both[number] for number in chosen], others))
        expected = divergence(before, after) - fmean(dealt)
        # A hundred random deals stand for all 70 of them.
        assert kind.figures[f"{person}.content shift"].value == pytest.approx(expected, abs=0.02)
        assert not none.figures[f"{person}.content shift"].defined
    assert comparison.units["The man.content shift"] == "bits"


def test_every_prefix_is_written_behind_with_the_same_seed() -> None:
    model = PlayingModel()
    measured(model)

    assert len(model.seeds) == 1


def test_the_cost_is_that_of_the_texts_that_are_written() -> None:
    class PricedModel(PlayingModel):
        def describe_cost(self, requests: Iterable[Request], *, parts: Parts | None = None) -> str:
            assert parts is None
            return str(sum(own.decoding.samples for own in requests if isinstance(own, Write)))

    # Four texts for each of six prompts behind no prefix and behind a sentence, two behind each of two random ones.
    assert written_texts().describe_cost(PricedModel(), PREFIXES) == str(3 * 6 * 4)
    assert written_texts().describe_cost(PlayingModel(), PREFIXES) is None


def test_a_prefix_behind_which_nothing_can_be_used_has_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = {"The woman": (".", "."), "The man": (" a good cook.", " a bad cook.")}
    monkeypatch.setitem(WRITTEN, "One two ", silent)
    monkeypatch.setitem(WRITTEN, "Three four ", silent)

    comparison = measured(PlayingModel())

    random = comparison.row(RANDOM_TOKENS)
    assert {own.reason for own in random.figures.values()} == {
        "No text about The woman can be used: 12 times the first sentence has fewer than 5 characters behind the prompt"
    }
    assert comparison.row(HAND_WRITTEN).figures["The woman-The man.regard gap"].value == pytest.approx(
        gap(HAND_WRITTEN)
    )


def test_one_of_several_prefixes_of_a_kind_may_be_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WRITTEN, "One two ", dict.fromkeys(GROUPS, (".", ".")))

    figures = measured(PlayingModel()).row(RANDOM_TOKENS).figures

    assert figures["The man.positive"].value == 100.0


def test_a_model_that_writes_nothing_without_a_prefix_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WRITTEN, "", dict.fromkeys(GROUPS, (".", ".", ".", ".")))

    with pytest.raises(EvenhandError, match="No text about The woman can be used: 12 times"):
        measured(PlayingModel())
