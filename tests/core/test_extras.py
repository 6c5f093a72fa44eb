"""What users read when a package of an extra is not installed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from running import HANG, Command

import evenhand as eh
from evenhand.core import errors
from evenhand.core.errors import EXTRAS, MissingExtraError, missing_extra, require_extra
from evenhand.models.backends import require_backends

NEEDS = {
    "audit": "hf",
    "audit lab:masked --data starter": "hf",
    "probe lab:masked": "hf",
    "certify lab:masked lab:masked-neutral": "hf",
    "models inspect lab:masked": "hf",
    "models convert-head lab:decoder --head head.safetensors --follows-class 1 --out judge": "hf",
    "train next-sentence lab:decoder --pairs pairs --out judge": "train",
    "lab build --out built": "hf",
    "lab calibrate --out calibrated": "hf",
    "lab check": "hf",
    "mitigate equalise lab:masked --out even": "train",
    "mitigate counterfactual lab:masked --out swapped": "train",
    "study lab:masked --out study": "train",
    "data counterfactual --corpus text.txt": "train",
    "data counterfactual --corpus text.txt --language de --ray": "ray",
    "regard balance survey.csv": "train",
    "regard train": "regard",
    "annotate agreement ada.csv ben.csv --labels labels.csv --model mace": "crowd",
}
"""Commands, and the extra that each needs beyond a plain installation."""


MODULES = {
    "argon2-cffi": "argon2",
    "crowd-kit": "crowdkit",
    "scikit-learn": "sklearn",
}
"""Modules with another name than their distribution."""


@pytest.fixture
def plain_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found after ``pip install .``: no module that only an extra brings."""
    brought = {module for modules in EXTRAS.values() for module in modules}
    monkeypatch.setattr(errors, "find_spec", lambda name: None if name in brought else find_spec(name))


@pytest.mark.usefixtures("plain_installation")
@pytest.mark.parametrize(("command", "extra"), NEEDS.items(), ids=list(NEEDS))
def test_a_command_names_the_extra_that_it_lacks_and_does_nothing_else(
    run_evenhand_here: Command, tmp_path: Path, command: str, extra: str
) -> None:
    done = run_evenhand_here(*shlex.split(command), cwd=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert f"pip install '.[{extra}]'" in done.stderr.replace("\n", " ")
    assert "Loading" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("plain_installation")
def test_a_model_that_needs_an_extra_says_so_in_python_too() -> None:
    with pytest.raises(MissingExtraError, match=r"^The model lab:masked needs .* pip install '\.\[hf\]'"):
        eh.load("lab:masked")


def test_a_name_of_the_package_that_needs_an_extra_says_so() -> None:
    lines = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTorch())
import evenhand
evenhand.CertificatePlan
"""
    done = subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, check=False, timeout=HANG
    )
    assert "evenhand.CertificatePlan needs torch, which is not installed" in done.stderr
    assert "pip install '.[hf]'" in done.stderr


def test_only_the_modules_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "no_such_module", None)
    monkeypatch.setitem(sys.modules, "nor_this", None)
    require_extra("hf", "json", purpose="This")
    with pytest.raises(MissingExtraError, match=r"^This needs nor_this, which is not installed\."):
        require_extra("hf", "json", "nor_this", purpose="This")
    with pytest.raises(MissingExtraError, match="needs no_such_module and nor_this, which are not installed"):
        require_extra("hf", "no_such_module", "nor_this", purpose="This")


def test_a_module_that_no_extra_brings_is_another_kind_of_error() -> None:
    assert missing_extra(ModuleNotFoundError(name="no_such_module"), purpose="This") is None
    assert missing_extra(ModuleNotFoundError(name="torch.nn"), purpose="This") is not None


def test_each_extra_brings_what_the_project_file_lists() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    listed = project["project"]["optional-dependencies"]

    def brought(extra: str) -> set[str]:
        names: set[str] = set()
        for line in listed[extra]:
            inner = re.fullmatch(r"evenhand\[(.+)\]", line)
            if inner:
                names.update(*(brought(name) for name in inner[1].split(",")))
            else:
                name = re.match(r"[\w-]+", line)[0]  # type: ignore[index]
                names.add(MODULES.get(name, name.replace("-", "_")))
        return names

    for extra, modules in EXTRAS.items():
        assert set(modules) - {"pyarrow"} <= brought(extra), extra  # pyarrow comes with ray[data]


@pytest.mark.usefixtures("plain_installation")
def test_a_model_behind_a_server_needs_no_extra() -> None:
    require_backends(["api:some-model"], purpose="This")
    with pytest.raises(MissingExtraError, match=r"^This needs torch"):
        require_backends(["api:some-model", "some-model"], purpose="This")
