"""Datasets by name, folder and file; fetched ones are checked before they are used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import builders
import httpx
import pytest

from evenhand.core.errors import DatasetError, DatasetUnavailableError, UnknownNameError
from evenhand.core.items import Association
from evenhand.data import DATASET_LAYOUTS, stereoset
from evenhand.data.crows_pairs import CROWS_PAIRS
from evenhand.data.datasets import LocalTranslation, PinnedDataset, git_blob_sha1, items_sha256
from evenhand.data.layouts import languages_of, load_dataset
from evenhand.data.stereoset import STEREOSET, STEREOSET_LAYOUT

GERMAN = builders.benchmark(builders.intra(1, language="de"), builders.inter(2, language="de"), language="de")
CONTENT = json.dumps(builders.document([builders.intra(1)], language=None)).encode()


def blob_hash(content: bytes) -> str:
    """What ``git hash-object`` prints."""
    return hashlib.sha1(b"blob " + str(len(content)).encode() + b"\0" + content).hexdigest()  # noqa: S324


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PinnedDataset:
    """A named dataset whose file is tiny, with an empty home folder."""
    dataset = replace(
        STEREOSET,
        name="tiny",
        git_blob_sha1=blob_hash(CONTENT),
        translations=(LocalTranslation("de", "a folder of pickles", items_sha256(GERMAN)),),
    )
    layout = replace(STEREOSET_LAYOUT, datasets=(*STEREOSET_LAYOUT.datasets, dataset))
    monkeypatch.setattr(stereoset, "STEREOSET_LAYOUT", layout)
    monkeypatch.setattr(DATASET_LAYOUTS, "_loaded", {})
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("EVENHAND_OFFLINE", raising=False)
    return dataset


Handler = Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[Handler], list[str]]:
    """Answer downloads from a function instead of the network; gives the list of what was asked for."""

    def install(handler: Handler) -> list[str]:
        asked: list[str] = []

        def answer(request: httpx.Request) -> httpx.Response:
            asked.append(str(request.url))
            return handler(request)

        @contextmanager
        def stream(method: str, url: str, **options: Any) -> Iterator[httpx.Response]:
            with (
                httpx.Client(transport=httpx.MockTransport(answer)) as client,
                client.stream(method, url, **options) as response,
            ):
                yield response

        monkeypatch.setattr(httpx, "stream", stream)
        return asked

    return install


def test_the_git_hash_of_a_known_file() -> None:
    # git hash-object of the empty file and of "hello\n", as every git repository has them.
    assert git_blob_sha1(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert git_blob_sha1(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_offline_says_where_to_put_the_file(pinned: PinnedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_OFFLINE", "1")

    with pytest.raises(DatasetUnavailableError, match="EVENHAND_OFFLINE forbids fetching it") as caught:
        load_dataset("tiny")
    message = str(caught.value)
    assert str(pinned.local_path) in message
    assert "data/dev.json of github.com/moinnadeem/StereoSet at commit ead7d086a64a" in message
    assert "--data PATH" in message


def test_a_file_put_there_by_hand_is_used_without_the_network(
    pinned: PinnedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_OFFLINE", "1")
    pinned.local_path.parent.mkdir(parents=True)
    pinned.local_path.write_bytes(CONTENT)

    benchmark = load_dataset("tiny")

    assert benchmark.items == (builders.intra(1),)
    assert (benchmark.name, benchmark.language) == ("tiny", "en")


def test_another_file_put_there_is_refused(pinned: PinnedDataset) -> None:
    pinned.local_path.parent.mkdir(parents=True)
    pinned.local_path.write_bytes(CONTENT + b" ")

    with pytest.raises(DatasetUnavailableError, match="is not the pinned file") as caught:
        load_dataset("tiny")
    assert blob_hash(CONTENT + b" ") in str(caught.value)
    assert blob_hash(CONTENT) in str(caught.value)


def test_a_download_is_kept_and_not_repeated(
    pinned: PinnedDataset, serve: Callable[[Handler], list[str]]
) -> None:
    asked = serve(lambda _: httpx.Response(200, content=CONTENT))

    assert load_dataset("tiny").items == load_dataset("tiny").items == (builders.intra(1),)

    assert asked == [
        "https://raw.githubusercontent.com/moinnadeem/StereoSet/"
        "ead7d086a64a192a1eca88e0dd2fd163de375218/data/dev.json"
    ]
    assert pinned.local_path.read_bytes() == CONTENT


def test_a_redirect_is_followed(pinned: PinnedDataset, serve: Callable[[Handler], list[str]]) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.host == "mirror.example":
            return httpx.Response(200, content=CONTENT)
        return httpx.Response(302, headers={"location": "https://mirror.example/dev.json"})

    asked = serve(handler)

    assert len(load_dataset("tiny")) == 1
    assert asked == [pinned.url, "https://mirror.example/dev.json"]


def test_a_download_with_another_hash_is_refused_and_not_kept(
    pinned: PinnedDataset, serve: Callable[[Handler], list[str]]
) -> None:
    serve(lambda _: httpx.Response(200, content=b"<html>Please log in</html>"))

    with pytest.raises(DatasetUnavailableError, match="is not the pinned file"):
        load_dataset("tiny")
    assert not pinned.local_path.exists()


@pytest.mark.parametrize("status", [404, 429, 500])
def test_a_refused_download_says_why_and_what_to_do(
    pinned: PinnedDataset, serve: Callable[[Handler], list[str]], status: int
) -> None:
    serve(lambda _: httpx.Response(status))

    with pytest.raises(DatasetUnavailableError, match=f"{status}.*To use it offline") as caught:
        load_dataset("tiny")
    assert str(pinned.local_path) in str(caught.value).replace("\n", " ")


def test_a_broken_connection_says_why_and_what_to_do(
    pinned: PinnedDataset, serve: Callable[[Handler], list[str]]
) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route to host", request=request)

    serve(handler)

    with pytest.raises(DatasetUnavailableError, match="ConnectError: no route to host") as caught:
        load_dataset("tiny")
    assert str(pinned.local_path) in str(caught.value)


@pytest.mark.usefixtures("pinned")
def test_an_endless_download_is_stopped(
    serve: Callable[[Handler], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.data.datasets.MAX_BYTES", 1_000)
    serve(lambda _: httpx.Response(200, content=b"x" * 1_001))

    with pytest.raises(DatasetUnavailableError, match="sends more than it should"):
        load_dataset("tiny")


@pytest.mark.usefixtures("pinned")
def test_a_language_that_a_pinned_dataset_lacks_is_refused() -> None:
    with pytest.raises(
        DatasetUnavailableError, match=r"tiny has the languages en, de\. For another translation"
    ):
        load_dataset("tiny", language="nl")
    with pytest.raises(DatasetUnavailableError, match=r"crows-pairs is in 'en' only\."):
        CROWS_PAIRS.file("de")


def test_a_translation_that_is_not_there_is_not_fetched(
    pinned: PinnedDataset, serve: Callable[[Handler], list[str]]
) -> None:
    asked = serve(lambda _: httpx.Response(200, content=CONTENT))

    with pytest.raises(
        DatasetUnavailableError, match=r"pickles \(a folder of pickles\), which can run code"
    ) as caught:
        load_dataset("tiny", language="de")
    assert str(pinned.translation_path("de")) in str(caught.value)
    assert asked == []


def write_german(pinned: PinnedDataset, *items: Association) -> None:
    """A copy of the German translation with these items."""
    path = pinned.translation_path("de")
    path.parent.mkdir(parents=True)
    builders.write_json(path, builders.document(items, language="de"))


def test_a_translation_is_read_from_its_copy_in_any_order_of_items(pinned: PinnedDataset) -> None:
    write_german(pinned, *reversed(GERMAN.items))

    benchmark = load_dataset("tiny", language="de")

    assert set(benchmark.items) == set(GERMAN.items)
    assert (benchmark.name, benchmark.language, benchmark.licence) == ("tiny", "de", "CC BY-SA 4.0")


def test_a_copy_with_another_text_is_not_the_published_translation(pinned: PinnedDataset) -> None:
    write_german(pinned, replace(GERMAN.items[0], target="somebody else"), GERMAN.items[1])

    with pytest.raises(DatasetUnavailableError, match="is not the published translation"):
        load_dataset("tiny", language="de")


@pytest.mark.parametrize(("name", "meant"), [("stereset", "stereoset"), ("Starter", "starter")])
def test_an_unknown_name_is_answered_with_the_closest_one(name: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=f"Did you mean '{meant}'"):
        load_dataset(name)


def test_an_unknown_language_of_a_bundled_dataset_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="Known: de, en, es, fr, tr"):
        load_dataset("starter", language="nl")


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = builders.write_json(tmp_path / "mine.json", builders.document([builders.intra(1)]))

    assert load_dataset(path).items == load_dataset(str(path)).items == (builders.intra(1),)


def test_a_missing_file_is_an_error_about_the_file(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="There is no file"):
        load_dataset(tmp_path / "missing.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "mine"
    place.mkdir()
    for language in ("en", "de"):
        item = builders.intra(1, language=language)
        builders.write_json(
            place / f"{language}.json.gz", builders.document([item], language=language), compress=True
        )
    builders.write_json(place / "de.before.json", [])
    (place / "README.md").write_text("about")
    return place


def test_a_folder_has_a_file_a_language(folder: Path) -> None:
    assert languages_of(folder) == ("de", "en")
    assert load_dataset(folder, language="de").items == (builders.intra(1, language="de"),)
    assert load_dataset(folder, language="de").name == "mine"


def test_a_folder_of_several_languages_needs_a_choice(folder: Path) -> None:
    with pytest.raises(DatasetError, match=r"several languages \(de, en\). Choose one with --language"):
        load_dataset(folder)


def test_an_unknown_language_of_a_folder_lists_the_known_ones(folder: Path) -> None:
    with pytest.raises(UnknownNameError, match="Known: de, en"):
        load_dataset(folder, language="tr")


def test_a_folder_of_one_language_needs_no_choice(folder: Path) -> None:
    (folder / "de.json.gz").unlink()

    assert load_dataset(folder).language == "en"


def test_a_folder_without_datasets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"no files named after a language, such as en\.json"):
        load_dataset(tmp_path)


def test_languages_that_can_be_asked_for(tmp_path: Path) -> None:
    assert languages_of("starter") == ("de", "en", "es", "fr", "tr")
    assert languages_of(tmp_path / "file.json") == (None,)
