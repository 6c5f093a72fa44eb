"""The package's own probes and prompts are translated under a name, and asked in the new language."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import Command

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.experiments import Experiment
from evenhand.data.probes import load_probes
from evenhand.data.regard_prompts import load_prompts
from evenhand.translation.table_sets import TABLE_SETS, table_set


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


def dictionary(path: Path, name: str) -> Path:
    """A table that translates every text of a set by a tail of its own."""
    texts = dict.fromkeys(text for table in table_set(name) for text in table.texts())
    lines = [f'"{text}","{text} x"\n' for text in texts]
    path.write_text("source,target\n" + "".join(lines), encoding="utf-8")
    return path


def test_translated_probes_can_be_asked(tmp_path: Path, run_evenhand_here: Command) -> None:
    out = tmp_path / "probes"
    table = dictionary(tmp_path / "xx.csv", "probes")

    made = run_evenhand_here(
        "data", "translate", "probes", "--to", "xx", "--translator", f"file:{table}", "--out", out, "--json"
    )

    files = json.loads(made.stdout)["files"]
    assert files == {name: str(out / name / "xx.csv") for name in ("structures", "occupations", "terms")}
    probes = load_probes("xx", **files)
    english = load_probes("en")
    assert len(probes.structures) == len(english.structures)
    assert {name.removesuffix(" x") for name in (each.name for each in probes.occupations)} == {
        each.name for each in english.occupations
    }
    assert probes.terms[Experiment.HE_SHE].male == ("he x",)
    assert probes.terms[Experiment.NAMES] == english.terms[Experiment.NAMES], (
        "names are no words to translate"
    )


def test_a_language_without_probes_needs_all_three_files(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="Give your own: --structures, --occupations, --terms"):
        load_probes("es")
    with pytest.raises(DatasetError, match="evenhand data translate probes --to es"):
        load_probes("es", structures=tmp_path / "structures.csv", occupations=tmp_path / "occupations.csv")


def test_translated_prompts_can_be_asked(tmp_path: Path, run_evenhand_here: Command) -> None:
    out = tmp_path / "prompts"
    table = dictionary(tmp_path / "xx.csv", "regard-prompts")

    made = run_evenhand_here(
        "data", "translate", "regard-prompts", "--to", "xx", "--translator", f"file:{table}", "--out", out
    )

    prompts = load_prompts("xx", groups=out / "groups" / "xx.csv", contexts=out / "contexts" / "xx.csv")
    english = load_prompts("en")
    assert [group.words for group in prompts.groups] == [f"{group.words} x" for group in english.groups]
    assert [context.words for context in prompts.contexts] == [f"{own.words} x" for own in english.contexts]
    assert f"--groups {out / 'groups' / 'xx.csv'}" in made.stderr.replace("\n", " ")


def test_the_folders_of_a_set_are_checked_and_repaired_like_others(
    tmp_path: Path, run_evenhand_here: Command
) -> None:
    out = tmp_path / "probes"
    table = dictionary(tmp_path / "xx.csv", "probes")
    run_evenhand_here(
        "data", "translate", "probes", "--to", "xx", "--translator", f"file:{table}", "--out", out
    )

    repaired = run_evenhand_here("data", "repair", out / "structures", "--json")

    assert json.loads(repaired.stdout)["stages"][-1] == {"name": "terms", "lost_tags": 0, "equal_texts": 0}


@pytest.mark.parametrize("name", TABLE_SETS)
def test_a_set_is_of_one_language_and_has_a_licence(name: str) -> None:
    tables = table_set(name)

    assert {table.language for table in tables} == {"en"}
    assert all(table.licence and table.texts() for table in tables)
    with pytest.raises(UnknownNameError, match=f"language of {name}"):
        table_set(name, "tr")


def test_an_unknown_name_is_refused_with_everything_that_can_be_translated(
    tmp_path: Path, run_evenhand_here: Command
) -> None:
    done = run_evenhand_here("data", "translate", "malor", "--to", "es", "--out", tmp_path / "es")

    assert done.returncode == 2
    assert all(name in done.stderr for name in ("starter", "crows-pairs", "probes", "regard-prompts"))
