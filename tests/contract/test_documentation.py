"""What the documentation and the README show is what the package does today."""

from __future__ import annotations

import csv
import re
import shutil
import sys
from pathlib import Path

import pytest
from running import Command

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))

from generate import REPRODUCTION, is_stale, makers
from generators.blocks import MarkerError, refreshed
from generators.measure_pages import PUBLISHED_FILE
from generators.reproduction_page import reproduction_page
from reproduce import reproduce

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FORBIDDEN = ("debias", "unbiased", *(f"/{home}/" for home in ("root", "home", "work", "Users")))
"""Words that claim too much, and paths of somebody's machine."""

MAKERS = {name: make for name, make in makers().items() if name != REPRODUCTION}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.torch
def test_generated_parts_are_up_to_date(name: str) -> None:
    assert not is_stale(name, MAKERS[name]()), f"{name} is stale; run: python docs/generate.py {name}"


def test_the_reproduction_is_up_to_date_and_differs_only_where_it_is_known(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = reproduce(shared_data)
    monkeypatch.setattr("generators.reproduction_page.reproduce", {shared_data: outcome}.__getitem__)
    page = reproduction_page(shared_data)

    assert not is_stale(REPRODUCTION, page), f"run: python docs/generate.py {REPRODUCTION}"
    assert len(outcome.cells) == 609
    assert len(outcome.differing) == 20
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "Of the 609 printed cells of the multilingual StereoSet study" in readme
    assert f"reproduces](docs/reproduction.md) {609 - 20} to the second decimal" in readme
    assert {(cell.model, cell.language) for cell in outcome.differing} == {
        ("mBERT", "de"), ("T5", "en"), ("mBERT", "tr"),
    }  # fmt: skip
    assert len(outcome.french_bert) == 21
    assert not any(cell.agrees for cell in outcome.french_bert)
    assert len(outcome.macro_icats) == 3 * 29
    assert all(cell.agrees for cell in outcome.t5_on_shared_items)
    assert all(cell.agrees for variant in outcome.variants for cell in variant.cells)
    assert len(outcome.thesis) == 308
    assert len(outcome.differing_of_thesis) == 19


def test_figures_on_measure_pages_are_the_printed_ones(shared_data: Path) -> None:
    with (shared_data / "papers" / "stereotypes_across_languages.csv").open(encoding="utf-8") as stream:
        printed = list(csv.DictReader(stream))
    with PUBLISHED_FILE.open(encoding="utf-8") as stream:
        shown = list(csv.DictReader(stream))

    assert len(shown) == 63
    assert all(row in printed for row in shown)


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "README.md", ROOT / "mkdocs.yml"], ids=lambda page: page.name
)
def test_no_page_has_a_word_that_we_do_not_use(page: Path) -> None:
    text = page.read_text(encoding="utf-8").lower()

    assert [word for word in FORBIDDEN if word in text] == []


def test_links_of_the_readme_resolve() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)[^)]*\)|(?:src|srcset)=\"([^\"]+)\"", text)
    local = [link or source for link, source in links if not (link or source).startswith("http")]

    assert local
    assert [link for link in local if not (ROOT / link).exists()] == []


def test_a_console_block_shows_the_command_and_its_output() -> None:
    text = "Before.\n\n<!-- output: evenhand --version -->\n```console\nold\n```\n\nAfter.\n"

    made = refreshed(text)

    assert re.fullmatch(
        r"Before\.\n\n<!-- output: evenhand --version -->\n```console\n\$ evenhand --version\n"
        r"evenhand [\w.]+\n```\n\nAfter\.\n",
        made,
    )
    assert refreshed(made) == made


def test_another_block_shows_the_output_alone() -> None:
    made = refreshed("<!-- output: echo one; echo two -->\n```text\n```\n")

    assert made == "<!-- output: echo one; echo two -->\n```text\none\ntwo\n```\n"


def test_an_exit_code_is_shown_when_it_is_asked_for() -> None:
    made = refreshed("<!-- output: evenhand data describe nothing; echo $? -->\n```text\n```\n")

    assert "Error: Unknown dataset 'nothing'." in made
    assert made.endswith("\n2\n```\n")


