"""``evenhand compare``, ``report`` and ``data`` as users run them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import probe_runs
import pytest
import yaml
from running import HANG, Command

import evenhand as eh
from evenhand.instruments.malor.instrument import MALOR
from evenhand.store.run import Run
from evenhand.translation.changes import Change, write_changes


@pytest.fixture(scope="module")
def runs(run_evenhand_here: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    files = [eh.example_scores(name) for name in ("neutral", "leaning")]
    assert run_evenhand_here("evaluate", *files, "--data", "starter", "--out", folder).returncode == 0
    german = ("--language", "de", "--name", "leaning-de")
    assert (
        run_evenhand_here("evaluate", files[1], "--data", "starter", *german, "--out", folder).returncode == 0
    )
    return folder


def test_compare_reports_differences_of_shared_items(run_evenhand_here: Command, runs: Path) -> None:
    done = run_evenhand_here("compare", runs / "simulated-neutral", runs / "simulated-leaning", "--json")
    assert done.returncode == 0
    (comparison,) = json.loads(done.stdout)["comparisons"]
    assert comparison["n"] == 96
    row = next(row for row in comparison["differences"] if (row["task"], row["measure"]) == ("overall", "SS"))
    assert row["difference"]["value"] == pytest.approx(row["second"] - row["first"])
    assert row["p_holm"] >= row["p_value"]


def test_languages_of_one_benchmark_are_compared_through_shared_ids(
    run_evenhand_here: Command, runs: Path
) -> None:
    """The same scores in two languages differ in nothing."""
    done = run_evenhand_here("compare", runs / "simulated-leaning", runs / "leaning-de", "--json")
    (comparison,) = json.loads(done.stdout)["comparisons"]
    assert (comparison["first_language"], comparison["second_language"]) == ("en", "de")
    assert all(row["difference"]["value"] == 0 for row in comparison["differences"])
    assert all(row["p_value"] == 1 for row in comparison["differences"])
    assert {row["share"] for row in comparison["translation"]["shares"]} == {None}
    assert sum(row["items"] for row in comparison["translation"]["terms"]) == 96


def test_compare_and_report_say_what_rests_on_repaired_items(
    run_evenhand_here: Command, runs: Path, tmp_path: Path
) -> None:
    items = eh.load_dataset("starter", language="de").items[:3]
    rows = [Change(item.id, "target", "before", "after", "Ann", "2026-01-01") for item in items]
    write_changes(tmp_path / "de.changes.csv", rows)
    folders = [runs / name for name in ("simulated-neutral", "leaning-de")]
    options = ("--changes", tmp_path / "de.changes.csv")

    table = run_evenhand_here("compare", *folders, *options, "--resamples", "200")
    assert run_evenhand_here("report", *folders, *options, "--out", tmp_path / "page.html").returncode == 0

    assert "What rests on items with a problem in either language" in table.stdout
    assert "overall SS repaired 3 of 96" in " ".join(table.stdout.split())
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<section id="translation"' in page
    assert "have a problem in English or German" in page


def test_all_pairs_of_three_runs_are_three_comparisons(run_evenhand_here: Command, runs: Path) -> None:
    folders = [runs / name for name in ("simulated-neutral", "simulated-leaning", "leaning-de")]
    done = run_evenhand_here("compare", *folders, "--all-pairs", "--json", "--resamples", "200")
    assert len(json.loads(done.stdout)["comparisons"]) == 3
    done = run_evenhand_here("compare", *folders, "--format", "latex", "--resamples", "200")
    assert done.stdout.startswith("\\begin{tabular}")


def test_a_measure_that_the_runs_lack_is_shown_as_undefined(run_evenhand_here: Command, runs: Path) -> None:
    """Scores from a file have no probabilities, which the log-ratio needs."""
    arguments = ("compare", runs / "simulated-neutral", runs / "simulated-leaning", "--all-measures")
    table = run_evenhand_here(*arguments, "--resamples", "200")
    assert table.returncode == 0
    rows = [line for line in table.stdout.splitlines() if "log_ratio" in line]
    assert [line.count("undefined") for line in rows] == [5, 5, 5]
    (comparison,) = json.loads(run_evenhand_here(*arguments, "--resamples", "200", "--json").stdout)[
        "comparisons"
    ]
    undefined = [row for row in comparison["differences"] if row["difference"]["value"] is None]
    assert [row["measure"] for row in undefined] == ["log_ratio"] * 3
    assert all(row["p_holm"] is None for row in undefined)


@pytest.mark.parametrize("folders", [("nowhere", "simulated-neutral"), ("simulated-neutral",)])
def test_compare_needs_two_run_folders(
    run_evenhand_here: Command, runs: Path, folders: tuple[str, ...]
) -> None:
    done = run_evenhand_here("compare", *(runs / name for name in folders))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_changed_run_folder_is_refused(run_evenhand_here: Command, tmp_path: Path) -> None:
    scores = eh.example_scores("neutral")
    assert run_evenhand_here("evaluate", scores, "--data", "starter", "--out", tmp_path).returncode == 0
    estimates = tmp_path / "simulated-neutral" / "estimates.json"
    estimates.write_text(estimates.read_text(encoding="utf-8").replace("50.0", "49.0"), encoding="utf-8")
    done = run_evenhand_here("report", tmp_path / "simulated-neutral", "--out", tmp_path / "page.html")
    assert done.returncode == 2
    assert "was changed after the run" in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_model_card_snippet_is_valid_front_matter(run_evenhand_here: Command, runs: Path) -> None:
    done = run_evenhand_here("report", runs / "simulated-leaning", "--format", "model-card")
    assert done.returncode == 0
    _, body, rest = done.stdout.split("---\n")
    assert rest == ""
    (model,) = yaml.safe_load(body)["model-index"]
    assert model["name"] == "simulated-leaning"
    for result in model["results"]:
        assert {"task", "dataset", "metrics"} <= set(result)
        assert {"type", "name"} <= set(result["dataset"])
        assert all({"type", "value"} <= set(metric) for metric in result["metrics"])


def test_report_writes_tables_to_a_file_or_to_standard_output(
    run_evenhand_here: Command, runs: Path, tmp_path: Path
) -> None:
    folder = runs / "simulated-leaning"
    printed = run_evenhand_here("report", folder, "--format", "csv")
    written = run_evenhand_here("report", folder, "--format", "csv", "--out", tmp_path / "table.csv")
    assert printed.returncode == written.returncode == 0
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == printed.stdout


def test_data_list_names_every_set_and_the_command_that_takes_it(run_evenhand_here: Command) -> None:
    done = run_evenhand_here("data", "list", "--json")
    listed = {dataset["name"]: dataset["used_by"] for dataset in json.loads(done.stdout)["datasets"]}
    assert listed == {
        "starter": "audit",
        "lab": "audit",
        "stereoset": "audit",
        "crows-pairs": "probe --test crows-pairs",
        "bec-pro-en": "probe --test bec-pro",
        "bec-pro-de": "probe --test bec-pro",
        "winogender": "probe --test cosine",
        "winogender-occupations": "probe --shares",
    }
    shown = run_evenhand_here("data", "list").stdout
    assert all(name in shown for name in listed)


def test_data_describe_counts_every_language(run_evenhand_here: Command) -> None:
    done = run_evenhand_here("data", "describe", "starter", "--json")
    totals = json.loads(done.stdout)["totals"]
    assert {(row["language"], row["task"], row["items"], row["target_terms"]) for row in totals} == {
        (language, task, 48, 24)
        for language in ("de", "en", "es", "fr", "tr")
        for task in ("intrasentence", "intersentence")
    }


def test_data_check_lists_every_defect_class_with_ids(run_evenhand_here: Command, tmp_path: Path) -> None:
    benchmark = json.loads(Path(str(_starter_path())).read_text(encoding="utf-8"))
    benchmark["data"]["intrasentence"][3]["context"] += " BLANK"
    (tmp_path / "en.json").write_text(json.dumps(benchmark), encoding="utf-8")
    done = run_evenhand_here("data", "check", tmp_path / "en.json", "--json")
    (report,) = json.loads(done.stdout)["datasets"]
    counts = next(row for row in report["defects"] if row["defect"] == "blank-count")
    assert counts["count"] == 1
    assert counts["ids"] == [benchmark["data"]["intrasentence"][3]["id"]]
    table = run_evenhand_here("data", "check", tmp_path / "en.json")
    assert table.returncode == 0
    assert "blank-count" in table.stdout


def _starter_path() -> Path:
    from evenhand.data.stereoset import STARTER

    return STARTER.file("en")


def left_by_its_reader(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run ``evenhand`` into a pipe that nobody reads from."""
    reader, writer = os.pipe()
    os.close(reader)
    executable = Path(sys.executable).with_name("evenhand")
    try:
        return subprocess.run(
            [executable, *map(str, arguments)], stdout=writer, stderr=subprocess.PIPE, text=True, check=False,
            timeout=HANG,
        )  # fmt: skip
    finally:
        os.close(writer)


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_a_reader_who_leaves_is_no_error(form: tuple[str, ...]) -> None:
    done = left_by_its_reader("data", "check", "starter", *form)
    assert done.returncode == 141
    assert done.stderr == ""


