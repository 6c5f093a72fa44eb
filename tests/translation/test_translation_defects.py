"""A translation is checked against its source."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from builders import benchmark, document, inter, intra, write_json
from running import Command

from evenhand.core.errors import TranslationError
from evenhand.core.items import Association, Task
from evenhand.data.inspection import check_translation


def ids(translated: Association, source: Association, defect: str) -> tuple[str, ...]:
    findings = check_translation(
        benchmark(translated, language=translated.language), benchmark(source, language="en")
    ).findings
    return next(
        found.ids for found in findings if found.defect.name == defect and found.task is translated.task
    )


def test_a_translated_blank_is_found() -> None:
    source = intra(1, context="It was BLANK.")

    leaked = intra(1, language="de", context="Es war BLANK und LEER.")
    assert ids(leaked, source, "blank-leaked") == ("intra-1",)
    assert ids(intra(1, language="de", context="Es war BLANK."), source, "blank-leaked") == ()


def test_candidates_that_became_one_are_found() -> None:
    source = intra(1, context="It was BLANK.", fills=("sly", "clever", "tree"))
    merged = intra(1, language="de", context="Es war BLANK.", fills=("schlau", "Schlau", "Baum"))

    assert ids(merged, source, "candidates-merged") == ("intra-1",)
    assert ids(source, source, "candidates-merged") == ()


def test_a_candidate_that_grammar_rules_out_is_found() -> None:
    source = intra(1, context="She is a BLANK.", fills=("nurse", "doctor", "client"))
    words = ("enfermera", "médico", "cliente")
    translated = intra(
        1, language="es", context="Ella es una BLANK.", fills=("enfermera", "libro", "cliente"), words=words
    )

    assert ids(translated, source, "concord") == ()
    clear = intra(1, language="es", context="Ella es una BLANK.", fills=("enfermera", "libro", "cliente"))
    assert ids(clear, source, "concord") == ("intra-1-a",)


def test_words_of_the_source_that_are_still_there_are_found_and_names_are_not() -> None:
    source = inter(1, context="The tailor met John Smith near the river bank.")

    left = inter(1, language="de", context="Der Schneider traf ihn near the river bank.")
    named = inter(1, language="de", context="Der Schneider traf John Smith am Ufer.")
    assert ids(left, source, "untranslated") == ("inter-1",)
    clean = ("Es riecht.", "Es duftet.", "Sieben.")
    assert ids(inter(1, language="de", context=named.context, texts=clean), source, "untranslated") == ()


@pytest.mark.parametrize("loan", ["hula hoop", "summa cum laude", "rock and roll"])
def test_loans_of_several_words_are_not_untranslated(loan: str) -> None:
    source = inter(1, context=f"The tailor knows {loan} by heart.")
    translated = inter(1, language="es", context=f"El sastre conoce {loan} de memoria.")
    assert ids(translated, replace(source, candidates=translated.candidates), "untranslated") == ()


def test_names_and_loans_that_other_languages_have_are_not_untranslated_words() -> None:
    pytest.importorskip("simplemma")
    source = intra(1, context="A BLANK.", fills=("tortilla", "iPad", "wartorn"))
    translated = intra(1, language="tr", target="ev", context="Bir BLANK.", fills=("tortilla", "iPad", "ev"))
    assert ids(translated, source, "untranslated-word") == ()
    left = intra(1, language="tr", target="ev", context="Bir BLANK.", fills=("tortilla", "iPad", "wartorn"))
    assert ids(left, source, "untranslated-word") == ("intra-1",)


def test_checks_that_are_often_wrong_leave_no_item_out() -> None:
    report = check_translation(benchmark(intra(1, language="de"), language="de"), benchmark(intra(1)))
    flagged = {found.defect.name: found.defect.flagged for found in report.findings}
    assert not any(flagged.get(name) for name in ("length-ratio", "untranslated-word"))
    assert flagged["untranslated"]


def test_candidates_and_targets_that_nobody_translated_are_found() -> None:
    pytest.importorskip("simplemma")
    source = intra(1, target="schoolgirl", context="The BLANK schoolgirl.", fills=("chatty", "loyal", "Ford"))

    def found(target: str, *fills: str) -> tuple[str, ...]:
        translated = intra(1, language="es", target=target, context="La BLANK alumna.", fills=fills)
        return ids(translated, source, "untranslated-word")

    assert found("alumna", "chatty", "leal", "rojo") == ("intra-1",)
    assert found("schoolgirl", "habladora", "leal", "rojo") == ("intra-1",)
    assert found("alumna", "habladora", "leal", "Ford") == (), "a name stays as it is"
    hospital = intra(2, context="A BLANK.", fills=("hospital", "hotel", "animal"))
    same = intra(2, language="es", target="casa", context="Un BLANK.", fills=("hospital", "hotel", "animal"))
    assert ids(same, hospital, "untranslated-word") == (), "Spanish has the same words"


def test_a_sentence_needs_two_words_that_nobody_translated() -> None:
    pytest.importorskip("simplemma")
    source = inter(1, context="The thrifty tailor met a bearded, graceful neighbor.")
    texts = ("Huele.", "Suena.", "Siete.")

    def found(context: str) -> tuple[str, ...]:
        translated = inter(1, language="es", target="sastre", context=context, texts=texts)
        return ids(translated, source, "untranslated-word")

    assert found("El thrifty sastre vio a un graceful vecino.") == ("inter-1",)
    assert found("El thrifty sastre vio a un vecino.") == ()


def test_what_is_untranslated_is_told() -> None:
    pytest.importorskip("simplemma")
    source = intra(1, target="schoolgirl", context="The BLANK schoolgirl.", fills=("chatty", "loyal", "red"))
    translated = intra(
        1, language="es", target="schoolgirl", context="La BLANK.", fills=("chatty", "leal", "rojo")
    )
    report = check_translation(benchmark(translated, language="es"), benchmark(source))

    notes = {note.name: note.says for note in report.notes_by_item()["intra-1"]}
    assert notes["untranslated-word"] == "still as in the source: schoolgirl, chatty"


@pytest.mark.parametrize(
    ("context", "fills", "flawed"),
    [
        ("BLANK pan es bueno.", ("Buen", "viejo", "Mal"), ("intra-1-a",)),
        ("El pan es BLANK.", ("Bueno", "viejo", "malo"), ("intra-1-s",)),
        ("¿BLANK pan?", ("buen", "Viejo", "Mal"), ("intra-1-s",)),
    ],
)
def test_the_case_of_what_fills_a_blank_is_noted(
    context: str, fills: tuple[str, ...], flawed: tuple[str, ...]
) -> None:
    source = intra(1, context="The bread is BLANK.", fills=("good", "old", "bad"))
    translated = intra(1, language="es", context=context, fills=fills, words=fills)

    assert ids(translated, source, "fill-case") == flawed


def test_german_nouns_have_capitals() -> None:
    source = intra(1, context="He eats BLANK.", fills=("bread", "meat", "stone"))
    translated = intra(1, language="de", context="Er isst BLANK.", fills=("Brot", "Fleisch", "Stein"))

    assert ids(translated, source, "fill-case") == ()


def test_an_article_that_came_with_a_fill_is_noted() -> None:
    source = intra(1, context="It is made of BLANK.", fills=("wool", "the sun", "iron"))
    fills = ("la lana", "el sol", "hierro")
    translated = intra(1, language="es", context="Es de BLANK.", fills=fills, words=fills)
    french = ("l'or", "le soleil", "fer")
    other = intra(1, language="fr", context="C'est de BLANK.", fills=french, words=french)

    assert ids(translated, source, "fill-article") == ("intra-1-s",)
    assert ids(other, source, "fill-article") == ("intra-1-s",)


def test_texts_that_begin_in_another_case_are_noted() -> None:
    source = intra(1, context="BLANK the tailor sews.")

    assert ids(intra(1, language="es", context="BLANK El sastre cose."), source, "text-case") == ("intra-1",)
    assert ids(intra(1, language="es", context="BLANK el sastre cose."), source, "text-case") == ()
    spoken = inter(1, texts=("It smells.", "It rings.", "Seven."))
    lowered = inter(
        1, language="es", context="The baker opens the shop.", texts=("Huele.", "suena.", "Siete.")
    )
    assert ids(lowered, spoken, "text-case") == ("inter-1",)


def test_a_text_of_unusual_length_is_found() -> None:
    texts = ("It smells of bread.", "It smells of paint.", "Seven is a number.")
    sources = [inter(number, context="The baker opens the shop early.") for number in range(5)]
    translated = [
        inter(number, language="de", context="Der Bäcker öffnet den Laden früh.", texts=texts)
        for number in range(4)
    ]
    long = inter(4, language="de", context="Der Bäcker öffnet den Laden früh. " * 4, texts=texts)

    findings = check_translation(benchmark(*translated, long, language="de"), benchmark(*sources)).findings

    found = {(row.defect.name, row.task): row.ids for row in findings}
    assert found["length-ratio", Task.INTERSENTENCE] == ("inter-4",)


def test_another_benchmark_is_refused() -> None:
    with pytest.raises(TranslationError, match="no item in common"):
        check_translation(benchmark(intra(1), language="de"), benchmark(intra(2)))


def test_the_command_adds_the_checks_of_translations(tmp_path: Path, run_evenhand_here: Command) -> None:
    source = write_json(tmp_path / "en.json", document([intra(1)]))
    translated = intra(1, language="de", context="Der Bäcker mag LEERES Brot.", fills=("a", "b", "c"))
    path = write_json(tmp_path / "de.json", document([translated], language="de"))

    plain = json.loads(run_evenhand_here("data", "check", path, "--json").stdout)
    told = json.loads(run_evenhand_here("data", "check", path, "--source", source, "--json").stdout)

    names = {row["defect"]: row["ids"] for row in told["datasets"][0]["defects"]}
    assert names["blank-leaked"] == ["intra-1"]
    assert "blank-leaked" not in {row["defect"] for row in plain["datasets"][0]["defects"]}


def test_a_context_that_comes_back_as_something_else_is_found(
    tmp_path: Path, run_evenhand_here: Command
) -> None:
    source = write_json(
        tmp_path / "en.json", document([inter(1), inter(2, context="The pilot lands the plane.")])
    )
    contexts = {1: "Der Bäcker öffnet.", 2: "Der Pilot kauft Brot."}
    items = [inter(number, language="de", context=context) for number, context in contexts.items()]
    path = write_json(tmp_path / "de.json", document(items, language="de"))
    table = tmp_path / "back.csv"
    table.write_text(
        "de,en\nDer Bäcker öffnet.,The baker opens the shop.\nDer Pilot kauft Brot.,A man buys bread.\n"
    )

    ended = run_evenhand_here(
        "data", "check", path, "--source", source, "--back-translator", f"file:{table}", "--json",
        environment={"EVENHAND_HOME": str(tmp_path / "home")},
    )  # fmt: skip

    found = {
        (row["defect"], row["task"]): row["ids"] for row in json.loads(ended.stdout)["datasets"][0]["defects"]
    }
    assert found["back-translation", "intersentence"] == ["inter-2"]


def test_translating_back_needs_a_source(tmp_path: Path, run_evenhand_here: Command) -> None:
    path = write_json(tmp_path / "de.json", document([inter(1)], language="de"))

    ended = run_evenhand_here("data", "check", path, "--back-translator", "apertium")

    assert ended.returncode == 2
    assert "needs --source" in ended.stderr
