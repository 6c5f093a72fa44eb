"""MediaWiki dumps that are damaged, endless or quadratic: an error or a counted page, in bounded time and memory."""

from __future__ import annotations

import bz2
import gzip
import random
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from evenhand.core.errors import DatasetError
from evenhand.data.corpus_sources import corpus_sources
from evenhand.heads import mediawiki
from evenhand.heads.articles import ArticleCounts, read_articles
from evenhand.heads.mediawiki import running_text
from evenhand.heads.pair_building import build_next_sentence_pairs
from evenhand.heads.pairs import NextSentenceOptions

HEAD = '<mediawiki xml:lang="en">'
SECONDS = 10.0


def page(text: str) -> str:
    return f"<page><title>T</title><ns>0</ns><revision><text>{text}</text></revision></page>\n"


def read(path: Path, counts: ArticleCounts | None = None) -> list[tuple[str, ...]]:
    (source,) = corpus_sources([path]).sources
    return list(read_articles(source, language="en", counts=counts or ArticleCounts()))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["dump.xml.gz", "dump.xml.bz2"])
def test_damaged_compression_is_a_damaged_dump(tmp_path: Path, name: str, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    words = " ".join(chance.choice(["lobster", "crab", "eats", "sleeps", "sea."]) for _ in range(5000))
    compress = gzip.compress if name.endswith("gz") else bz2.compress
    content = bytearray(compress((HEAD + page(words) + "</mediawiki>").encode()))
    for _ in range(3):
        content[chance.randrange(20, len(content) - 20)] ^= 1 << chance.randrange(8)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetError, match="damaged MediaWiki dump"):
        read(tmp_path / name)


def test_deflate_data_that_cannot_be_is_what_zlib_calls_it(tmp_path: Path) -> None:
    """The header of gzip, then a block of the type 3, which deflate does not have."""
    (tmp_path / "dump.xml.gz").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + b"\x07" * 100)
    with pytest.raises(zlib.error):
        gzip.decompress((tmp_path / "dump.xml.gz").read_bytes())
    with pytest.raises(DatasetError, match=r"damaged MediaWiki dump \(Error -3"):
        read(tmp_path / "dump.xml.gz")


QUADRATIC = {
    "references that are not closed": "<ref>" * 200_000,
    "references that do not end": "<ref " * 200_000,
    "references with names": "<ref name='a'>x" * 100_000,
    "a reference that is closed at last": "<ref>" * 200_000 + "</ref>",
    "templates that are not closed": "{{a|" * 200_000,
    "templates that are not opened": "}}" * 200_000,
    "templates inside templates": "{{a|" * 200_000 + "}}" * 200_000,
    "tables that are not closed": "{|\n" * 200_000,
    "tables inside tables": "{|\n" * 200_000 + "|}\n" * 200_000,
    "links that are not closed": "[[a|" * 200_000,
    "links inside links": "[[a|" * 200_000 + "b" * 1_000_000 + "]]" * 200_000,
    "files that are not closed": "[[Datei:a|" * 100_000,
    "links to addresses": "[http://a " * 100_000,
    "an address without end": "[http://" + "a" * 1_000_000,
    "an address and spaces": "[http://a" + " " * 1_000_000,
    "a heading that is none": "=" * 1_000_000 + "x",
    "headings that are none": ("=" * 2000 + "x\n") * 500,
    "comments that are not closed": "<!--" * 200_000,
    "tags": "<b>" * 300_000,
    "tags that do not end": "<b " * 300_000,
    "a tag with a long name": "<" + "a" * 1_000_000,
    "apostrophes": "'" * 1_000_000,
    "apostrophes of all lengths": "''a'''b" * 150_000,
    "entities that do not end": "&a" * 500_000,
    "an entity without end": "&" + "a" * 1_000_000,
    "braces": "{" * 1_000_000,
    "brackets": "[" * 1_000_000,
    "less than": "<" * 1_000_000,
    "spaces": " " * 1_000_000,
    "empty lines": "\n" * 1_000_000,
}


