"""Datasets are read in the layouts that people have them in, by their content, whatever the file is called."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pair_builders import HEADER, pair, row_of

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.items import Association, Benchmark, Label, PairDirection, PairSet, Task
from evenhand.data import languages_of, load_dataset, load_pairs
from evenhand.data.layouts import kind_of
from evenhand.data.pair_inspection import check_pairs
from evenhand.data.stereoset import HUB_LABELS

STARTER = load_dataset("starter", language="de")
PAIRS = (
    pair(0),
    pair(1, more="Er, der Pfleger, wartet.", less="Sie wartet.", direction="antistereo", bias_type="gender"),
)
CLASS_NAMES = [label.value for label in HUB_LABELS]


def hub_rows(
    items: Iterable[Association] = STARTER, *, names: list[str] | None = None
) -> list[dict[str, Any]]:
    """Items as the hub has them, with integers that stand for the names in this order."""
    numbers = {name: number for number, name in enumerate(names or CLASS_NAMES)}
    return [
        {
            "id": item.id,
            "target": item.target,
            "bias_type": item.bias_type,
            "context": item.context,
            "sentences": {
                "id": [each.id for each in item.candidates],
                "sentence": [each.text for each in item.candidates],
                "gold_label": [numbers[each.label.value] for each in item.candidates],
            },
        }
        for item in items
    ]


def as_lists(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with one object per candidate, as newer versions of the library write them."""
    return [
        {
            **row,
            "sentences": [
                dict(zip(row["sentences"], values, strict=True))
                for values in zip(*row["sentences"].values(), strict=True)
            ],
        }
        for row in rows
    ]


def json_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n", encoding="utf-8")
    return path


def parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pl.DataFrame(rows).write_parquet(path)
    return path


def hub_dataset(rows: list[dict[str, Any]], features: dict[str, Any]) -> Any:
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_list(rows, features=datasets.Features(features))


def stereoset_features(names: list[str]) -> dict[str, Any]:
    datasets = pytest.importorskip("datasets")
    text = datasets.Value("string")
    candidate = {"id": text, "sentence": text, "gold_label": datasets.ClassLabel(names=names)}
    return {
        **dict.fromkeys(("id", "target", "bias_type", "context"), text),
        "sentences": datasets.Sequence(candidate),
    }


def contents(benchmark: Benchmark) -> dict[str, Any]:
    """What is asked, without the names of translations, which the hub does not have, and without candidates' words."""
    return {
        item.id: (
            item.task,
            item.bias_type,
            item.context,
            {each.label: (each.id, each.text) for each in item.candidates},
        )
        for item in benchmark
    }


@pytest.mark.parametrize("name", ["de.jsonl", "data.parquet", "validation.bin", "noname"])
@pytest.mark.parametrize(
    "form", [hub_rows, lambda: as_lists(hub_rows())], ids=["dict of lists", "list of dicts"]
)
def test_the_hubs_stereoset_is_read_whatever_the_file_is_called(
    tmp_path: Path, name: str, form: Callable[[], list[dict[str, Any]]]
) -> None:
    write = json_lines if name in ("de.jsonl", "noname") else parquet

    found = load_dataset(write(tmp_path / name, form()), language="de")

    assert contents(found) == contents(STARTER)


