"""Errors: one tree, and names that are almost right."""

from __future__ import annotations

import pytest

from evenhand.core import errors
from evenhand.core.errors import EvenhandError, UnknownNameError, shortlist

KNOWN = ("LMS", "SS", "ICAT", "macro_ICAT", "stereoset-2021")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("icat", "ICAT"),
        ("Lms", "LMS"),
        ("macro_icat", "macro_ICAT"),
        ("stereoset2021", "stereoset-2021"),
        ("MAKRO_ICAT", "macro_ICAT"),
    ],
)
def test_the_closest_name_is_suggested_whatever_its_case(name: str, meant: str) -> None:
    problem = UnknownNameError("measure", name, KNOWN)

    assert problem.suggestion == meant
    assert f"Unknown measure {name!r}. Did you mean {meant!r}?" in str(problem)


def test_nothing_is_suggested_for_a_name_like_no_other() -> None:
    problem = UnknownNameError("measure", "zzzzz", KNOWN)

    assert problem.suggestion is None
    assert str(problem) == "Unknown measure 'zzzzz'. Known: ICAT, LMS, SS, macro_ICAT, stereoset-2021."


@pytest.mark.parametrize(
    ("names", "limit", "expected"),
    [
        ([], 5, ""),
        (["a", "b"], 5, "a, b"),
        (["a", "b", "c"], 3, "a, b, c"),
        (["a", "b", "c", "d"], 3, "a, b, c and 1 more"),
        ([str(n) for n in range(2_000)], 2, "0, 1 and 1,998 more"),
    ],
)
def test_a_shortlist_says_how_many_it_leaves_out(names: list[str], limit: int, expected: str) -> None:
    assert shortlist(names, limit) == expected


def test_every_error_is_in_the_one_tree_and_in_its_drawing() -> None:
    found = {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, Exception) and kind.__module__ == errors.__name__
    }

    assert len(found) >= 9
    for name, kind in found.items():
        assert issubclass(kind, EvenhandError)
        assert errors.__doc__ is not None
        assert name in errors.__doc__
