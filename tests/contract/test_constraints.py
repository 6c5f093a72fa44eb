"""The two files of pinned versions fit what pyproject.toml asks for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]

TESTED_ON_OLDEST = ("ray", "train")
"""Extras whose oldest versions the tests run on. The others have no code yet."""


def requirements(*extras: str) -> list[Requirement]:
    """What the package and these extras ask for, with the extras that they name."""
    lines = [Requirement(line) for extra in extras for line in EXTRAS[extra]]
    inner = [name for line in lines if line.name == PROJECT["name"] for name in sorted(line.extras)]
    own = [line for line in lines if line.name != PROJECT["name"]]
    return [*own, *(requirements(*inner) if inner else [])]


CORE = [Requirement(line) for line in PROJECT["dependencies"]]
ALL = {line.name: line for line in [*CORE, *requirements(*EXTRAS)]}.values()
OLDEST = {
    line.name: line for line in [*CORE, *requirements(*TESTED_ON_OLDEST)] if line.name != "torch"
}.values()
"""All but torch, whose old builds are gigabytes: the tests run on the one of constraints.txt."""


def pins(name: str) -> dict[str, Version]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines)
    return {canonicalize_name(package): Version(version) for package, version in pairs}


@pytest.mark.parametrize("requirement", ALL, ids=lambda requirement: requirement.name)
def test_every_requirement_is_pinned_to_a_version_that_fits(requirement: Requirement) -> None:
    assert requirement.specifier.contains(pins("constraints.txt")[canonicalize_name(requirement.name)])


@pytest.mark.parametrize("requirement", OLDEST, ids=lambda requirement: requirement.name)
def test_the_oldest_versions_are_those_that_are_asked_for(requirement: Requirement) -> None:
    (lowest,) = (clause.version for clause in requirement.specifier if clause.operator == ">=")
    assert pins("constraints-oldest.txt")[canonicalize_name(requirement.name)] == Version(lowest)


def test_transformers_has_an_upper_bound_just_above_the_version_that_is_tested() -> None:
    (transformers,) = (line for line in requirements("hf") if line.name == "transformers")
    (bound,) = (Version(clause.version) for clause in transformers.specifier if clause.operator == "<")
    tested = pins("constraints.txt")["transformers"]
    assert bound.release == (tested.major, tested.minor + 1)
