"""Amounts of memory: how they are written, and what is free under a container's limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import EvenhandError
from evenhand.core.memory import _left_in_groups, free_memory, parse_memory, show_memory


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("4GB", 4 * 10**9),
        ("4gib", 4 * 2**30),
        ("1.5 GB", 1_500_000_000),
        (" 512MiB ", 2**29),
        ("2000000b", 2_000_000),
    ],
)
def test_amounts_are_read_as_people_write_them(text: str, amount: int) -> None:
    assert parse_memory(text) == amount


@pytest.mark.parametrize(
    "text", ["", "4", "GB", "four GB", "-4GB", "4 apples", "4GB or so", "nanGB", "1e3GB"]
)
def test_what_is_no_amount_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(EvenhandError, match="such as 4GB"):
        parse_memory(text)


def test_too_little_is_refused() -> None:
    with pytest.raises(EvenhandError, match="too little"):
        parse_memory("10kB")


def test_amounts_are_shown_with_a_unit() -> None:
    assert [show_memory(amount) for amount in (512, 4 * 10**9, 2**30)] == ["512 B", "4 GB", "1.07 GB"]


def test_some_memory_is_free() -> None:
    assert free_memory() > 2**20


@pytest.mark.parametrize(
    ("line", "folder", "names"),
    [
        ("0::/jobs/one", "jobs/one", ("memory.max", "memory.current")),
        ("4:memory:/jobs/one", "memory/jobs/one", ("memory.limit_in_bytes", "memory.usage_in_bytes")),
        ("4:memory:/elsewhere", "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")),
    ],
    ids=["second version", "first version", "first version inside a container"],
)
def test_a_containers_limit_counts(tmp_path: Path, line: str, folder: str, names: tuple[str, str]) -> None:
    (tmp_path / "cgroup").write_text(f"1:cpu:/\n{line}\n")
    group = tmp_path / "mount" / folder
    group.mkdir(parents=True)
    for name, value in zip(names, ("5000", "1200"), strict=True):
        (group / name).write_text(f"{value}\n")
    assert _left_in_groups(tmp_path / "cgroup", tmp_path / "mount") == [3800]


def test_no_limit_is_no_limit(tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text("0::/\n")
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1200\n")
    assert _left_in_groups(tmp_path / "cgroup", tmp_path) == []
    assert _left_in_groups(tmp_path / "absent", tmp_path) == []
