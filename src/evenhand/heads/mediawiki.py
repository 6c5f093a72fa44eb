"""MediaWiki dumps: the articles among their pages, and what remains of wikitext as running text.

Anybody can write a page, so nothing here takes longer than in proportion to a page, and no page is in memory that is
longer than MediaWiki lets one be.
"""

from __future__ import annotations

import bz2
import gzip
import html
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html.entities import html5
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

from evenhand.core.errors import DatasetError
from evenhand.core.inputs import open_input

DUMP_ENDINGS = (".xml", ".xml.bz2")
"""With or without ``.gz``."""

LONGEST_PAGE = 2**22
"""Characters of a page. MediaWiki takes 2 MB; what is longer is left out."""

_CHUNK = 2**16
_LONGEST_TAG = 2**24
"""Bytes in which a parser must come to the end of a tag or a comment, which it holds in memory."""
_MAX_DEPTH = 100
_MAX_NAMES = 1_000
"""Different names of elements and attributes, which a parser holds in memory; dumps have about 40."""


def dump_pages(path: Path, progress: Callable[[int], None]) -> Iterator[str | None]:
    """The wikitext of every page that is an article and no redirect; None for one that is too long.

    Args:
        path: A dump, perhaps compressed.
        progress: Called with the bytes of the file that are read, as it is stored.

    Raises:
        DatasetError: If it cannot be read, is damaged or is no dump.
    """
    try:
        with _opened(path) as (raw, stream):
            pages = _Pages()
            while chunk := stream.read(_CHUNK):
                yield from pages.feed(chunk)
                progress(raw.tell() if raw.seekable() else 0)
            pages.close()
    except (expat.ExpatError, zlib.error, gzip.BadGzipFile, EOFError, LookupError, ValueError) as problem:
        raise DatasetError(
            f"{path} is a damaged MediaWiki dump ({problem}). Copy or download it again."
        ) from None
    except OSError as problem:
        if problem.errno is None:  # as bz2 raises it
            raise DatasetError(
                f"{path} is a damaged MediaWiki dump ({problem}). Copy or download it again."
            ) from None
        raise DatasetError(f"{path} cannot be read: {problem.strerror}.") from None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The file as it is stored, and its content as XML."""
    name = path.name.lower()
    with open_input(path) as raw:
        stream: Any = raw
        if name.endswith(".bz2"):
            stream = bz2.BZ2File(raw)
        elif name.endswith(".gz"):
            stream = gzip.GzipFile(fileobj=raw)
        yield raw, stream


class _Pages:
    """Takes a dump in pieces and gives back pages; holds no more than one of them."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.buffer_size = _CHUNK
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse_entity
        self._open: list[str] = []
        self._names: set[str] = set()
        self._quiet = 0
        self._whole: list[str | None] = []
        self._forget_page()

    def feed(self, chunk: bytes) -> list[str | None]:
        """The pages that end in a piece of the dump.

        Raises:
            ValueError: If the parser would have to hold too much.
        """
        self._quiet += len(chunk)
        self._parser.Parse(chunk, False)
        if self._quiet > _LONGEST_TAG:
            raise ValueError(f"a tag or comment in it is longer than {_LONGEST_TAG:,} bytes")
        whole, self._whole = self._whole, []
        return whole

    def close(self) -> None:
        """Find out whether the dump is whole."""
        self._parser.Parse(b"", True)

    def _forget_page(self) -> None:
        self._namespace = self._text = ""
        self._is_redirect = self._is_too_long = False
        self._forget_content()

    def _forget_content(self) -> None:
        self._content: list[str] = []
        self._size = 0

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._quiet = 0
        self._names.update((name, *attributes))
        self._open.append(name.rpartition(":")[2])
        if len(self._open) > _MAX_DEPTH or len(self._names) > _MAX_NAMES:
            raise ValueError("its elements are not those of a dump")
        self._forget_content()

    def _refuse_entity(self, name: str, *_: Any) -> None:
        raise ValueError(f"it declares the entity {name[:40]!r}, with which a few bytes could be many pages")

    def _characters(self, text: str) -> None:
        self._quiet = 0
        self._size += len(text)
        if self._open[-1] in ("ns", "text") and self._size <= LONGEST_PAGE:
            self._content.append(text)

    def _end(self, _name: str) -> None:
        self._quiet = 0
        match self._open.pop():
            case "ns":
                self._namespace = "".join(self._content).strip()
            case "redirect":
                self._is_redirect = True
            case "text":
                self._text = "".join(self._content)
                self._is_too_long = self._size > LONGEST_PAGE
            case "page":
                if self._namespace == "0" and not self._is_redirect:
                    self._whole.append(None if self._is_too_long else self._text)
                self._forget_page()


