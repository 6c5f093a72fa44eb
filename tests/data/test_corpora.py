"""Corpora: every kind of file, what is refused, and memory that does not grow."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.errors import DatasetError
from evenhand.data import corpora
from evenhand.data.corpora import decoded, sentences

TEXT = "Er hieß Jörg. Sie kam spät.\nEs war schön.\n"
EXPECTED = ["Er hieß Jörg.", "Sie kam spät.", "Es war schön."]


def lines_of(*texts: str) -> bytes:
    return "".join(f"{json.dumps({'text': text, 'id': 1})}\n" for text in texts).encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", TEXT.encode()),
        ("no ending", TEXT.encode()),
        ("a.txt", TEXT.encode("utf-8-sig")),
        ("a.txt", TEXT.replace("\n", "\r\n").encode()),
        ("a.txt", TEXT.replace("\n", "\r").encode()),
        ("a.txt.gz", gzip.compress(TEXT.encode(), mtime=0)),
        (
            "compressed",
            gzip.compress(TEXT[:20].encode(), mtime=0) + gzip.compress(TEXT[20:].encode(), mtime=0),
        ),
        ("a.jsonl", lines_of(TEXT)),
        ("a.JSONL", lines_of("Er hieß Jörg. Sie kam spät.") + b"\n" + lines_of("Es war schön.")),
        ("a.ndjson.gz", gzip.compress(lines_of(TEXT.replace("\n", "\r\n")), mtime=0)),
    ],
)
def test_text_is_read_however_it_is_stored(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)

    assert list(sentences(tmp_path / name)) == EXPECTED


def test_a_folder_is_read_by_name_with_all_below_it(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "b.txt").write_text("Second.")
    (tmp_path / "deep" / "er" / "c.jsonl.gz").write_bytes(gzip.compress(lines_of("Third.")))
    (tmp_path / "a.txt").write_text("First.")
    (tmp_path / ".hidden.txt").write_text("Never.")
    (tmp_path / "README.md").write_text("Not text.")

    found = sentences(tmp_path)

    assert list(found) == ["First.", "Second.", "Third."]
    assert (found.counts.files, found.counts.sentences) == (3, 3)
    assert found.counts.files_left_out == [str(tmp_path / "README.md")]


def test_several_paths_are_read_in_their_order(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).write_text(f"This is {name}.")

    assert list(sentences([tmp_path / "b", str(tmp_path / "a")])) == ["This is b.", "This is a."]


def test_the_digest_is_that_of_the_content_whether_compressed_or_not(tmp_path: Path) -> None:
    plain, packed, other = (tmp_path / name for name in ("a.txt", "a.gz", "b.txt"))
    plain.write_text(TEXT)
    packed.write_bytes(gzip.compress(TEXT.encode()))
    other.write_text(f"{TEXT} ")
    digests = []
    for path in (plain, packed, other):
        found = sentences(path)
        list(found)
        digests.append(found.sha256)

    assert digests[0] == digests[1] != digests[2]
    assert digests[0] == hashlib.sha256(hashlib.sha256(TEXT.encode()).digest()).hexdigest()


def test_progress_is_told_in_bytes_and_ends_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "CHUNK_BYTES", 1_000)
    (tmp_path / "a.txt").write_text("He came. " * 1_000)
    (tmp_path / "b.txt").write_text("She came. " * 1_000)
    told: list[tuple[int, int]] = []

    list(sentences(tmp_path, report=lambda *progress: told.append(progress)))

    assert told[0] == (1_000, 19_000)
    assert told[-1] == (19_000, 19_000)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(told) == 9 + 1 + 10 + 1


def test_progress_of_compressed_files_is_that_on_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(("He came. " * 100_000).encode()))
    told: list[tuple[int, int]] = []

    list(sentences(path, report=lambda *progress: told.append(progress)))

    assert told[-1] == (path.stat().st_size, path.stat().st_size)
    assert all(done <= total for done, total in told)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", TEXT.encode("latin-1"), r"a\.txt is not UTF-8 text \(byte 6: .* in WINDOWS-1252.*iconv"),
        ("a.txt", ("x" * 9_999 + "ä").encode("latin-1"), r"byte 9999: unexpected end of data"),
        ("a.txt", b"\xef\xbb\xbf" + b"x" * 700 + b"\xff", r"byte 703: invalid start byte"),
        ("a.txt", TEXT.encode("utf-16"), r"not UTF-8 text \(byte 0: "),
        (
            "a.txt",
            "xy".encode("utf-16-le"),
            r"not UTF-8 text \(byte 1: zero\).*iconv -f UTF-16LE",
        ),
        ("a.txt", b"", "There is no sentence in .*a.txt. Give files with text in them"),
        ("a.txt", b" \n\n\t ", "There is no sentence"),
        ("a.jsonl", b"", "There is no sentence"),
        ("a.gz", gzip.compress(TEXT.encode(), mtime=0)[:-10], r"a\.gz is a truncated gzip file"),
        ("a.gz", b"\x1f\x8b\x08 nonsense and more", r"a\.gz is a (damaged|truncated) gzip file"),
        ("a.jsonl", lines_of("Fine.") + b'{"text": "He wa', r"a\.jsonl, line 2: .*was cut: copy it again"),
        ("a.jsonl", lines_of("Fine.") + b"{broken\n", r"a\.jsonl, line 2: not valid JSON \(.*, column 2\)"),
        ("a.jsonl", lines_of("Fine.") + b'\n{"Text": "x"}\n', r"a\.jsonl, line 3: there is no text in it"),
        ("a.jsonl", b'["text"]\n', r"line 1: there is no text in it"),
        ("a.jsonl", b'{"text": null}\n', r"line 1: there is no text in it"),
        ("a.jsonl", b'{"text": "\\ud800"}\n', r"line 1: cannot be read as JSON"),
        ("a.jsonl", b"[" * 100_000, r"line 1: cannot be read as JSON"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, message: str
) -> None:
    monkeypatch.setattr(corpora, "CHUNK_BYTES", 1_000)
    (tmp_path / name).write_bytes(content)

    with pytest.raises(DatasetError, match=message):
        list(sentences(tmp_path / name))


def test_missing_files_and_folders_without_text_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b")

    with pytest.raises(DatasetError, match=r"There is no file or folder .*missing"):
        sentences([tmp_path / "table.csv", tmp_path / "missing"])
    with pytest.raises(DatasetError, match=r"has no text: none of its 1 files ends in \.txt"):
        sentences(tmp_path)
    with pytest.raises(DatasetError, match="No corpus was given"):
        sentences([])


def test_a_file_that_vanishes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("He came.")
    found = sentences(path)
    path.unlink()

    with pytest.raises(DatasetError, match="cannot be read: No such file"):
        list(found)


def test_a_record_that_is_too_long_is_skipped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "LONGEST_RECORD", 100)
    monkeypatch.setattr(corpora, "CHUNK_BYTES", 64)
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of("First.", "x" * 500, "Second.", "y" * 200))

    found = sentences(path)

    assert list(found) == ["First.", "Second."]
    assert found.counts.records_skipped == 2


def test_a_line_of_a_megabyte_is_cut_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("word " * 200_000 + "\nHe came.")

    found = sentences(path)

    assert max(map(len, texts := list(found))) <= 10_000
    assert texts[-1] == "He came."
    assert found.counts.cuts == 99


@given(
    text=st.text(st.sampled_from("aÄ€😀\r\n. ")), cuts=st.lists(st.integers(min_value=0)), mark=st.booleans()
)
def test_characters_and_line_ends_may_lie_across_chunks(text: str, cuts: list[int], mark: bool) -> None:
    content = text.encode("utf-8-sig" if mark else "utf-8")
    places = sorted({0, len(content), *(cut % (len(content) + 1) for cut in cuts)})
    chunks = [content[start:end] for start, end in pairwise(places)]

    expected = text.replace("\r\n", "\n").replace("\r", "\n")

    assert "".join(decoded(chunks, Path("a.txt"))) == expected


@given(content=st.binary(), chunk=st.integers(1, 9), name=st.sampled_from(["a.txt", "a.jsonl", "a.gz"]))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, chunk: int, name: str
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(content)
    with mock.patch.object(corpora, "CHUNK_BYTES", chunk):
        read, refusal = read_or_refused(path)

    assert all(read) if refusal is None else str(path) in refusal


def read_or_refused(path: Path) -> tuple[list[str], str | None]:
    try:
        return list(sentences(path)), None
    except DatasetError as refusal:
        return [], str(refusal)


READ_ALL = """
import resource, sys
from evenhand.data.corpora import sentences
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = sentences(sys.argv[1])
count = sum(1 for _ in found)
print(count, found.counts.cuts, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize(
    ("piece", "name"),
    [
        pytest.param("He came home, and she read a long book by the fire. \n", "a.txt", id="lines"),
        pytest.param("He came home, and she read a long book by the fire. ", "a.txt", id="one line"),
        pytest.param("and so on and on and on and never a full stop to be seen ", "a.txt", id="one sentence"),
        pytest.param("x", "a.txt", id="one word"),
        pytest.param(" \n", "a.txt", id="white space"),
        pytest.param('{"text": "x', "a.jsonl", id="one record"),
    ],
)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, piece: str, name: str) -> None:
    path = tmp_path / name
    # Far more than the memory that is allowed below.
    size = 40_000_000 if name.endswith(".jsonl") else 24_000_000
    block = (piece * 10_000).encode()
    with path.open("wb") as stream:
        stream.write(b"" if name.endswith(".jsonl") else b"Start.\n")
        for _ in range(size // len(block)):
            stream.write(block)
        stream.write(b'\n{"text": "End."}\n' if name.endswith(".jsonl") else b"\nEnd.\n")

    finished = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(path)], capture_output=True, text=True, check=True
    )
    count, _, kilobytes = map(int, finished.stdout.split())

    assert count >= 1
    # A record of JSON Lines is kept whole up to its limit of 16 Mi characters.
    assert kilobytes < (60_000 if name.endswith(".jsonl") else 15_000)


def test_sentences_know_the_document_that_they_are_of(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("He came. She went.", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "One. Two."}\n{"text": "Three."}\n', encoding="utf-8")
    found = list(sentences(tmp_path).by_document())
    assert found == [("He came.", 1), ("She went.", 1), ("One.", 2), ("Two.", 2), ("Three.", 3)]