@pytest.mark.parametrize("names", [CLASS_NAMES, CLASS_NAMES[::-1]], ids=["the hub's order", "another order"])
@pytest.mark.parametrize("storage", ["parquet", "saved", "saved splits", "hub folder"])
def test_names_of_labels_in_the_file_go_before_the_order_of_the_hub(
    tmp_path: Path, names: list[str], storage: str
) -> None:
    datasets = pytest.importorskip("datasets")
    rows = hub_rows(names=names)
    dataset = hub_dataset(rows, stereoset_features(names))
    path = tmp_path / "stereoset"
    if storage == "parquet":
        path = path.with_suffix(".parquet")
        dataset.to_parquet(path)
    elif storage == "saved":
        dataset.save_to_disk(path)
    elif storage == "saved splits":
        half = len(dataset) // 2
        parts = {"first": dataset.select(range(half)), "rest": dataset.select(range(half, len(dataset)))}
        datasets.DatasetDict(parts).save_to_disk(path)
    else:
        (path / "intrasentence").mkdir(parents=True)
        dataset.to_parquet(path / "intrasentence" / "validation-00000-of-00001.parquet")

    assert contents(load_dataset(path, language="de")) == contents(STARTER)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gold_label": [0, 1, 1]}, "no candidate labelled 'unrelated'"),
        ({"gold_label": [0, 1, 3]}, r"gold_label is 3; it is one of 0 \(anti-stereotype\), 1 \(stereotype\)"),
        ({"gold_label": [0, 1]}, r"sentences differ in length \(.*2 of gold_label"),
        (
            {"gold_label": [0, 1], "id": ["a", "b"], "sentence": ["x", "y"]},
            "no candidate labelled 'unrelated'",
        ),
        ({"gold_label": [None, None, None]}, "'gold_label' is missing"),
    ],
)
def test_a_layout_that_is_half_right_is_refused_with_its_record(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    first, second, *_ = hub_rows()
    second["sentences"] |= change

    with pytest.raises(DatasetError, match=message) as caught:
        load_dataset(json_lines(tmp_path / "x.jsonl", [first, second]), language="de")
    assert "line 2" in str(caught.value)


def test_a_file_that_was_cut_says_so(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "x.jsonl", hub_rows())
    path.write_bytes(path.read_bytes()[:-40])

    with pytest.raises(DatasetError, match="ends in the middle of a record, after 95 whole lines"):
        load_dataset(path, language="de")


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", hub_rows())
    path.write_bytes(path.read_bytes()[:-200])

    with pytest.raises(DatasetError, match="damaged Parquet file"):
        load_dataset(path, language="de")


@pytest.mark.parametrize(
    "description", ['{"info": {', "[" * 100_000, '{"info": ' + '{"a": ' * 2_000 + "1" + "}" * 2_001]
)
def test_a_description_of_features_that_is_damaged_is_refused_and_no_order_is_guessed(
    tmp_path: Path, description: str
) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame(hub_rows()).write_parquet(path, metadata={"huggingface": description})

    with pytest.raises(DatasetError, match="description of its features that is not valid JSON"):
        load_dataset(path, language="de")


def test_a_layout_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "x.jsonl", [{"question": "?", "answers": []}])

    with pytest.raises(
        DatasetError,
        match=r"is in no layout that is known\. It has the fields answers, question\..*stereoset-records",
    ):
        load_dataset(path, language="en")
    with pytest.raises(DatasetError, match=r"crows-pairs \(sent_more, .*eurogest \(gest_id"):
        load_pairs(path, language="en")
    with pytest.raises(DatasetError, match=r"question\. Known layouts are stereoset.*crows-pairs"):
        kind_of(path)


def test_a_layout_of_another_kind_is_named(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "x.jsonl", hub_rows())

    with pytest.raises(
        DatasetError, match="in the layout stereoset-records: it has contexts with three candidates"
    ):
        load_pairs(path, language="de")


def integer_pairs() -> list[dict[str, Any]]:
    directions, bias_types = ["stereo", "antistereo"], {"gender": 2, "age": 8}
    return [
        {
            "id": int(each.id),
            "sent_more": each.more,
            "sent_less": each.less,
            "stereo_antistereo": directions.index(each.direction.value),
            "bias_type": bias_types[each.bias_type],
        }
        for each in PAIRS
    ]


@pytest.mark.parametrize("write", [json_lines, parquet])
def test_integer_labels_of_the_hubs_crows_pairs_are_read(
    tmp_path: Path, write: Callable[[Path, list[dict[str, Any]]], Path]
) -> None:
    assert load_pairs(write(tmp_path / "pairs.data", integer_pairs()), language="en").pairs == PAIRS


def test_the_harnesss_crows_pairs_has_words_in_json_lines(tmp_path: Path) -> None:
    rows = [dict(zip(HEADER, row_of(each), strict=True)) for each in PAIRS]

    assert load_pairs(json_lines(tmp_path / "x", rows), language="en").pairs == PAIRS