@pytest.mark.parametrize("attack", QUADRATIC)
def test_no_markup_takes_more_time_than_its_length(attack: str) -> None:
    text = QUADRATIC[attack]
    began = time.process_time()
    running_text(f"Before.\n{text}\nAfter.")
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("attack", QUADRATIC)
def test_no_page_takes_more_time_than_its_length(tmp_path: Path, attack: str) -> None:
    text = QUADRATIC[attack].replace("&", "&amp;").replace("<", "&lt;")
    (tmp_path / "dump.xml").write_text(f"{HEAD}{page(text)}</mediawiki>", encoding="utf-8")
    began = time.process_time()
    read(tmp_path / "dump.xml")
    assert time.process_time() - began < 2 * SECONDS


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("The [[sea|ocean]] is [[wide]].", "The ocean is wide."),
        ("{{Box|a={{b|c}}|d}}''One'' and '''two''' and '''''three'''''.", "One and two and three."),
        ("A.<ref>B. P. 3.</ref> C.<ref name=x /> D.<REF name='y'>E</REF>", "A. C. D."),
        ("A.<ref>B", "A.B"),
        ("A<!-- B -->C<!-- D", "AC"),
        ("[[File:a.jpg|mini|A [[crab]] in [[sea|water]].]]E.", "E."),
        ("[[Category:Crabs]]A [http://a.b site] and [http://a.b].", "A site and ."),
        ("a\n{|\n| b\n{|\n| c\n|}\n|}\nd", "a\nd"),
        ("== A ==\n* b\n# c\n: d\n; e\n\nf", "f"),
        ("x<sup>2</sup> &amp; y&nbsp;&#228; &nothing;", "x2 & y\xa0ä &nothing;"),
        ("x <math>a^2</math> y<gallery>\nb.jpg\n</gallery> z", "x  y z"),
        ("a {{b c [[d e", "a b c d e"),
        ("a }} b ]] c |} d", "a  b  c  d"),
        ("it's ''hers'' and ''''his''''", "it's hers and 'his'"),
        ("a < b and c > d", "a < b and c > d"),
    ],
)
def test_running_text(wikitext: str, text: str) -> None:
    assert running_text(wikitext) == text


def test_running_text_is_what_a_parser_makes_of_well_formed_wikitext() -> None:
    parser = pytest.importorskip("mwparserfromhell")
    chance = random.Random(5)  # noqa: S311
    words = [
        "sea", "crab's", "the", "''wide''", "'''deep'''", "[[ocean]]", "[[ocean|water]]", "{{box|a=[[b]]|{{c}}}}", "e.",
        "<b>bold</b>", "<small>s</small>", "&amp;", "&nbsp;", "<!-- c -->", "[http://a.b/c words of it]", "ü",
    ]  # fmt: skip
    for _ in range(300):
        wikitext = "X " + " ".join(chance.choices(words, k=30))
        assert running_text(wikitext) == str(parser.parse(wikitext).strip_code(collapse=False)), wikitext


def test_a_page_that_is_too_long_is_left_out_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mediawiki, "LONGEST_PAGE", 50)
    (tmp_path / "dump.xml").write_text(
        HEAD + page("One. Two.") + page("Long. " * 10) + page("Three. " * 7) + "</mediawiki>",
        encoding="utf-8",
    )
    counts = ArticleCounts()
    assert read(tmp_path / "dump.xml", counts) == [("One.", "Two."), ("Three.",) * 7]
    assert counts.left_out == {"page of a dump too long": 1}


def test_the_pages_that_were_left_out_are_in_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mediawiki, "LONGEST_PAGE", 100)
    pages = [page(f"The crab {n} eats. It sleeps {n} times. It swims {n} miles.") for n in range(40)]
    (tmp_path / "dump.xml").write_text(
        HEAD + "".join(pages) + page("Long. " * 20) + "</mediawiki>", encoding="utf-8"
    )
    (source,) = corpus_sources([tmp_path / "dump.xml"]).sources
    pairs = build_next_sentence_pairs(
        [source], tmp_path / "out", options=NextSentenceOptions("en", test_share=0.5)
    )
    assert pairs.record.left_out["page of a dump too long"] == 1


