"""YAML that is small and does harm: read by all that read YAML, refused by all with one message."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from evenhand.core import yaml_files
from evenhand.core.errors import DatasetError
from evenhand.core.yaml_files import MAX_DEPTH, MAX_VALUES, load_yaml, read_yaml
from evenhand.data.corpus_sources import corpus_sources
from evenhand.data.label_schemes import read_scheme
from evenhand.models.description import declared_languages, warnings_of_texts
from evenhand.models.references import ModelError
from evenhand.studio.survey.definition import read_survey

SECONDS = 5.0


def doubled(form: str, times: int) -> str:
    """Mappings, each of which names the one before it twice."""
    rows = ["a0: &a0 {x: 1, y: 2}"]
    rows += [f"a{n}: &a{n} {form.format(before=f'*a{n - 1}')}" for n in range(1, times)]
    return "\n".join(rows)


ATTACKS = {
    "merge keys that double": doubled("{{<<: [{before}, {before}]}}", 27),
    "aliases that double": doubled("[{before}, {before}]", 40),
    "aliases ten at a time": doubled("[" + ", ".join(["{before}"] * 9) + "]", 12),
    "merge keys in a chain": doubled("{{<<: {before}, z: {before}}}", 40),
    "a chain deeper than it is written": "\n".join(
        ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 3000))]
    ),
    "a value that contains itself": "a: &a [*a]",
    "an alias of nothing": "a: *b",
    "open brackets": "[" * 100_000,
    "open braces": "{a: " * 100_000,
    "nested dashes": "- " * 100_000 + "x",
    "nested questions": "? " * 100_000,
    "deep brackets": "a: " + "[" * 2000 + "]" * 2000,
    "a day that does not exist": "date: 2023-02-30",
    "an hour that does not exist": "date: 2023-02-03 25:00:00",
    "an offset beyond a day": "date: 2023-02-03 01:00:00 +99:00",
    "the year zero": "date: 0000-01-01",
    "an offset before all time": "date: 0001-01-01 00:00:00 +23:00",
    "a number of 5,000 digits": f"a: {'9' * 5000}",
    "a number to the base 60": "a: 1" + ":59" * 300_000,
    "a fraction to the base 60": "a: 1" + ":59" * 300_000 + ".5",
    "a quoted number to the base 60": "a: !!int ' 1" + ":59" * 300_000 + "'",
    "numbers of one hash": "{" + ", ".join(hex((2**61 - 1) * n) for n in range(1, 42_000)) + "}",
    "short names for tags": "".join(f"%TAG !{n:x}! a\n" for n in range(70_000)) + "--- a",
    "an empty number": "a: !!int ''",
    "a sign and no number": "a: !!int '-'",
    "an empty fraction": "a: !!float ''",
    "a word for a number": "a: !!float x",
    "a word for a truth": "a: !!bool maybe",
    "a word for a date": "a: !!timestamp x",
    "a date of a list": "a: !!timestamp [2023-01-01]",
    "text that is no base 64": "a: !!binary ü",
    "pairs that are none": "a: !!pairs [x]",
    "an order that is none": "a: !!omap {x: 1}",
    "a set of a list": "a: !!set [x]",
    "an object": "a: !!python/object/apply:os.system ['true']",
    "a list for a key": "? [a, b]\n: c",
    "a mapping for a key": "{{a: b}: c}",
    "a merge of a word": "a: {<<: b}",
    "a merge of words": "a: {<<: [b, c]}",
    "half of a surrogate pair": 'a: "\\ud800"',
    "a character beyond Unicode": 'a: "\\UFFFFFFFF"',
    "a version of many digits": "%YAML 1." + "1" * 5000 + "\n---\na: b",
    "two documents": "a: b\n...\nc: d\n...\n",
    "the same anchor twice": "a: &a x\nb: &a y\nc: *a",
    "a tab for a space": "a:\n\t- b",
    "a bell": "a: \x07",
    "a value alone": "=",
    "an equals sign for a value": "a: =",
}

HARMLESS = {"an offset before all time"}
"""What is read: a moment that Python can hold, though not in another zone."""


def scheme(path: Path, attack: str) -> None:
    path.joinpath("scheme.yaml").write_text(attack, encoding="utf-8")
    read_scheme(path / "scheme.yaml")


def survey(path: Path, attack: str) -> None:
    path.joinpath("survey.yaml").write_text(attack, encoding="utf-8")
    read_survey(path / "survey.yaml")


def model_card(path: Path, attack: str) -> None:
    path.joinpath("README.md").write_text(f"---\n{attack}\n---\n# Model\n", encoding="utf-8")
    declared_languages(str(path))


def dataset_card(path: Path, attack: str) -> None:
    path.joinpath("README.md").write_text(f"---\n{attack}\n---\n# Data\n", encoding="utf-8")
    path.joinpath("train.jsonl").write_text('{"text": "She came."}\n', encoding="utf-8")
    corpus_sources([f"hub:{path}"])


@pytest.mark.parametrize("read", [scheme, survey, model_card, dataset_card])
@pytest.mark.parametrize("attack", sorted(ATTACKS.keys() - HARMLESS))
def test_harmful_yaml_is_refused_by_every_reader_at_once(
    tmp_path: Path, read: Callable[[Path, str], None], attack: str
) -> None:
    began = time.process_time()
    with pytest.raises((DatasetError, ModelError), match=r"YAML"):
        read(tmp_path, ATTACKS[attack])
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_either_loader_reads_or_refuses(monkeypatch: pytest.MonkeyPatch, loader: str, attack: str) -> None:
    monkeypatch.setattr(yaml_files, "_Loader", getattr(yaml, loader))
    began = time.process_time()
    with nullcontext() if attack in HARMLESS else pytest.raises(ValueError, match=r"\w"):
        load_yaml(ATTACKS[attack])
    assert time.process_time() - began < SECONDS


def test_what_is_refused_is_named_with_its_line() -> None:
    with pytest.raises(ValueError, match=r"^it is nested more than 50 deep, in line 1$"):
        load_yaml("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    with pytest.raises(ValueError, match=r"^the value &a contains itself, in line 2$"):
        load_yaml("x: 1\ny: &a [*a]")
    with pytest.raises(ValueError, match=r"day is out of range for month"):
        load_yaml("date: 2023-02-30")
    with pytest.raises(ValueError, match=r"^it has 1,048,577 characters, and at most 1,048,576 are read$"):
        load_yaml("#" * (2**20 + 1))


def test_the_bound_on_values_counts_aliases_each_time() -> None:
    """Ten values, of which the list is one, named by rows until there are too many: by hand, 1 + 10 + 10 * n."""
    rows = (MAX_VALUES - 12) // 10
    nine = ", ".join("abcdefghi")
    text = "- &a [" + nine + "]\n" + "- *a\n" * rows
    assert load_yaml(text)[-1] == list("abcdefghi")
    with pytest.raises(ValueError, match=r"more than 200,000 values"):
        load_yaml(text + "- *a\n")


def test_the_bound_on_long_numbers_is_for_integers_alone() -> None:
    """Python gives integers from 2^61 - 1 on the hash of smaller ones; of fractions, few have the same."""
    assert len(load_yaml("[" + "2305843009213693951, " * 1_000 + "]")) == 1_000
    with pytest.raises(
        ValueError, match=r"^it has more than 1,000 integers of more than 18 characters, in line 2$"
    ):
        load_yaml("[" + "2305843009213693951, " * 1_000 + "\n2305843009213693951]")
    assert load_yaml("[" + "73.3432835820895519, " * 2_000 + "]") == [73.3432835820895519] * 2_000
    assert load_yaml("[" + "100000000000000000, " * 2_000 + "]") == [10**17] * 2_000


def test_aliases_and_merge_keys_within_bounds_mean_what_they_meant() -> None:
    text = "base: &base {a: 1, b: 2}\none: {<<: *base, b: 3}\ntwo: *base\nthree: [*base, *base]\n"
    assert load_yaml(text) == {
        "base": {"a": 1, "b": 2},
        "one": {"a": 1, "b": 3},
        "two": {"a": 1, "b": 2},
        "three": [{"a": 1, "b": 2}] * 2,
    }
    assert load_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert load_yaml("a: c\nb: '" + "1" * 5000 + "'")["b"] == "1" * 5000


def test_an_audit_goes_on_without_the_front_matter_and_says_so(tmp_path: Path) -> None:
    attack = ATTACKS["merge keys that double"]
    assert len(attack) < 1000
    (tmp_path / "README.md").write_text(f"---\n{attack}\n---\n", encoding="utf-8")
    tokenizer = SimpleNamespace(unk_token_id=None)
    (warning,) = warnings_of_texts(str(tmp_path), tokenizer, [], name="items", language="de")
    assert "the languages that the model was made for are not known" in warning
    assert "200,000 values" in warning


def test_a_front_matter_ends_at_a_line_of_dashes(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("---\ntitle: a---b\nlanguage: de\n---\n# T\n---\n", encoding="utf-8")
    assert declared_languages(str(tmp_path)) == ("de",)


def test_a_readme_in_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_bytes("---\nauthor: Jörg\n---\n".encode("latin-1"))
    with pytest.raises(ModelError, match=r"not UTF-8"):
        declared_languages(str(tmp_path))


@pytest.mark.parametrize(
    "content",
    [[], "x", 1, {"name": {}}, {"labels": "x"}, {"labels": [{"code": [1]}] * 2}, {"labels": [[]]}, None],
)
def test_values_of_other_kinds_are_no_scheme_and_no_survey(tmp_path: Path, content: Any) -> None:
    for name in ("a.yaml", "a.json"):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(DatasetError, match=r"is not a label scheme"):
            read_scheme(tmp_path / name)
    with pytest.raises(DatasetError, match=r"is not a survey"):
        read_survey(tmp_path / "a.yaml")


@pytest.mark.parametrize("key", ["1: x", "true: x", "null: x", "2023-01-01: x", "1.5: x", "!!binary YQ==: x"])
def test_keys_that_are_no_words_are_refused(tmp_path: Path, key: str) -> None:
    (tmp_path / "a.yaml").write_text(key, encoding="utf-8")
    with pytest.raises(DatasetError, match=r"is not a label scheme"):
        read_scheme(tmp_path / "a.yaml")
    with pytest.raises(DatasetError, match=r"is not a survey"):
        read_survey(tmp_path / "a.yaml")


def test_a_survey_of_many_prompts_is_read_in_linear_time(tmp_path: Path) -> None:
    text = (Path(yaml_files.__file__).parents[1] / "studio/resources/surveys/regard-en.yaml").read_text(
        encoding="utf-8"
    )
    content = load_yaml(text)
    content["prompts"] = [{"id": f"p{n}", "kind": "a"} for n in range(30_000)]
    (tmp_path / "many.yaml").write_text(json.dumps(content), encoding="utf-8")
    began = time.process_time()
    assert len(read_survey(tmp_path / "many.yaml").prompts) == 30_000
    assert time.process_time() - began < SECONDS
    content["prompts"][1]["id"] = "p0"
    (tmp_path / "many.yaml").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DatasetError, match=r"the id p0 occurs more than once"):
        read_survey(tmp_path / "many.yaml")


def test_a_json_scheme_is_read_as_json(tmp_path: Path) -> None:
    r"""YAML has no pairs of surrogates, and tabs are no spaces to it."""
    content = (
        '{\t"name": "s",\n\t"labels": [{"code": "a", "title": {"en": "\\ud83d\\ude00"}}, {"code": "b"}]}'
    )
    (tmp_path / "s.json").write_text(content, encoding="utf-8")
    assert read_scheme(tmp_path / "s.json").labels[0].title == {"en": "😀"}


def test_yaml_is_read_in_one_place() -> None:
    source = Path(yaml_files.__file__).parents[1]
    readers = [
        path
        for path in source.rglob("*.py")
        if "yaml.safe_load" in path.read_text() or "yaml.load" in path.read_text()
    ]
    assert readers == [Path(yaml_files.__file__)]


def test_yaml_of_either_ending_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("a: ü", encoding="utf-8")
    assert read_yaml(tmp_path / "a.yml", error=DatasetError) == {"a": "ü"}
