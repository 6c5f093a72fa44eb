"""Commands that make German twins say how fewer sentences are left out."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest
from running import Command

from evenhand.core.errors import EvenhandError
from evenhand.twins.de import noun_genders
from evenhand.twins.noun_list import mention_noun_list

HINT = "Fewer German sentences are left out with a list of noun genders. Install it with: pip install "


@pytest.mark.torch
@pytest.mark.usefixtures("without_noun_list")
@pytest.mark.parametrize(
    ("command", "work"),
    [
        ("mitigate counterfactual lab:masked --corpus text.txt --out even", "mitigate.mitigate"),
        ("study lab:masked --corpus text.txt --out study", "study.study"),
        ("certify lab:masked lab:masked-neutral --held-out text.txt --out page.html", "certify.certify"),
        ("probe lab:masked --test knowledge --corpus text.txt --out runs", "measure.measure_all"),
    ],
    ids=lambda text: text.split()[0],
)
def test_commands_say_once_how_fewer_sentences_are_left_out(
    run_evenhand_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, work: str
) -> None:
    def end(*_: object, **__: object) -> NoReturn:
        raise EvenhandError("The work itself is tested elsewhere.")

    monkeypatch.setattr(f"evenhand.api.{work}", end)
    (tmp_path / "text.txt").write_text("Die Person lachte.\n", encoding="utf-8")
    german, english = (
        run_evenhand_here(*command.split(), "--language", language, cwd=tmp_path).stderr
        for language in ("de", "en")
    )
    assert german.count(HINT) == 1
    assert HINT not in english
    assert "tested elsewhere" in german


@pytest.mark.usefixtures("without_noun_list")
@pytest.mark.parametrize("command", ["data counterfactual --corpus text.txt", "regard balance text.txt"])
def test_what_is_written_says_nothing_of_it(run_evenhand_here: Command, tmp_path: Path, command: str) -> None:
    (tmp_path / "text.txt").write_text("Die Person lachte. Er ist Arzt.\n", encoding="utf-8")
    done = run_evenhand_here(*command.split(), "--language", "de", "--out", "out.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(HINT) == 1
    assert HINT not in done.stdout + (tmp_path / "out.csv").read_text(encoding="utf-8")


def test_where_the_list_is_installed_nothing_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for spec, lines in ((object(), 0), (None, 1)):
        monkeypatch.setattr(noun_genders, "find_spec", lambda _, spec=spec: spec)
        mention_noun_list("de")
        assert capsys.readouterr().err.count("\n") == lines
