"""From a corpus to the objective of equalising: what is counted, kept, left out and refused."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from zoo_fixtures import Zoo

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import Occupation, OccupationForm, ProbeSet, Structure, TermPairs, open_term
from evenhand.core.recipes import Recipe
from evenhand.mitigation.equalising import equalise, replay
from evenhand.mitigation.equalising.equalise import EQUALISE, EqualiseOptions
from evenhand.mitigation.equalising.subjects import Subjects
from evenhand.mitigation.texts import HeldOutSentences, SentenceList, TrainingText
from evenhand.mitigation.training_mitigation import MitigationInputs, PreparedObjective
from evenhand.text.digests import digest_of

PROBES = ProbeSet(
    language="en",
    structures=(Structure(Experiment.HE_SHE, 1, "[MASK] is our [OCC]."),),
    occupations=tuple(Occupation(name, None, (OccupationForm(name),)) for name in ("doctor", "nurse")),
    terms={
        Experiment.HE_SHE: TermPairs(("he",), ("she",)),
        Experiment.HIS_HER: TermPairs(("his",), ("her",)),
        Experiment.NAMES: TermPairs(("James", "Robert"), ("Mary", "Linda")),
    },
    warnings=(),
    sha256="of these probes",
)
GAPS = ("At night he sleeps.", "She likes tea.", "The dog took her bone.", "We asked Mary about the tea.")
ORDINARY = ("The sea is cold.", "My neighbour sings.", "They met at the old mill.")
NEITHER = ("He lost his coat.", "At night he met Smithers.", "The king was late.")
"""More than the term is gendered, or may be: for staying the same."""
HELD_OUT = ("The held-out tea is hot.", "At night she sings.")
EVERYTHING = TRAINED_EXPERIMENTS

NEUTRAL = "of them without a gendered word"
PASSAGES, REWRITTEN = "passages", "sentences with a neutral subject"
GENDERED = "sentences with a gendered subject"


@pytest.fixture(autouse=True)
def people(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Nouns that may stand for pronouns: none but where a test has its own, and one uncle and aunt beside them."""
    nouns: list[str] = []
    others = Subjects(nouns, TermPairs(("my uncle",), ("my aunt",)))
    monkeypatch.setattr(Subjects, "of", lambda _: others)
    return nouns


def prepared(
    menagerie: Zoo, *sentences: str, name: str = "bert", experiments: tuple[Experiment, ...] = EVERYTHING,
    probes: ProbeSet = PROBES, may_read_probes: bool = False, max_tokens: int | None = None,
) -> PreparedObjective:  # fmt: skip
    text = TrainingText((SentenceList("some", sentences),), HeldOutSentences("others", HELD_OUT))
    inputs = MitigationInputs(
        text,
        probes,
        experiments,
        Recipe(max_tokens=max_tokens),
        Path("nowhere"),
        may_read_probes=may_read_probes,
    )
    return EQUALISE.prepare(menagerie.model(name), inputs, EqualiseOptions(replayed=3))


def replayed(found: PreparedObjective) -> list[Any]:
    objective: Any = found.objective
    return [example for _, example in objective._replay.examples]


