"""Files that are not a benchmark are refused with a message that says what is wrong and what to do."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import builders
import pytest

from evenhand.core.errors import DatasetError
from evenhand.core.files import read_bounded
from evenhand.data import stereoset
from evenhand.data.stereoset import read_stereoset

CONTENT = json.dumps(builders.document([builders.intra(1)])).encode()


def packed() -> bytes:
    return gzip.compress(CONTENT)


def damaged() -> bytes:
    content = bytearray(packed())
    content[-6] ^= 0xFF  # in the checksum
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(packed()[:-20], "truncated gzip file", id="truncated gzip"),
        pytest.param(damaged(), "damaged gzip file", id="damaged gzip"),
        pytest.param(b"\x1f\x8b\x08 not gzip at all", "damaged gzip file", id="not gzip after all"),
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b" \n\t ", "is empty", id="white space"),
        pytest.param(gzip.compress(b""), "is empty", id="empty gzip"),
        pytest.param(b"hello", "not valid JSON.*line 1, column 1", id="not JSON"),
        pytest.param(CONTENT[:-10], "ends in the middle", id="truncated JSON"),
        pytest.param(b"[" * 100_000, "nested too deeply", id="nested too deeply"),
        pytest.param(b"1" * 5_000, "cannot be read as JSON", id="endless integer"),
        pytest.param(b'{"data": "\\ud83d"}', "surrogates not allowed", id="half a character"),
        pytest.param('{"data": "Bäckerei"}'.encode("latin-1"), "not UTF-8.*iconv", id="Latin-1"),
        pytest.param(CONTENT.decode().encode("utf-16"), "not UTF-8", id="UTF-16"),
        pytest.param(b"[]", "not a benchmark.*StereoSet's layout", id="a list"),
        pytest.param(b'"text"', "not a benchmark", id="a text"),
        pytest.param(b"{}", "not a benchmark", id="no data"),
        pytest.param(b'{"data": []}', "not a benchmark", id="data is a list"),
        pytest.param(b'{"data": {"other": []}}', "not a benchmark", id="no task"),
        pytest.param(
            b'{"language": "en", "data": {"intrasentence": {}}}', "a list of items is needed", id="no list"
        ),
        pytest.param(b'{"language": "en", "data": {"intrasentence": []}}', "has no items", id="no items"),
    ],
)
def test_a_file_that_is_not_a_benchmark(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)

    with pytest.raises(DatasetError, match=message) as caught:
        read_stereoset(path)
    assert str(path) in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="There is no file"):
        read_stereoset(tmp_path / "nothing.json")


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="is a folder; a file is needed"):
        read_stereoset(tmp_path)


@pytest.mark.parametrize("content", [CONTENT, packed()], ids=["plain", "gzip"])
def test_the_size_limit_holds_for_the_uncompressed_content(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)

    assert read_bounded(path, error=DatasetError, limit=len(CONTENT)) == CONTENT
    with pytest.raises(DatasetError, match="the most that is read into memory"):
        read_bounded(path, error=DatasetError, limit=len(CONTENT) - 1)


def test_a_small_archive_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * (65 * 2**20)))

    assert path.stat().st_size < 2**20
    with pytest.raises(DatasetError, match="more than 64 MB"):
        read_stereoset(path)


Row = dict[str, Any]


def without(key: str) -> Callable[[Row], None]:
    return lambda row: row.pop(key)


def with_value(key: str, value: Any) -> Callable[[Row], None]:
    return lambda row: row.update({key: value})


def in_first_candidate(change: Callable[[Row], None]) -> Callable[[Row], None]:
    return lambda row: change(row["sentences"][0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("id"), "'id' is missing"),
        (without("target"), "'target' is missing"),
        (without("bias_type"), "'bias_type' is missing"),
        (without("context"), "'context' is missing"),
        (without("sentences"), "not an item"),
        (with_value("sentences", "none"), "not an item"),
        (with_value("sentences", ["a", "b", "c"]), "a candidate is not an object"),
        (with_value("context", "  "), "'context' is '  '; a text is needed"),
        (with_value("context", 7), "'context' is 7; a text is needed"),
        (with_value("target_original", ""), "'target_original' is ''"),
        (in_first_candidate(without("id")), "'id' is missing"),
        (in_first_candidate(without("sentence")), "'sentence' is missing"),
        (in_first_candidate(without("gold_label")), "'gold_label' is missing"),
        (in_first_candidate(with_value("gold_label", "related")), "the label 'related' is unknown"),
        (
            in_first_candidate(with_value("gold_label", "unrelated")),
            "no candidate labelled 'stereotype'",
        ),
        (lambda row: row["sentences"].pop(), "no candidate labelled 'unrelated'"),
        (
            lambda row: row["sentences"].append(row["sentences"][0] | {"id": "fourth"}),
            "more than three candidates",
        ),
    ],
)
def test_an_item_that_breaks_the_layout(tmp_path: Path, change: Callable[[Row], None], message: str) -> None:
    row = builders.entry(builders.intra(2))
    change(row)
    path = builders.write_json(tmp_path / "en.json", builders.document([builders.intra(1), row]))

    with pytest.raises(DatasetError, match=message) as caught:
        read_stereoset(path)
    assert "intrasentence item 2" in str(caught.value)


def test_an_item_that_is_not_an_object(tmp_path: Path) -> None:
    written = builders.document([builders.intra(1)])
    written["data"]["intersentence"] = ["text"]
    path = builders.write_json(tmp_path / "en.json", written)

    with pytest.raises(DatasetError, match="intersentence item 1: not an item"):
        read_stereoset(path)


def test_repeated_item_ids_are_named(tmp_path: Path) -> None:
    rows = [builders.entry(builders.intra(number), id="same") for number in (1, 2)]
    path = builders.write_json(tmp_path / "en.json", builders.document(rows))

    with pytest.raises(DatasetError, match=r"1 item ids occur more than once \(same\)"):
        read_stereoset(path)


def test_repeated_candidate_ids_are_named_across_tasks(tmp_path: Path) -> None:
    written = builders.document([builders.intra(1), builders.inter(1)])
    written["data"]["intersentence"][0]["sentences"][0]["id"] = "intra-1-a"
    path = builders.write_json(tmp_path / "en.json", written)

    with pytest.raises(DatasetError, match=r"1 candidate ids occur more than once \(intra-1-a\)"):
        read_stereoset(path)


def test_another_language_than_the_one_asked_for(tmp_path: Path) -> None:
    path = builders.write_json(tmp_path / "x.json", builders.document([builders.intra(1)], language="de"))

    with pytest.raises(DatasetError, match="is in 'de', but 'tr' was asked for"):
        read_stereoset(path, language="tr")


def test_a_file_that_does_not_say_its_language(tmp_path: Path) -> None:
    path = builders.write_json(tmp_path / "x.json", builders.document([builders.intra(1)], language=None))

    with pytest.raises(DatasetError, match=r"does not say its language\. Name it with --language"):
        read_stereoset(path)


@pytest.mark.parametrize("declared", ["English", "e", "", 3, ["en"], "../en"])
def test_a_language_that_is_no_tag(tmp_path: Path, declared: Any) -> None:
    written = builders.document([builders.intra(1)]) | {"language": declared}

    with pytest.raises(DatasetError, match='a tag such as "en" or "de" is needed'):
        read_stereoset(builders.write_json(tmp_path / "x.json", written))


def test_asking_for_a_language_that_is_no_tag(tmp_path: Path) -> None:
    path = builders.write_json(tmp_path / "x.json", builders.document([builders.intra(1)], language=None))

    with pytest.raises(DatasetError, match="'German' is not a tag"):
        read_stereoset(path, language="German")


def test_the_layout_is_explained_where_it_is_broken() -> None:
    for key in ("id", "bias_type", "target", "context", "sentences", "sentence", "gold_label"):
        assert f'"{key}"' in stereoset.LAYOUT_HELP