def test_a_label_beyond_the_known_ones_is_refused(tmp_path: Path) -> None:
    rows = [{**integer_pairs()[0], "stereo_antistereo": 2}]

    with pytest.raises(
        DatasetError, match=r"stereo_antistereo is 2; it is one of 0 \(stereo\), 1 \(antistereo\)"
    ):
        load_pairs(json_lines(tmp_path / "x.jsonl", rows), language="en")


def without_ids(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "id"} for row in rows]


@pytest.mark.parametrize("write", [json_lines, parquet])
def test_the_harnesss_multilingual_crows_pairs_have_no_ids_and_one_bias_type_more(
    tmp_path: Path, write: Callable[[Path, list[dict[str, Any]]], Path]
) -> None:
    rows = without_ids(integer_pairs())
    rows[1]["bias_type"] = 9

    found = load_pairs(write(tmp_path / "french.data", rows), language="fr")

    assert [each.id for each in found] == ["0", "1"]
    assert [each.bias_type for each in found] == ["age", "autre"]


@pytest.mark.parametrize("depth", ["", "test"])
def test_a_folder_with_a_folder_per_language_has_several_languages(tmp_path: Path, depth: str) -> None:
    """As the hub has them, and below a folder per split in its converted branch."""
    for name, word in (("english", "The"), ("french", "Le")):
        place = tmp_path / "pairs" / name / depth
        place.mkdir(parents=True)
        rows = [{**row, "sent_more": f"{word} {row['sent_more']}"} for row in integer_pairs()]
        parquet(place / "0000.parquet", rows)

    folder = tmp_path / "pairs"
    assert languages_of(folder, kind=PairSet) == ("en", "fr")
    assert [load_pairs(folder, language=tag).pairs[0].more[:3] for tag in ("en", "fr")] == ["The", "Le "]
    assert load_pairs(folder, language="fr").language == "fr"
    with pytest.raises(DatasetError, match=r"several languages \(en, fr\)\. Choose one with --language"):
        load_pairs(folder)


def test_a_folder_per_region_has_one_file_each(tmp_path: Path) -> None:
    for name in ("de_DE", "fr_FR"):
        (tmp_path / name).mkdir()
        json_lines(tmp_path / name / "train.jsonl", integer_pairs())

    assert load_pairs(tmp_path, language="de").language == "de-DE"
    json_lines(tmp_path / "de_DE" / "test.jsonl", integer_pairs())
    with pytest.raises(DatasetError, match=r"de_DE has several files \(test\.jsonl, train\.jsonl\)"):
        load_pairs(tmp_path, language="de")


def test_the_converted_branch_of_the_hub_is_read(tmp_path: Path) -> None:
    items = list(STARTER)
    for task in Task:
        place = tmp_path / task.value / "validation"
        place.mkdir(parents=True)
        parquet(place / "0000.parquet", hub_rows([item for item in items if item.task is task]))

    assert contents(load_dataset(tmp_path, language="de")) == contents(STARTER)


def test_a_saved_dataset_with_a_split_per_language_has_several_languages(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = list(csv.DictReader(EUROGEST.splitlines()))
    german = [{**row, "Masculine": "Ich war ein Mann.", "Feminine": "Ich war eine Frau."} for row in rows]
    saved = datasets.DatasetDict(
        {"German": datasets.Dataset.from_list(german), "Polish": datasets.Dataset.from_list(rows)}
    )
    saved.save_to_disk(str(tmp_path / "eurogest"))

    assert languages_of(tmp_path / "eurogest", kind=PairSet) == ("de", "pl")
    assert load_pairs(tmp_path / "eurogest", language="pl").pairs[0].more == "Jestem wzruszona."
    assert load_pairs(tmp_path / "eurogest", language="de").language == "de"


def test_files_named_after_languages_in_english_are_their_languages(tmp_path: Path) -> None:
    for name in ("Polish.csv", "German.csv"):
        (tmp_path / name).write_text(EUROGEST, encoding="utf-8")
    (tmp_path / "README.md").write_text("about it", encoding="utf-8")

    assert languages_of(tmp_path, kind=PairSet) == ("de", "pl")
    assert load_pairs(tmp_path, language="pl").pairs[0].language == "pl"


def test_a_file_says_its_language_in_capitals_anywhere_in_its_name(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "crows_pairs_FR_languagearc_contribution+210.csv", integer_pairs())

    assert load_pairs(path).language == "fr"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["fr.csv", "fr.tsv", "fr.txt"])
