"""What a mitigation reads: sentences that are kept back, pairs and text told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import DatasetError
from evenhand.data.corpus_sources import TextFile
from evenhand.mitigation import texts
from evenhand.mitigation.texts import (
    HeldOutSentences,
    PairFile,
    SentenceList,
    TrainingText,
    keep_back,
    read_held_out,
    text_sources,
)
from evenhand.store.mitigation_records import TextRecord

MANY = tuple(f"The farmer has {number} cows." for number in range(4000))
PAIR = (
    '{"male": "He is the doctor.", "female": "She is the doctor.", "original": "female", "experiments": ["he-she"], '
    '"occupations": ["doctor"], "swaps": [{"role": "subject pronoun", "male": "He", "female": "She", '
    '"male_at": [0, 2], "female_at": [0, 3]}]}\n'
)


def test_a_twentieth_of_a_corpus_is_kept_back() -> None:
    held = keep_back([SentenceList("a", MANY)])
    assert set(held.sentences) < set(MANY)
    assert 0.04 < len(held.sentences) / len(MANY) < 0.06


def test_what_is_kept_back_does_not_depend_on_order_repeats_or_files() -> None:
    held = keep_back([SentenceList("a", MANY)])
    halves = [SentenceList("b", MANY[2000:][::-1]), SentenceList("c", MANY[:2500])]
    both = keep_back(halves)
    assert both.sentences == held.sentences
    # Of a sentence that two sources have, the first source counts.
    assert both.documents == tuple(int(sentence not in MANY[2000:]) for sentence in both.sentences)


def test_there_is_a_limit_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = keep_back([SentenceList("a", MANY)]).sentences
    monkeypatch.setattr(texts, "MOST_HELD_OUT", 7)
    assert keep_back([SentenceList("a", MANY)]).sentences == whole[:7]


def test_a_corpus_too_small_to_keep_something_back_asks_for_other_text() -> None:
    with pytest.raises(DatasetError, match="Give some with --held-out"):
        keep_back([SentenceList("a", ("The farmer has 1 cows.",))])


def test_a_held_out_sentence_is_known_in_any_case_and_spacing() -> None:
    held = HeldOutSentences("x", ("The farmer  sings.",))
    assert "the farmer sings." in held
    assert "The farmer sang." not in held


def test_training_text_has_no_held_out_sentence_and_tells_its_sources(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cow sleeps. The dog barks.\n")
    held = read_held_out([SentenceList("held", ("The dog barks.", "The dog barks."))])
    assert held.record.sentences == 1
    records: list[TextRecord] = []
    text = TrainingText((TextFile(tmp_path / "a.txt"), SentenceList("b", ("A cat.", "The Dog barks."))), held)
    assert list(text.read(records)) == ["The cow sleeps.", "A cat."]
    assert [(record.name, record.sentences) for record in records] == [(str(tmp_path / "a.txt"), 2), ("b", 2)]


def test_files_of_pairs_are_told_from_files_of_text(tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text(PAIR)
    (tmp_path / "text.jsonl").write_text('{"text": "He is the doctor."}\n')
    (tmp_path / "plain.txt").write_text("He is the doctor.\n")
    found = text_sources([tmp_path / name for name in ("pairs.jsonl", "text.jsonl", "plain.txt")])
    assert [type(source).__name__ for source in found] == ["TextFile", "TextFile", "PairFile"]
    assert list(found[-1].open()) == ["She is the doctor."]
    assert [source.name for source in text_sources([tmp_path / "pairs.jsonl"])] == [
        str(tmp_path / "pairs.jsonl")
    ]


def test_a_source_in_memory_is_told_apart_by_its_sentences() -> None:
    one, other = SentenceList("a", ("x.",)), SentenceList("a", ("y.",))
    assert one.identity() != other.identity()


@pytest.mark.parametrize("kind", [TextFile, PairFile])
def test_a_file_that_is_gone_is_named(tmp_path: Path, kind: type[TextFile] | type[PairFile]) -> None:
    with pytest.raises(DatasetError, match=r"gone\.jsonl cannot be read: No such file"):
        kind(tmp_path / "gone.jsonl").identity()