def test_blocks_of_a_page_share_folder_and_variables() -> None:
    made = refreshed(
        "<!-- output: cp simulated-neutral.json mine.json -->\n```text\n```\n"
        "<!-- python -->\n```pycon\n>>> from pathlib import Path\n>>> there = Path('mine.json').exists()\n```\n"
        "<!-- python -->\n```pycon\n>>> there\nFalse\n>>> print(Path.cwd())\n```\n"
    )

    assert ">>> there\nTrue\n>>> print(Path.cwd())\n~\n```\n" in made


def test_a_session_shows_errors_and_keeps_blocks_of_code() -> None:
    made = refreshed("<!-- python -->\n```pycon\n>>> for n in (1, 2):\n...     print(n)\n>>> 1 / 0\n```\n")

    assert made == (
        "<!-- python -->\n```pycon\n>>> for n in (1, 2):\n...     print(n)\n1\n2\n>>> 1 / 0\n"
        "Traceback (most recent call last):\n  ...\nZeroDivisionError: division by zero\n```\n"
    )
    assert refreshed(made) == made


@pytest.mark.parametrize(
    "text",
    ["<!-- output: evenhand --version -->\nNo block.\n", "<!-- python -->\n", "<!-- table: nothing -->\n"],
)
def test_a_marker_without_its_block_is_an_error(text: str) -> None:
    with pytest.raises(MarkerError):
        refreshed(text)


def test_a_table_stands_apart_from_the_text_below_it() -> None:
    made = refreshed("<!-- table: protocols -->\n\nBelow.\n")

    assert made.endswith("|\n\nBelow.\n")
    assert refreshed(made) == made


EXAMPLE_SCORES = "src/evenhand/data/resources/starter/example_scores"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/quickstart.md"])
def test_the_first_evaluation_of_a_page_can_be_pasted_in_a_clone(
    page: str, run_evenhand_here: Command, tmp_path: Path
) -> None:
    """The commands before it that are no evenhand's make what it is given."""
    shutil.copytree(ROOT / EXAMPLE_SCORES, tmp_path / EXAMPLE_SCORES)
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (.+)$", text, re.MULTILINE)
    first = next(place for place, command in enumerate(commands) if command.startswith("evenhand evaluate"))
    if any(re.match(rf"cp {EXAMPLE_SCORES}/\*\.json \.", own) for own in commands[:first]):
        shutil.copytree(ROOT / EXAMPLE_SCORES, tmp_path, dirs_exist_ok=True)
    arguments = commands[first].split(" > ")[0].split()[1:]
    files = [
        path.relative_to(tmp_path)
        for own in arguments
        if own.endswith(".json")
        for path in (sorted(tmp_path.glob(own)) or [tmp_path / own])
    ]
    others = [own for own in arguments if not own.endswith(".json")]

    done = run_evenhand_here(others[0], *files, *others[1:], cwd=tmp_path)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_pages_say_where_the_files_of_their_commands_are_before_the_first(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    given = " ".join(re.findall(r"<!-- output: (.+?) -->", text))
    used = [
        path.name
        for path in (ROOT / "docs" / "files").iterdir()
        if re.search(rf"(?<![\w/-]){path.name}", given)
    ]
    if used:
        place = re.search(rf"<!-- output: .*(?:{'|'.join(map(re.escape, used))})", text)
        assert place is not None
        assert "`docs/files`" in text[: place.start()], f"{used[0]} is used before the page says where it is"
    if re.search(r"(?<![\w/-])simulated-\w+\.json", given):
        assert f"cp {EXAMPLE_SCORES}/*.json ." in text


def test_the_readme_names_the_extras_that_its_commands_need() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (extras,) = re.findall(
        r"pip install -c constraints\.txt -e '\.\[([\w,]+)\]'\s+# what everything below needs", text
    )
    needed = {"evenhand mitigate": "train", "evenhand regard": "regard", "evenhand serve": "web"}
    assert all(command in text for command in needed)
    assert set(needed.values()) <= set(extras.split(","))
    assert "make demo-real" in text
