"""Articles of every kind of source, sentence by sentence."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pytest

from evenhand.core.errors import DatasetError
from evenhand.data.corpus_sources import corpus_sources
from evenhand.heads import articles
from evenhand.heads.articles import ArticleCounts, read_articles


def read(path: Path | str, *, language: str = "en") -> list[tuple[str, ...]]:
    (source,) = corpus_sources([path]).sources
    return list(read_articles(source, language=language, counts=ArticleCounts()))


def test_blank_lines_part_the_articles_of_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("One. Two!\nThree.\n\n \n\nFour? Five.\n")

    assert read(path) == [("One.", "Two!", "Three."), ("Four?", "Five.")]


def test_lines_of_wrapped_text_go_on_in_the_next_also_in_a_short_article(tmp_path: Path) -> None:
    lines = "The boat came in at noon. It was\nlate, and nobody on the quay had\nwaited for it.\n\n"
    path = tmp_path / "text.txt"
    path.write_text(lines * 4)

    assert (
        read(path)
        == [("The boat came in at noon.", "It was late, and nobody on the quay had waited for it.")] * 4
    )


def test_an_article_in_wikitexts_layout_lasts_from_title_to_title_without_headings(tmp_path: Path) -> None:
    path = tmp_path / "wiki.txt"
    path.write_text(
        " \n = Lobster = \n \n It lives . \n \n = = Diet = = \n \n It eats . \n \n = Crab = \n \n It too . \n"
    )

    assert read(path) == [("It lives .", "It eats ."), ("It too .",)]


def test_a_record_is_an_article_with_a_text_or_with_its_sentences(tmp_path: Path) -> None:
    path = tmp_path / "articles.jsonl.gz"
    lines = [{"text": "One. Two."}, {"sentences": ["第一。", " 第二。 ", ""]}, {"text": ""}]
    path.write_bytes(gzip.compress("\n".join(json.dumps(line) for line in lines).encode()))

    assert read(path) == [("One.", "Two."), ("第一。", "第二。")]


def test_split_sentences_need_no_splitter_for_their_language(tmp_path: Path) -> None:
    path = tmp_path / "articles.jsonl"
    path.write_text('{"sentences": ["第一。", "第二。"]}\n')

    assert read(path, language="zh") == [("第一。", "第二。")]


def test_a_language_without_a_splitter_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("第一。第二。\n")

    with pytest.raises(DatasetError, match=r"no sentence splitter for the language 'zh'.*\"sentences\""):
        read(path, language="zh")


@pytest.mark.parametrize("content", ['{"sentences": "One."}', '{"sentences": [1]}', '{"words": []}', "[]"])
def test_a_record_without_sentences_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "articles.jsonl"
    path.write_text(content)

    with pytest.raises(DatasetError, match="line 1"):
        read(path)


def test_an_article_that_is_too_long_goes_on_as_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(articles, "LONGEST_ARTICLE", 20)
    path = tmp_path / "text.txt"
    path.write_text("A first sentence.\nAnd a second one.\nAnd a third one.\n")
    counts = ArticleCounts()
    (source,) = corpus_sources([path]).sources

    found = list(read_articles(source, language="en", counts=counts))

    assert found == [("A first sentence.", "And a second one."), ("And a third one.",)]
    assert (counts.articles, counts.sentences, counts.articles_parted) == (2, 3, 1)


DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" xml:lang="de">
  <siteinfo><sitename>Wikipedia</sitename></siteinfo>
  <page><title>Hummer</title><ns>0</ns><revision><text>{{Taxobox|Name=Hummer}}
[[Datei:Hummer.jpg|mini|Ein [[Hummer]] im Meer.]]
Der '''Hummer''' lebt im [[Atlantik|Ozean]].&lt;ref&gt;Buch. Seite 3.&lt;/ref&gt; Er frisst Muscheln.
{| class="wikitable"
| Zelle. Noch eine.
|}
== Systematik ==
* Ein Punkt der Liste.
Er ist ein Krebs.</text></revision></page>
  <page><title>Homard</title><ns>0</ns><redirect title="Hummer"/>
    <revision><text>#WEITERLEITUNG [[Hummer]]</text></revision></page>
  <page><title>Diskussion:Hummer</title><ns>1</ns><revision><text>Stimmt das? Ja.</text></revision></page>
</mediawiki>"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("dump.xml", DUMP.encode()),
        ("dump.xml.bz2", bz2.compress(DUMP.encode())),
        ("dump.xml.gz", gzip.compress(DUMP.encode())),
    ],
)
def test_a_dump_has_articles_as_plain_text(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    assert read(path, language="de") == [
        ("Der Hummer lebt im Ozean.", "Er frisst Muscheln.", "Er ist ein Krebs.")
    ]


@pytest.mark.parametrize("name", ["dump.xml", "dump.xml.bz2"])
def test_a_dump_that_ends_too_early_is_refused(tmp_path: Path, name: str) -> None:
    content = bz2.compress(DUMP.encode()) if name.endswith("bz2") else DUMP.encode()
    path = tmp_path / name
    path.write_bytes(content[: len(content) // 2])

    with pytest.raises(DatasetError, match="damaged MediaWiki dump"):
        read(path, language="de")
