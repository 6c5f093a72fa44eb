"""Articles: stretches of a corpus in which one sentence follows another.

An article is

- in plain text, what stands between two blank lines: a paragraph of a novel, an entry of a collection;
- in text in WikiText's layout, what stands below a title such as `` = Homarus gammarus = ``, without its headings;
- in JSON Lines, a record with a ``text``, or with ``sentences`` that are split already;
- in a dataset of the hub, a row;
- in a MediaWiki dump (``.xml``, with or without ``.gz`` or ``.bz2``), a page that is an article and no redirect.

Articles are read one at a time, so memory does not grow with the corpus.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.progress import Progress
from evenhand.data.corpora import (
    RECORD_ENDINGS,
    decoded,
    is_named,
    lines_of,
    read_bytes,
    records,
    text_of_record,
)
from evenhand.data.corpus_sources import CorpusSource, FileOnDisk, HubCorpus, hub_texts
from evenhand.heads.mediawiki import DUMP_ENDINGS, dump_pages, running_text
from evenhand.text.sentence_splitting import (
    EMPTY_LINE,
    LINE_ENDS,
    SAMPLE,
    SPLITTABLE_LANGUAGES,
    is_wrapped,
    sentences_of,
)

SENTENCES_FIELD = "sentences"

LONGEST_ARTICLE = 2**22
"""Characters of an article of plain text. What is longer goes on as another one."""

_TITLE = re.compile(r" ?= [^=].*[^=] = ?")
_HEADING = re.compile(r" ?=.*= ?")

Sentences = tuple[str, ...]
"""Of one article."""


@dataclass(slots=True)
class ArticleCounts:
    """What was read so far."""

    articles: int = 0
    sentences: int = 0
    articles_parted: int = 0
    """Articles of plain text that were too long."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How often something was left out, by reason."""


def read_articles(
    source: CorpusSource, *, language: str, counts: ArticleCounts, report: Progress | None = None
) -> Iterator[Sentences]:
    """The sentences of each article of a source.

    Args:
        source: A file or a shard of a dataset, from ``evenhand.data.corpus_sources``.
        language: Of the text.
        counts: What was read is added to it.
        report: Called with the bytes that are read and their total, where that is known.

    Raises:
        DatasetError: If the source cannot be read, or its sentences cannot be told apart in this language.
    """
    split = partial(_split, language=language)
    if isinstance(source, HubCorpus):
        articles = _hub_articles(source, split, report)
    elif isinstance(source, FileOnDisk):
        articles = _file_articles(source, split, counts, report)
    else:
        raise DatasetError(f"{source.name} has no articles. Give files, folders, or hub:NAME.")
    for sentences in articles:
        if sentences:
            counts.articles += 1
            counts.sentences += len(sentences)
            yield sentences


def _split(text: str, *, language: str, breaks: int | None = None) -> Sentences:
    if language not in SPLITTABLE_LANGUAGES:
        raise DatasetError(
            f"There is no sentence splitter for the language {language!r}: the one here looks for . ! ? or … before a "
            "space. Split the text yourself, and give JSON Lines in which every line is an article such as "
            f'{{"{SENTENCES_FIELD}": ["One.", "Two."]}}. If that is not the code of the language, correct --language.'
        )
    return tuple(sentences_of([text], breaks=breaks))


Split = Callable[..., Sentences]


def _hub_articles(corpus: HubCorpus, split: Split, report: Progress | None) -> Iterator[Sentences]:
    size = 0
    for text in hub_texts(corpus):
        size += len(text)
        if report:
            report(size, 0)
        yield split(text.replace("\r\n", "\n").replace("\r", "\n"))


def _file_articles(
    source: FileOnDisk, split: Split, counts: ArticleCounts, report: Progress | None
) -> Iterator[Sentences]:
    path, size = source.path, source.size

    def progress(done: int) -> None:
        if report:
            report(done, size)

    if is_named(path, DUMP_ENDINGS):
        return _dump_articles(path, split, counts, progress)
    text = decoded(read_bytes(path, progress=progress, digest=lambda _: None), path)
    if is_named(path, RECORD_ENDINGS):
        return _record_articles(text, path, split, counts)
    return _plain_articles(text, split, counts)


def _record_articles(
    text: Iterable[str], path: Path, split: Split, counts: ArticleCounts
) -> Iterator[Sentences]:
    def skip() -> None:
        counts.left_out["line of JSON too long"] += 1

    for place, record in records(text, path, skip=skip):
        own = record.get(SENTENCES_FIELD) if isinstance(record, dict) else None
        if own is None:
            yield split(text_of_record(record, place=place))
        elif isinstance(own, list) and all(isinstance(sentence, str) for sentence in own):
            yield tuple(tidy for sentence in own if (tidy := " ".join(sentence.split())))
        else:
            raise DatasetError(f"{place}: {SENTENCES_FIELD!r} must be a list of texts.")


def _plain_articles(text: Iterable[str], split: Split, counts: ArticleCounts) -> Iterator[Sentences]:
    chunks = iter(text)
    taken: list[str] = []
    while sum(map(len, taken)) < SAMPLE and (chunk := next(chunks, None)) is not None:
        taken.append(chunk)
    sample = "".join(taken)[:SAMPLE]
    lines = (line if line is not None else "" for line in lines_of(chain(taken, chunks)))
    if any(_TITLE.fullmatch(line) for line in sample.split("\n")):
        blocks = _blocks(lines, ends=_TITLE, counts=counts)
        breaks = LINE_ENDS
    else:
        blocks = _blocks(lines, ends=re.compile(r"\s*"), counts=counts)
        breaks = EMPTY_LINE if is_wrapped(sample) else LINE_ENDS
    return (split(block, breaks=breaks) for block in blocks)


def _blocks(lines: Iterable[str], *, ends: re.Pattern[str], counts: ArticleCounts) -> Iterator[str]:
    """What stands between lines of a kind, without headings."""
    block: list[str] = []
    size = 0
    for line in lines:
        if ends.fullmatch(line) or size > LONGEST_ARTICLE:
            counts.articles_parted += size > LONGEST_ARTICLE
            yield "\n".join(block)
            block, size = [], 0
        if not _HEADING.fullmatch(line):
            block.append(line)
            size += len(line)
    yield "\n".join(block)


def _dump_articles(
    path: Path, split: Split, counts: ArticleCounts, progress: Callable[[int], None]
) -> Iterator[Sentences]:
    """The articles of a MediaWiki dump, without templates, tables and references."""
    for wikitext in dump_pages(path, progress):
        if wikitext is None:
            counts.left_out["page of a dump too long"] += 1
        else:
            yield split(running_text(wikitext))
