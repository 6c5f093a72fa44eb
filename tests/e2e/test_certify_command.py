"""``evenhand certify`` as users run it."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

import pytest
from forking import evenhand_until, exit_code
from lab_recipes import few_questions
from running import Command

from evenhand.certificate.verification import read_certificate
from evenhand.store.certificate_files import sealed

QUICK = ("--resamples", "200", "--sentences", "200")
QUALITY_LOST = 5
"""Of two models that were taught apart, the second finds text of the first one's world less likely."""


@pytest.fixture(scope="module", autouse=True)
def small_lab() -> Iterator[None]:
    with few_questions():
        yield


@pytest.fixture(scope="module")
def neutral(run_evenhand_here: Command, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("certify")
    out = folder / "certificate.html"
    done = run_evenhand_here("certify", "lab:masked", "lab:masked-neutral", "--out", out, *QUICK)
    assert done.returncode == QUALITY_LOST, done.stderr
    return done.stdout, folder


def test_a_model_without_the_planted_bias_is_certified(neutral: tuple[str, Path]) -> None:
    told, folder = neutral
    found = json.loads((folder / "certificate.json").read_text())
    assert found["verdict"]["bias"] == "lowered"
    # Two models of the lab that know their benchmark equally well; elsewhere they were taught apart.
    assert {row["measure"]: row["verdict"] for row in found["quality"]}["LMS"] == "kept"
    assert found["weights_changed"] is True
    for row in found["trained"]:
        assert row["after"] < 0.1
        if not row["measure"].startswith("base rate"):
            # Two bits were planted on average, to both sides alike, and none are left.
            assert row["before"] == pytest.approx(2.0, abs=0.15)
            assert row["difference"]["high"] < -1
    assert {row["measure"]: row["after"] for row in found["untrained"]}["SS"] == pytest.approx(50, abs=5)
    reversed_rows = [row for row in found["untrained"] if row["direction"] == "occupation"]
    assert {row["measure"] for row in reversed_rows if row["part_of"] is None} == {
        f"MALoR {name} reversed" for name in ("he-she", "his-her", "names")
    }
    assert "Gender lean was lowered in both directions (judged on all experiments" in told
    assert "MALoR he-she fell from" in told
    assert "closer to neutral" in told
    page = (folder / "certificate.html").read_text()
    assert "Gender lean was lowered" in page
    assert (folder / "certificate" / "after" / "malor" / "record.json").is_file()


def is_of_the_second_model(folder: Path) -> bool:
    return "after" in folder.parts


def killed_at_the_second_model(arguments: Sequence[str | Path], messages: Path) -> None:
    with few_questions():
        evenhand_until(arguments, messages, signal.SIGKILL, is_of_the_second_model)


def test_a_certificate_is_verified_and_printed_by_report(
    neutral: tuple[str, Path], run_evenhand_here: Command, tmp_path: Path
) -> None:
    told, made = neutral
    place = shutil.copytree(made, tmp_path / "copy") / "certificate.json"
    done = run_evenhand_here("report", place)
    assert done.returncode == QUALITY_LOST, done.stderr
    assert "Verified" in done.stderr
    assert done.stdout == told

    # Sentences follow from the rows, whoever sealed the file.
    certificate = read_certificate(place)
    boast = certificate.model_copy(update={"words": ("All is well.",)})
    place.write_text(sealed(boast).model_dump_json(), encoding="utf-8")
    boasting = run_evenhand_here("report", place)
    assert boasting.returncode == 2
    assert "something else under 'words'" in " ".join(boasting.stderr.split())

    place.write_text(place.read_text().replace("lowered", "kept"), encoding="utf-8")
    changed = run_evenhand_here("report", place)
    assert changed.returncode == 2
    assert "Traceback" not in changed.stderr
    assert "Verified" not in changed.stderr
    together = run_evenhand_here("report", place, "--out", tmp_path / "page.html")
    assert together.returncode == 2
    assert "verified and printed alone" in together.stderr


def test_a_certificate_that_was_killed_goes_on_and_says_the_same(
    run_evenhand_here: Command, tmp_path: Path, neutral: tuple[str, Path]
) -> None:
    arguments = ["certify", "lab:masked", "lab:masked-neutral", *QUICK]
    out = tmp_path / "certificate.html"
    code = exit_code(killed_at_the_second_model, [*arguments, "--out", out], tmp_path / "messages")
    assert code == -signal.SIGKILL
    assert not out.exists()
    kept = sorted((tmp_path / "certificate").rglob("record.json"))
    written = [path.stat().st_mtime_ns for path in kept]
    done = run_evenhand_here(*arguments, "--out", out)
    assert done.returncode == QUALITY_LOST, done.stderr
    assert [path.stat().st_mtime_ns for path in kept] == written
    assert done.stdout == neutral[0]


def test_a_plan_says_what_the_data_can_exclude_and_measures_nothing(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    command = ("certify", "lab:masked", "lab:masked-neutral", "--plan", "--margin", "knowledge=9")
    shown = run_evenhand_here(*command, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"^ knowledge +9 points ", shown.stdout, re.MULTILINE)
    assert "Loading" not in shown.stderr
    done = run_evenhand_here(*command, "--json", cwd=tmp_path)
    found = {quality["measure"]: quality for quality in json.loads(done.stdout)["qualities"]}
    assert found["knowledge"]["margin"] == 9
    assert list(tmp_path.iterdir()) == []


def test_the_same_model_twice_changes_nothing(run_evenhand_here: Command, tmp_path: Path) -> None:
    out = tmp_path / "same.html"
    done = run_evenhand_here("certify", "lab:masked", "lab:masked", "--out", out, "--json", *QUICK)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == {"bias": "nothing changed", "quality": "kept", "wider_margins": []}
    assert found["weights_changed"] is False
    assert found["flipped"] == []


def test_a_model_that_was_broken_fails_with_a_code_of_its_own(
    run_evenhand_here: Command, tmp_path: Path, neutral: tuple[str, Path]
) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    source = Path(str(resources.files("evenhand.lab") / "resources" / "models" / "masked"))
    broken = tmp_path / "broken"
    shutil.copytree(source, broken)
    weights = load_file(broken / "model.safetensors")
    generator = torch.Generator().manual_seed(3)
    spoiled = {name: own + 0.5 * torch.randn(own.shape, generator=generator) for name, own in weights.items()}
    save_file(spoiled, broken / "model.safetensors", metadata={"format": "pt"})
    work = tmp_path / "certificate"
    shutil.copytree(neutral[1] / "certificate" / "before", work / "before")
    done = run_evenhand_here(
        "certify", "lab:masked", broken, "--trained", "he-she", "--out", tmp_path / "certificate.html", *QUICK
    )
    assert done.returncode == 5, done.stderr
    assert "quality is lost" in done.stderr
    found = json.loads((tmp_path / "certificate.json").read_text())
    assert found["verdict"]["quality"] == "lost"
    assert [row["measure"] for row in found["trained"]] == [
        "MALoR he-she",
        "base rate he-she",
        "spread he-she",
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--margin", "perplexity"), "is no margin"),
        (("--trained", "he-he"), "Unknown experiment 'he-he'"),
        (("--out", "certificate.pdf"), "must end in .html"),
        (("--out", "model.html"), "go into model, and that is something else"),
        (("--out", "notes.html"), "go into notes, and that is something else"),
        (("--held-out", "nowhere.txt"), "There is no file or folder nowhere.txt"),
    ],
)
def test_mistakes_are_explained(
    run_evenhand_here: Command, tmp_path: Path, options: tuple[str, str], told: str
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "notes").write_text("x")
    done = run_evenhand_here("certify", "lab:masked", "lab:masked-neutral", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
