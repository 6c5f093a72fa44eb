"""Bytes that are not UTF-8 text: what they are instead, as far as they show it, and what can be done.

Any bytes are some text in Latin-1 and its kin, so a wrong guess gives no error and moves scores. What the bytes prove
is named; what they do not is shown as it reads in several encodings, for somebody who knows the language. A detector
would guess wrong: charset-normalizer 3.5 takes a German line in Windows-1252 for Mac Icelandic, and one in MacRoman for
Windows-1250.
"""

from __future__ import annotations

import codecs
import re

SAMPLE = 2**16
"""Bytes that are looked at, from the fault on."""

MOST_WORDS = 3
"""Words that are shown in several encodings."""

_SIGNATURES = (
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"PK\x03\x04", "a ZIP archive, as Excel's .xlsx files are"),
    (b"\xd0\xcf\x11\xe0", "an Office file, as Excel's .xls files are"),
    (b"\x28\xb5\x2f\xfd", "compressed with Zstandard"),
    (b"BZh", "compressed with bzip2"),
    (b"\xfd7zXZ\x00", "compressed with xz"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"%PDF-", "a PDF file"),
)

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # it begins like that of UTF-16
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)

_ENCODINGS = ("WINDOWS-1252", "MACINTOSH", "WINDOWS-1250", "WINDOWS-1251", "WINDOWS-1254")
"""Those of one byte that are common, by names which Python and iconv both know."""

_NOT_TEXT = re.compile("[\x80-\x9f]")
"""Control characters that no text has, but that bytes of other encodings become in Latin-1 and encodings like it."""

_WORD = re.compile(rb"[A-Za-z\x80-\xff]*[\x80-\xff][A-Za-z\x80-\xff]*")
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
_UNDECODED = re.compile("[\udc80-\udcff]")


def decoded_as(content: bytes, encoding: str) -> str:
    """Bytes as text in an encoding that somebody named.

    Raises:
        ValueError: If there is no such encoding, or the bytes show that they are in another one.
    """
    try:
        codec = codecs.lookup(encoding)
        text = content.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise ValueError(
            f"there is no encoding {encoding!r}. Name it as Python does, for example windows-1252, mac-roman or utf-16"
        ) from None
    except UnicodeError as problem:
        raise ValueError(f"it is not text in {encoding} ({problem})") from None
    if codec.name != "utf-8" and not content.isascii() and _is_utf8(content):
        raise ValueError(f"it is UTF-8, and would be spoilt in {encoding}. Leave out --encoding")
    if _NOT_TEXT.search(text):
        fault = next(place for place, byte in enumerate(content) if byte > 0x7F)
        raise ValueError(
            f"in {encoding} it has control characters, which no text has. "
            f"{what_it_is_instead(content, fault=fault, has_option=True)}"
        )
    return text


def what_it_is_instead(
    content: bytes, *, fault: int, is_beginning: bool = True, has_option: bool = False
) -> str:
    """What bytes that cannot be read as UTF-8 are, and what to do about it, in sentences.

    Args:
        content: The bytes, or a piece of them.
        fault: Where in it the first byte is that cannot be read.
        is_beginning: Whether the piece is the first, where files show what they are.
        has_option: Whether the reader can name the encoding with ``--encoding``.
    """
    for signature, what in _SIGNATURES if is_beginning else ():
        if content.startswith(signature):
            return f"It is {what}. Unpack it or export it as text in UTF-8."
    named = "; or name it with --encoding" if has_option else ""
    if encoding := wide_encoding(content):
        return f"It is {encoding}. Convert it with: iconv -f {encoding} -t UTF-8{named}."
    sample, behind = content[:SAMPLE], content[fault : fault + SAMPLE]
    if b"\0" in sample + behind or len(_CONTROL.findall(sample)) > len(sample) / 100:
        return "It is not text. Give a text file."
    return _almost_utf8(content) or _in_another_encoding(content[max(0, fault - 100) :], named)


def wide_encoding(content: bytes) -> str | None:
    """The encoding of two or four bytes that a text is in, by its mark, or where western text results; None if none."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return encoding
    for encoding in ("UTF-32LE", "UTF-32BE", "UTF-16LE", "UTF-16BE") if b"\0" in content[:SAMPLE] else ():
        text = content[:SAMPLE].decode(encoding, "ignore")
        if "\0" not in text and sum(character < "\u0100" for character in text) > len(text) / 2:
            return encoding
    return None


def _almost_utf8(content: bytes) -> str | None:
    """For text with more places that are UTF-8 than not: another encoding would spoil those that are."""
    text = content.decode("utf-8", "surrogateescape")
    broken = _UNDECODED.findall(text)
    whole = sum(character > "\x7f" for character in text) - len(broken)
    if whole <= len(broken):
        return None
    line = text[: text.index(broken[0])].count("\n") + 1
    return (
        f"Most of it is: {whole:,} characters beyond ASCII are UTF-8, {len(broken):,} bytes are not, the first in line "
        f"{line:,}. Copy it again, or mend these places; converting the whole file would spoil the others."
    )


def _in_another_encoding(content: bytes, named: str) -> str:
    words = list(dict.fromkeys(word for word in _WORD.findall(content[:SAMPLE]) if not _is_utf8(word)))
    readings: dict[str, list[str]] = {}
    for encoding in _ENCODINGS if words else ():
        try:
            reading = " ".join(word.decode(encoding) for word in words[:MOST_WORDS])
        except UnicodeDecodeError:
            continue
        readings.setdefault(reading, []).append(encoding)
    shown = "; ".join(f"{reading!r} in {', '.join(encodings)}" for reading, encodings in readings.items())
    would_be = (
        f"Its words would be {shown}. If one of them is right, convert it from there"
        if shown
        else "Convert it"
    )
    return (
        f"{would_be}: iconv -f ENCODING -t UTF-8{named}. If you do not know the encoding, ask where the file comes "
        "from. A wrong one gives other words and no error."
    )


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
