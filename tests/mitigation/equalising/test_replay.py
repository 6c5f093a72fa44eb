"""Ordinary sentences: which are drawn, where they are open, and what an open place wants."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from zoo_fixtures import Zoo

from evenhand.core.probes import TermPairs
from evenhand.mitigation.equalising.gaps import GapCollector, OrdinarySentence
from evenhand.mitigation.equalising.gendered_tokens import GenderedWordTokens
from evenhand.mitigation.equalising.replay import OpenPlaces, Replay, open_flags, settled_weights
from evenhand.mitigation.equalising.term_trees import GenderedGroup, TermTree, words_of_one_token
from evenhand.models.language_model import LanguageModel

PRONOUNS = TermPairs(("he",), ("she",))
NEUTRAL = OrdinarySentence("The sea is very cold in winter.", is_neutral=True)
TELLING = OrdinarySentence("My aunt has a dog that barks at night.", is_neutral=False)


def gendered(model: LanguageModel, *pairs: TermPairs) -> GenderedWordTokens:
    return GenderedWordTokens.of(pairs or (PRONOUNS,), GapCollector(model).tokens_of)


ANIMALS = TermPairs(("neighbour", "a"), ("he", "was"))
"""Words that stand for those that tell a gender; the zoo's tokenizers have a token for most, and none for *neighbour*
in GPT-2."""


@pytest.mark.parametrize(
    ("name", "settled"),
    [("gpt2", {"a", "was"}), ("llama", {"a", "was"}), ("bert", {"neighbour", "a", "was"})],
)
def test_a_word_is_settled_where_the_model_sees_another(menagerie: Zoo, name: str, settled: set[str]) -> None:
    model = menagerie.model(name)
    sentence = OrdinarySentence("My neighbour has a dog, and it was late.", is_neutral=False)
    replay = Replay([sentence], model, words=gendered(model, ANIMALS))
    rows = [row for seed in range(8) for row in replay.draw(60, np.random.default_rng(seed))]
    found = {
        model.loaded.tokenizer.decode([row.targets[number]]).strip() for row in rows for number in row.settled
    }
    assert found == settled
    weights = settled_weights(rows[:3])
    assert len(weights) == sum(len(row.places) for row in rows[:3])
    assert int((weights > 0).sum()) == sum(len(row.settled) for row in rows[:3])


def test_all_settled_places_of_a_draw_count_as_one(menagerie: Zoo) -> None:
    model = menagerie.model("gpt2")
    sentences = [OrdinarySentence("My neighbour has a dog, and it was late.", is_neutral=False), NEUTRAL]
    rows = Replay(sentences, model, words=gendered(model, ANIMALS)).draw(200, np.random.default_rng(0))
    assert float(settled_weights(rows).sum()) == pytest.approx(1)


def test_sentences_that_settle_a_gender_are_drawn_more_often_than_they_occur(menagerie: Zoo) -> None:
    model = menagerie.model("gpt2")
    settling = OrdinarySentence("My neighbour has a dog.", is_neutral=False)
    replay = Replay([settling, *[NEUTRAL] * 99], model, words=gendered(model, ANIMALS))
    rows = [row for seed in range(40) for row in replay.draw(300, np.random.default_rng(seed))]
    share = np.mean([bool(row.settled) for row in rows])
    # A quarter of them, and one of a hundred of the rest; four standard errors on each side.
    assert share == pytest.approx(0.25 + 0.75 / 100, abs=4 * math.sqrt(0.26 * 0.74 / len(rows)))


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
def test_a_neutral_sentence_is_open_and_another_only_where_nothing_was_seen(
    menagerie: Zoo, name: str
) -> None:
    model = menagerie.model(name)
    generator = np.random.default_rng(0)
    for sentence, opens in ((NEUTRAL, None), (TELLING, 1 if name in ("gpt2", "llama") else 0)):
        rows = Replay([sentence], model, words=gendered(model)).draw(40, generator)
        assert sum(len(row.places) for row in rows) > 0
        for row in rows:
            assert row.open_places == (len(row.places) if opens is None else opens)
        flags = open_flags(rows)
        assert len(flags) == sum(len(row.places) for row in rows)
        assert int(flags.sum()) == sum(min(row.open_places, len(row.places)) for row in rows)


def test_both_kinds_are_drawn_as_often_as_there_are_of_them(menagerie: Zoo) -> None:
    model = menagerie.model("gpt2")
    replay = Replay([NEUTRAL, TELLING, TELLING, TELLING], model, words=gendered(model))
    neutral = model.loaded.tokenizer(NEUTRAL.text)["input_ids"]
    rows = [row for seed in range(40) for row in replay.draw(300, np.random.default_rng(seed))]
    share = np.mean([list(row.ids[-len(neutral) :]) == list(neutral) for row in rows])
    # Four standard errors on each side.
    assert len(rows) > 500
    assert share == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / len(rows)))


def test_every_token_of_a_draw_counts_the_same(menagerie: Zoo) -> None:
    model = menagerie.model("gpt2")
    rows = Replay([NEUTRAL, TELLING], model, words=gendered(model)).draw(100, np.random.default_rng(3))
    asked = sum(row.text_tokens for row in rows)
    assert asked >= 100
    assert {row.weight for row in rows} == {1 / asked}


def test_open_places_are_made_even_and_keep_everything_else() -> None:
    groups = [GenderedGroup(((1,), (2,)), ((3,),)), GenderedGroup(((4,),), ((5,),))]
    given = torch.tensor(
        [
            [0.10, 0.20, 0.10, 0.05, 0.30, 0.15, 0.10],
            [0.10, 0.20, 0.10, 0.05, 0.30, 0.15, 0.10],
            [0.10, 0.30, 0.20, 0.00, 0.20, 0.10, 0.10],
            [0.10, 0.30, 0.20, 0.30 / 2**8, 0.20, 0.10, 0.10],
        ],
        dtype=torch.float64,
    )
    found = given.clone()
    OpenPlaces.of(groups, torch.device("cpu")).even_out(found, torch.tensor([True, False, True, True]))
    assert found[0].tolist() == pytest.approx([0.10, 0.35 / 3, 0.175 / 3, 0.175, 0.225, 0.225, 0.10])
    assert torch.equal(found[1], given[1])
    # A side that cannot stand there, and one that is more than eight bits behind: settled.
    for row in (2, 3):
        assert found[row, :4].tolist() == given[row, :4].tolist()
        assert found[row, 4:].tolist() == pytest.approx([0.15, 0.15, 0.10])
    assert found.sum(dim=1).tolist() == pytest.approx(given.sum(dim=1).tolist())


def test_words_of_several_tokens_are_for_gaps_alone() -> None:
    pronouns = GenderedGroup(((1,),), ((2,),))
    names = GenderedGroup(((3,), (4,), (5,), (6,), (7, 8)), ((9,),))
    few = GenderedGroup(((10,), (11, 12)), ((13,),))
    trees = [TermTree((pronouns, names)), TermTree((names, few)), TermTree((pronouns,))]
    most = GenderedGroup(((3,), (4,), (5,), (6,)), ((9,),))
    assert words_of_one_token(trees) == [pronouns, most]


def test_a_token_is_in_one_group_alone() -> None:
    first, second = GenderedGroup(((1,),), ((2,),)), GenderedGroup(((3,),), ((1,),))
    assert words_of_one_token([TermTree((first,)), TermTree((second,))]) == [first]


def test_words_inside_other_words_are_not_open(menagerie: Zoo) -> None:
    """GPT-2 has a token for "he" as in "the" and another for " he"; the first is asked for behind a hyphen."""
    found = GapCollector(menagerie.model("gpt2"))
    groups = [GenderedGroup(((place,),), ((place + 1,),)) for place in (1, 3, 5)]
    found.trees[:] = [TermTree((group,)) for group in groups]
    found._numbers = {((), " "): 0, ((), ""): 1, ((), "-"): 2, ((PRONOUNS,), " "): None}
    assert found.open_groups == groups[:2]
