"""``evenhand data counterfactual`` as users run it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from running import Command

from evenhand.core.probes import fill
from evenhand.data.probes import load_probes

pytest.importorskip("lemminflect")

FEW = ("--occupations", "jobs.txt")
"""Two occupations, so that the sentences of the evaluation are few and quickly made."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "jobs.txt").write_text("doctor\nnurse\n")
    (tmp_path / "a.txt").write_text(
        "He told the nurse about her hat. It rained.\nThe doctor said that she was late.\n"
    )
    (tmp_path / "b.txt.gz").write_bytes(
        gzip.compress(b"James asked the doctor.\nShe told the nurse about his hat.\n")
    )
    (tmp_path / "c.jsonl").write_text('{"text": "His nurse slept. The nurse slept."}\n')
    return tmp_path


def test_pairs_counts_and_tables_are_made_of_all_kinds_of_files(
    run_evenhand_here: Command, place: Path
) -> None:
    done = run_evenhand_here("data", "counterfactual", "--corpus", "a.txt", "b.txt.gz", "--corpus", "c.jsonl", *FEW,
                        "--experiment", "he-she", cwd=place)  # fmt: skip

    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (place / "pairs.jsonl").read_text().splitlines()]
    counts = json.loads((place / "pairs.counts.json").read_text())
    assert [(row["male"], row["female"], row["original"]) for row in rows] == [
        ("He told the nurse about her hat.", "She told the nurse about his hat.", "male"),
        ("The doctor said that he was late.", "The doctor said that she was late.", "female"),
    ]
    assert (counts["sentences"], counts["found"], counts["pairs"]) == (7, 2, 2)
    assert sum(counts["left_out"].values()) == 5
    assert "he / she" in done.stdout
    assert "7 sentences were read. 2 pairs are 2 male and 2 female sentences." in done.stdout
    assert "The doctor said that she was late." in done.stdout
    assert "pairs.jsonl and pairs.counts.json hold 2 pairs." in done.stderr


def test_json_is_the_counts_and_nothing_else_and_a_second_run_changes_nothing(
    run_evenhand_here: Command, place: Path
) -> None:
    command = ("data", "counterfactual", "a.txt", "b.txt.gz", *FEW, "--workers", "2", "--json")
    first = run_evenhand_here(*command, cwd=place)
    written = (place / "pairs.jsonl").stat().st_mtime_ns
    second = run_evenhand_here(*command, cwd=place)

    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout) == json.loads((place / "pairs.counts.json").read_text())
    assert second.stdout == first.stdout
    assert (place / "pairs.jsonl").stat().st_mtime_ns == written


def test_names_are_repeated_over_the_table_and_sampled(run_evenhand_here: Command, place: Path) -> None:
    done = run_evenhand_here("data", "counterfactual", "b.txt.gz", *FEW, "--experiment", "names", "--names-sample", "7",
                        "--json", cwd=place)  # fmt: skip

    counts = json.loads(done.stdout)
    assert (counts["found"], counts["names"]["pool"], counts["pairs"]) == (1, 29, 7)


def test_german_and_a_folder_as_a_dataset(run_evenhand_here: Command, tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_text("Lehrer\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.jsonl").write_text('{"body": "Der Lehrer sagte, dass er müde ist."}\n')

    done = run_evenhand_here("data", "counterfactual", "--corpus", f"hub:{tmp_path / 'data'}", "--column", "body",
                        "--language", "de", "--out", "de.jsonl", *FEW, cwd=tmp_path)  # fmt: skip

    assert done.returncode == 0, done.stderr
    (line,) = (tmp_path / "de.jsonl").read_text().splitlines()
    assert json.loads(line)["female"] == "Die Lehrerin sagte, dass sie müde ist."
    assert "All sentences found for he-she are male" in done.stderr


def test_sentences_of_the_evaluation_are_left_out_with_a_warning(
    run_evenhand_here: Command, place: Path
) -> None:
    probes = load_probes("en")
    doctor = next(each for each in probes.occupations if each.name == "doctor")
    asked = [fill(structure, doctor.forms[0], term=probes.terms[structure.experiment].male[0])
             for structure in probes.structures[::30]]  # fmt: skip
    (place / "leak.txt").write_text(
        "\n".join(sentence.upper().replace("DOCTOR", "doctor") for sentence in asked)
    )

    done = run_evenhand_here("data", "counterfactual", "a.txt", "leak.txt", *FEW, "--json", cwd=place)

    counts = json.loads(done.stdout)
    assert counts["overlap"] == len(asked) == counts["left_out"]["a sentence of the evaluation"]
    assert f"Warning: {len(asked)} sentences of the corpus are sentences that the probes ask." in done.stderr


BAD = {
    "nothing": ([], "No corpus was given. Write --corpus PATH"),
    "a missing file": (["--corpus", "missing.txt"], "There is no file or folder missing.txt"),
    "an empty file": (["--corpus", "empty.txt", *FEW], "There is no sentence in empty.txt"),
    "Latin-1": (["--corpus", "latin.txt", *FEW], "latin.txt is not UTF-8 text"),
    "no match": (
        ["--corpus", "none.txt", *FEW],
        "No sentence of the corpus gives a pair. Looked for: one of 2",
    ),
    "no experiment": (
        ["--corpus", "a.txt", "--experiment", "he"],
        "Unknown experiment 'he'. Did you mean 'he-she'?",
    ),
    "no language": (["--corpus", "a.txt", "--language", "fr"], "Unknown language"),
    "something there": (["--corpus", "a.txt", *FEW, "--out", "jobs.txt"], "jobs.txt is there already"),
    "no dataset": (["--corpus", "hub:a:b:c"], "does not name a dataset"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_said_and_nothing_is_written(run_evenhand_here: Command, place: Path, case: str) -> None:
    (place / "empty.txt").touch()
    (place / "latin.txt").write_bytes("Er hieß so.".encode("latin-1"))
    (place / "none.txt").write_text("It rained.\n")
    arguments, message = BAD[case]

    done = run_evenhand_here("data", "counterfactual", *arguments, cwd=place)

    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(place.glob("pairs.*json*"))
    assert (place / "jobs.txt").read_text() == "doctor\nnurse\n"


def test_help_shows_examples(run_evenhand_here: Command) -> None:
    done = run_evenhand_here("data", "counterfactual", "--help")

    assert done.returncode == 0
    assert "evenhand data counterfactual --corpus novels/" in done.stdout
