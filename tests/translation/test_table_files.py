"""Pairs, structures and prompts are translated column by column, and tags survive."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
from running import Command
from translation_files import translate_command

from evenhand.core.errors import DatasetError
from evenhand.data.crows_pairs import load_pairs
from evenhand.translation.answers import AnswerCache, answer_all
from evenhand.translation.table_files import TAG, read_text_table
from evenhand.translation.translating import translate_tagged
from evenhand.translation.translators import FREE


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


class ShoutingTranslator:
    """Makes upper case of everything, and translates tags in square brackets too."""

    settings: Mapping[str, str] = MappingProxyType({})
    cost = FREE
    batch_size = 10
    concurrency = 1

    def translate(self, texts: Sequence[str]) -> list[str]:
        return [re.sub(r"\[MASK\]|\[OCC\]", "[TAG]", text).upper() for text in texts]


def translated(tmp_path: Path, *texts: str) -> dict[str, str]:
    cache = AnswerCache(tmp_path / "cache.jsonl")
    answer_all(ShoutingTranslator(), texts, cache)
    return translate_tagged(texts, TAG, ShoutingTranslator(), cache, refused={})


def test_tags_that_are_translated_are_asked_for_with_a_placeholder_each(tmp_path: Path) -> None:
    texts = ("[MASK] is a [OCC].", "Only [MASK] here.", "No tag.", "{name} and XYZ met.")

    assert translated(tmp_path, *texts) == {
        texts[0]: "[MASK] IS A [OCC].",
        texts[1]: "ONLY [MASK] HERE.",
        texts[2]: "NO TAG.",
        texts[3]: "{name} AND XYZ MET.",
    }


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "en.csv"
    path.write_text(
        ",sent_more,sent_less,stereo_antistereo,bias_type\n"
        '0,"The poor, they say, lie.","The rich, they say, lie.",stereo,socioeconomic\n'
        "1,Women drive badly.,Men drive badly.,antistereo,gender\n"
    )
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = {
        "The poor, they say, lie.": "Les pauvres, dit-on, mentent.",
        "The rich, they say, lie.": "Les riches, dit-on, mentent.",
        "Women drive badly.": "Les femmes conduisent mal.",
        "Men drive badly.": "Les hommes conduisent mal.",
        "[MASK] wants to be a [OCC].": "[MASK] veut être [OCC].",
        "[MASK] was a [OCC].": "[MASK] était.",
        "Zxqa was a Zxqb.": "Zxqa était.",
        "QX7a was a QX7b.": "QX7a était.",
        "___a was a ___b.": "___a était.",
    }
    path = tmp_path / "answers.csv"
    path.write_text("source,target\n" + "".join(f'"{text}","{answer}"\n' for text, answer in rows.items()))
    return path


def test_pairs_are_read_again_in_the_new_language(
    run_evenhand_here: Command, pairs: Path, table: Path, tmp_path: Path
) -> None:
    command = ("data", "translate", pairs, "--to", "fr", "--translator", f"file:{table}")
    done = run_evenhand_here(*command, "--out", tmp_path / "out", "--json")

    assert done.returncode == 0, done.stderr
    french = load_pairs(json.loads(done.stdout)["file"])
    assert french.language == "fr"
    assert [(pair.id, pair.more, pair.less) for pair in french.pairs] == [
        ("0", "Les pauvres, dit-on, mentent.", "Les riches, dit-on, mentent."),
        ("1", "Les femmes conduisent mal.", "Les hommes conduisent mal."),
    ]
    assert [pair.bias_type for pair in french.pairs] == ["socioeconomic", "gender"]
    assert (tmp_path / "out" / "untouched.csv").read_bytes() == (tmp_path / "out" / "fr.csv").read_bytes()
    assert run_evenhand_here(*command, "--out", tmp_path / "out").returncode == 0, "it is there already"
    fewer = run_evenhand_here(*command, "--columns", "sent_more", "--out", tmp_path / "out")
    assert "holds another result" in fewer.stderr
    repaired = run_evenhand_here("data", "repair", tmp_path / "out")
    assert repaired.returncode == 0, repaired.stderr


def test_a_structure_that_loses_a_gap_is_told(
    run_evenhand_here: Command, table: Path, tmp_path: Path
) -> None:
    path = tmp_path / "structures.tsv"
    path.write_text(
        "experiment\tnumber\tstructure\nhe-she\t1\t[MASK] wants to be a [OCC].\nhe-she\t2\t[MASK] was a [OCC].\n"
    )
    command = translate_command(path, tmp_path / "out", to="fr", translator=f"file:{table}")
    done = run_evenhand_here(*command, "-l", "en")

    assert done.returncode == 0, done.stderr
    assert "1 text lost a tag such as [MASK] or gained one" in " ".join(done.stderr.split())
    assert (tmp_path / "out" / "fr.tsv").read_text().splitlines() == [
        "experiment\tnumber\tstructure",
        "he-she\t1\t[MASK] veut être [OCC].",
        "he-she\t2\t[MASK] était.",
    ]


def test_prompts_are_one_text_per_line(run_evenhand_here: Command, table: Path, tmp_path: Path) -> None:
    path = tmp_path / "prompts.txt"
    path.write_text("Women drive badly.\n\nMen drive badly.\n")
    command = translate_command(path, tmp_path / "out", to="fr", translator=f"file:{table}")
    done = run_evenhand_here(*command, "-l", "en")

    assert done.returncode == 0, done.stderr
    assert (
        tmp_path / "out" / "fr.txt"
    ).read_text() == "Les femmes conduisent mal.\nLes hommes conduisent mal.\n"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "number,words\n1,hello\n", "Name those that do with --columns"),
        ("a.csv", "", "is empty"),
        ("a.txt", "\n \n", "is empty"),
    ],
)
def test_a_table_without_texts_is_refused(tmp_path: Path, name: str, content: str, says: str) -> None:
    (tmp_path / name).write_text(content)

    with pytest.raises(DatasetError, match=says):
        read_text_table(tmp_path / name, language="en")


def test_a_table_needs_its_language_and_known_columns(
    run_evenhand_here: Command, pairs: Path, table: Path, tmp_path: Path
) -> None:
    nameless = shutil.copy(pairs, tmp_path / "pairs.csv")
    rest = ("--to", "fr", "--translator", f"file:{table}", "--out", tmp_path / "out")

    assert "Give it with --language" in run_evenhand_here("data", "translate", nameless, *rest).stderr
    wrong = run_evenhand_here("data", "translate", pairs, "--columns", "words", *rest)
    assert "words is missing" in wrong.stderr
    starter = run_evenhand_here("data", "translate", "starter", "--columns", "text", *rest)
    assert "--columns is for tables" in starter.stderr
