"""``evenhand annotate``: agreement in the terminal and as JSON, labels, and files from layout to layout."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from running import Command

from evenhand.core.errors import DatasetError
from evenhand.data.annotation_files import read_annotations
from evenhand.data.annotations import Annotation, AnnotationTable
from evenhand.data.label_schemes import load_scheme
from evenhand.regard.agreement import annotator_agreement

VOTES = {"ada": "-1,0,1,0,1,X", "ben": "-1,0,1,1,1,0", "cem": "-1,0,0,1,,0"}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = []
    for annotator, votes in VOTES.items():
        rows = [
            f"{number},{'x' if vote == 'X' else ''},{'' if vote == 'X' else vote},Die Person tut {number}."
            for number, vote in enumerate(votes.split(","))
        ]
        paths.append(tmp_path / f"{annotator}.csv")
        paths[-1].write_text("\n".join([",Unsicher,Label,Text", *rows]) + "\n", encoding="utf-8")
    return paths


def test_agreement_as_json_has_these_fields(run_evenhand_here: Command, files: list[Path]) -> None:
    told = run_evenhand_here(
        "annotate", "agreement", *files, "--label", "Label", "--unsure", "Unsicher", "--json"
    )
    found = json.loads(told.stdout)
    assert list(found) == [
        *("n", "annotators", "pairwise_kappa", "mean_kappa", "alpha", "consensus", "ambiguous", "unsure"),
        *("single", "complete"),
    ]
    whole = run_evenhand_here("annotate", "agreement", *files, "--unsure", "Unsicher", "--complete", "--json")
    complete = json.loads(whole.stdout)
    assert found["complete"] == {key: complete[key] for key in ("n", "mean_kappa", "alpha")}
    assert found["complete"]["n"] == 4
    assert list(found["alpha"]) == ["nominal", "ordinal"]
    assert (found["n"], found["annotators"]) == (6, ["ada", "ben", "cem"])
    assert [row[place] for place, row in enumerate(found["pairwise_kappa"])] == [None] * 3
    assert (found["consensus"], found["ambiguous"], found["unsure"]) == (2, 0, 2)


def test_agreement_on_the_terminal_names_the_band(run_evenhand_here: Command, files: list[Path]) -> None:
    told = run_evenhand_here("annotate", "agreement", *files, "--unsure", "Unsicher", "--complete")
    assert "Mean kappa of 3 pairs: 0.491, weak by McHugh's bands." in told.stdout
    assert "4 texts: all agree on 2, labels tie in 0, somebody was unsure about 0." in told.stdout


def test_labels_are_written_with_their_shares(
    run_evenhand_here: Command, files: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "labels.csv"
    run_evenhand_here("annotate", "agreement", *files, "--unsure", "Unsicher", "--labels", out)
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["mode"] for row in rows] == ["-1", "0", "1", "1", "", ""]
    assert [row["consensus"] for row in rows] == ["-1", "0", "", "", "", ""]
    assert [row["unsure"] for row in rows] == ["", "", "", "", "x", "x"]
    assert rows[3]["share_1"] == "0.666667"


def test_a_model_of_annotators_adds_its_columns(
    run_evenhand_here: Command, files: list[Path], tmp_path: Path
) -> None:
    pytest.importorskip("crowdkit")
    out = tmp_path / "labels.csv"
    run_evenhand_here(
        "annotate", "agreement", *files, "--unsure", "Unsicher", "--labels", out, "--model", "dawid-skene"
    )
    with out.open(encoding="utf-8", newline="") as stream:
        assert [row["dawid-skene"] for row in csv.DictReader(stream)][:3] == ["-1", "0", "1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "mace"], "--model says how labels are made"),
        (["--labels", "labels.csv", "--model", "dawid"], "Did you mean 'dawid-skene'"),
        (["--layout", "longer"], "Did you mean 'long'"),
        (["--scheme", "regards"], "Did you mean 'regard'"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    run_evenhand_here: Command, files: list[Path], tmp_path: Path, arguments: list[str], message: str
) -> None:
    told = run_evenhand_here(
        "annotate", "agreement", *files, "--unsure", "Unsicher", *arguments, cwd=tmp_path
    )
    assert told.returncode == 2
    assert message in told.stderr


def test_files_go_from_layout_to_layout_and_back(
    run_evenhand_here: Command, files: list[Path], tmp_path: Path
) -> None:
    long, tasks = tmp_path / "long.csv", tmp_path / "tasks.json"
    told = run_evenhand_here("annotate", "import", *files, "--unsure", "Unsicher", "--out", long)
    assert "18 annotations of 6 texts by 3 annotators" in told.stderr
    run_evenhand_here("annotate", "export", long, "--to", "label-studio", "--out", tasks)
    assert sorted(read_annotations([tasks]), key=str) == sorted(read_annotations([long]), key=str)


def test_agreement_needs_two_annotators_and_a_label() -> None:
    scheme = load_scheme("regard")
    alone = AnnotationTable(scheme, (Annotation("0", "A.", "ada", "1"),))
    with pytest.raises(DatasetError, match="needs at least two"):
        annotator_agreement(alone)
    silent = AnnotationTable(
        scheme, (Annotation("0", "A.", "ada"), Annotation("0", "A.", "ben", unsure=True))
    )
    with pytest.raises(DatasetError, match="No annotator gave a label"):
        annotator_agreement(silent)


def test_a_decision_settles_the_label_and_leaves_the_votes() -> None:
    scheme = load_scheme("regard")
    votes = (Annotation("0", "A.", "ada", "1"), Annotation("0", "A.", "ben", "-1"))
    decision = Annotation("0", "A.", "lead", "0", comment="in between", adjudicated=True)
    table = AnnotationTable(scheme, (*votes, decision))
    found = table.aggregated()
    assert (scheme.codes[found.mode[0]], found.ambiguous[0], found.counts.tolist()) == (
        "0",
        False,
        [[1, 0, 1]],
    )
    assert annotator_agreement(table).ambiguous == ("0",)
