"""A benchmark is translated with its blanks, whatever the translator does to them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from builders import document, inter, intra, write_json
from recording_monitor import RecordingMonitor
from running import Command

from evenhand.core.errors import TranslationError, UnknownNameError
from evenhand.data import load_dataset, read_stereoset
from evenhand.translation import open_translation, read_changes
from evenhand.translation.translators import LanguagePair, open_translator
from evenhand.translation.translators.tables import TableTranslator
from evenhand.translation.workflow import plan_translation, source_of_folder, translate


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_json(tmp_path / "en.json", document([intra(1), inter(2)]) | {"licence": "CC BY 4.0"})


def table(tmp_path: Path, **contexts: str) -> Path:
    rows = {
        "The baker likes BLANK bread.": "Le boulanger aime le pain BLANK.",
        "The baker opens the shop.": "Le boulanger ouvre.",
        "It smells of bread.": "Ça sent le pain.",
        "It smells of paint.": "Ça sent la peinture.",
        "Seven is a number.": "Sept est un nombre.",
        "baker": "boulanger",
        "fresh": "frais",
        "brown": "bis",
        "purple": "violet",
    } | contexts
    path = tmp_path / "fr.csv"
    path.write_text("source,target\n" + "".join(f'"{text}","{answer}"\n' for text, answer in rows.items()))
    return path


def test_words_go_into_the_translated_context_and_ids_stay(source: Path, tmp_path: Path) -> None:
    plan = plan_translation(read_stereoset(source), to="fr", translator=f"file:{table(tmp_path)}")

    record = translate(plan, tmp_path / "out")

    french = load_dataset(tmp_path / "out")
    assert [item.id for item in french] == ["intra-1", "inter-2"]
    assert [candidate.text for candidate in french.items[0].candidates] == [
        "Le boulanger aime le pain frais.",
        "Le boulanger aime le pain bis.",
        "Le boulanger aime le pain violet.",
    ]
    assert french.items[0].cluster == "baker"
    assert french.licence == "CC BY 4.0"
    assert record.source is not None
    assert record.source.language == "en"


def test_a_finished_translation_is_not_made_again_and_another_is_not_overwritten(
    source: Path, tmp_path: Path, run_evenhand_here: Command
) -> None:
    first = table(tmp_path)
    command = ["data", "translate", source, "--to", "fr", "--out", tmp_path / "out"]
    run_evenhand_here(*command, "--translator", f"file:{first}")
    before = (tmp_path / "out" / "record.json").read_bytes()

    again = run_evenhand_here(*command, "--translator", f"file:{first}", "--json")
    first.write_text(first.read_text() + "other,autre\n")
    other = run_evenhand_here(*command, "--translator", f"file:{first}")

    assert json.loads(again.stdout)["missing_targets"] == {"intrasentence": 0, "intersentence": 0}
    assert (tmp_path / "out" / "record.json").read_bytes() == before
    assert other.returncode == 2
    assert "holds another result" in other.stderr


def test_a_translation_knows_its_source_wherever_it_is_read_from(
    source: Path,
    tmp_path: Path,
    run_evenhand_here: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    translate(plan_translation(read_stereoset(source), to="fr", translator=f"file:{table(tmp_path)}"), out)
    english = read_stereoset(source)
    source.unlink()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    kept = source_of_folder(out)
    checked = json.loads(run_evenhand_here("data", "check", out, "--json").stdout)

    assert (kept.items, kept.sha256, kept.name) == (english.items, english.sha256, english.name)
    assert "concord" in {found["defect"] for found in checked["datasets"][0]["defects"]}


def test_a_source_that_is_not_known_is_to_be_named(
    source: Path, tmp_path: Path, run_evenhand_here: Command
) -> None:
    out = tmp_path / "out"
    translate(plan_translation(read_stereoset(source), to="fr", translator=f"file:{table(tmp_path)}"), out)
    (out / "source.json").unlink()

    checked = run_evenhand_here("data", "check", out)
    named = run_evenhand_here("data", "check", out, "--source", source)

    assert (
        f"{out} was translated from a file that is not known here. Name it with --source." in checked.stderr
    )
    assert "--data" not in checked.stderr
    assert "concord" in named.stdout
    with pytest.raises(TranslationError, match="not known here"):
        source_of_folder(out)


def test_a_source_that_was_edited_is_refused(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    translate(plan_translation(read_stereoset(source), to="fr", translator=f"file:{table(tmp_path)}"), out)
    (out / "source.json").write_bytes((out / "source.json").read_bytes() + b" ")

    with pytest.raises(TranslationError, match=r"source\.json was changed"):
        source_of_folder(out)


@pytest.mark.parametrize("person", ["Ann", None])
def test_work_of_people_is_put_aside_and_not_deleted(
    source: Path, tmp_path: Path, run_evenhand_here: Command, person: str | None
) -> None:
    out = tmp_path / "out"
    path = table(tmp_path)
    command = ["data", "translate", source, "--to", "fr", "--translator", f"file:{path}", "--out", out]
    run_evenhand_here(*command)
    with open_translation(out) as translation:
        item = translation.changes.document.items["inter-2"]
        translation.changes.set(item, "context", "Le boulanger ferme.", by=person or "blank.hyphen")
        translation.save()
    before = (out / "changes.csv").read_bytes()

    fresh = run_evenhand_here(*command, "--fresh")

    assert fresh.returncode == 0
    assert len(read_changes(out / "changes.csv")) == 0
    aside = tmp_path / "out.before-1"
    assert aside.exists() == bool(person)
    if person:
        assert (aside / "changes.csv").read_bytes() == before
        assert f"It was moved to {aside}" in fresh.stderr.replace("\n", " ")


def test_a_blank_that_is_translated_is_asked_for_with_another_placeholder(
    source: Path, tmp_path: Path
) -> None:
    path = table(
        tmp_path,
        **{
            "The baker likes BLANK bread.": "Le boulanger aime le pain VIDE.",
            "The baker likes Zxq bread.": "Le boulanger aime le pain Zxq Zxq.",
            "The baker likes QX7 bread.": "Le boulanger aime le pain qx7.",
        },
    )

    translate(plan_translation(read_stereoset(source), to="fr", translator=f"file:{path}"), tmp_path / "out")

    assert load_dataset(tmp_path / "out").items[0].context == "Le boulanger aime le pain BLANK."


def test_a_blank_that_never_survives_leaves_the_leak_to_be_seen(
    source: Path, tmp_path: Path, run_evenhand_here: Command
) -> None:
    leaked = "Le boulanger aime le pain VIDE."
    forms = ("BLANK", "Zxq", "QX7", "___")
    path = table(tmp_path, **{f"The baker likes {form} bread.": leaked for form in forms})

    ended = run_evenhand_here(
        "data", "translate", source, "--to", "fr", "--translator", f"file:{path}", "--out", tmp_path / "out"
    )
    run_evenhand_here("data", "repair", tmp_path / "out")

    assert "1 context lost its blank or has more than one." in ended.stderr
    assert "Contexts without exactly one blank: 1." in ended.stdout
    item = load_dataset(tmp_path / "out").items[0]
    assert item.context == "Le boulanger aime le pain BLANK."
    assert item.candidates[0].text == "Le boulanger aime le pain frais."


def test_texts_that_a_table_lacks_are_named(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "fr.csv"
    path.write_text("source,target\nbaker,boulanger\n")

    with pytest.raises(TranslationError, match="lacks the translation of 8 texts"):
        translate(
            plan_translation(read_stereoset(source), to="fr", translator=f"file:{path}"), tmp_path / "out"
        )


def test_a_table_that_translates_a_text_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fr.csv"
    path.write_text("en,fr\nbaker,boulanger\nbaker,boulangère\n")

    with pytest.raises(TranslationError, match="row 3: 'baker' is translated as 'boulangère' here"):
        open_translator(f"file:{path}", LanguagePair("en", "fr"))


def test_a_translator_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'apertium'"):
        open_translator("apertum", LanguagePair("en", "es"))


def test_the_language_of_the_benchmark_itself_is_refused() -> None:
    with pytest.raises(TranslationError, match="is in 'en' already"):
        open_translator("apertium", LanguagePair("en", "en"))


def test_what_comes_back_empty_is_counted_contexts_too(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TableTranslator, "translate", lambda _, texts: ["" for _ in texts])
    monitor = RecordingMonitor()
    plan = plan_translation(read_stereoset(source), to="fr", translator=f"file:{table(tmp_path)}")

    translate(plan, tmp_path / "out", monitor=monitor)

    assert monitor.warnings == ["9 texts came back empty and stay as in the source."]
    assert load_dataset(tmp_path / "out").items[0].context == "The baker likes BLANK bread."


class TestApertium:
    """A real translator, from first to last."""

    @pytest.fixture(autouse=True)
    def is_installed(self) -> None:
        """Skip the tests where the program is not installed, but not in continuous integration."""
        if shutil.which("apertium") is None:
            reason = "Apertium is not installed: apt-get install apertium apertium-eng-spa"
            if os.environ.get("CI"):
                pytest.fail(reason)
            pytest.skip(reason)

    def test_the_starter_set_in_spanish(self, tmp_path: Path, run_evenhand_here: Command) -> None:
        folder = tmp_path / "es"
        made = run_evenhand_here(
            "data", "translate", "starter", "--to", "es", "--translator", "apertium", "--out", folder
        )
        repaired = run_evenhand_here("data", "repair", folder, "--json")
        published = run_evenhand_here("data", "publish", folder, "--out", tmp_path / "public" / "es.json")

        assert made.returncode == repaired.returncode == published.returncode == 0
        spanish = read_stereoset(tmp_path / "public" / "es.json")
        english = load_dataset("starter", language="en")
        assert [item.id for item in spanish] == [item.id for item in english]
        assert all(item.context.count("BLANK") == 1 for item in spanish.items[:48])
        assert json.loads(repaired.stdout)["stages"][-1]["intrasentence"] == 0
        assert "Translator: apertium." in (tmp_path / "public" / "es.md").read_text()

    def test_texts_keep_to_themselves(self) -> None:
        translator = open_translator("apertium", LanguagePair("en", "es"))

        assert translator.translate(["Ethiopian", "bread", "The baker reads."]) == [
            "Etiópico",
            "pan",
            "El panadero lee.",
        ]

    def test_other_dictionaries_have_answers_of_their_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        settings = open_translator("apertium", LanguagePair("en", "es")).settings
        real = Path.read_bytes

        def changed(path: Path) -> bytes:
            return real(path) + b"another version" * (path.suffix == ".bin")

        monkeypatch.setattr(Path, "read_bytes", changed)
        other = open_translator("apertium", LanguagePair("en", "es")).settings

        assert settings["dictionaries"] not in ("not known", other["dictionaries"])

    def test_case_is_mended_in_structures_that_begin_with_a_gap(
        self, tmp_path: Path, run_evenhand_here: Command
    ) -> None:
        rows = ["he-she,1,[MASK] has been our [OCC].", "he-she,2,[MASK] is the [OCC] of the town."]
        path = tmp_path / "structures.csv"
        path.write_text("\n".join(["experiment,number,structure", *rows]) + "\n")
        out = tmp_path / "es"

        run_evenhand_here("data", "translate", path, "--language", "en", "--to", "es", "--out", out)
        before = json.loads(run_evenhand_here("data", "check", out, "--json").stdout)["datasets"][0][
            "defects"
        ]
        run_evenhand_here("data", "repair", out)
        after = json.loads(run_evenhand_here("data", "check", out, "--json").stdout)["datasets"][0]["defects"]

        assert [found["ids"] for found in before if found["defect"] == "text-case"] == [["1", "2"]]
        assert [found for found in after if found["defect"] == "text-case"] == []
        assert "[MASK] ha sido nuestro [OCC]." in (out / "es.csv").read_text()

    def test_a_language_without_a_mode_is_refused_with_those_that_are_there(self) -> None:
        with pytest.raises(TranslationError, match=r"no mode eng-tur here; it has .*eng-spa"):
            open_translator("apertium", LanguagePair("en", "tr"))

    def test_a_program_that_fails_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        translator = open_translator("apertium", LanguagePair("en", "es"))

        def fail(*_: object, **__: object) -> None:
            raise subprocess.CalledProcessError(1, "apertium", "", "no dictionary")

        monkeypatch.setattr("subprocess.run", fail)
        with pytest.raises(TranslationError, match="Apertium failed: no dictionary"):
            translator.translate(["bread"])
