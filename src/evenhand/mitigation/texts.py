"""What a mitigation reads: sources of sentences, and the sentences that are kept back from training."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evenhand.core.errors import DatasetError
from evenhand.core.files import load_json, sha256_of
from evenhand.core.inputs import checked_path
from evenhand.core.probes import ProbeSet
from evenhand.core.progress import Progress
from evenhand.data.corpora import CorpusCounts, decoded, lines_of, read_bytes
from evenhand.data.corpus_sources import CorpusSource, FileOnDisk, SentenceStream, corpus_sources
from evenhand.mitigation.pairs.joining import NamelessSentences, distinct_but_for_names, names_in
from evenhand.mitigation.pairs.matching import evaluation_sentences, forms_of
from evenhand.mitigation.pairs.twin_pairs import TwinPair, read_twin_pairs
from evenhand.store.mitigation_records import TextRecord, UnseenRecord
from evenhand.text.digests import LowestDigests, digest_of
from evenhand.text.passages import FEWEST_PASSAGES, MOST_PASSAGES, joined_passages
from evenhand.text.word_search import WordFinder, words_of

HELD_OUT_SHARE = 0.05
MOST_HELD_OUT = 2_000

_DIGESTS = 2**64


class _ListedSentences:
    """Sentences that are in memory, counted and digested as they are read."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self.counts = CorpusCounts()
        self._sentences = sentences
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[str]:
        for sentence in self._sentences:
            self.counts.sentences += 1
            self._digest.update(sentence.encode() + b"\n")
            yield sentence


@dataclass(frozen=True, slots=True)
class SentenceList:
    """A source that is no file, such as the corpus of the lab."""

    name: str
    sentences: tuple[str, ...]

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(len(sentence.encode()) for sentence in self.sentences)

    def identity(self) -> dict[str, Any]:
        """Its name and a digest of it all."""
        return {"name": self.name, "sha256": sha256_of("\n".join(self.sentences).encode())}

    def open(self, report: Progress | None = None) -> SentenceStream:  # noqa: ARG002  it is read at once
        """Its sentences."""
        return _ListedSentences(self.sentences)


@dataclass(frozen=True, slots=True)
class PairFile(FileOnDisk):
    """A file of pairs, as ``evenhand data counterfactual`` writes it.

    Its sentences are those that were found; of a pair that was made by putting in other names, the male one.
    """

    def identity(self) -> dict[str, Any]:
        """Its path, size and time of change."""
        return {"pairs": self.name, "size": self.size, "modified": self.modified}

    def open(self, report: Progress | None = None) -> SentenceStream:  # noqa: ARG002  it is read at once
        """Its sentences, of those that differ in names alone the first.

        So a sentence and its repeats are kept back together or not at all.
        """
        return _ListedSentences(pair.corpus_sentence for pair in distinct_but_for_names(self.pairs()))

    def sentences(self) -> Iterator[str]:
        """All of its sentences."""
        return (pair.corpus_sentence for pair in self.pairs())

    def pairs(self) -> Iterator[TwinPair]:
        """The pairs themselves."""
        return read_twin_pairs(self.path)


def text_sources(corpora: Iterable[str | Path]) -> tuple[CorpusSource, ...]:
    """The sources that files of text or of pairs, folders and names of datasets stand for."""
    names = list(corpora)
    pairs = [name for name in names if _holds_pairs(checked_path(name, error=DatasetError))]
    others = [name for name in names if name not in pairs]
    texts = corpus_sources(others).sources if others or not pairs else ()
    return (*texts, *(PairFile(Path(path)) for path in pairs))


def _holds_pairs(path: Path) -> bool:
    if not path.is_file() or not path.name.removesuffix(".gz").endswith(".jsonl"):
        return False
    chunks = read_bytes(path, progress=lambda _: None, digest=lambda _: None)
    try:
        first = next(iter(lines_of(decoded(chunks, path))), None)
        row = load_json(first or "")
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and {"male", "female"} <= set(row)


