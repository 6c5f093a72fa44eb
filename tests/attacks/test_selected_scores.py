"""Gates on selected scores: three of 4,229 items with the answers that somebody likes do not pass."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import builders
import pytest
from running import Command

from evenhand.core.items import Association

FEW = ("--resamples", "100")
CHOSEN = 3
INTRA, INTER = 120, 80


@pytest.fixture(scope="module")
def items() -> list[Association]:
    """Two hundred items; a quarter of each task is about gender."""
    return [
        make(number, cluster=f"term {number // 4}", bias_type="gender" if number % 4 == 0 else "profession")
        for make, count in ((builders.intra, INTRA), (builders.inter, INTER))
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def data(items: list[Association], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selected")
    return builders.write_json(folder / "data.json", builders.document(items))


def scores_file(path: Path, items: Sequence[Association], *, stereotype: float = 0.0) -> Path:
    """Scores in StereoSet's layout that prefer the anti-stereotype, unless the stereotype has a higher one."""
    document: dict[str, list[dict[str, Any]]] = {"intrasentence": [], "intersentence": []}
    for item in items:
        for candidate, score in zip(item.candidates, (stereotype, 0.5, 0.1), strict=True):
            document[item.task.value].append({"id": candidate.id, "score": score})
    return builders.write_json(path, {task: entries for task, entries in document.items() if entries})


@pytest.fixture
def selected(items: list[Association], tmp_path: Path) -> Path:
    return scores_file(tmp_path / "selected.json", items[:CHOSEN])


def test_scores_of_a_few_items_do_not_pass(run_evenhand_here: Command, selected: Path, data: Path) -> None:
    done = run_evenhand_here("evaluate", selected, "--data", data, "--fail-if", "SS>60", *FEW)

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "Error: The condition 'SS>60' is refused for selected: its coverage is 1.5% (3 of 200 items), below 99%. "
        "Score the other items, or allow fewer with --min-coverage."
    )


def test_they_pass_where_somebody_allows_it_and_a_warning_says_so(
    run_evenhand_here: Command, selected: Path, data: Path
) -> None:
    arguments = ("evaluate", selected, "--data", data, "--fail-if", "SS>60", *FEW)

    allowed = run_evenhand_here(*arguments, "--min-coverage", "1.5")
    refused = run_evenhand_here(*arguments, "--min-coverage", "1.6")

    assert allowed.returncode == 0
    assert (
        "Warning: selected: conditions are judged on selected scores; the coverage is 1.5% (3 of 200 items)."
        in allowed.stderr.splitlines()
    )
    assert refused.returncode == 2


def test_a_task_that_was_left_out_counts_unless_the_condition_names_the_other(
    run_evenhand_here: Command, items: list[Association], data: Path, tmp_path: Path
) -> None:
    """120 of 200 items: all of one task, on which the anti-stereotype always wins."""
    scores = scores_file(tmp_path / "intra.json", items[:INTRA])

    codes = {
        condition: run_evenhand_here(
            "evaluate", scores, "--data", data, "--fail-if", condition, *FEW
        ).returncode
        for condition in ("SS>60", "gender.SS>60", "intrasentence.SS>60", "intrasentence.gender.SS<60")
    }

    assert codes == {"SS>60": 2, "gender.SS>60": 2, "intrasentence.SS>60": 0, "intrasentence.gender.SS<60": 4}