def test_separators_are_told_by_content(tmp_path: Path, separator: str, name: str) -> None:
    path = tmp_path / name
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=separator).writerows([HEADER, *map(row_of, PAIRS)])

    assert load_pairs(path, language="en").pairs == PAIRS


FRENCH = "Le garçon naïf a gagné, écrit Zoë."


def encoded(path: Path, encoding: str) -> Path:
    path.write_text(f"{';'.join(HEADER)}\n7;{FRENCH};Elle.;stereo;age\n", encoding=encoding)
    return path


@pytest.mark.parametrize("encoding", ["windows-1252", "mac-roman", "utf-16", "utf-16-le", "latin-1"])
def test_a_named_encoding_reads_the_words_as_they_are(tmp_path: Path, encoding: str) -> None:
    found = load_pairs(encoded(tmp_path / "x.csv", encoding), language="fr", encoding=encoding)

    assert found.pairs[0].more == FRENCH
    assert found.sha256 == load_pairs(encoded(tmp_path / "y.csv", "utf-8"), language="fr").sha256


@pytest.mark.parametrize(
    ("written", "named", "message"),
    [
        ("mac-roman", "latin-1", "control characters, which no text has.*MACINTOSH"),
        ("mac-roman", "utf-8", "not text in utf-8"),
        ("utf-8", "windows-1252", "it is UTF-8, and would be spoilt in windows-1252"),
        ("windows-1252", "cp99999", "there is no encoding 'cp99999'"),
        ("windows-1252", "base64", "there is no encoding 'base64'"),
    ],
)
def test_a_wrong_encoding_is_refused_where_the_bytes_show_it(
    tmp_path: Path, written: str, named: str, message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        load_pairs(encoded(tmp_path / "x.csv", written), language="fr", encoding=named)


def test_the_planted_order_of_labels_cannot_be_told_from_the_file_alone(tmp_path: Path) -> None:
    """So it is the model with a known lean that shows it; see the audit of reversed labels."""
    rows = hub_rows(names=["stereotype", "anti-stereotype", "unrelated"])

    found = load_dataset(json_lines(tmp_path / "x.jsonl", rows), language="de")

    original = {item.id: item for item in STARTER}
    for item in found:
        assert item.candidate(Label.STEREOTYPE).id == original[item.id].candidate(Label.ANTI_STEREOTYPE).id


SHADES = [
    {
        "index": 1.0, "subset": "_original", "bias_type": "age",
        "stereotype_valid_langs": ["en", "de"],
        "en_biased_sentences": "Old clerks are slow.", "de_biased_sentences": "Alte Angestellte sind langsam.",
    },
    {
        "index": 1.0, "subset": "a", "bias_type": "age", "stereotype_valid_langs": [],
        "en_biased_sentences": "Young clerks are slow.", "de_biased_sentences": "Junge Angestellte sind langsam.",
    },
    {
        "index": 1.0, "subset": "b", "bias_type": "age", "stereotype_valid_langs": ["de"],
        "en_biased_sentences": "Tall clerks are slow.", "de_biased_sentences": "Große Angestellte sind langsam.",
    },
    {
        "index": 2.0, "subset": "_original", "bias_type": "gender+age", "stereotype_valid_langs": ["de"],
        "en_biased_sentences": "Girls like dolls.", "de_biased_sentences": "Mädchen mögen Puppen.",
    },
    {
        "index": 2.0, "subset": "a", "bias_type": "gender+age", "stereotype_valid_langs": None,
        "en_biased_sentences": "Boys like dolls.", "de_biased_sentences": "Jungen mögen Puppen.",
    },
]  # fmt: skip


def texts(pairs: PairSet) -> dict[str, tuple[str, str]]:
    return {each.id: (each.more, each.less) for each in pairs}


def shades_table(path: Path) -> Path:
    rows = [{**row, "stereotype_valid_langs": str(row["stereotype_valid_langs"] or "")} for row in SHADES]
    pl.DataFrame(rows).write_csv(path)
    return path


@pytest.mark.parametrize("write", [lambda path: parquet(path, SHADES), shades_table], ids=["parquet", "csv"])
def test_shades_pairs_a_stereotype_with_contrasts_that_are_none(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    path = write(tmp_path / "x.data")

    assert texts(load_pairs(path, language="en")) == {
        "1.0-a": ("Old clerks are slow.", "Young clerks are slow."),
        "1.0-b": ("Old clerks are slow.", "Tall clerks are slow."),
    }
    german = load_pairs(path, language="de")
    assert list(texts(german)) == ["1.0-a", "2.0-a"]
    assert [each.bias_type for each in german] == ["age", "gender+age"]


def test_a_language_of_shades_must_be_named_and_known(tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", SHADES)

    with pytest.raises(DatasetError, match=r"has the languages en, de\. Choose one with --language"):
        load_pairs(path)
    with pytest.raises(UnknownNameError, match="language of"):
        load_pairs(path, language="fr")


EUROGEST = "\n".join(
    [
        "GEST_ID,Source,Stereotype_ID,Masculine,Feminine,Neutral",
        "1,I was moved.,1,Jestem wzruszony.,Jestem wzruszona.,",
        "2,I was in charge.,13.0,Byłem szefem.,Byłam szefem.,",
        "3,I have plans.,10,,,Mam plany.",
    ]
)


def test_eurogest_puts_the_gender_of_the_stereotype_first(tmp_path: Path) -> None:
    path = tmp_path / "Polish.csv"
    path.write_text(EUROGEST, encoding="utf-8")

    found = load_pairs(path)

    assert found.language == "pl"
    emotional, leader, neutral = found.pairs
    assert (emotional.more, emotional.less) == ("Jestem wzruszona.", "Jestem wzruszony.")
    assert (leader.more, leader.less) == ("Byłem szefem.", "Byłam szefem.")
    assert [each.direction for each in found][:2] == [PairDirection.STEREO, PairDirection.ANTISTEREO]
    assert [each.bias_type for each in found] == ["women-emotional", "men-leaders", "men-professional"]
    assert neutral.neutral
    findings = {each.defect.name: each.ids for each in check_pairs(found).findings}
    assert findings["neutral"] == ("3",)
    assert findings["missing-sentence"] == ()
    assert check_pairs(found).flagged_pairs() == frozenset()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",13.0,", ",17,", "Stereotype_ID is '17'; it is a number from 1 to 16"),
        ("Jestem wzruszony.,Jestem wzruszona.", ",", None),
        ("2,I was", "1,I was", "the id '1' occurs a second time"),
    ],
)
def test_eurogest_that_is_half_right_is_refused(
    tmp_path: Path, old: str, new: str, message: str | None
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(EUROGEST.replace(old, new), encoding="utf-8")

    if message is None:
        assert [each.complete for each in load_pairs(path, language="pl")] == [False, True, False]
        return
    with pytest.raises(DatasetError, match=message):
        load_pairs(path, language="pl")


def test_a_file_of_neutral_sentences_has_no_pairs(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join(EUROGEST.split("\n")[:1] + EUROGEST.split("\n")[3:]), encoding="utf-8")

    with pytest.raises(DatasetError, match="neutral sentences only"):
        load_pairs(path, language="en")


def test_a_tab_separated_file_named_csv_with_ids_in_a_column_without_a_name(tmp_path: Path) -> None:
    """The multilingual files are like that."""
    path = tmp_path / "crows_pairs_FR.csv"
    lines = ["\t".join(("", *HEADER[1:])), *("\t".join(row_of(each)) for each in PAIRS)]
    path.write_text("\n".join(lines), encoding="utf-8")

    assert load_pairs(path).pairs == tuple(replace(each, language="fr") for each in PAIRS)
