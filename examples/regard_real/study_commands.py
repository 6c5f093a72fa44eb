"""Commands of a study that may be stopped at any time: each is printed, timed and stopped with the study.

What they leave is packed into two archives as it comes: what a page is written from, and all else that is needed to go
on.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

TIMES = "times.csv"
RESULTS = (
    TIMES, "sample.csv", "classifier/*", "before-*/*_regard/*", "corrected/*-corrected/*", "trigger-*/mitigation.json",
    "certificate-*.json",
)  # fmt: skip
"""What the page is written from, as patterns of paths in the folder."""
NOT_KEPT = ("*.claim", "*/model*.safetensors", "*/tokenizer.json", "certificate-*/.malor.*")
"""Who works on what; the model, and what half a certificate asked it, which is large and quickly had again."""
EXPORT_EVERY = 30.0
"""Seconds between two exports of what is unfinished."""


class Study:
    """Commands of one study, each printed, timed and exported."""

    def __init__(self, folder: Path, export: Path | None) -> None:
        self.folder = folder
        self.export = export
        self.failures: list[str] = []
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_stopped = False
        # A signal may come while its own thread holds it.
        self._starting = threading.RLock()
        self._exporting = threading.Lock()
        self._timing = threading.Lock()

    def evenhand(
        self, *arguments: object, codes: Sequence[int] = (0,), environment: Mapping[str, str] | None = None
    ) -> None:
        """Run a command as a user would, and raise unless it ends as expected.

        A classifier that failed its check (3) and a certificate of lost quality (5) are results too.
        """
        words = [str(argument) for argument in arguments]
        command = words[: 1 if words[0] == "certify" else 2]
        if "--out" in words:
            command.append(Path(words[words.index("--out") + 1]).name)
        if "--transfer" in words:
            command.append(f"to {Path(words[words.index('--transfer') + 1]).name}")
        name = " ".join(command)
        started = time.monotonic()
        process = self.start(
            f"evenhand {name}", [sys.executable, "-m", "evenhand", *words], environment=environment
        )
        print("$ evenhand", *words, flush=True)
        code = process.wait()
        with self._starting:
            self._processes.discard(process)
        seconds = time.monotonic() - started
        print(f"# {name}: {seconds:.0f} s, exit code {code}", flush=True)
        with self._timing, (self.folder / TIMES).open("a", encoding="utf-8") as stream:
            stream.write(f"{name},{seconds:.1f},{code}\n")
        self.attempt(self.export_results)
        if code not in codes:
            how = "was stopped" if self._is_stopped else f"ended with exit code {code}"
            raise RuntimeError(f"evenhand {name} {how}.")

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen[bytes]:
        """Start a process that ends with the study at the latest."""
        with self._starting:
            if self._is_stopped:
                raise RuntimeError(f"{name} was not begun.")
            process = subprocess.Popen(command, env={**os.environ, **(environment or {})}, **options)
            self._processes.add(process)
            return process

    def stop(self) -> None:
        """End every process, and begin no other; what they finished is kept."""
        with self._starting:
            self._is_stopped = True
            for process in self._processes:
                process.kill()

    def attempt(self, work: Callable[[], object]) -> bool:
        """Do a piece of work, and say whether it was done; if it fails, say so and let the others go on."""
        try:
            work()
        except Exception as problem:  # whatever it is, the other pieces are worth having
            words = str(problem) if isinstance(problem, RuntimeError) else traceback.format_exc().strip()
            print(words, file=sys.stderr, flush=True)
            self.failures.append(words)
            return False
        return True

    def export_results(self) -> None:
        """Pack what the page is written from."""
        self._pack("results.tar.gz", is_wanted=_is_result)

    def export_unfinished(self) -> None:
        """Pack all else that is needed to go on."""
        self._pack("unfinished.tar.gz", is_wanted=lambda path: not _is_result(path))

    @contextmanager
    def exporting(self) -> Iterator[None]:
        """Export what is unfinished again and again while the block runs, and everything at its end."""
        over = threading.Event()

        def repeat() -> None:
            while not over.wait(EXPORT_EVERY):
                self.attempt(self.export_unfinished)

        exporter = threading.Thread(target=repeat, daemon=True)
        exporter.start()
        try:
            yield
        finally:
            over.set()
            exporter.join()
            self.stop()
            self.attempt(self.export_results)
            self.attempt(self.export_unfinished)

    def _pack(self, name: str, *, is_wanted: Callable[[str], bool]) -> None:
        """Write an archive of the files of the folder, whole or not at all."""
        if self.export is None:
            return
        with self._exporting:
            self.export.mkdir(parents=True, exist_ok=True)
            scratch = self.export / f".{name}"
            with tarfile.open(scratch, "w:gz", compresslevel=6) as archive:
                for file in _files_in(self.folder):
                    path = file.relative_to(self.folder).as_posix()
                    if is_wanted(path) and not any(fnmatch(path, pattern) for pattern in NOT_KEPT):
                        _add(archive, file, path)
            scratch.replace(self.export / name)


def _files_in(folder: Path) -> list[Path]:
    """All files below a folder; what vanishes meanwhile is passed over."""
    return sorted(Path(place) / name for place, _, names in os.walk(folder) for name in names)


def _is_result(path: str) -> bool:
    patterns = (pattern for pattern in RESULTS if pattern.count("/") == path.count("/"))
    return any(fnmatch(path, pattern) for pattern in patterns) and "/." not in f"/{path}"


def _add(archive: tarfile.TarFile, file: Path, path: str) -> None:
    """Add a file, unless a command has removed it meanwhile."""
    try:
        content = file.read_bytes()
    except OSError:
        return
    member = tarfile.TarInfo(path)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))
