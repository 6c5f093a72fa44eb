"""GapCollector as rows: what the probes ask, what is hidden, and what comes behind a decoder's gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from zoo_fixtures import Zoo

from evenhand.core.experiments import Experiment
from evenhand.core.items import BLANK
from evenhand.core.probes import TermPairs
from evenhand.mitigation.equalising.gaps import GapCollector, OnlyTerm, SentenceGap, vocabulary_finder
from evenhand.mitigation.equalising.term_trees import GenderedGroup, TermTree
from evenhand.models.engine.requests import Tokens
from evenhand.models.families.masked import stepwise_blank
from evenhand.models.families.sentinel import SENTINEL
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.gap_contexts import GapRows, LeftContexts
from evenhand.models.references import ModelError
from evenhand.models.requests import Fill

TERMS = {
    Experiment.HE_SHE: TermPairs(("he",), ("she",)),
    Experiment.NAMES: TermPairs(("James", "Robert", "Wolfgang"), ("Mary", "Linda", "Annemarie")),
}
SENTENCES = (
    "The doctor said that he was late.",
    "She likes tea very much.",
    "We asked Wolfgang, the doctor.",
    "It was Linda",
)
find = vocabulary_finder(TERMS, frozenset(), language="en")


class NoChance:
    """A generator whose draws hide nothing."""

    def uniform(self, low: float, _high: float) -> float:
        return low

    def random(self, size: int) -> Any:
        return np.zeros(size)


def gaps_of(model: LanguageModel) -> GapCollector:
    gaps = GapCollector(model)
    assert not list(gaps.collect(SENTENCES, find))
    assert len(gaps.gaps) == len(SENTENCES)
    return gaps


def laid_out(
    model: LanguageModel, gaps: GapCollector, generator: Any
) -> list[tuple[SentenceGap, TermTree, GapRows]]:
    """Each gap with all of its rows."""
    contexts = model.gap_contexts()
    return [
        (gap, tree, joined(contexts.lay_out(gap, tree, generator)))
        for gap in gaps.gaps
        for tree in (gaps.trees[gap.tree],)
    ]


def joined(parts: Sequence[GapRows]) -> GapRows:
    """All parts of a gap as one; those that have sentences first."""
    whole = GapRows()
    for part in sorted(parts, key=lambda part: not part.after_male):
        for places, more in (
            (whole.nodes, part.nodes),
            (whole.after_male, part.after_male),
            (whole.after_female, part.after_female),
        ):
            places += [(row + len(whole.rows), column) for row, column in more]
        whole.rows += part.rows
    return whole


def ids_of(rows: GapRows) -> list[Tokens]:
    return [row.ids for row in rows.rows]


def asked_by_probes(model: LanguageModel, sentence: str, words: Sequence[Tokens]) -> set[tuple[Tokens, Any]]:
    """Inputs of the probes for the terms that a tree has, each with where its token is read."""
    only = find(sentence)
    assert isinstance(only, OnlyTerm)
    context = sentence[: only.span.start] + BLANK + sentence[only.span.end :]
    asked: set[tuple[Tokens, Any]] = set()
    known = set()
    for term in (term for pairs in only.choices for term in pairs.all):
        if model.loaded.tokenizer.mask_token_id is not None:
            masked = list(stepwise_blank(model.loaded.tokenizer, context, term))
            word = tuple(request.token for request in masked)
            steps: list[tuple[Tokens, Any]] = [(request.ids, request.position) for request in masked]
        else:
            written = SENTINEL.token_requests(model, Fill(context, term), "")
            word = tuple(request.tokens[0] for request in written)
            steps = [(request.encoder_ids, (request.decoder_ids, request.positions)) for request in written]
        if word in words:
            known.add(word)
            asked |= set(steps)
    assert known == set(words)
    return asked


@pytest.mark.parametrize("name", ["bert", "roberta", "t5"])
def test_rows_are_what_the_probes_ask(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    several = 0
    laid = laid_out(model, gaps_of(model), NoChance())
    for sentence, (_, tree, rows) in zip(SENTENCES, laid, strict=True):
        found: set[tuple[Tokens, Any]] = set()
        for row, column in rows.nodes:
            shown = rows.rows[row]
            found.add((shown.source, (shown.ids, (column,))) if shown.source else (shown.ids, column))
        assert found == asked_by_probes(model, sentence, tree.words)
        assert len(rows.nodes) == len(rows.rows) == len(tree.nodes)
        assert not rows.after_male
        assert not rows.after_female
        several += len(tree.nodes) > 1
    assert several == len(SENTENCES)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_ordinary_tokens_around_the_gap_are_hidden_now_and_then(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    tokenizer = model.loaded.tokenizer
    gaps = gaps_of(model)
    plain = laid_out(model, gaps, NoChance())
    shares = []
    for seed in range(80):
        for (gap, tree, shown), (_, _, whole) in zip(
            laid_out(model, gaps, np.random.default_rng(seed)), plain, strict=True
        ):
            assert shown.nodes == whole.nodes
            hidden_around = set()
            for node, row, full in zip(tree.nodes, ids_of(shown), ids_of(whole), strict=True):
                start, end = len(gap.before), len(gap.before) + len(node) + 1
                assert row[start:end] == (*node, tokenizer.mask_token_id)
                changed = [place for place in range(len(full)) if row[place] != full[place]]
                assert all(row[place] == tokenizer.mask_token_id for place in changed)
                assert not {full[place] for place in changed} & set(tokenizer.all_special_ids)
                hidden_around.add((row[:start], row[end:]))
            assert len(hidden_around) == 1, "the nodes of a gap have other sentences around them"
            around = len(gap.before) + len(gap.after) - 2
            shares.append(len(changed) / around)
    # In half of the gaps nothing, in the other half between none and half of the tokens: an eighth on average.
    assert np.mean(shares) == pytest.approx(1 / 8, abs=4 * np.std(shares) / np.sqrt(len(shares)))
    assert 0.5 <= np.mean(np.array(shares) == 0) < 0.75
    assert max(shares) > 0.5


def test_a_decoder_reads_what_comes_behind_after_a_man_and_after_a_woman(menagerie: Zoo) -> None:
    for name in ("gpt2", "llama"):
        model = menagerie.model(name)
        gaps = gaps_of(model)
        drawn: dict[int, set[tuple[Tokens, Tokens]]] = {}
        lengths = set()
        for seed in range(120):
            laid = laid_out(model, gaps, np.random.default_rng(seed))
            for number, (gap, tree, rows) in enumerate(laid):
                if not gap.after:
                    assert not rows.after_male
                    continue
                sentences = ids_of(rows)[:2]
                words = [row[len(gap.before) : len(row) - len(gap.after)] for row in sentences]
                (own,) = [group for group in tree.fitting if words[0] in group.male]
                assert words[1] in own.female
                assert gap.word in words or own is not tree.fitting[0]
                assert len(rows.after_male) == len(rows.after_female) == len(gap.after)
                for word, row, places in zip(
                    words, (0, 1), (rows.after_male, rows.after_female), strict=True
                ):
                    assert sentences[row] == (*gap.before, *word, *gap.after)
                    assert {place[0] for place in places} <= {row}
                    read = [
                        (sentences[row][: column + 1], sentences[row][column + 1]) for _, column in places
                    ]
                    assert read == [
                        ((*gap.before, *word, *gap.after[:step]), token)
                        for step, token in enumerate(gap.after)
                    ]
                lengths.add(len(words[0]) - len(words[1]))
                drawn.setdefault(number, set()).add((words[0], words[1]))
        for number, pairs in drawn.items():
            gap = gaps.gaps[number]
            wanted = set()
            for own in gaps.trees[gap.tree].fitting:
                male = [gap.word] if gap.word in own.male else own.male
                female = [gap.word] if gap.word in own.female else own.female
                wanted |= {(one, other) for one in male for other in female}
            assert pairs == wanted
        assert len(lengths) > 1, "all words have one length"


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_decoders_nodes_are_read_behind_all_that_comes_before(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    for gap, tree, rows in laid_out(model, gaps_of(model), np.random.default_rng(0)):
        read = [rows.rows[row].ids[: column + 1] for row, column in rows.nodes]
        assert read == [(*gap.before, *node) for node in tree.nodes]


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_decoders_nodes_have_no_row_that_another_begins_with(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    gaps = gaps_of(model)
    shared = 0
    for gap in gaps.gaps:
        tree = gaps.trees[gap.tree]
        parts = model.gap_contexts().lay_out(gap, tree, np.random.default_rng(0))
        if len(tree.nodes) == 1:
            assert len(parts) == 1
            continue
        beginnings, *sentences = parts
        assert len(sentences) == bool(gap.after)
        assert not any(part.nodes for part in sentences)
        assert not beginnings.after_male
        rows = ids_of(beginnings)
        assert all(one[: len(other)] != other for one in rows for other in rows if one is not other)
        shared += len(tree.nodes) - len(rows)
    assert shared > 0


def test_a_word_that_is_in_no_group_cannot_be_laid_out() -> None:
    tree = TermTree((GenderedGroup(((1,),), ((2,),)),))
    with pytest.raises(ValueError, match="none of those that could stand there"):
        LeftContexts().lay_out(SentenceGap((5,), (6,), 0, (3,)), tree, np.random.default_rng(0))


def test_a_model_that_writes_sentences_anew_cannot_be_equalised(menagerie: Zoo) -> None:
    with pytest.raises(ModelError, match=r"cannot be equalised.*T5-style models"):
        menagerie.model("bart").gap_contexts()