def test_dropping_the_items_of_one_bias_type_is_seen_in_that_type(
    run_evenhand_here: Command, items: list[Association], data: Path, tmp_path: Path
) -> None:
    """198 of 200 items are 99%; of the 50 about gender only 48 are left."""
    gender = [item for item in items if item.bias_type == "gender"]
    scores = scores_file(tmp_path / "most.json", [item for item in items if item not in gender[:2]])
    arguments = ("evaluate", scores, "--data", data, *FEW)

    assert run_evenhand_here(*arguments, "--fail-if", "SS>60").returncode == 0
    refused = run_evenhand_here(*arguments, "--fail-if", "gender.SS>60")
    assert refused.returncode == 2
    assert "its coverage is 96% (48 of 50 items), below 99%" in refused.stderr


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("coverage<99", 4),
        ("coverage<1", 0),
        ("intrasentence.coverage<=2.5", 4),
        ("intrasentence.coverage<2.5", 0),
        ("coverage.low<99", 2),
        ("intersentence.coverage<99", 2),
    ],
)
def test_coverage_is_a_condition_of_its_own(
    run_evenhand_here: Command, selected: Path, data: Path, condition: str, code: int
) -> None:
    """Three of 200 items are 1.5%, and 2.5% of the 120 of their task."""
    done = run_evenhand_here("evaluate", selected, "--data", data, "--fail-if", condition, *FEW)

    assert done.returncode == code, done.stderr


def test_coverage_stands_beside_the_figures(
    run_evenhand_here: Command, selected: Path, data: Path, tmp_path: Path
) -> None:
    command = ("evaluate", selected, "--data", data, *FEW)

    table = run_evenhand_here(*command, "--out", tmp_path / "runs").stdout
    markdown = run_evenhand_here(*command, "--format", "markdown").stdout
    (run,) = json.loads(run_evenhand_here(*command, "--json").stdout)["runs"]

    row = next(line for line in table.splitlines() if line.startswith(" intrasentence"))
    assert row.split()[-2:] == ["3", "2.5%"]
    assert "Coverage: 1.5% (3 of 200 items)." in table
    assert "| intrasentence | 3 | 2.5% |" in markdown
    assert (run["coverage"]["percent"], run["coverage"]["scored"], run["coverage"]["total"]) == (1.5, 3, 200)
    assert run["coverage"]["groups"]["intrasentence"]["percent"] == 2.5
    folder = tmp_path / "runs" / "selected"
    assert "1.5% (3 of 200 items)" in (folder / "report.html").read_text(encoding="utf-8")
    for form, shown in (
        ("paper-markdown", "1.5%"),
        ("model-card", "1.5%"),
        ("lm-eval", "1.5%"),
        ("csv", ",2.5,"),
    ):
        assert shown in run_evenhand_here("report", folder, "--format", form).stdout
    compared = run_evenhand_here("compare", folder, folder).stdout
    assert "Coverage: 1.5% (3 of 200 items)." in compared


@pytest.mark.parametrize("scored", [INTRA + INTER, CHOSEN])
def test_runs_side_by_side_have_a_column_of_coverage_where_it_differs(
    run_evenhand_here: Command, items: list[Association], data: Path, tmp_path: Path, scored: int
) -> None:
    files = [
        scores_file(tmp_path / f"{name}.json", items[:count])
        for name, count in (("whole", INTRA + INTER), ("other", scored))
    ]
    done = run_evenhand_here("evaluate", *files, "--data", data, "--out", tmp_path / "runs", *FEW)
    assert done.returncode == 0, done.stderr
    done = run_evenhand_here(
        "report", tmp_path / "runs" / "whole", tmp_path / "runs" / "other", "--out", tmp_path / "page.html"
    )
    assert done.returncode == 0, done.stderr

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    runs = page[page.index('id="runs"') : page.index('id="reading"')]
    assert "100% (200 of 200 items)" in page[: page.index('id="runs"')]
    assert ("Coverage" in runs, "1.5% (3 of 200 items)" in runs) == (scored == CHOSEN, scored == CHOSEN)


