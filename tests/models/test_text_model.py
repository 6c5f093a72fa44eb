"""Models that have capabilities and nothing else go through the instruments by the definitions of local models."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import intra
from zoo_fixtures import Zoo

import evenhand as eh
from evenhand.core.items import PairDirection, PairSet, SentencePair, Span, Task
from evenhand.core.protocols import EVENHAND_V1, MULTILINGUAL_2023
from evenhand.instruments.association.instrument import ASSOCIATION, AuditOptions
from evenhand.instruments.association.ways import MethodOptions, choose_method, tasks_of_model
from evenhand.instruments.cosine import CosineOptions
from evenhand.instruments.instrument import InstrumentOptions
from evenhand.instruments.malor.instrument import MALOR, MalorOptions
from evenhand.lab.items import lab_benchmark
from evenhand.models import language_model
from evenhand.models.language_model import LanguageModel
from evenhand.models.model import Model, require
from evenhand.models.references import ModelError
from evenhand.models.requests import Answer, Continue, Embed, Fill, Follow, Request, Train
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts
from evenhand.testing import AnalyticModel, FakeModel


def likes_short_texts(text: str) -> float:
    return 1 / (1 + len(text))


@pytest.fixture
def options(quick: Resampling) -> AuditOptions:
    return AuditOptions(limit=6, resampling=quick)


def scores_by_candidate(run: eh.Run) -> dict[str, float]:
    return dict(zip(run.scores["candidate"].to_list(), run.scores["score"].to_list(), strict=True))


def test_a_fake_model_goes_through_an_audit(options: AuditOptions) -> None:
    run = eh.audit(FakeModel(likes_short_texts, name="short"), "starter", options=options)

    assert run.record.model is not None
    assert (run.record.model.id, run.record.model.family) == ("fake:short", "fake")
    assert set(run.result.tasks) == {"intrasentence", "intersentence", "overall"}
    by_id = scores_by_candidate(run)
    for item in eh.load_dataset("starter").sampled(6).of_task(Task.INTERSENTENCE):
        for candidate in item.candidates:
            assert by_id[candidate.id] == pytest.approx(likes_short_texts(f"{item.context} {candidate.text}"))


def test_a_fake_model_is_audited_by_name(options: AuditOptions) -> None:
    first, second, other = (
        eh.audit(name, "starter", options=options) for name in ("fake:one", "fake:one", "fake:two")
    )

    assert first.scores.equals(second.scores)
    assert first.record.fingerprint == second.record.fingerprint != other.record.fingerprint


def one_bit(text: str) -> float:
    """Every sentence with a man in it is twice as likely as the one with a woman."""
    return 0.2 if re.search(r"\bhe\b", text, re.IGNORECASE) else 0.1


@pytest.mark.usefixtures("once_without_gate")
def test_a_fake_model_goes_through_a_probe(quick: Resampling) -> None:
    run = eh.probe(FakeModel(one_bit), "malor", options=MalorOptions(experiment="he-she", resampling=quick))

    (result,) = run.results
    assert result.MALoR.value == pytest.approx(1.0)


@pytest.mark.usefixtures("once_without_gate")
@pytest.mark.parametrize("capability", [Fill, Continue])
def test_probes_need_blanks_or_texts_only(capability: type, quick: Resampling) -> None:
    model = FakeModel(one_bit, capabilities=[capability])
    run = eh.probe(model, "malor", options=MalorOptions(experiment="he-she", resampling=quick))

    assert run.results[0].MALoR.value == pytest.approx(1.0)


def test_a_fake_model_goes_through_pairs(quick: Resampling) -> None:
    pairs = PairSet(
        name="two",
        language="en",
        pairs=(
            SentencePair("1", "en", "gender", PairDirection.STEREO, "He is a boss.", "She is a boss."),
            SentencePair("2", "en", "gender", PairDirection.STEREO, "They are kind.", "He is kind."),
        ),
        source="here",
        sha256="0" * 64,
    )
    table = {"He is a boss.": 0.3, "She is a boss.": 0.2, "They are kind.": 0.1, "He is kind.": 0.2}
    run = eh.probe(FakeModel(table), "crows-pairs", options=InstrumentOptions(data=pairs, resampling=quick))

    assert run.scores["preference"].to_list() == [1.0, 0.0]
    assert run.scores["more_score"].to_list() == pytest.approx([math.log(0.3), math.log(0.1)])


def test_the_exact_model_of_the_lab_is_audited_like_any_other(quick: Resampling) -> None:
    items = lab_benchmark()
    model = AnalyticModel(strength=2.0)
    run = eh.audit(model, items, options=AuditOptions(resampling=quick))

    possible = {candidate: score for candidate, score in model.scores(items).items() if score > 0}
    scores = scores_by_candidate(run)
    assert {candidate: scores[candidate] for candidate in possible} == pytest.approx(possible)
    assert {scores[candidate] for candidate in scores.keys() - possible} == {None}


class Plain(Model):
    """A local model that looks like one elsewhere: it has some capabilities and answers requests in batches."""

    record: Any = None
    capabilities: Any = None

    def __init__(self, model: LanguageModel, *kept: type) -> None:
        self.model = model
        self.ref = model.ref
        self.record = model.record
        self.capabilities = frozenset(kept)

    def answer_batch(self, requests: Sequence[Request]) -> list[Answer]:
        assert {type(request) for request in requests} <= self.capabilities
        return self.model.answer(requests)


@pytest.mark.parametrize(
    ("name", "capabilities", "inter"),
    [
        ("bert", (Fill, Follow), None),
        ("gpt2", (Continue,), None),
        ("gpt2", (Continue,), "orig"),
        ("gpt2", (Continue,), "b"),
        ("gpt2", (Continue,), "c"),
        ("gpt2", (Continue,), "e"),
        ("gpt2", (Continue,), "full-per-alone"),
    ],
)
def test_plain_text_gives_the_scores_of_the_engine(
    menagerie: Zoo, quick: Resampling, name: str, capabilities: tuple[type, ...], inter: str | None
) -> None:
    model = menagerie.model(name)
    options = AuditOptions(limit=4, inter=inter, resampling=quick)
    engine = eh.audit(model, "starter", options=options)
    plain = eh.audit(Plain(model, *capabilities), "starter", options=options)

    expected = scores_by_candidate(engine)
    assert scores_by_candidate(plain) == pytest.approx(expected, rel=1e-4)
    assert len(expected) == 24


def test_a_next_sentence_head_is_loaded_only_for_what_needs_it(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch, quick: Resampling
) -> None:
    loads: list[str] = []
    monkeypatch.setattr(language_model, "load_judge", lambda loaded: loads.append(loaded.ref.id))
    model = LanguageModel(menagerie.model("bert").loaded)
    MALOR.prepare(model, MalorOptions(experiment="he-she", resampling=quick))
    require(model, Train, purpose="be trained")
    model.score_texts(["The baker likes bread."])
    assert loads == []

    assert Task.INTERSENTENCE not in tasks_of_model(model)
    assert len(loads) == 1


def test_answers_are_kept_and_not_asked_for_again(tmp_path: Path, quick: Resampling) -> None:
    asked: list[str] = []

    def counted(text: str) -> float:
        asked.append(text)
        return likes_short_texts(text)

    def audit(parts: Parts) -> eh.Run:
        options = AuditOptions(data="starter", limit=12, resampling=quick)
        return ASSOCIATION.prepare(FakeModel(counted), options).measure(parts=parts)

    first = audit(Parts(tmp_path))
    once = len(asked)
    kept = sorted(tmp_path.iterdir())
    assert len(kept) > 1
    kept[0].unlink()
    second = audit(Parts(tmp_path))

    assert first.scores.equals(second.scores)
    assert once < len(asked) < 2 * once


def test_progress_counts_every_item_once(options: AuditOptions) -> None:
    steps: list[tuple[int, int]] = []
    preparation = ASSOCIATION.prepare(FakeModel(likes_short_texts), options)
    preparation.measure(progress=lambda done, total: steps.append((done, total)))

    assert steps[-1] == (12, 12)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)


@pytest.mark.parametrize(
    ("capabilities", "task", "method_options", "message"),
    [
        (
            (Fill,),
            Task.INTERSENTENCE,
            MethodOptions(),
            r"needs a model that .*Follow.*Continue",
        ),
        ((Follow,), Task.INTRASENTENCE, MethodOptions(), r"Fill.*lab:masked"),
        ((Continue,), Task.INTRASENTENCE, MethodOptions(MULTILINGUAL_2023), "Use evenhand.v2"),
    ],
)
def test_what_a_model_cannot_do_is_refused_by_name(
    capabilities: tuple[type, ...], task: Task, method_options: MethodOptions, message: str
) -> None:
    model = FakeModel({}, capabilities=capabilities)

    with pytest.raises(ModelError, match=message):
        choose_method(model, task, method_options)


def test_a_candidate_is_asked_about_by_its_own_sentence() -> None:
    """The first version gave the context with its blank filled instead."""
    model = FakeModel({}, capabilities=[Continue])
    item = intra(
        context="the baker was BLANK.",
        texts=["The baker was kind.", "The baker was rude.", "The baker was six."],
    )

    own, filled = (
        [choose_method(model, item.task, options).requests(item, candidate) for candidate in item.candidates]
        for options in (MethodOptions(), MethodOptions(EVENHAND_V1))
    )

    assert own == [(Continue("", candidate.text),) for candidate in item.candidates]
    assert filled == [(Continue("", f"the{candidate.text[3:]}"),) for candidate in item.candidates]


def test_tasks_follow_from_capabilities(options: AuditOptions) -> None:
    run = eh.audit(FakeModel(likes_short_texts, capabilities=[Fill]), "starter", options=options)

    assert set(run.result.tasks) == {"intrasentence"}


def test_vectors_of_a_fake_model_depend_on_the_text_alone() -> None:
    model = FakeModel(likes_short_texts)
    first, again, other = (
        model.answer([Embed(text, Span(0, 3))])[0].vector for text in ("The sea.", "The sea.", "The sun.")
    )

    assert isinstance(first, np.ndarray)
    assert isinstance(again, np.ndarray)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, np.asarray(other))


def test_a_fake_model_with_vectors_goes_through_the_cosine_test(tmp_path: Path, quick: Resampling) -> None:
    rows = [
        f"{occupation}.patron.0.{gender}.txt\tThe {occupation} told the patron that {pronoun} was tired."
        for occupation in ("librarian", "engineer", "nurse")
        for gender, pronoun in (("male", "he"), ("female", "she"))
    ]
    file = tmp_path / "pairs.tsv"
    file.write_text("\n".join(["sentid\tsentence", *rows, ""]), encoding="utf-8")
    model = FakeModel({}, capabilities=[Embed])
    run = eh.probe(model, "cosine", options=CosineOptions(data=file, resampling=quick))

    assert run.record.model is not None
    assert run.record.model.family == "fake"
    assert -1 <= run.results[0].mean.value < 1