def texts_of(menagerie: Zoo, name: str, rows: Sequence[Sequence[int]]) -> list[str]:
    tokenizer = menagerie.model(name).loaded.tokenizer
    return [tokenizer.decode(row, skip_special_tokens=True) for row in rows]


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_gaps_and_ordinary_sentences_are_told_apart_and_counted(menagerie: Zoo, name: str) -> None:
    found = prepared(menagerie, *GAPS, *ORDINARY, *NEITHER, *HELD_OUT, name=name)
    assert found.counts == {
        "gaps for he-she": 2,
        "gaps for his-her": 1,
        "gaps for names": 1,
        "ordinary sentences": 6,
        NEUTRAL: 3,
        REWRITTEN: 0,
        GENDERED: 0,
        PASSAGES: 0,
    }
    assert found.warnings == ()
    (record,) = found.corpus
    assert (record.name, record.sentences) == ("some", 12)
    gaps = texts_of(
        menagerie, name, [(*gap.before, *gap.word, *gap.after) for gap in found.objective.examples]
    )
    tokenizer = menagerie.model(name).loaded.tokenizer
    plain = texts_of(menagerie, name, [tokenizer(sentence)["input_ids"] for sentence in GAPS])
    assert sorted(gaps) == sorted(plain)
    kept = replayed(found)
    if name == "gpt2":
        wanted = {tuple(tokenizer(sentence)["input_ids"]) for sentence in (*ORDINARY, *NEITHER)}
        assert {row[1:] for row in kept} == wanted
    else:
        assert {tuple(row.ids) for row in kept} == {
            tuple(tokenizer(sentence)["input_ids"]) for sentence in (*ORDINARY, *NEITHER)
        }


def test_only_the_experiments_that_are_wanted_have_gaps(menagerie: Zoo) -> None:
    found = prepared(menagerie, *GAPS, *ORDINARY, experiments=(Experiment.NAMES,))
    assert found.counts == {
        "gaps for names": 1,
        "ordinary sentences": 6,
        NEUTRAL: 3,
        REWRITTEN: 0,
        GENDERED: 0,
        PASSAGES: 0,
    }


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_sentences_are_told_of_somebody_else_too(menagerie: Zoo, people: list[str], name: str) -> None:
    people.append("the cook")
    given = ("He lost his coat.", "She likes tea.", "He gave his coat to his dog.", *ORDINARY)
    found = prepared(menagerie, *given, name=name, experiments=(Experiment.HE_SHE, Experiment.HIS_HER))
    cut = name == "gpt2"
    assert found.counts == {
        "gaps for he-she": 1,
        "gaps for his-her": 1 + cut,
        "ordinary sentences": 7 + cut,
        NEUTRAL: 4,
        REWRITTEN: 2 + cut,
        GENDERED: 1 + cut,
        PASSAGES: 0,
    }
    texts = texts_of(
        menagerie, name, [(*gap.before, *gap.word, *gap.after) for gap in found.objective.examples]
    )
    assert any("cook lost his coat" in text for text in texts)
    assert any("cook gave his coat to" in text for text in texts) == cut
    kept = texts_of(menagerie, name, [row if cut else row.ids for row in replayed(found)])
    assert any("uncle lost his coat" in text for text in kept)
    assert any("uncle gave his coat to" in text for text in kept) == cut


def test_passages_stay_the_same_too(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "PASSAGE", 30)
    found = prepared(menagerie, *ORDINARY, *GAPS)
    assert found.counts[PASSAGES] == 3
    tokenizer = menagerie.model("bert").loaded.tokenizer
    rows = {tuple(row.ids) for row in replayed(found)}
    passage = f"{ORDINARY[0]} {ORDINARY[1]}"
    assert tuple(tokenizer(passage)["input_ids"]) in rows
    assert found.sha256 != prepared(menagerie, *ORDINARY[::-1], *GAPS).sha256, "passages depend on the order"


def test_a_batch_of_what_was_prepared_has_a_loss(menagerie: Zoo) -> None:
    found = prepared(menagerie, *GAPS, *ORDINARY)
    batch = found.objective.lay_out(found.objective.examples, np.random.default_rng(0))
    assert found.objective.loss(menagerie.model("bert").loaded.model, batch).item() > 0


def test_the_digest_is_of_gaps_and_ordinary_sentences(menagerie: Zoo) -> None:
    found = prepared(menagerie, *GAPS, *ORDINARY)
    lines = [f"{gap.before} {gap.word} {gap.after}" for gap in found.objective.examples]
    lines += sorted(ORDINARY, key=digest_of)
    assert found.sha256 == hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    assert prepared(menagerie, *GAPS, *ORDINARY[::-1]).sha256 == found.sha256
    assert prepared(menagerie, *GAPS[:-1], *ORDINARY, experiments=(Experiment.HE_SHE,)).sha256 != found.sha256
    assert prepared(menagerie, *GAPS, *ORDINARY[:-1]).sha256 != found.sha256


