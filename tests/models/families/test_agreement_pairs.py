"""Pairs: the engine's scores are those of a plain loop over sentences, on every family of models."""

from __future__ import annotations

import difflib

import pytest
import zoo
from engine_scores import assert_same, tokens_asked
from pair_builders import pair
from pair_scores import answers_of
from slow_reference import Logs, SlowReference, SlowText
from zoo_fixtures import Zoo

from evenhand.core.items import SentencePair
from evenhand.instruments.pair_control import pair_requests
from evenhand.models.engine.requests import MaskedRequest
from evenhand.models.families import Family
from evenhand.models.families.decoder import DECODER
from evenhand.models.families.masked import MASKED
from evenhand.models.families.sentinel import SENTINEL

PAIRS = (
    pair("middle"),
    pair("start", more="Grandparents like the quiet garden.", less="Children like the quiet garden."),
    pair("end", more="The tea was made by the nurse.", less="The tea was made by the unhurried electrician."),
    pair(
        "two",
        more="The girl sold her red bicycle.",
        less="The boy sold his red bicycle.",
        direction="antistereo",
    ),
    pair("longer", more="An Italian cook sang.", less="A cook from the far north of Norway sang loudly."),
    pair("moved", more="Well, the old man waits here.", less="Here the old woman waits, well."),
    pair("repeats", more="the cat the dog the cat", less="the dog the cat the dog", direction="antistereo"),
    pair("accents", more="Le vieux café était fermé.", less="Le jeune café était très fermé.", language="fr"),
)


def shared(one: list[int], other: list[int]) -> list[tuple[int, int]]:
    """Places of the tokens that both have, as the authors find them: equal stretches of difflib."""
    matcher = difflib.SequenceMatcher(None, [str(token) for token in one], [str(token) for token in other])
    places: list[tuple[int, int]] = []
    for kind, first, first_end, second, second_end in matcher.get_opcodes():
        if kind == "equal":
            places += zip(range(first, first_end), range(second, second_end), strict=True)
    return places


class SlowPairs:
    """Sentences of pairs one at a time, each shared token in an input of its own."""

    def __init__(self, reference: SlowReference, family: Family) -> None:
        self.reference = reference
        self.family = family

    def scores(self, of: SentencePair) -> tuple[float, float]:
        if self.family is DECODER:
            return sum(self.reference.sentence(of.more)), sum(self.reference.sentence(of.less))
        more, less = (SlowText(self.reference.tokenizer, text) for text in (of.more, of.less))
        if of.direction.value == "stereo":
            places = shared(more.ids, less.ids)
        else:
            places = [(place, other) for other, place in shared(less.ids, more.ids)]
        places = [(one, other) for one, other in places if not more.special[one]]
        return (
            sum(self.read(more.ids, [one for one, _ in places])),
            sum(self.read(less.ids, [other for _, other in places])),
        )

    def read(self, ids: list[int], places: list[int]) -> Logs:
        reference = self.reference
        logs = []
        for place in places:
            if self.family is SENTINEL:
                gap = reference.tokenizer.convert_tokens_to_ids("<extra_id_0>")
                shown = [*ids[:place], gap, *ids[place + 1 :]]
                values = reference.written(shown, [reference.decoder_start, gap])[1]
            else:
                shown = [*ids[:place], reference.tokenizer.mask_token_id, *ids[place + 1 :]]
                if self.family is MASKED:
                    logs.append(reference.at_mask(shown, place, ids[place]))
                    continue
                is_mbart = reference.encoder_decoder.config.model_type == "mbart"
                start = ids[-1] if is_mbart else reference.decoder_start
                values = reference.written(shown, [start, *ids[:-1]])[place]
            logs.append(float(values[ids[place]]))
        return logs


def engine_scores(menagerie: Zoo, name: str, *, max_tokens: int | None = None) -> list[tuple[float, float]]:
    answers = answers_of(menagerie.model(name), PAIRS, max_tokens=max_tokens)
    assert not [own.problem for pair_of in answers for own in pair_of if own.problem]
    return [(more.total, less.total) for more, less in answers]


@pytest.mark.parametrize("name", zoo.names())
def test_scores_are_those_of_a_plain_loop(menagerie: Zoo, name: str) -> None:
    slow = SlowPairs(menagerie.reference(name), zoo.SPECIES[name].family)
    expected, found = {}, {}
    for each, score in zip(PAIRS, engine_scores(menagerie, name), strict=True):
        expected[f"{each.id} more"], expected[f"{each.id} less"] = slow.scores(each)
        found[f"{each.id} more"], found[f"{each.id} less"] = score
    assert_same(found, expected)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "bart"])
def test_scores_do_not_depend_on_batches(menagerie: Zoo, name: str) -> None:
    alone = engine_scores(menagerie, name, max_tokens=1)
    together = engine_scores(menagerie, name, max_tokens=5000)

    for one, other in zip(alone, together, strict=True):
        assert one == pytest.approx(other, rel=1e-5)


def test_the_words_that_differ_are_seen_and_not_asked_for(menagerie: Zoo) -> None:
    model = menagerie.model("bert")
    tokenizer = model.loaded.tokenizer
    rest = tokenizer("Bread on the table.", add_special_tokens=False)["input_ids"]
    words = [word for word, number in tokenizer.get_vocab().items() if word.isalpha() and number not in rest]
    one, other = sorted(words, key=len)[-2:]
    asked = pair_requests(pair(more=f"{one} Bread on the table.", less=f"{other} Bread on the table."))

    for requests, word in zip(tokens_asked(model, asked), (one, other), strict=True):
        masked = [request for request in requests if isinstance(request, MaskedRequest)]
        assert [request.token for request in masked] == rest
        assert all(tokenizer.convert_tokens_to_ids(word) in request.ids for request in masked)
        assert all(request.ids.count(tokenizer.mask_token_id) == 1 for request in masked)
