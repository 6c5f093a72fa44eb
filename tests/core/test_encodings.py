"""Files that are not UTF-8: what the bytes prove is named, what they do not is left to the reader."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import polars as pl
import pytest

from evenhand.core.encodings import what_it_is_instead
from evenhand.core.errors import DatasetError
from evenhand.core.files import decode_utf8

GERMAN = '{"text": "Die Bäckerei verkauft größere Brötchen für Gäste."}\n'


def refusal(content: bytes) -> str:
    with pytest.raises(DatasetError, match=r"x\.json is not UTF-8 text") as caught:
        decode_utf8(content, Path("x.json"), error=DatasetError)
    return str(caught.value)


def parquet() -> bytes:
    stream = io.BytesIO()
    pl.DataFrame({"text": ["größer"] * 200, "score": [0.25] * 200}).write_parquet(stream)
    return stream.getvalue()


def archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("sheet.xml", GERMAN * 50)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (parquet(), "It is a Parquet file"),
        (archive(), "It is a ZIP archive"),
        (b"%PDF-1.7\n\xe2\xe3\xcf\xd3", "It is a PDF file"),
        (
            GERMAN.encode("utf-16"),
            "It is UTF-16. Convert it with: iconv -f UTF-16 -t UTF-8.",
        ),
        (GERMAN.encode("utf-32"), "iconv -f UTF-32 "),
        (
            GERMAN.encode("utf-32-le"),
            "It is UTF-32LE. ",
        ),
        (GERMAN.encode("utf-32-be"), "iconv -f UTF-32BE "),
        ("plain".encode("utf-32-be"), "iconv -f UTF-32BE "),
        (GERMAN.encode("utf-16-le"), "It is UTF-16LE. "),
        (GERMAN.encode("utf-16-be"), "iconv -f UTF-16BE "),
        ("plain".encode("utf-16-le"), "iconv -f UTF-16LE "),
        (bytes(range(256)) * 8, "It is not text"),
        (b"\x07\x08\xff\x01" * 99, "It is not text"),
    ],
)
def test_what_the_bytes_show_is_named(content: bytes, said: str) -> None:
    assert said in refusal(content)


@pytest.mark.parametrize("encoding", ["WINDOWS-1252", "MACINTOSH", "WINDOWS-1254"])
def test_other_encodings_are_shown_as_they_read(encoding: str) -> None:
    """The right one is among them, with the words as they were, and none is advised."""
    message = refusal(GERMAN.encode(encoding))

    readings = {}
    for part in message.split("would be ")[1].split(". If")[0].split("; "):
        reading, _, names = part.partition(" in ")
        readings[names] = reading
    right = next(reading for names, reading in readings.items() if encoding in names.split(", "))
    assert right == "'Bäckerei größere Brötchen'"
    assert len(readings) > 1
    assert "iconv -f ENCODING -t UTF-8" in message
    assert "LATIN1" not in message


def test_a_damaged_file_is_not_to_be_converted() -> None:
    """Read as Latin-1 or anything like it, all its good places would become other words."""
    lines = GERMAN.encode().splitlines(keepends=True) * 3
    lines[1] = lines[1].replace("ö".encode(), b"\xf6", 1)
    message = refusal(b"".join(lines))

    assert "1 bytes are not, the first in line 2" in message
    assert "mend these places" in message
    assert "iconv" not in message


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_utf8_is_read_with_and_without_a_mark(encoding: str) -> None:
    assert decode_utf8(GERMAN.encode(encoding), Path("x.json"), error=DatasetError) == GERMAN


@pytest.mark.parametrize("has_option", [True, False])
def test_the_option_is_named_where_there_is_one(has_option: bool) -> None:
    for content in (GERMAN.encode("WINDOWS-1252"), GERMAN.encode("utf-16")):
        advice = what_it_is_instead(content, fault=0, has_option=has_option)
        assert ("--encoding" in advice) is has_option
        assert "iconv -f" in advice