def test_a_check_names_whole_ids(run_evenhand_here: Command) -> None:
    done = run_evenhand_here("data", "check", "starter", "--language", "en")
    listed = run_evenhand_here("data", "check", "starter", "--language", "en", "--json")
    (defects,) = [
        found["ids"]
        for found in json.loads(listed.stdout)["datasets"][0]["defects"]
        if found["defect"] == "blank-first"
    ]
    (row,) = [line for line in done.stdout.splitlines() if "blank-first" in line]
    assert row.split()[-2:] == defects[:2]


def test_compare_says_in_words_whether_runs_differ(run_evenhand_here: Command, runs: Path) -> None:
    folders = [runs / name for name in ("simulated-neutral", "simulated-leaning", "leaning-de")]
    done = run_evenhand_here("compare", *folders, "--resamples", "1000")
    first, second = done.stdout.splitlines()[:2]
    assert first.startswith(
        "No difference is shown between simulated-neutral and simulated-leaning: SS +17.7 points ["
    )
    assert first.endswith(" after Holm; with 9 tests chance could explain it.")
    assert second.startswith("No difference is shown between simulated-neutral and leaning-de")
    told = json.loads(run_evenhand_here("compare", *folders, "--resamples", "1000", "--json").stdout)
    assert [comparison["answer"] for comparison in told["comparisons"]] == [first, second]