@dataclass(frozen=True, slots=True)
class HeldOutSentences:
    """Sentences that no training sees."""

    name: str
    sentences: tuple[str, ...]
    documents: tuple[int, ...] = ()
    """The number of the source that each sentence is of; empty where that is not known."""
    in_a_row: bool = False
    """Whether they follow each other as in the text that they are of."""
    _digests: frozenset[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.sentences:
            raise DatasetError(
                f"No sentence of {self.name} can be kept back to measure the quality on. Give some with --held-out "
                "FILE."
            )
        object.__setattr__(self, "_digests", frozenset(map(digest_of, self.sentences)))

    def __contains__(self, sentence: str) -> bool:
        return digest_of(sentence) in self._digests

    def passages(self) -> tuple[str, ...]:
        """Several sentences at a time, evenly spread over the text; none where they are not in a row, or too few."""
        if not self.in_a_row:
            return ()
        whole = [passage for passage, _ in joined_passages(zip(self.sentences, self.documents, strict=True))]
        if len(whole) < FEWEST_PASSAGES:
            return ()
        every = max(1, len(whole) / MOST_PASSAGES)
        return tuple(whole[int(number * every)] for number in range(min(MOST_PASSAGES, len(whole))))

    @property
    def record(self) -> TextRecord:
        """What a record says of it."""
        digest = sha256_of("\n".join(self.sentences).encode())
        return TextRecord(name=self.name, sha256=digest, sentences=len(self.sentences))


def keep_back(sources: Sequence[CorpusSource], *, progress: Progress | None = None) -> HeldOutSentences:
    """Hold out every twentieth sentence of a corpus or 2,000, whichever is less.

    They are chosen by their digests, so that they are the same wherever they stand and however often they are repeated.
    """
    lowest: LowestDigests[tuple[str, int]] = LowestDigests(MOST_HELD_OUT, distinct=True)
    for sentence, number in _read(sources, progress):
        digest = digest_of(sentence)
        if digest < HELD_OUT_SHARE * _DIGESTS:
            lowest.offer(digest, (sentence, number))
    return _held_out(f"the corpus, every {round(1 / HELD_OUT_SHARE)}th", lowest.by_digest())


def read_held_out(sources: Sequence[CorpusSource]) -> HeldOutSentences:
    """All sentences of files that were given for it, each once."""
    names = ", ".join(source.name for source in sources)
    first_source: dict[str, int] = {}
    for number, source in enumerate(sources):
        for sentence in source.sentences() if isinstance(source, PairFile) else source.open():
            first_source.setdefault(sentence, number)
    in_a_row = not any(isinstance(source, PairFile) for source in sources)
    return replace(_held_out(names, first_source.items()), in_a_row=in_a_row)


def _held_out(name: str, sentences: Iterable[tuple[str, int]]) -> HeldOutSentences:
    listed = tuple(sentences)
    return HeldOutSentences(
        name, tuple(sentence for sentence, _ in listed), tuple(number for _, number in listed)
    )


def _read(sources: Sequence[CorpusSource], progress: Progress | None) -> Iterator[tuple[str, int]]:
    """Each sentence with the number of its source."""
    total = sum(source.size for source in sources)
    before = 0
    for number, source in enumerate(sources):
        for sentence in source.open(_further(progress, before, total)):
            yield sentence, number
        before += source.size


def _further(progress: Progress | None, before: int, total: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)


class UnseenProbes:
    """What is held out for the certificate, so that no training sees a sentence of it: occupations and structures.

    Occupations are found in the forms that their list has, and in the English plural. Sentences of the held-out
    structures are those with any occupation and any term in their gaps.
    """

    def __init__(self, probes: ProbeSet) -> None:
        self.names = probes.held_out_occupations
        self.structures = probes.held_out_structures if self.names else frozenset[str]()
        own = [occupation for occupation in probes.occupations if occupation.name in self.names]
        nouns = [noun for occupation in own for noun in forms_of(occupation)]
        plurals = [f"{noun}s" for noun in nouns] if probes.language == "en" else []
        self._finder = WordFinder.of_nouns((*nouns, *plurals)) if nouns else None
        self._asked = evaluation_sentences(
            replace(
                probes,
                structures=tuple(one for one in probes.structures if one.text in self.structures),
            )
        )
        self._left_out = 0

    def __contains__(self, sentence: str) -> bool:
        is_held_out = self._names_occupation(sentence) or sentence in self._asked
        self._left_out += is_held_out
        return is_held_out

    def _names_occupation(self, sentence: str) -> bool:
        if self._finder is None or not self._finder.may_be_among(words_of(sentence)):
            return False
        return bool(self._finder.find(sentence))

    @property
    def record(self) -> UnseenRecord | None:
        """What a record says of them, once the text is read; None if there are none."""
        if not self.names:
            return None
        return UnseenRecord(
            occupations=tuple(sorted(self.names)),
            structures=tuple(sorted(self.structures)),
            left_out=self._left_out,
        )


@dataclass(frozen=True, slots=True)
class TrainingText:
    """A corpus to train on, without what is held out."""

    sources: tuple[CorpusSource, ...]
    held_out: HeldOutSentences
    progress: Progress | None = None
    unseen: UnseenProbes | tuple[str, ...] = ()
    """Sentences about these are left out."""

    def read(self, texts: list[TextRecord]) -> Iterator[str]:
        """Its sentences; what each source was is added to ``texts`` when it has been read."""
        for source in self.sources:
            opened = source.open(self.progress)
            renamed = self._renamed(source)
            for sentence in opened:
                if sentence not in self.held_out and sentence not in renamed and sentence not in self.unseen:
                    yield sentence
            texts.append(
                TextRecord(name=source.name, sha256=opened.sha256, sentences=opened.counts.sentences)
            )

    def _renamed(self, source: CorpusSource) -> NamelessSentences | tuple[str, ...]:
        """Sentences that are made of held-out ones by putting in other names, as only files of pairs have them."""
        if not isinstance(source, PairFile):
            return ()
        return NamelessSentences(self.held_out.sentences, names=names_in(source.pairs()))


def digest_of_all(sentences: Iterable[str]) -> str:
    """SHA-256 of sentences in their order."""
    digest = hashlib.sha256()
    for sentence in sentences:
        digest.update(sentence.encode() + b"\n")
    return digest.hexdigest()
