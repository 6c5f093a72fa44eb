"""A dataset layout of another package is one object, and everything that reads datasets finds it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import builders
import pytest
from running import Command

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.items import Association, Benchmark, Candidate, Label, PairSet, Task
from evenhand.core.registry import PluginError
from evenhand.data import (
    DATASET_LAYOUTS,
    BundledDataset,
    DatasetLayout,
    languages_of,
    load_dataset,
    load_pairs,
    named_datasets,
)
from evenhand.data.layouts import passed_over

LINES = "woman|The woman is a BLANK.|nurse|engineer|cloud\nman|The man is a BLANK.|pilot|nurse|stone\n"


def read_lines(
    path: Path, *, language: str | None = None, name: str | None = None, licence: str | None = None
) -> Benchmark:
    """One item per line: target, context, and the three fills."""
    items = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        target, context, *fills = line.split("|")
        first, second, third = (
            Candidate(id=f"{number}-{label}", text=context.replace("BLANK", fill), label=label)
            for label, fill in zip(Label, fills, strict=True)
        )
        items.append(
            Association(
                id=str(number),
                language=language or "en",
                bias_type="gender",
                target=target,
                cluster=target,
                task=Task.INTRASENTENCE,
                context=context,
                candidates=(first, second, third),
            )
        )
    return Benchmark(
        name=name or path.stem,
        language=language or "en",
        items=tuple(items),
        source=path.name,
        sha256="0",
        licence=licence,
    )


LINES_LAYOUT = DatasetLayout(
    name="lines",
    description="lines of fills",
    kind=Benchmark,
    suffixes=(".lines",),
    recognises=lambda path: "|" in path.read_text(encoding="utf-8"),
    read=read_lines,
)

Register = Callable[..., None]


@pytest.fixture
def register() -> Iterator[Register]:
    names: list[str] = []

    def add(entry: Any, name: str = "lines") -> None:
        DATASET_LAYOUTS.register(name, entry)
        names.append(name)

    yield add
    for name in names:
        DATASET_LAYOUTS.unregister(name)


@pytest.fixture
def lines_file(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.lines"
    path.write_text(LINES)
    return path


def test_our_own_layouts_are_entries_like_any_other() -> None:
    assert DATASET_LAYOUTS.names() == (
        "stereoset", "stereoset-records", "crows-pairs", "shades", "eurogest", "bec-pro", "winogender",
        "occupation-shares",
    )  # fmt: skip
    assert list(named_datasets()) == [
        "starter", "lab", "stereoset", "crows-pairs", "bec-pro-en", "bec-pro-de", "winogender",
        "winogender-occupations",
    ]  # fmt: skip
    for name in DATASET_LAYOUTS.names():
        assert DATASET_LAYOUTS.get(name).name == name


def test_a_file_in_the_layout_of_another_package_is_read(register: Register, lines_file: Path) -> None:
    register(LINES_LAYOUT)

    benchmark = load_dataset(lines_file, language="fr")

    assert (benchmark.name, benchmark.language, len(benchmark)) == ("jobs", "fr", 2)


def test_any_object_with_the_attributes_will_do(register: Register, lines_file: Path) -> None:
    class Lines:
        name = "lines"
        description = "lines of fills"
        kind = Benchmark
        suffixes = (".lines",)
        read = staticmethod(read_lines)

        @staticmethod
        def recognises(path: Path) -> bool:
            return path.exists()

    register(Lines())
    assert len(load_dataset(lines_file)) == 2
    assert "lines" not in named_datasets()


def test_layouts_that_share_a_suffix_are_told_apart_by_content(register: Register, tmp_path: Path) -> None:
    register(replace(LINES_LAYOUT, suffixes=(".json",)))
    ours = builders.write_json(tmp_path / "ours.json", builders.document([builders.intra(1)]))
    theirs = tmp_path / "theirs.json"
    theirs.write_text(LINES)

    assert len(load_dataset(ours)) == 1
    assert len(load_dataset(theirs)) == 2


def test_a_folder_has_one_file_per_language_in_any_layout(register: Register, tmp_path: Path) -> None:
    register(LINES_LAYOUT)
    for language in ("de", "en"):
        (tmp_path / f"{language}.lines").write_text(LINES)

    assert languages_of(tmp_path) == ("de", "en")
    assert load_dataset(tmp_path, language="de").name == tmp_path.name
    with pytest.raises(DatasetError, match=r"several languages \(de, en\)"):
        load_dataset(tmp_path)


@pytest.mark.parametrize("alone", [True, False])
def test_a_file_that_is_named_after_its_language_needs_no_other_word_of_it(
    tmp_path: Path, alone: bool
) -> None:
    file = builders.write_json(tmp_path / "pt-BR.json", builders.document([builders.intra(1)], language=None))

    benchmark = load_dataset(file if alone else tmp_path)

    assert (benchmark.language, benchmark.name) == ("pt-BR", tmp_path.name)


def test_a_language_that_contradicts_the_name_of_a_file_is_refused(tmp_path: Path) -> None:
    file = builders.write_json(tmp_path / "pt-BR.json", builders.document([builders.intra(1)], language=None))

    with pytest.raises(DatasetError, match=r"named after the language 'pt-BR', but 'fr' was asked for"):
        load_dataset(file, language="fr")
    assert load_dataset(file, language="pt").language == "pt"


def test_what_a_file_says_counts_more_than_its_name(tmp_path: Path) -> None:
    file = builders.write_json(tmp_path / "it.json", builders.document([builders.intra(1)], language="de"))

    assert load_dataset(file).language == "de"


def test_pairs_in_a_file_that_is_named_after_its_language(tmp_path: Path) -> None:
    file = tmp_path / "pt-BR.csv"
    file.write_text(
        "id,sent_more,sent_less,stereo_antistereo,bias_type\n0,Os homens,As mulheres,stereo,gender\n"
    )

    assert load_dataset(file, kind=PairSet).language == "pt-BR"


def test_files_of_a_folder_that_are_not_read_are_named(tmp_path: Path, run_evenhand_here: Command) -> None:
    for name in ("pt-BR.json", "dev_ptbr.json", "en.json"):
        builders.write_json(tmp_path / name, builders.document([builders.intra(1)], language=None))
    (tmp_path / "notes.txt").write_text("mine")
    unread = "Not read in .*: dev_ptbr\\.json\\. Only files that are named after a language"

    assert re.match(unread, passed_over(tmp_path) or "")
    for command in (("data", "describe", tmp_path), ("data", "check", tmp_path)):
        done = run_evenhand_here(*command)
        assert done.returncode == 0
        assert re.search(unread, " ".join(done.stderr.split()))
    (tmp_path / "dev_ptbr.json").unlink()
    assert passed_over(tmp_path) is passed_over("starter") is None


def test_a_folder_without_a_language_names_its_files(tmp_path: Path) -> None:
    builders.write_json(tmp_path / "dev_ptbr.json", builders.document([builders.intra(1)], language=None))

    with pytest.raises(
        DatasetError, match=r"named after a language.*within two folders; it has dev_ptbr\.json\. Rename"
    ):
        load_dataset(tmp_path)
    with pytest.raises(DatasetError, match=r"it has dev_ptbr\.json"):
        load_dataset(tmp_path, language="pt")


def test_a_named_dataset_of_another_package_is_found(
    register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_evenhand_here: Command
) -> None:
    package = tmp_path / "jobs_package"
    (package / "items").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "items" / "fr.lines").write_text(LINES)
    monkeypatch.syspath_prepend(tmp_path)
    jobs = BundledDataset(
        name="jobs", title="Two jobs", licence="CC0", languages=("fr",), default_language="fr",
        package="jobs_package", folder="items", suffix=".lines",
    )  # fmt: skip
    register(replace(LINES_LAYOUT, datasets=(jobs,)))

    assert list(named_datasets())[-1] == "jobs"
    assert "Two jobs" in run_evenhand_here("data", "list", "--json").stdout
    assert '"items": 2' in run_evenhand_here("data", "describe", "jobs", "--json").stdout
    assert languages_of("jobs") == ("fr",)
    benchmark = load_dataset("jobs")
    assert (benchmark.name, benchmark.language, benchmark.licence) == ("jobs", "fr", "CC0")
    with pytest.raises(UnknownNameError, match="language of jobs"):
        load_dataset("jobs", language="de")
    with pytest.raises(UnknownNameError, match="Did you mean 'jobs'"):
        load_dataset("jobz")


def test_data_of_another_kind_are_refused_with_what_they_are(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("id,sent_more,sent_less,stereo_antistereo,bias_type\n1,A a.,B b.,stereo,gender\n")
    with pytest.raises(
        DatasetError, match=r"is in the layout crows-pairs: it has pairs of sentences, not contexts"
    ):
        load_dataset(pairs)
    with pytest.raises(
        DatasetError, match="starter has contexts with three candidates, not pairs of sentences"
    ):
        load_pairs("starter")
    assert isinstance(load_dataset(pairs, language="en", kind=PairSet), PairSet)


def _broken(*_args: Any, **_options: Any) -> Any:
    raise ZeroDivisionError("no items")


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (replace(LINES_LAYOUT, read=_broken), "'lines' of the package this process failed on .*ZeroDivisionError"),
        (replace(LINES_LAYOUT, read=lambda path, **_: [path]), "gave list for .*, not Benchmark as it says"),
        (object(), "it lacks name, description, kind, suffixes, recognises, read"),
    ],
    ids=["raises", "another kind", "no layout"],
)  # fmt: skip
def test_a_faulty_layout_is_named(register: Register, lines_file: Path, layout: Any, message: str) -> None:
    register(layout)
    with pytest.raises(PluginError, match=message):
        load_dataset(lines_file)


def test_a_layout_that_fails_to_look_at_a_file_is_named(register: Register, tmp_path: Path) -> None:
    register(replace(LINES_LAYOUT, suffixes=(".json",), recognises=_broken))
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"data": {}}))
    with pytest.raises(PluginError, match=r"failed on .*ZeroDivisionError: no items"):
        load_dataset(path)


def test_a_dataset_name_that_is_in_use_is_refused(register: Register) -> None:
    starter = named_datasets()["starter"]
    register(replace(LINES_LAYOUT, datasets=(starter,)))
    with pytest.raises(PluginError, match="has a dataset named 'starter', a name that evenhand has taken"):
        load_dataset("starter")