_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*+)(?=[\s/>])([^<>]*+)>", re.IGNORECASE)
_DROPPED = frozenset({
    "categorytree", "ce", "chem", "gallery", "graph", "imagemap", "indicator", "inputbox", "math", "ref", "score",
    "section", "source", "syntaxhighlight", "templatedata", "templatestyles", "timeline",
})  # fmt: skip
"""Elements whose content is no running text."""

_EXTERNAL_LINK = re.compile(
    r"\[(?:https?:|ftp:|mailto:|//)[^\s\[\]]*+[^\S\n]*+([^\[\]\n]*+)\]", re.IGNORECASE
)
_QUOTES = re.compile(r"''+")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{0,31});", re.IGNORECASE)
_LINKS_INSIDE = 5
"""Links inside one another: a file whose caption has links is two."""


def running_text(wikitext: str) -> str:
    """The running text of a page, each paragraph on a line.

    Templates, tables, references, files, categories, headings and lists go. Of a link its words stay.
    """
    text = _without_comments(wikitext)
    text = _without_tags(text)
    text = _without_pairs(text, "{{", "}}")
    text = _without_pairs(text, "{|", "|}")
    text = _linked_words(text)
    text = "\n".join(line for line in text.split("\n") if line.strip() and not _is_markup(line))
    text = _EXTERNAL_LINK.sub(r"\1", text)
    text = _QUOTES.sub(_apostrophes, text)
    return _ENTITY.sub(_character, text)


def _without_comments(text: str) -> str:
    first, *others = text.split("<!--")
    return first + "".join(other.partition("-->")[2] for other in others)


def _without_tags(text: str) -> str:
    """Without tags, and without what references and the like hold; of one that is not closed, the tag alone goes."""
    last = {tag[2].lower(): tag.start() for tag in _TAG.finditer(text) if tag[1]}
    kept, place, dropped = [], 0, ""
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if dropped:
            if not (tag[1] and name == dropped):
                continue
            dropped = ""
        else:
            kept.append(text[place : tag.start()])
            is_open = not tag[1] and not tag[3].endswith("/")
            if is_open and name in _DROPPED and last.get(name, -1) > tag.start():
                dropped = name
        place = tag.end()
    return "".join(kept) + text[place:]


def _without_pairs(text: str, opening: str, closing: str) -> str:
    """Without what stands between two marks, also inside each other; of a mark without its other, only itself goes."""
    marks = [mark.start() for mark in re.finditer(f"{re.escape(opening)}|{re.escape(closing)}", text)]
    ends: dict[int, int] = {}
    unmatched: list[int] = []
    for number, begin in enumerate(marks):
        if text.startswith(opening, begin):
            unmatched.append(number)
        elif unmatched:
            ends[unmatched.pop()] = number
    kept, place, number = [], 0, 0
    while number < len(marks):
        kept.append(text[place : marks[number]])
        number = ends.get(number, number)
        place = marks[number] + len(closing)
        number += 1
    return "".join(kept) + text[place:]


def _linked_words(text: str) -> str:
    """With the words of links in their place; files, categories and links to other languages go."""
    levels: list[list[str]] = [[]]
    passed = 0
    for piece in re.split(r"(\[\[|\]\])", text):
        if piece == "[[" and len(levels) > _LINKS_INSIDE:
            passed += 1
        elif piece == "[[":
            levels.append([])
        elif piece == "]]" and passed:
            passed -= 1
        elif piece == "]]" and len(levels) > 1:
            target, bar, words = "".join(levels.pop()).partition("|")
            if target.find(":") < 1:
                levels[-1].append(words if bar else target)
        elif piece != "]]":
            levels[-1].append(piece)
    return "".join(piece for level in levels for piece in level)


def _is_markup(line: str) -> bool:
    """Whether a line is a heading, or of a list or a table."""
    line = line.strip()
    return line[0] in "*#:;|!" or (len(line) > 1 and line[0] == line[-1] == "=")


def _apostrophes(quotes: re.Match[str]) -> str:
    """What is left of apostrophes that make words italic (2), bold (3) or both (5): those that are too many."""
    count = len(quotes[0])
    return "'" * (1 if count == 4 else max(0, count - 5))


def _character(entity: re.Match[str]) -> str:
    """The character of an entity. A name that is none stays: ``html.unescape`` reads the beginning of some."""
    return html.unescape(entity[0]) if "#" in entity[0] else html5.get(entity[0][1:], entity[0])
