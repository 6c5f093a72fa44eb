"""Next-sentence pairs by command and on Ray."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import Command

from evenhand.heads.pairs import NextSentenceOptions
from evenhand.heads.pairs_workflow import build_next_sentence_pairs


def corpus(folder: Path) -> Path:
    folder.mkdir()
    for name in "abc":
        articles = (
            " ".join(f"Sentence {row} of {name}{number}." for row in range(4)) for number in range(30)
        )
        (folder / f"{name}.txt").write_text("\n\n".join(articles))
    return folder


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_ray_gives_the_same_pairs(tmp_path: Path) -> None:
    texts, options = corpus(tmp_path / "texts"), NextSentenceOptions("en", test_share=0.2)

    here = build_next_sentence_pairs(texts, tmp_path / "here", options=options)
    on_ray = build_next_sentence_pairs(texts, tmp_path / "ray", options=options, on="ray")

    assert here.record == on_ray.record


def test_the_command_makes_pairs_and_shows_some(tmp_path: Path, run_evenhand_here: Command) -> None:
    texts = corpus(tmp_path / "texts")
    command = ("data", "next-sentence", "--corpus", texts, "--language", "en", "--test-share", "0.2")

    shown = run_evenhand_here(*command, "--out", tmp_path / "pairs")
    told = run_evenhand_here(*command, "--out", tmp_path / "pairs", "--json")

    assert shown.returncode == told.returncode == 0, shown.stderr
    assert "paired with" in shown.stdout
    record = json.loads(told.stdout)
    assert (record["language"], record["train_articles"] + record["test_articles"]) == ("en", 90)


def test_the_command_refuses_a_language_without_a_splitter(
    tmp_path: Path, run_evenhand_here: Command
) -> None:
    texts = corpus(tmp_path / "texts")

    refused = run_evenhand_here(
        "data", "next-sentence", "--corpus", texts, "--language", "th", "--out", tmp_path / "pairs"
    )

    assert refused.returncode == 2
    assert "no sentence splitter for the language 'th'" in refused.stderr