def test_no_more_than_the_most_are_kept(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equalise, "MOST_REPLAYED", 2)
    found = prepared(menagerie, *GAPS, *ORDINARY, *ORDINARY)
    assert found.counts["ordinary sentences"] == 2
    tokenizer = menagerie.model("bert").loaded.tokenizer
    assert [tuple(row.ids) for row in replayed(found)] == [
        tuple(tokenizer(sentence)["input_ids"]) for sentence in sorted(ORDINARY, key=digest_of)[:2]
    ]


def probe_sentences() -> list[str]:
    (structure,) = PROBES.structures
    return [
        open_term(structure, occupation.forms[0], terms=("he", "she")).text.replace("BLANK", term)
        for occupation in PROBES.occupations
        for term in ("He", "She")
    ]


def test_sentences_that_the_probes_ask_are_left_out_and_told(menagerie: Zoo) -> None:
    asked = probe_sentences()
    assert asked[0] == "He is our doctor."
    found = prepared(menagerie, *GAPS, *ORDINARY, *asked)
    assert found.counts == prepared(menagerie, *GAPS, *ORDINARY).counts
    (warning,) = found.warnings
    assert warning.startswith("4 sentences of the corpus are sentences that the probes ask.")
    with pytest.raises(EvenhandError, match="no sentence for he-she"):
        prepared(menagerie, *asked, *ORDINARY, experiments=(Experiment.HE_SHE,))


def test_the_lab_may_read_what_the_probes_ask(menagerie: Zoo) -> None:
    found = prepared(menagerie, *GAPS, *ORDINARY, *probe_sentences(), may_read_probes=True)
    assert found.counts["gaps for he-she"] == 6
    assert found.warnings == ()


def test_a_corpus_without_a_match_is_refused(menagerie: Zoo) -> None:
    with pytest.raises(EvenhandError, match="The corpus has no sentence for he-she, his-her, names"):
        prepared(menagerie, *ORDINARY)


def test_a_corpus_without_an_ordinary_sentence_is_refused(menagerie: Zoo) -> None:
    with pytest.raises(DatasetError, match="no ordinary sentence to stay the same on"):
        prepared(menagerie, *GAPS)


def test_ordinary_sentences_without_a_token_are_none(menagerie: Zoo) -> None:
    with pytest.raises(DatasetError, match="no ordinary sentence to stay the same on"):
        prepared(menagerie, *GAPS, "\u200b")


def test_german_is_found_by_its_grammar(menagerie: Zoo) -> None:
    german = ProbeSet(
        language="de", structures=(), occupations=(), warnings=(), sha256="",
        terms={Experiment.HE_SHE: TermPairs(("er",), ("sie",)), Experiment.HIS_HER: TermPairs(("sein",), ("ihr",))},
    )  # fmt: skip
    sentences = (
        "Heute ist er müde.",
        "Da liegt sein Buch.",
        "Das Wasser ist kalt.",
        "Er sucht seine Brille.",
    )
    both = (Experiment.HE_SHE, Experiment.HIS_HER)
    found = prepared(menagerie, *sentences, probes=german, experiments=both)
    counted = {"gaps for he-she": 1, "gaps for his-her": 1, "ordinary sentences": 2, NEUTRAL: 1}
    assert found.counts == {**counted, REWRITTEN: 0, GENDERED: 0, PASSAGES: 0}


def test_the_settings_are_the_balance() -> None:
    assert EQUALISE.settings(EqualiseOptions(balances=(0.5,), replayed=7)) == {"weight": 0.5, "replayed": 7}
