"""What was found in each source, kept as it comes, so that a killed run goes on where it was."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.core.errors import OutputError
from evenhand.core.files import file_written_whole, write_text
from evenhand.data.corpus_sources import CorpusSource
from evenhand.mitigation.pairs.matching import Tally
from evenhand.mitigation.pairs.pair_files import line_of, pair_in
from evenhand.mitigation.pairs.pairing import Pair


@dataclass(frozen=True, slots=True)
class SourceTally:
    """What became of a source that was read to its end."""

    name: str
    sha256: str
    sentences: int
    found: int
    left_out: Counter[str]
    cuts: int
    records_skipped: int

    def to_json(self) -> dict[str, Any]:
        """For a file."""
        return {
            "name": self.name, "sha256": self.sha256, "sentences": self.sentences, "found": self.found,
            "left_out": dict(sorted(self.left_out.items())), "cuts": self.cuts,
            "records_skipped": self.records_skipped,
        }  # fmt: skip

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> SourceTally:
        """From a file."""
        return cls(**{**row, "left_out": Counter(row["left_out"])})


@dataclass(frozen=True, slots=True)
class PartStore:
    """A folder with a file of pairs and a file of counts for each finished source.

    Attributes:
        folder: Made when it is first needed, and removed when everything is done.
        options: Digest of all that decides what is found in a source.
    """

    folder: Path
    options: str

    @contextmanager
    def kept_until_done(self) -> Iterator[None]:
        """The folder is there within the block, with what an earlier start has finished.

        It is removed when the block succeeds. When it fails, it stays for the next start if a source is finished.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise OutputError(
                f"{self.folder} cannot be made: {problem.strerror or problem}. Choose another place with --out."
            ) from None
        try:
            yield
        except BaseException:
            if not any(self.folder.glob("*.json")):
                self.remove()
            raise
        self.remove()

    def finished(self, number: int, source: CorpusSource) -> SourceTally | None:
        """What became of a source; None if it was not finished, has changed since, or was read for another search."""
        try:
            document = json.loads(self._counts(number).read_text(encoding="utf-8"))
            tally = SourceTally.from_json(document["tally"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        same = document.get("options") == self.options and document.get("source") == source.identity()
        return tally if same and self._pairs(number).exists() else None

    def write(self, number: int, lines: Iterable[bytes]) -> None:
        """Keep the pairs of a source, which does not count as finished yet."""
        self._counts(number).unlink(missing_ok=True)
        with file_written_whole(self._pairs(number)) as stream:
            for line in lines:
                stream.write(line)

    def finish(self, number: int, identity: dict[str, Any], *, tally: SourceTally) -> None:
        """Say that a source is finished; ``identity`` is what it was when its reading began."""
        document = {"options": self.options, "source": identity, "tally": tally.to_json()}
        write_text(self._counts(number), json.dumps(document, ensure_ascii=False, indent=1) + "\n")

    def pairs(self, numbers: Iterable[int]) -> Iterator[Pair]:
        """The pairs of several sources."""
        for number in numbers:
            path = self._pairs(number)
            with path.open(encoding="utf-8", newline="\n") as lines:
                for row, line in enumerate(lines, start=1):
                    yield pair_in(line, place=f"{path}, line {row}")

    def remove(self) -> None:
        """Forget everything, because it is finished."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _pairs(self, number: int) -> Path:
        return self.folder / f"{number:05d}.jsonl"

    def _counts(self, number: int) -> Path:
        return self.folder / f"{number:05d}.json"


def tally_of(
    source: CorpusSource, tally: Tally, *, sha256: str, cuts: int, records_skipped: int
) -> SourceTally:
    """What became of a source, when its last sentence is read."""
    return SourceTally(
        name=source.name,
        sha256=sha256,
        sentences=tally.sentences,
        found=tally.found,
        left_out=tally.left_out,
        cuts=cuts,
        records_skipped=records_skipped,
    )


def lines_of_pairs(pairs: Iterable[Pair]) -> Iterator[bytes]:
    """Pairs as lines."""
    return (line_of(pair) for pair in pairs)
