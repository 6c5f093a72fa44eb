"""The original StereoSet layout, without what the translations added, reads the same."""

from __future__ import annotations

import json
from pathlib import Path

import published
import pytest

from evenhand.api.measure import evaluate
from evenhand.core.items import Benchmark, Task, filled_spans
from evenhand.data.stereoset import read_stereoset
from evenhand.stats.resampling import Resampling


@pytest.fixture
def original(shared_data: Path, tmp_path: Path) -> Benchmark:
    document = json.loads((shared_data / "stereoset" / "en.json").read_text(encoding="utf-8"))
    document.pop("language", None)
    removed = 0
    for rows in document["data"].values():
        for row in rows:
            removed += row.pop("target_original", None) is not None
            for sentence in row["sentences"]:
                removed += sentence.pop("word", None) is not None
    assert removed > 4_000
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return read_stereoset(path, language="en")


def test_scores_are_the_same(shared_data: Path, original: Benchmark, quick: Resampling) -> None:
    predictions = published.predictions_path(shared_data, "bert-base-cased_BertLM_BertNextSentence_en")

    extended, plain = (
        evaluate(predictions, data, protocol="multilingual-2023", resampling=quick).result
        for data in (published.benchmark(shared_data, "en"), original)
    )

    assert list(extended.tasks) == list(plain.tasks) == ["intrasentence", "intersentence", "overall"]
    for task, result in extended.tasks.items():
        for name, estimate in result.estimates():
            assert plain.tasks[task].estimate(name) == estimate
        assert [target.target for target in plain.tasks[task].by_target] == [
            target.target for target in result.by_target
        ]


def test_the_fills_found_are_the_words_that_the_extended_layout_gives(
    shared_data: Path, original: Benchmark
) -> None:
    extended = published.benchmark(shared_data, "en").of_task(Task.INTRASENTENCE)
    words = {candidate.id: str(candidate.word) for item in extended for candidate in item.candidates}
    disagreeing, wrong_words = set(), set()
    for item in original.of_task(Task.INTRASENTENCE):
        for candidate in item.candidates:
            assert candidate.word is None
            word = words[candidate.id]
            fills = {span.of(candidate.text).lower() for span in filled_spans(item.context, candidate.text)}
            if fills != {word.lower()}:
                disagreeing.add(candidate.id)
            if item.context.replace("BLANK", word).lower() != candidate.text.lower():
                wrong_words.add(candidate.id)

    # The words of 12 candidates are not what stands in their sentences, whatever the case.
    assert len(words) == 3 * 2_106
    assert len(wrong_words) == 12
    assert disagreeing <= wrong_words