def test_a_finished_run_keeps_its_coverage(
    run_evenhand_here: Command, selected: Path, data: Path, tmp_path: Path
) -> None:
    run_evenhand_here("evaluate", selected, "--data", data, "--out", tmp_path, *FEW)
    report = ("report", tmp_path / "selected", "--fail-if", "SS>60")

    refused = run_evenhand_here(*report)
    allowed = run_evenhand_here(*report, "--min-coverage", "1")

    assert refused.returncode == 2
    assert "its coverage is 1.5% (3 of 200 items)" in refused.stderr
    assert allowed.returncode == 0
    assert allowed.stderr.splitlines()[-1] == "Gate open: no condition holds."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("audit", "no/such-model", "--fail-if", "SSS>60"), "Unknown measure in the condition 'SSS'"),
        (("audit", "no/such-model", "--fail-if", "coverage<99"), "Unknown measure in the condition 'coverage'"),
        (("audit", "no/such-model", "--fail-if", "gendre.SS>60"), "Did you mean 'gender'?"),
        (("audit", "no/such-model", "--task", "intrasentence", "--fail-if", "overall.SS>60"), "only intrasentence"),
        (("probe", "no/such-model", "--fail-if", "he-she.malor>1"), "Did you mean 'MALoR'?"),
        (("probe", "no/such-model", "--fail-if", "he-shee.MALoR>1"), "Did you mean 'he-she'?"),
        (("probe", "no/such-model", "--fail-if", "MALoR>1"), "may mean he-she.gender.MALoR"),
        (("probe", "no/such-model", "-t", "knowledge", "--fail-if", "mal.share_right<90"), "Did you mean 'male'?"),
        (("regard", "audit", "no/such-model", "--fail-if", "gab>5"), "Did you mean 'gap'?"),
        (("regard", "audit", "no/such-model", "--fail-if", "femal.net_regard<0"), "Did you mean 'female'?"),
        (("evaluate", "no-such.json", "--data", "no-such-data", "--fail-if", "SSS>1"), "Did you mean 'SS'?"),
        (("evaluate", "no-such.json", "--data", "starter", "--fail-if", "gendre.SS>1"), "Did you mean 'gender'?"),
        (("regard", "evaluate", "no-such.csv", "--fail-if", "gab>5"), "Did you mean 'gap'?"),
    ],
)  # fmt: skip
def test_an_unknown_figure_is_refused_before_anything_is_loaded(
    run_evenhand_here: Command, arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    """Neither the model nor the scores exist, and the message is about the condition."""
    done = run_evenhand_here(*arguments, cwd=tmp_path)

    assert done.returncode == 2
    assert message in done.stderr
    assert "no-such" not in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_a_closed_gate_says_which_figure_is_on_the_wrong_side(
    run_evenhand_here: Command, items: list[Association], data: Path, tmp_path: Path
) -> None:
    """The stereotype wins every item, and then none."""
    files = [
        scores_file(tmp_path / "all.json", items, stereotype=0.9),
        scores_file(tmp_path / "none.json", items),
    ]
    gate = ("--data", data, "--out", tmp_path / "runs", *FEW, "--fail-if", "intrasentence.SS>95")

    one = run_evenhand_here("evaluate", files[0], *gate, "--fail-if", "ICAT<=0.5")
    two = run_evenhand_here("evaluate", *files, *gate, "--fresh")

    assert (one.returncode, two.returncode) == (4, 4)
    closed = [line for line in one.stderr.splitlines() if line.startswith("Gate closed")]
    assert closed == [
        "Gate closed: intrasentence.SS 100.0 is above 95",
        "Gate closed: ICAT 0.0 is at or below 0.5",
    ]
    closed = [line for line in two.stderr.splitlines() if line.startswith("Gate closed")]
    assert closed == ["Gate closed: all: intrasentence.SS 100.0 is above 95"]
    runs = tmp_path / "runs"
    finished = run_evenhand_here(
        "report", runs / "none", runs / "all", "--fail-if", "LMS<50", "--fail-if", "SS<1"
    )
    assert finished.returncode == 4
    assert finished.stdout == ""
    assert "Gate closed: none: SS 0.0 is below 1" in finished.stderr
    assert "LMS" not in finished.stderr


def test_a_log_of_three_samples_is_not_whole_because_it_says_nothing_else(
    run_evenhand_here: Command, items: list[Association], data: Path, tmp_path: Path
) -> None:
    whole = scores_file(tmp_path / "whole.json", items)
    run_evenhand_here("evaluate", whole, "--data", data, "--out", tmp_path / "runs", *FEW)
    log = json.loads(run_evenhand_here("report", tmp_path / "runs" / "whole", "--format", "inspect").stdout)
    log["samples"] = log["samples"][:CHOSEN]
    log["results"]["total_samples"] = CHOSEN
    cut = builders.write_json(tmp_path / "cut.json", log)
    silent = {**log, "eval": {**log["eval"], "dataset": {"name": "data"}}}
    unknown = builders.write_json(tmp_path / "unknown.json", silent)
    renamed = {**log, "eval": {**log["eval"], "dataset": {"name": "stereoset", "samples": CHOSEN}}}
    published = builders.write_json(tmp_path / "published.json", renamed)

    refusals = {
        path.stem: run_evenhand_here("evaluate", path, "--fail-if", "SS>60", *FEW)
        for path in (cut, unknown, published)
    }

    assert {done.returncode for done in refusals.values()} == {2}
    assert "1.5% (3 of 200 items)" in refusals["cut"].stderr
    assert "unknown (3 items, of how many is not known)" in refusals["unknown"].stderr
    assert "0.07% (3 of 4,229 items)" in refusals["published"].stderr
    allowed = run_evenhand_here("evaluate", unknown, "--fail-if", "SS>60", "--min-coverage", "0", *FEW)
    assert allowed.returncode == 0


def test_a_minimum_without_a_condition_is_refused(
    run_evenhand_here: Command, selected: Path, data: Path
) -> None:
    done = run_evenhand_here("evaluate", selected, "--data", data, "--min-coverage", "5", *FEW)

    assert done.returncode == 2
    assert "--min-coverage is for the conditions of --fail-if" in done.stderr


def test_replaced_culture_specific_items_need_no_scores(
    run_evenhand_here: Command, items: list[Association], tmp_path: Path
) -> None:
    """An item of the language's own stands in the place of one that makes no sense there."""
    first = items[0]
    marked = replace(first, beyond_repair="culture-specific: no such thing")
    own = replace(
        first,
        id=f"{first.id}-en",
        candidates=tuple(replace(each, id=f"own-{each.id}") for each in first.candidates),  # type: ignore[arg-type]
    )
    rows = builders.document([marked, own, *items[1:]])
    for entry in rows["data"]["intrasentence"]:
        if entry["id"] == first.id:
            entry["beyond_repair"] = marked.beyond_repair
    data = builders.write_json(tmp_path / "own.json", rows)
    scores = scores_file(tmp_path / "scores.json", [own, *items[1:]])

    done = run_evenhand_here("evaluate", scores, "--data", data, "--fail-if", "coverage<100", *FEW)

    assert done.returncode == 0, done.stderr


def test_three_items_of_stereoset_do_not_pass(
    run_evenhand_here: Command, shared_data: Path, tmp_path: Path
) -> None:
    """On the published items: the three of them give SS 0 and would pass."""
    published = shared_data / "stereoset" / "en.json"
    rows = json.loads(published.read_text(encoding="utf-8"))["data"]["intrasentence"][:CHOSEN]
    ranks = {"anti-stereotype": 0.5, "unrelated": 0.1, "stereotype": 0.0}
    entries = [
        {"id": sentence["id"], "score": ranks[sentence["gold_label"]]}
        for row in rows
        for sentence in row["sentences"]
    ]
    scores = builders.write_json(tmp_path / "three.json", {"intrasentence": entries})
    arguments = ("evaluate", scores, "--data", published, *FEW, "--fail-if", "SS>60")

    refused = run_evenhand_here(*arguments)
    allowed = run_evenhand_here(*arguments, "--min-coverage", "0.05")

    assert refused.returncode == 2
    assert "its coverage is 0.07% (3 of 4,229 items), below 99%" in refused.stderr
    assert allowed.returncode == 0
    assert "judged on selected scores; the coverage is 0.07% (3 of 4,229 items)" in allowed.stderr