def test_runs_of_several_instruments_are_compared_within_each(
    run_evenhand_here: Command, runs: Path, tmp_path: Path
) -> None:
    probes = [
        _named(_malor_run(bits), name).save(tmp_path / name)
        for name, bits in (("strong", 2.0), ("weak", 0.5))
    ]
    mixed = [runs / "simulated-neutral", probes[0], runs / "simulated-leaning", probes[1]]
    done = run_evenhand_here("compare", *mixed, "--resamples", "1000")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("No difference is shown between simulated-neutral and simulated-leaning")
    assert lines[1].startswith("strong and weak differ: MALoR -1.50 bits [")
    alone = run_evenhand_here("compare", runs / "simulated-neutral", probes[0])
    assert alone.returncode == 2
    assert "At least two runs of one instrument are needed" in alone.stderr


def _malor_run(bits: float, *, occupations: str = "abcdefghijklmn") -> Run:
    """Occupations that lean by about so many bits, each asked in three structures."""
    return probe_runs.asked_run(
        {
            (occupation, structure): bits + 0.01 * place + 0.02 * structure
            for place, occupation in enumerate(occupations)
            for structure in (1, 2, 3)
        }
    )


def _named(run: Run, name: str) -> Run:
    return dataclasses.replace(run, record=run.record.model_copy(update={"name": name}))


def test_a_report_says_which_runs_were_asked_other_questions(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    made = {"one": _malor_run(2.0), "two": _malor_run(1.0), "three": _malor_run(1.0, occupations="xyz")}
    folders = []
    for name, run in made.items():
        own = dataclasses.replace(run, results=MALOR.results_again(run))
        folders.append(_named(own, name).save(tmp_path / name))
    page = tmp_path / "page.html"
    done = run_evenhand_here("report", *folders, "--out", page)
    assert "Warning: no differences are shown for three: one and three were not asked the same" in done.stderr
    same = run_evenhand_here("report", *folders[:2], "--out", page)
    assert same.stderr == f"Reading 2 runs\nWrote {page}\n"
