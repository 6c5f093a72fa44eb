"""Labelled text in every layout that is read, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import DatasetError
from evenhand.data.labelled import load_labelled


def rows(count: int) -> list[tuple[str, str]]:
    return [(f"text {place}, truly", ("good", "bad", "so-so")[place % 3]) for place in range(count)]


def write(path: Path, examples: list[tuple[str, str]], *, column: str = "text") -> Path:
    if path.suffix == ".jsonl":
        path.write_text(
            "".join(json.dumps({column: text, "label": label}) + "\n" for text, label in examples)
        )
    else:
        sign = "\t" if path.suffix == ".tsv" else ","
        lines = [sign.join((column, "label")), *(sign.join((f'"{text}"', label)) for text, label in examples)]
        path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", ["own.csv", "own.tsv", "own.jsonl"])
@pytest.mark.parametrize("column", ["text", "sentence"])
def test_a_file_is_split_once_and_nothing_is_lost(tmp_path: Path, name: str, column: str) -> None:
    found = load_labelled(write(tmp_path / name, rows(150), column=column))
    assert (len(found.train), len(found.judged)) == (120, 30)
    assert found.classes == ("bad", "good", "so-so")
    everything = {(example.text, example.label) for example in (*found.train, *found.judged)}
    assert everything == set(rows(150))


def everything_in(path: Path) -> set[tuple[str, str]]:
    found = load_labelled(path)
    return {(example.text, example.label) for example in (*found.train, *found.judged)}


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_only_a_line_break_ends_a_line_of_json(tmp_path: Path, sign: str, ending: str) -> None:
    examples = [(f"text {place}{sign}goes on", str(place % 2)) for place in range(150)]
    lines = [json.dumps({"text": text, "label": label}, ensure_ascii=False) for text, label in examples]
    content = ending.join(lines) + ending
    (tmp_path / "own.jsonl").write_bytes(content.encode())
    assert everything_in(tmp_path / "own.jsonl") == set(examples)


def test_tabs_part_texts_with_any_quotation_marks(tmp_path: Path) -> None:
    """As GLUE writes them: nothing is quoted, so a mark is a mark."""
    texts = ['"good', 'bad"', 'so "so"', '"one" and "two"', '"', "plain", '""twice']
    examples = [(f"{text} {n}" if n % 2 else f"{n} {text}", str(n % 2)) for n in range(91) for text in texts]
    starts = [(f"{text}{n}{text}", str(n % 3)) for n in range(91) for text in ('"a" or "b"', '"b')]
    lines = ["sentence\tlabel", *("\t".join(row) for row in [*examples, *starts])]
    (tmp_path / "own.tsv").write_text("\r\n".join(lines) + "\r\n", newline="")
    assert everything_in(tmp_path / "own.tsv") == {*examples, *starts}


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("within", ["", "\t", "\n", "\t\t\n"])
def test_tabs_part_texts_that_were_quoted_as_in_csv(tmp_path: Path, quoting: Any, within: str) -> None:
    examples = [(f'text {n}, "truly" {within}so', str(n % 2)) for n in range(150)]
    with (tmp_path / "own.tsv").open("w", newline="") as stream:
        csv.writer(stream, delimiter="\t", quoting=quoting).writerows([("text", "label"), *examples])
    assert everything_in(tmp_path / "own.tsv") == set(examples)


@pytest.mark.parametrize("label", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_label_that_is_no_number_is_refused(tmp_path: Path, label: str) -> None:
    lines = [f'{{"text": "text {place}", "label": {place % 2}.5}}\n' for place in range(150)]
    path = tmp_path / "own.jsonl"
    path.write_text("".join(lines))
    assert {label for _, label in everything_in(path)} == {"0.5", "1.5"}
    lines[6] = f'{{"text": "text 6", "label": {label}}}\n'
    path.write_text("".join(lines))
    with pytest.raises(
        DatasetError, match=r"own\.jsonl, line 7: the label is -?(nan|inf).*leave the row out"
    ):
        load_labelled(path)


def test_the_seed_decides_on_the_split(tmp_path: Path) -> None:
    path = write(tmp_path / "own.csv", rows(150))
    assert load_labelled(path) == load_labelled(path)
    assert load_labelled(path, seed=1).judged != load_labelled(path).judged


def test_a_folder_has_a_split_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "train.tsv", rows(60), column="sentence")
    write(tmp_path / "test.tsv", rows(21), column="sentence")
    write(tmp_path / "dev.tsv", rows(30), column="sentence")
    found = load_labelled(tmp_path)
    assert (len(found.train), len(found.judged)) == (60, 30)
    limited = found.limited(train=25, judged=20)
    assert limited.train == found.train[:25]
    assert len(limited.judged) == 20


@pytest.mark.parametrize("changed", ["train.csv", "dev.csv"])
def test_a_folder_of_which_either_file_changes_has_another_digest(tmp_path: Path, changed: str) -> None:
    write(tmp_path / "train.csv", rows(60))
    write(tmp_path / "dev.csv", rows(30))
    before = load_labelled(tmp_path).sha256
    assert load_labelled(tmp_path).sha256 == before
    write(tmp_path / changed, rows(61))
    assert load_labelled(tmp_path).sha256 != before


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("text,label\na,1\n" * 1, "only the label 1"),
        ("text,label\n" + "".join(f"t{n},{n}\n" for n in range(50)), "Is the column label the label"),
        (
            "text,label\n" + "".join(f"t{n},{n % 2}\n" for n in range(30)),
            "24 examples to train on and 6 to judge",
        ),
        ("text,class\na,1\n", "label is missing"),
        ("words,label\na,1\n", "text or sentence is missing"),
        ("text,label\na,\n", "the label is empty"),
        ("text,label\n,1\n", "the text is empty"),
    ],
)
def test_unfit_tables_are_refused(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(content)
    with pytest.raises(DatasetError, match=told):
        load_labelled(path)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "not valid JSON"),
        ("[1]", "every line is an object"),
        ('{"text": 3, "label": 1}', "the text is empty"),
    ],
)
def test_unfit_lines_are_refused(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"text": "a", "label": 0}\n\n' + line + "\n")
    with pytest.raises(DatasetError, match=f"line 3: {told}|line 3.*{told}"):
        load_labelled(path)


def test_labels_that_training_never_saw_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", rows(60))
    write(tmp_path / "dev.csv", [*rows(30), ("new", "unheard of")])
    with pytest.raises(DatasetError, match="'unheard of' is among those to judge by"):
        load_labelled(tmp_path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="There is no file or folder"):
        load_labelled(tmp_path / "none.csv")
    write(tmp_path / "train.csv", rows(60))
    with pytest.raises(DatasetError, match="no file dev or validation or test"):
        load_labelled(tmp_path)


def test_half_of_a_surrogate_pair_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "labelled.jsonl"
    path.write_text('{"text": "fine", "label": 1}\n{"text": "a \\ud800 b", "label": 0}\n', encoding="utf-8")
    with pytest.raises(DatasetError, match=r"labelled\.jsonl, line 2: not valid JSON .*surrogates"):
        load_labelled(path)
