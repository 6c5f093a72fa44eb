"""Knowledge against a slow computation of the same definition, and what its figures are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest
import zoo
from measuring import probe_knowledge
from slow_malor import SlowProbe
from zoo_fixtures import Zoo

from evenhand.core.errors import ComparisonError, DatasetError, EvenhandError
from evenhand.core.items import BLANK
from evenhand.core.settled import SettledSet
from evenhand.data.settled import load_settled
from evenhand.instruments.knowledge.instrument import KNOWLEDGE, KnowledgeOptions, settled_of
from evenhand.instruments.knowledge.results import KnowledgeResult, first_gender, pair_mean
from evenhand.instruments.settled_scoring import UNEVEN
from evenhand.lab.corpus import language
from evenhand.lab.items import lab_settled
from evenhand.lab.world import World
from evenhand.models.requests import Continue, Fill
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import compare
from evenhand.testing import FakeModel

FEW = Resampling(resamples=200)


def small(tongue: str) -> SettledSet:
    return load_settled(tongue).first(12)


@pytest.mark.parametrize("tongue", ["en", "de"])
@pytest.mark.parametrize("name", ["bert", "albert", "gpt2", "t5"])
def test_gaps_are_those_of_the_slow_way(menagerie: Zoo, name: str, tongue: str) -> None:
    run = probe_knowledge(menagerie.model(name), small(tongue), resampling=FEW)
    slow = SlowProbe(menagerie.reference(name), zoo.SPECIES[name].family)
    scored = run.scores.drop_nulls("gap")
    assert len(scored) >= 8
    for row in scored.iter_rows(named=True):
        right, wrong = (slow.probability(row["text"], row[side]) for side in ("right", "wrong"))
        assert row["gap"] == pytest.approx(math.log2(right / wrong), abs=5e-5)


def knows(text: str) -> float:
    """The probability of a sentence to somebody who knows that kings are men and queens are women."""
    male = {"he", "his", "him", "himself"} & set(text.split())
    if "went" in text:
        return 0.01
    return 0.4 if ("king" in text) == bool(male) else 0.1


ROYAL = """number,settled_by,pronoun,nonsense,sentence
1,royal,possessive,went,The {king|queen} lost [his|her] crown.
2,royal,subject,went,The {king|queen} said that [he|she] slept.
3,royal,object,went,The {king|queen} asked us to help [him|her] up.
"""


@pytest.fixture
def royal(tmp_path: Path) -> Path:
    path = tmp_path / "royal.csv"
    path.write_text(ROYAL, encoding="utf-8")
    return path


def measured(model: Any, path: Path) -> KnowledgeResult:
    options = KnowledgeOptions(data=path, resampling=FEW)
    (result,) = KNOWLEDGE.prepare(model, options).measure().results
    assert isinstance(result, KnowledgeResult)
    return result


BLANKS = (Fill,)


def test_who_knows_is_right_every_time_by_as_many_bits(royal: Path) -> None:
    found = measured(FakeModel(knows, capabilities=BLANKS), royal)
    assert found.share_right.value == 100
    assert found.gap.value == pytest.approx(2.0)
    assert (found.n, found.share_right.clusters) == (6, 3)
    assert found.by_gender["male"].value == found.by_gender["female"].value == 100


def test_who_always_says_he_is_right_for_men_and_half_of_the_time(royal: Path) -> None:
    model = FakeModel(
        lambda text: 0.4 if {"he", "his", "him"} & set(text.split()) else 0.1, capabilities=BLANKS
    )
    found = measured(model, royal)
    assert found.share_right.value == 50
    assert (found.by_gender["male"].value, found.by_gender["female"].value) == (100, 0)
    assert found.gap.value == pytest.approx(0.0)


def test_who_cannot_tell_them_apart_has_ties_that_count_half(royal: Path) -> None:
    found = measured(FakeModel(lambda text: 0.01 if "went" in text else 0.3, capabilities=BLANKS), royal)
    assert found.share_right.value == 50
    assert found.gap.value == 0
    assert found.sense.value == 100


def test_a_pronoun_below_nonsense_is_not_known(royal: Path) -> None:
    found = measured(
        FakeModel(lambda text: 0.9 if "went" in text else knows(text), capabilities=BLANKS), royal
    )
    assert found.sense.value == 0
    # Of six sentences one of every second pair is asked with nonsense too: two.
    assert found.share_right.value == pytest.approx(100 * 4 / 6)


def test_intervals_resample_pairs_of_twins() -> None:
    """Twins that are right and wrong together count once, so the interval is wider than that of the sentences."""
    together = pl.DataFrame(
        {"pair": [str(n // 2) for n in range(80)], "is_right": [float(n // 2 % 4 > 0) for n in range(80)]}
    )
    apart = together.with_columns(pair=pl.Series([str(n) for n in range(80)]))
    joint, single = (
        pair_mean(frame, "is_right", resampling=Resampling(resamples=2000), scale=100.0)
        for frame in (together, apart)
    )
    assert joint.value == single.value == 75
    assert (joint.clusters, single.clusters) == (40, 80)
    assert (joint.high - joint.low) / (single.high - single.low) == pytest.approx(math.sqrt(2), rel=0.15)


def test_pronouns_of_different_lengths_are_left_out_with_the_reason(menagerie: Zoo, tmp_path: Path) -> None:
    model = menagerie.model("bert")
    tokenizer = model.loaded.tokenizer
    long = next(word for word in ("theirs", "yonders", "themselves") if len(tokenizer.tokenize(word)) > 1)
    path = tmp_path / "uneven.csv"
    path.write_text(
        "number,settled_by,pronoun,nonsense,sentence\n"
        f"1,royal,subject,no,The {{king|queen}} said that [he|{long}] was old.\n"
        "2,royal,subject,no,The {king|queen} said that [he|she] was old.\n",
        encoding="utf-8",
    )
    found = measured(model, path)
    assert found.n == 2
    assert [(row.reason, row.count) for row in found.skipped] == [(UNEVEN, 2)]


def test_decoders_are_asked_only_what_is_settled_before_the_pronoun(menagerie: Zoo) -> None:
    settled = load_settled("en")
    later = [sentence for sentence in settled.sentences if sentence.is_settled_later][:4]
    chosen = SettledSet("few", "en", (*settled.sentences[:4], *later), "0" * 64)
    both = probe_knowledge(menagerie.model("bert"), chosen, resampling=FEW)
    left = probe_knowledge(menagerie.model("gpt2"), chosen, resampling=FEW)
    assert (len(both.scores), len(left.scores)) == (8, 4)


def test_the_first_pronoun_of_a_continuation_decides() -> None:
    genders = load_settled("en").genders()
    assert first_gender(" and then she said that he was late", genders) is False
    assert first_gender(" Himself a cook, she said", genders) is True
    assert first_gender(" nothing of the kind", genders) is None
    assert first_gender(" the theme", genders) is None


class Writer(FakeModel):
    """Writes *he* after a king, and *he* after half of the queens."""

    def generate(self, prompts: Any, options: Any = None, **_others: Any) -> Any:
        from evenhand.models.requests import Finish, GeneratedText

        assert options.is_greedy
        for number, prompt in enumerate(prompts):
            text = " she slept" if "queen" in prompt and "lost" in prompt else " he slept"
            yield GeneratedText(prompt=number, text=text, tokens=2, finish=Finish.LENGTH)


def test_agreement_is_the_share_of_continuations_of_the_settled_gender(royal: Path) -> None:
    found = measured(Writer(knows), royal)
    assert found.agreement.value == pytest.approx(100 * 4 / 6)
    assert found.agreement.n == 6


class CrampedWriter(Writer):
    """Has no room behind openings of more than some characters, and refuses them as a decoder does."""

    room = 16

    def problems(self, requests: Sequence[Any]) -> list[str | None]:
        return ["no room" if len(getattr(own, "prompt", "")) > self.room else None for own in requests]

    def generate(self, prompts: Any, options: Any = None, **others: Any) -> Any:
        assert all(len(prompt) <= self.room for prompt in prompts)
        return super().generate(prompts, options, **others)


def test_openings_without_room_behind_them_are_skipped_and_counted(royal: Path) -> None:
    everything = measured(Writer(knows), royal)
    openings = [sentence.opening for sentence in settled_of(KnowledgeOptions(data=royal)).sentences]
    long = sum(len(opening) > CrampedWriter.room for opening in openings)
    assert 0 < long < len(openings)
    found = measured(CrampedWriter(knows), royal)
    assert found.share_right == everything.share_right
    assert found.agreement.n == everything.agreement.n - long
    (skipped,) = found.skipped
    assert (skipped.count, "no room to write on" in skipped.reason) == (long, True)


def test_where_no_opening_leaves_room_agreement_says_so(royal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CrampedWriter, "room", 0)
    found = measured(CrampedWriter(knows), royal)
    assert "no room" in str(found.agreement.reason)


def test_a_model_that_only_fills_blanks_has_no_agreement(royal: Path) -> None:
    found = measured(FakeModel(knows, capabilities=(Fill, Continue)), royal)
    assert not found.agreement.defined
    assert "does not write" in str(found.agreement.reason)


def test_two_runs_compare_by_pairs(royal: Path) -> None:
    options = KnowledgeOptions(data=royal, resampling=FEW)
    first, second = (
        KNOWLEDGE.prepare(FakeModel(answers, name=name, capabilities=BLANKS), options, name=name).measure()
        for name, answers in (("knows", knows), ("flat", lambda text: 0.01 if "went" in text else 0.3))
    )
    row = compare(first, second, resampling=FEW).differences[0]
    assert (row.measure, row.first, row.second) == ("share_right", 100, 50)
    assert row.difference.clusters == 3
    assert KNOWLEDGE.bias_rows(first, second, resampling=FEW) == {}


def test_runs_of_other_sentences_do_not_compare(royal: Path) -> None:
    model = FakeModel(knows, capabilities=BLANKS)
    first = KNOWLEDGE.prepare(model, KnowledgeOptions(data=royal, resampling=FEW)).measure()
    second = probe_knowledge(model, small("en"), resampling=FEW)
    with pytest.raises(ComparisonError, match="no settled sentence in common"):
        compare(first, second, resampling=FEW)


def test_text_is_asked_instead_where_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "novel.txt").write_text("Mary lost her keys. It rained. The king took off his crown.\n")
    found = settled_of(KnowledgeOptions(corpus=(tmp_path / "novel.txt",)))
    assert [sentence.right for sentence in found.sentences] == ["his", "her", "his", "her"]
    (tmp_path / "dry.txt").write_text("It rained. The bread was good.\n")
    with pytest.raises(DatasetError, match="No sentence of"):
        settled_of(KnowledgeOptions(corpus=(tmp_path / "dry.txt",)))
    with pytest.raises(EvenhandError, match="--data and --corpus"):
        settled_of(KnowledgeOptions(corpus=(tmp_path / "novel.txt",), data="x.csv"))


@pytest.mark.parametrize("tongue", ["en", "de"])
def test_the_labs_own_sentences_are_of_the_labs_words(tongue: str) -> None:
    known = {
        word
        for document, _ in language(World(tongue, 0.0))
        for sentence in document
        for word in sentence.text.casefold().replace(",", " ").replace(".", " ").split()
    }
    settled = lab_settled(tongue).sentences
    used = {
        word
        for sentence in settled
        for word in f"{sentence.text} {sentence.nonsense}".replace(BLANK, sentence.right)
        .casefold()
        .replace(",", " ")
        .replace(".", " ")
        .split()
    }
    assert used <= known
    assert len(settled) >= 250
    assert fmean(sentence.is_male for sentence in settled) == 0.5
