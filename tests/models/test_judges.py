"""Judges: what heads of every kind answer, against a slow computation; and heads that do not belong."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from engine_scores import engine_scores
from judge_models import RECIPE, SlowJudge, model_folder, small_pairs
from safetensors.torch import load_file, save_file
from zoo_items import inter_items

from evenhand.api.measure import audit
from evenhand.core.items import Task
from evenhand.heads.workflow import train_next_sentence
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.models.judges import LabelJudge, load_judge, new_head_record, new_judge, usual_prompt
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.loading import load
from evenhand.models.next_sentence import PairEncoder
from evenhand.models.references import ModelError, ModelRef
from evenhand.store.energy import NO_GPU
from evenhand.store.head_records import HeadKind, HeadRecord, PairEncoding

NAMES = ("gpt2", "llama", "opt", "t5", "mt5", "bert", "roberta", "distilbert")


class Judges:
    """Models with heads that were trained a little, each made once."""

    def __init__(self, base: Path) -> None:
        torch.set_num_threads(1)
        self.base = base
        self.pairs = small_pairs(base / "pairs").folder
        self.folder = cache(self._folder)

    def _folder(self, name: str) -> Path:
        ref = ModelRef(id=str(model_folder(name, self.base / name)), device="cpu")
        out = self.base / f"{name}-judge"
        train_next_sentence(ref, [self.pairs], out=out, recipe={**RECIPE, "head_rate": 1e-2})
        return out


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Judges:
    return Judges(tmp_path_factory.mktemp("judges"))


def opened(folder: Path) -> LanguageModel:
    return load_language_model(str(folder), device="cpu")


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_the_slow_way(judges: Judges, name: str) -> None:
    folder = judges.folder(name)
    items = inter_items()[::5]
    slow = SlowJudge(folder)

    scores = engine_scores(opened(folder), items, inter="next-sentence")

    expected = {
        candidate.id: slow.follows(item.context, candidate.text)
        for item in items
        for candidate in item.candidates
    }
    # Of several logarithms that add up, the last digits differ with the padding.
    assert scores == pytest.approx(expected, rel=5e-5)
    assert len(set(scores.values())) > len(items)


@pytest.mark.parametrize("name", ["gpt2", "t5", "bert"])
def test_all_other_questions_are_answered_by_the_model_as_it_was(judges: Judges, name: str) -> None:
    after, before = opened(judges.folder(name)), opened(judges.base / name)
    fills = ("tea", "bread")

    scores = [
        model.score_fills("The baker likes BLANK.", fills)
        if name != "gpt2"
        else model.score_texts(["The baker likes tea."])
        for model in (before, after)
    ]

    assert scores[0] == scores[1]


def test_an_audit_takes_the_head(judges: Judges, tmp_path: Path) -> None:
    run = audit(
        str(judges.folder("gpt2")),
        options=AuditOptions(inter="next-sentence", tasks=(Task.INTERSENTENCE,), limit=4),
        out=tmp_path,
    )

    assert run.record.scoring is not None
    assert run.record.scoring.methods["intersentence"] == "next-sentence"
    assert opened(judges.folder("gpt2")).score_followers("He came.", ["He sat.", "It rained."])[0] > 0


def test_the_record_says_what_the_head_is(judges: Judges) -> None:
    records = {name: json.loads((judges.folder(name) / "next_sentence.json").read_text()) for name in NAMES}

    facts = {name: (own["kind"], own["follows_class"], own["encoding"]) for name, own in records.items()}
    assert facts["gpt2"] == facts["llama"] == ("pooled", 1, "joined")
    assert facts["t5"] == facts["mt5"] == ("labels", 1, "joined")
    assert facts["bert"] == ("own", 0, "pair")
    assert facts["roberta"] == ("pooled", 1, "pair")
    assert records["gpt2"]["layers"] == [32, 300, 300, 2]
    assert (records["t5"]["prompt"], records["mt5"]["prompt"]) == ("binary classification: ", "")
    assert records["gpt2"]["training"]["pairs"][0]["language"] == "en"
    assert records["gpt2"]["training"]["energy"]["reason"] == NO_GPU
    assert records["gpt2"]["without_label"] is None
    assert 0 <= records["t5"]["without_label"] <= records["t5"]["test_accuracy"]["n"]
    accuracy = records["gpt2"]["test_accuracy"]
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]


def test_the_class_that_follows_is_the_recorded_one(judges: Judges, tmp_path: Path) -> None:
    folder = shutil.copytree(judges.folder("gpt2"), tmp_path / "turned")
    record = json.loads((folder / "next_sentence.json").read_text())
    (folder / "next_sentence.json").write_text(json.dumps({**record, "follows_class": 0}))

    (one,) = opened(judges.folder("gpt2")).score_followers("He came.", ["He sat."])
    (other,) = opened(folder).score_followers("He came.", ["He sat."])

    assert one + other == pytest.approx(1)


def test_padding_has_no_part_in_the_mean(judges: Judges) -> None:
    model = opened(judges.folder("gpt2"))
    pairs = [("He came.", "He sat."), ("He came.", "He sat by the very old door and ate all of the bread.")]
    assert model.judge is not None
    encoded = PairEncoder(model.tokenizer, model.judge.record).encode(pairs)

    together = model.score_followers("He came.", [second for _, second in pairs])
    alone = [model.score_followers(first, [second])[0] for first, second in pairs]

    assert len(encoded[0][0]) < len(encoded[1][0])
    assert together == pytest.approx(alone, rel=1e-5)


def test_an_encoder_decoder_is_right_only_if_it_writes_the_label_by_itself(judges: Judges) -> None:
    model = opened(judges.folder("t5"))
    judge = model.judge
    assert isinstance(judge, LabelJudge)
    ids, types = PairEncoder(model.tokenizer, judge.record).encode([("He came.", "He sat.")])[0]
    batch = torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long), torch.tensor([types])
    label = model.tokenizer("1", add_special_tokens=False)["input_ids"]
    end = model.tokenizer.eos_token_id

    def answer(*written: int) -> int:
        network: Any = judge.network
        row = torch.tensor([[network.config.decoder_start_token_id, *written]])
        original, network.generate = network.generate, lambda **_: row
        try:
            return int(judge.answers(*batch)[0])
        finally:
            network.generate = original

    assert answer(*label, end) == 1
    assert answer(end, *label) == -1
    assert answer(*label, *label) == -1


def test_prompts_are_those_of_the_papers(judges: Judges) -> None:
    t5, mt5 = (load(ModelRef(id=str(judges.folder(name)), device="cpu")) for name in ("t5", "mt5"))

    assert usual_prompt(t5, ["de"]) == "binäre Klassifikation: "
    assert usual_prompt(t5, ["en", "de"]) == usual_prompt(t5, ["nl"]) == usual_prompt(mt5, ["en"]) == ""


def test_long_pairs_lose_the_outer_words_and_keep_both_sentences(judges: Judges) -> None:
    tokenizer = opened(judges.folder("gpt2")).tokenizer
    encoder = PairEncoder(tokenizer, HeadRecord(follows_class=1, encoding=PairEncoding.JOINED))
    first, second = "one two three four five six seven eight.", "nine ten eleven twelve."

    ((ids, types),) = encoder.encode([(first, second)], longest=20)

    text = tokenizer.decode(list(ids))
    assert len(ids) == len(types) <= 20
    assert "eight. nine" in text


def other_body(folder: Path) -> None:
    record = json.loads((folder / "next_sentence.json").read_text())
    (folder / "next_sentence.json").write_text(json.dumps({**record, "body": "llama"}))


def other_tokenizer(folder: Path) -> None:
    record = json.loads((folder / "next_sentence.json").read_text())
    (folder / "next_sentence.json").write_text(json.dumps({**record, "tokenizer": "0" * 64}))


def damaged(folder: Path) -> None:
    path = folder / "next_sentence.safetensors"
    path.write_bytes(path.read_bytes()[:-8])


def other_size(folder: Path) -> None:
    from evenhand.core.files import sha256_of_file

    path = folder / "next_sentence.safetensors"
    weights = load_file(path)
    save_file({**weights, "head.0.weight": weights["head.0.weight"][:, :-1].contiguous()}, path)
    record = json.loads((folder / "next_sentence.json").read_text())
    (folder / "next_sentence.json").write_text(json.dumps({**record, "weights": sha256_of_file(path)}))


def huge(folder: Path) -> None:
    record = json.loads((folder / "next_sentence.json").read_text())
    layers = [record["layers"][0], 2**31, 2**31, 2]
    (folder / "next_sentence.json").write_text(json.dumps({**record, "layers": layers}))


def other_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    weights = {name: weight + 0.5 for name, weight in load_file(path).items()}
    save_file(weights, path, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (other_weights, "trained with other weights than those beside it"),
        (other_body, "was made for a body of type 'llama', and the model is 'gpt2'"),
        (other_tokenizer, "made with another tokenizer"),
        (damaged, "missing or not what next_sentence.json says"),
        (other_size, "layers of other sizes than next_sentence.json says"),
        (huge, "layers of other sizes than next_sentence.json says"),
    ],
)
def test_a_head_that_does_not_belong_is_refused(
    judges: Judges, tmp_path: Path, spoil: Any, message: str
) -> None:
    folder = shutil.copytree(judges.folder("gpt2"), tmp_path / "spoilt")
    spoil(folder)

    with pytest.raises(ModelError, match=message):
        opened(folder).score_followers("He came.", ["He sat."])


def test_a_head_does_not_judge_for_a_model_with_an_adapter(judges: Judges) -> None:
    loaded = opened(judges.folder("gpt2")).loaded
    adapted = replace(loaded, ref=loaded.ref.model_copy(update={"adapters": ("even-adapter",)}))

    with pytest.raises(ModelError, match="trained without even-adapter"):
        load_judge(adapted)


def test_families_without_a_head_and_prompts_without_use_are_refused(judges: Judges, tmp_path: Path) -> None:
    bart = load(ModelRef(id=str(model_folder("bart", tmp_path / "bart")), device="cpu"))
    with pytest.raises(ModelError, match="no next-sentence head to train"):
        new_head_record(bart)
    gpt2 = load(ModelRef(id=str(judges.folder("gpt2")), device="cpu"))
    with pytest.raises(ModelError, match="no use for the prompt"):
        new_head_record(gpt2, prompt="answer: ")


def test_labels_without_tokens_are_refused(menagerie: Any) -> None:
    loaded = load(ModelRef(id=str(menagerie.folder("t5")), device="cpu"))

    with pytest.raises(ModelError, match="no tokens for the labels 0 and 1"):
        new_judge(loaded, new_head_record(loaded))


def test_a_new_head_is_the_same_from_the_same_seed(judges: Judges) -> None:
    loaded = load(ModelRef(id=str(judges.folder("gpt2")), device="cpu"))
    record = new_head_record(loaded)

    heads = [new_judge(loaded, record, seed=seed).state_dict()["head.0.weight"] for seed in (1, 1, 2)]

    assert record.kind is HeadKind.POOLED
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])
