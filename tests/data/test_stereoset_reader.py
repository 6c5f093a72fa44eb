"""Reading StereoSet's layout in the versions that exist."""

from __future__ import annotations

import json
from pathlib import Path

import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.items import Label, Task
from evenhand.data.language_names import file_stem
from evenhand.data.stereoset import read_stereoset


def test_items_are_read_with_their_candidates(tmp_path: Path) -> None:
    items = (builders.intra(1), builders.inter(1, cluster="pilot", bias_type="race"))
    path = builders.write_json(tmp_path / "tiny.json", builders.document(items))

    benchmark = read_stereoset(path)

    assert benchmark.items == items
    assert benchmark.name == "tiny"
    assert benchmark.language == "en"
    assert benchmark.source == "tiny.json"
    assert benchmark.tasks == (Task.INTRASENTENCE, Task.INTERSENTENCE)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_plain_and_compressed_files_with_and_without_a_byte_order_mark_read_the_same(
    tmp_path: Path, compress: bool, encoding: str
) -> None:
    items = (builders.intra(1, context="Der Bäcker mag BLANK Brot.", fills=("süßes", "weißes", "ıİçğ")),)
    path = builders.write_json(
        tmp_path / "de.json.gz", builders.document(items), compress=compress, encoding=encoding
    )

    assert read_stereoset(path).items == items


def test_the_hash_is_that_of_the_content_however_it_is_stored(tmp_path: Path) -> None:
    written = builders.document([builders.intra(1)])
    plain = builders.write_json(tmp_path / "a.json", written)
    packed = builders.write_json(tmp_path / "b.json.gz", written, compress=True)

    assert read_stereoset(plain).sha256 == read_stereoset(packed).sha256


def test_the_cluster_is_the_original_target_where_the_file_has_one(tmp_path: Path) -> None:
    row = builders.entry(builders.intra(1, target="Bäcker"), target_original="baker")
    path = builders.write_json(tmp_path / "de.json", builders.document([row], language="de"))

    (item,) = read_stereoset(path).items

    assert (item.target, item.cluster) == ("Bäcker", "baker")


def test_the_cluster_is_the_target_in_the_original_layout(tmp_path: Path) -> None:
    path = builders.write_json(tmp_path / "en.json", builders.document([builders.intra(1, target="baker")]))

    assert read_stereoset(path).items[0].cluster == "baker"


def test_words_are_kept_where_the_file_has_them(tmp_path: Path) -> None:
    item = builders.intra(1, words=("fresh", "brown", None))
    path = builders.write_json(tmp_path / "en.json", builders.document([item]))

    assert [candidate.word for candidate in read_stereoset(path).items[0].candidates] == [
        "fresh",
        "brown",
        None,
    ]


def test_annotators_labels_and_unknown_keys_are_ignored(tmp_path: Path) -> None:
    row = builders.entry(builders.intra(1), note="a remark")
    for sentence in row["sentences"]:
        sentence["labels"] = [{"label": "stereotype", "human_id": "1"}]
    path = builders.write_json(tmp_path / "en.json", builders.document([row]))

    assert read_stereoset(path).items == (builders.intra(1),)


def test_a_file_with_one_task_has_one_task(tmp_path: Path) -> None:
    written = builders.document([builders.inter(1)])
    del written["data"]["intrasentence"]
    path = builders.write_json(tmp_path / "en.json", written)

    assert read_stereoset(path).tasks == (Task.INTERSENTENCE,)


def test_candidates_may_come_in_any_order(tmp_path: Path) -> None:
    row = builders.entry(builders.intra(1))
    row["sentences"].reverse()
    path = builders.write_json(tmp_path / "en.json", builders.document([row]))

    assert read_stereoset(path).items[0].candidate(Label.UNRELATED).id == "intra-1-u"


def test_the_language_may_be_asked_for_or_assumed_where_the_file_does_not_say(tmp_path: Path) -> None:
    path = builders.write_json(tmp_path / "dev.json", builders.document([builders.intra(1)], language=None))

    assert read_stereoset(path, language="de").language == "de"
    assert read_stereoset(path, language="en").language == "en"


@pytest.mark.parametrize("tag", ["en", "gsw", "pt-BR", "zh-Hant-TW"])
def test_language_tags_with_regions_are_read(tmp_path: Path, tag: str) -> None:
    path = builders.write_json(tmp_path / "x.json", builders.document([builders.intra(1)], language=tag))

    assert read_stereoset(path).language == tag
    assert read_stereoset(path).items[0].language == tag


@pytest.mark.parametrize("licence", [None, "CC BY 4.0"])
def test_the_licence_is_kept_where_the_file_has_one(tmp_path: Path, licence: str | None) -> None:
    written = builders.document([builders.intra(1)]) | ({"licence": licence} if licence else {})

    assert read_stereoset(builders.write_json(tmp_path / "x.json", written)).licence == licence


@pytest.mark.parametrize(
    ("name", "stem"),
    [("a.json", "a"), ("a.json.gz", "a"), ("a.b_en.json.gz", "a.b_en"), ("a.csv", "a"), (".json", ".json")],
)
def test_a_file_is_named_without_the_endings_that_say_how_it_is_stored(name: str, stem: str) -> None:
    assert file_stem(Path(name)) == stem


def test_characters_written_as_two_escapes_are_read_as_one(tmp_path: Path) -> None:
    item = builders.inter(1, context="The baker waves \N{WAVING HAND SIGN}.")
    path = tmp_path / "x.json"
    path.write_text(json.dumps(builders.document([item]), ensure_ascii=True))

    assert "\\ud83d" in path.read_text()
    assert read_stereoset(path).items == (item,)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(context=TEXTS, texts=st.tuples(TEXTS, TEXTS, TEXTS), target=TEXTS)
def test_any_text_survives_being_written_and_read(
    tmp_path_factory: pytest.TempPathFactory, context: str, texts: tuple[str, str, str], target: str
) -> None:
    item = builders.inter(1, context=context, texts=texts, target=target, cluster=target)
    path = builders.write_json(tmp_path_factory.mktemp("texts") / "x.json", builders.document([item]))

    assert read_stereoset(path).items == (item,)
