"""The audit: what a model cannot score is counted with its reason, and the rest is scored all the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import builders
import pytest
import torch
from safetensors.torch import load_file, save_file
from zoo_fixtures import Zoo

import evenhand as eh
from evenhand.core.items import Task

LONG = "word " * 400


def test_input_past_the_models_limit_is_counted_and_not_cut(menagerie: Zoo, quick: eh.Resampling) -> None:
    items = [
        builders.intra(1, context="The baker likes BLANK bread."),
        builders.intra(2, cluster="pilot", context=f"{LONG}BLANK bread."),
    ]
    run = eh.audit(
        menagerie.model("gpt2"), builders.benchmark(*items), options=eh.AuditOptions(resampling=quick)
    )
    result = run.result.tasks["intrasentence"]
    assert (result.n, result.skipped) == (1, 1)
    (reason,) = run.result.skipped
    assert reason.items == ("intra-2",)
    assert "tokens, the model takes 128" in reason.reason


def test_items_past_the_limit_are_warned_of_together_and_kept_apart_in_the_files(
    menagerie: Zoo, quick: eh.Resampling
) -> None:
    items = [
        builders.intra(1, context="The baker likes BLANK bread."),
        *(
            builders.intra(n, cluster=f"job {n}", context=f"{LONG}{'so ' * n}BLANK bread.")
            for n in range(2, 8)
        ),
    ]
    run = eh.audit(
        menagerie.model("gpt2"), builders.benchmark(*items), options=eh.AuditOptions(resampling=quick)
    )
    assert sum("tokens, the model takes 128" in reason.reason for reason in run.result.skipped) == 6
    (warning,) = [known for known in run.result.warnings if "skipped" in known]
    assert warning.startswith(
        "intrasentence items skipped, because the input is longer than the 128 tokens that the model takes: 6 of 7 "
        "(intra-2, intra-3, intra-4 "
    )


def test_item_whose_blank_cannot_be_found_is_skipped_with_a_reason(
    menagerie: Zoo, quick: eh.Resampling
) -> None:
    items = [
        builders.intra(1),
        builders.intra(2, cluster="pilot", context="No gap here.", texts=["a", "b", "c"]),
    ]
    run = eh.audit(
        menagerie.model("bert"), builders.benchmark(*items), options=eh.AuditOptions(resampling=quick)
    )
    assert run.result.tasks["intrasentence"].skipped == 1
    assert run.result.skipped[0].items == ("intra-2",)


def test_values_that_are_no_numbers_name_their_item(
    menagerie: Zoo, tmp_path: Path, quick: eh.Resampling
) -> None:
    """One token's embedding is broken: items with that token are skipped, the others are scored."""
    folder = tmp_path / "broken"
    folder.mkdir()
    for path in menagerie.folder("bert").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    weights = load_file(folder / "model.safetensors")
    name = next(key for key in weights if key.endswith("word_embeddings.weight"))
    tokenizer = menagerie.model("bert").loaded.tokenizer
    items = [builders.intra(1), builders.intra(2, cluster="pilot", context="Seven zebras like BLANK bread.")]
    texts = [set(tokenizer(item.context.replace("BLANK", ""))["input_ids"]) for item in items]
    broken = min(texts[1] - texts[0])
    weights[name][broken] = torch.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    # The prediction head shares the embedding, so its normaliser breaks for every item once it is tied.
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tied = config.get("tie_word_embeddings", True)
    run = eh.audit(str(folder), builders.benchmark(*items), options=eh.AuditOptions(resampling=quick))
    skipped = {item for reason in run.result.skipped for item in reason.items}
    assert skipped == ({"intra-1", "intra-2"} if tied else {"intra-2"})
    assert all("NaN or infinite" in reason.reason for reason in run.result.skipped)


def test_limit_takes_as_many_items_of_each_task_and_the_record_says_so(
    menagerie: Zoo, quick: eh.Resampling
) -> None:
    run = eh.audit(menagerie.model("gpt2"), "starter", options=eh.AuditOptions(limit=5, resampling=quick))
    assert {task: result.n for task, result in run.result.tasks.items()} == {
        "intrasentence": 5,
        "intersentence": 5,
        "overall": 10,
    }
    assert run.scores["cluster"].n_unique() > 5
    assert run.record.dataset.items == 10
    assert str(run.record.dataset.sample) == "sample of 10 of 96 items"


def test_the_sample_of_a_record_is_of_the_tasks_that_are_asked(menagerie: Zoo, quick: eh.Resampling) -> None:
    options = eh.AuditOptions(limit=5, tasks=(Task.INTRASENTENCE,), resampling=quick)
    run = eh.audit(menagerie.model("gpt2"), "starter", options=options)
    assert str(run.record.dataset.sample) == "sample of 5 of 48 items"
    whole = eh.audit(menagerie.model("gpt2"), "starter", options=replace(options, limit=48))
    assert whole.record.dataset.sample is None


def test_token_log_probabilities_explain_the_score(menagerie: Zoo, quick: eh.Resampling) -> None:
    """A masked model's score is the mean probability of the candidate's tokens."""
    run = eh.audit(menagerie.model("bert"), "starter", options=eh.AuditOptions(limit=4, resampling=quick))
    rows = run.scores.filter(run.scores["task"] == "intrasentence")
    for tokens, score in zip(rows["token_log_probabilities"].to_list(), rows["score"].to_list(), strict=True):
        probabilities = torch.tensor(tokens, dtype=torch.float64).exp()
        assert score == pytest.approx(probabilities.mean().item())


def test_ones_own_sentences_are_scored_in_three_lines(menagerie: Zoo) -> None:
    model = eh.load(str(menagerie.folder("bert")))
    quiet, loud = model.score_fills("The baker was very BLANK today.", ["quiet", "loud"])
    assert len(quiet.log_probs) >= 1
    assert quiet.total != loud.total
    (follows,) = model.score_followers("The baker opens the shop.", ["It smells of bread."])
    assert 0 < follows < 1
    (text,) = eh.load(str(menagerie.folder("gpt2"))).score_texts(["The baker opens the shop."])
    assert text.total == pytest.approx(sum(text.log_probs))