CRABS = "A crab. "
BOMBS = {
    "page": (
        f"{HEAD}<page><ns>0</ns><revision><text>",
        CRABS,
        f"</text></revision></page>{page('One. Two.')}</mediawiki>",
    ),
    "tag": (f"{HEAD}<page a='", CRABS, "'/></mediawiki>"),
    "comment": (f"{HEAD}<!--", CRABS, "--></mediawiki>"),
    "namespace": (f"{HEAD}<page><ns>", CRABS, "</ns></page></mediawiki>"),
    "elements inside each other": (HEAD, "<page><ns>", ""),
}
"""What stands before, within and after 1.3 GB, which are 2 MB as a file."""

MEASURED = """
import resource, sys
from pathlib import Path
from evenhand.core.errors import DatasetError
from evenhand.heads.mediawiki import dump_pages
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    print(list(dump_pages(Path(sys.argv[1]), lambda _: None)))
except DatasetError as problem:
    print(problem)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("bomb", BOMBS)
def test_no_dump_fills_the_memory(tmp_path: Path, bomb: str) -> None:
    head, piece, tail = BOMBS[bomb]
    block = gzip.compress((piece * (2**20 // len(piece))).encode())
    members = [gzip.compress(head.encode()), *[block] * 1300, gzip.compress(tail.encode())]
    (tmp_path / "dump.xml.gz").write_bytes(b"".join(members))
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, tmp_path / "dump.xml.gz"], capture_output=True, text=True, check=True
    )
    said, kilobytes = done.stdout.strip().rsplit("\n", 1)
    assert int(kilobytes) < 150_000
    if bomb == "page":
        assert said == "[None, 'One. Two.']"
    elif bomb == "namespace":
        assert said == "[]"
    else:
        assert "is a damaged MediaWiki dump" in said


def test_names_without_end_are_refused(tmp_path: Path) -> None:
    names = "".join(f"<a{n}/>" for n in range(100_000))
    (tmp_path / "dump.xml").write_text(f"{HEAD}{names}</mediawiki>", encoding="utf-8")
    with pytest.raises(DatasetError, match="elements are not those of a dump"):
        read(tmp_path / "dump.xml")


def test_entities_that_multiply_are_refused(tmp_path: Path) -> None:
    entities = '<!ENTITY e0 "lol">' + "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    (tmp_path / "dump.xml").write_text(
        f"<?xml version='1.0'?><!DOCTYPE m [{entities}]>{HEAD}{page('&e11;')}</mediawiki>", encoding="utf-8"
    )
    began = time.process_time()
    with pytest.raises(DatasetError, match="damaged MediaWiki dump"):
        read(tmp_path / "dump.xml")
    assert time.process_time() - began < SECONDS


def test_pages_of_entities_do_not_fill_the_memory(tmp_path: Path) -> None:
    """Enough ordinary pages that the parser takes the entity for harmless, then 300 pages of 2 MB in 12 KB."""
    entities = f'<!ENTITY a "{CRABS * 128}"><!ENTITY b "{"&a;" * 64}"><!ENTITY c "{"&b;" * 32}">'
    ordinary = gzip.compress((page("A crab. " * 100).replace("<ns>0", "<ns>1") * 1000).encode())
    members = [
        gzip.compress(f"<!DOCTYPE m [{entities}]>{HEAD}".encode()),
        *[ordinary] * 10,
        gzip.compress(f"{page('&c;') * 300}</mediawiki>".encode()),
    ]
    (tmp_path / "dump.xml.gz").write_bytes(b"".join(members))
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, tmp_path / "dump.xml.gz"], capture_output=True, text=True, check=True
    )
    said, kilobytes = done.stdout.strip().rsplit("\n", 1)
    assert int(kilobytes) < 150_000
    assert "it declares the entity 'a'" in said


@pytest.mark.parametrize("encoding", ["utf-7", "no-such", "utf-32", "idna", "rot13", "hex"])
def test_an_encoding_that_cannot_be_read_is_damage(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "dump.xml").write_text(
        f"<?xml version='1.0' encoding='{encoding}'?>{HEAD}</mediawiki>", encoding="utf-8"
    )
    with pytest.raises(DatasetError, match="damaged MediaWiki dump"):
        read(tmp_path / "dump.xml")
