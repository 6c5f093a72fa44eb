"""Processes that have the libraries in memory when they begin, so that a test of many takes no longer than it must."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

LIBRARIES = [
    "evenhand.cli",
    "evenhand.models.language_model",
    "evenhand.api.certify",
    "evenhand.api.defaults.mitigating",
    "evenhand.api.measure",
    "evenhand.api.mitigate",
]


def start(work: Callable[..., object], *arguments: object) -> BaseProcess:
    """Do some work in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LIBRARIES)
    process = context.Process(target=_begin, args=(work, *arguments))
    process.start()
    return process


def _begin(work: Callable[..., object], *arguments: object) -> None:
    gc.freeze()  # the libraries stay: the garbage collector need not look through them
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # the tests themselves may run where Ctrl-C is ignored
    work(*arguments)


def exit_code(work: Callable[..., object], *arguments: object) -> int | None:
    """Do some work in a process of its own, to the end or until it dies."""
    process = start(work, *arguments)
    process.join()
    code = process.exitcode
    process.close()
    return code


def evenhand(arguments: Sequence[str | Path], messages: Path) -> None:
    """What a process does that runs ``evenhand``; what it says goes to a file."""
    from evenhand.cli import main

    with (
        messages.open("w", encoding="utf-8") as said,
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
    ):
        os.dup2(said.fileno(), 2)
        os.dup2(nowhere.fileno(), 1)
    sys.argv = ["evenhand", *map(str, arguments)]
    main()


def evenhand_until(
    arguments: Sequence[str | Path], messages: Path, how: signal.Signals, is_time: Callable[[Path], bool]
) -> None:
    """The same, until a part of a job was kept of which ``is_time`` says so by its folder: then a signal comes."""
    from evenhand.store.jobs import Parts

    put = Parts.put

    def put_and_look(self: Parts, key: str, piece: bytes) -> None:
        put(self, key, piece)
        if is_time(self.folder):
            os.kill(os.getpid(), how)

    Parts.put = put_and_look  # type: ignore[method-assign]
    evenhand(arguments, messages)
