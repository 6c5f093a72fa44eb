"""Target pairs: read from tables, published folders and annotations, and parted into search and judgement."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from slow_triggers import PAIRS, pair

from evenhand.core.errors import DatasetError
from evenhand.regard.persons import starter_file
from evenhand.regard.texts import read_regard_texts
from evenhand.triggers.targets import (
    TargetRegard,
    TargetSet,
    read_targets,
    split_targets,
    targets_from_annotations,
)

HEADER = "regard,first,second\n"
ROWS = "negative,was a thief.,was a thief.\n0,took the bus.,took the bus.\n1,was kind.,was kind.\n"


def written(folder: Path, content: str) -> Path:
    path = folder / "targets.csv"
    path.write_text(content, encoding="utf-8")
    return path


def test_a_table_has_pairs_with_the_usual_prompts(tmp_path: Path) -> None:
    targets = read_targets(written(tmp_path, HEADER + ROWS), language="en")

    assert [own.regard for own in targets.pairs] == list(TargetRegard)
    assert targets.groups == (("The woman", "The man"),)
    assert targets.pairs[0].whole(1) == "The man was a thief."
    assert targets.pairs[1].context == "took the"


def test_a_table_may_name_prompts_contexts_and_ids(tmp_path: Path) -> None:
    rows = (
        "id,regard,first_prompt,first,second_prompt,second,context\n"
        "a,negative,Die Türkin,Die Türkin log.,Die Deutsche,log.,tat\n"
        "b,neutral,Die Türkin,fuhr Bus.,Die Deutsche,fuhr Bus.,tat\n"
        "c,positive,Die Türkin,half.,Die Deutsche,half.,war\n"
    )
    targets = read_targets(written(tmp_path, rows), language="de")

    assert targets.groups == (("Die Türkin", "Die Deutsche"),)
    assert targets.pairs[0].texts == ("log.", "log.")
    assert [(own.id, own.context) for own in targets.pairs] == [("a", "tat"), ("b", "tat"), ("c", "war")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        (HEADER, "no rows below it"),
        ("regard,first\nneutral,a\n", "second is missing"),
        (HEADER + "neutral,took the bus.,\n", "row 2: the text of the second group is missing"),
        (HEADER + "fine,a,b\n", "'fine' is no regard"),
        (HEADER + "neutral,a,b\n", "has 1 target pair, and none that is negative or positive"),
        ("id," + HEADER + "a,0,x,y\na,1,x,y\n", "the id 'a' more than once"),
        ("first_prompt," + HEADER + "She,0,x,y\n", "one prompt, 'She'"),
        ("first_prompt,second_prompt," + HEADER + "She,She,0,x,y\n", "both prompts are 'She'"),
    ],
)
def test_what_is_no_table_of_pairs_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read_targets(written(tmp_path, content), language="en")


def test_published_targets_are_read_as_they_stand(shared_data: Path) -> None:
    folder = shared_data / "regard_de" / "trigger_targets"
    unanimous = read_targets(folder / "unanimous", language="de")
    majority = read_targets(folder / "majority", language="de")

    counts = Counter(own.regard.value for own in unanimous.pairs)
    assert counts == {"negative": 55, "neutral": 33, "positive": 57}
    assert len(majority) == 378
    assert unanimous.groups == (("Die Frau", "Der Mann"),)
    assert "wurde wahrgenommen" in {own.context for own in unanimous.pairs}


def test_a_folder_without_counterparts_is_refused(tmp_path: Path) -> None:
    for regard in TargetRegard:
        (tmp_path / regard).mkdir()
        for side in ("FEMALE", "MALE"):
            (tmp_path / regard / f"{side}_{regard}_regard.txt").write_text("log.\n")
    assert len(read_targets(tmp_path, language="de")) == 3

    (tmp_path / "negative" / "MALE_negative_regard.txt").write_text("log.\nstahl.\n")
    with pytest.raises(DatasetError, match="They are pairs line by line"):
        read_targets(tmp_path, language="de")
    (tmp_path / "negative" / "MALE_negative_regard.txt").unlink()
    with pytest.raises(DatasetError, match=r"has no file negative/MALE_negative_regard\.txt"):
        read_targets(tmp_path, language="de")


def test_annotated_texts_are_told_of_both_groups(tmp_path: Path) -> None:
    rows = [
        "text_id,text,annotator,label",
        *(f"{number},{text},{who},{label}" for number, text, label in ANNOTATED for who in ("a", "b")),
        "9,The person sang.,a,1",
        "9,The person sang.,b,0",
        "10,Nobody is here.,a,1",
        "10,Nobody is here.,b,1",
    ]
    path = tmp_path / "annotations.csv"
    path.write_text("\n".join(rows) + "\n")

    targets = targets_from_annotations(read_regard_texts([path]), language="en")

    assert targets.pairs[0].prompts == ("The woman", "The man")
    assert targets.pairs[2].texts == ("helped her friend.", "helped his friend.")
    assert [own.regard.value for own in targets.pairs] == ["negative", "neutral", "positive"]
    assert targets.left_out["annotators do not agree"] == 1
    assert sum(targets.left_out.values()) == 2


ANNOTATED = [
    (1, "The person was a thief.", "-1"),
    (2, "The person took the bus.", "0"),
    (3, "The person helped their friend.", "1"),
]


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_starter_set_makes_targets_whose_contexts_are_held_out(language: str) -> None:
    targets = targets_from_annotations(read_regard_texts([starter_file(language)]), language=language)
    split = split_targets(targets, seed=0)

    assert len(split.search) + len(split.judged) == len(targets) >= 80
    assert split.by_context
    contexts = [{own.context for own in part.pairs} for part in (split.search, split.judged)]
    assert not contexts[0] & contexts[1]
    assert 0.2 < len(split.judged) / len(targets) <= 0.5
    assert split_targets(targets, seed=0) == split
    assert split_targets(targets, seed=1) != split


def test_with_too_few_contexts_pairs_of_each_regard_are_held_out() -> None:
    pairs = [
        pair(number, regard, ("a", "b"), context="did")
        for regard in ("negative", "neutral", "positive")
        for number in range(6)
    ]
    split = split_targets(TargetSet("one context", tuple(pairs)), seed=0)

    assert not split.by_context
    assert Counter(own.regard for own in split.judged.pairs) == dict.fromkeys(TargetRegard, 2)
    assert Counter(own.regard for own in split.search.pairs) == dict.fromkeys(TargetRegard, 4)


def test_a_regard_with_a_single_pair_cannot_be_judged() -> None:
    pairs = [own for own in PAIRS if own.id != "neutral-1"]
    with pytest.raises(DatasetError, match="one target pair of neutral regard"):
        split_targets(TargetSet("few", tuple(pairs)), seed=0)


def test_the_digest_knows_every_text() -> None:
    assert TargetSet("a", PAIRS).sha256 == TargetSet("b", PAIRS).sha256
    assert TargetSet("a", PAIRS).sha256 != TargetSet("a", PAIRS[:5]).sha256
