"""The bundled probes keep the rules that they are written by, checked on the files themselves."""

from __future__ import annotations

import csv
import re
from collections import Counter
from functools import cache
from importlib import resources
from pathlib import Path

import pytest

LANGUAGES = ("de", "en")
EXPERIMENTS = ("he-she", "his-her", "names")
FOLDER = Path(str(resources.files("evenhand.data") / "resources" / "probes"))

GENDERED = {
    "en": """
        he him his himself she her hers herself man men woman women boy boys girl girls guy guys gal gals lad
        lass male female gentleman gentlemen lady ladies sir madam mr mrs ms miss father mother dad mum mom son
        daughter brother sister husband wife uncle aunt nephew niece grandfather grandmother grandson king queen
        prince princess boyfriend girlfriend bride groom widow widower fellow bloke chap mate actor actress
        waiter waitress landlord landlady""",
    "de": """
        er ihn ihm sein seine seinen seinem seiner seines sie ihr ihre ihren ihrem ihrer ihres ihnen
        mann männer frau frauen herr herren herrn dame damen junge jungen mädchen vater väter mutter mütter papa
        mama sohn söhne tochter töchter bruder brüder schwester schwestern onkel tante neffe nichte opa oma
        großvater großmutter enkel enkelin ehemann ehefrau gatte gattin freund freundin freunde witwe witwer
        könig königin prinz prinzessin chef chefin kollege kollegin kollegen nachbar nachbarin kunde kundin
        lehrer student studentin patient patientin""",
}
"""Words that tell a person's gender, written down apart from the lists of the package."""

GERMAN_AGREEING = {
    "jeder", "jede", "jeden", "jedem", "unser", "unsere", "unseren", "unserem", "unserer",
    "dieser", "diese", "diesen", "diesem", "ein", "eine", "einen", "einem", "einer", "zum", "zur", "beim", "vom",
}  # fmt: skip
"""German words that would have to agree with the occupation, were they to stand before it."""

WINOGENDER = """
    technician accountant supervisor engineer worker educator clerk counselor inspector mechanic manager
    therapist administrator salesperson receptionist librarian advisor pharmacist janitor psychologist physician
    carpenter nurse investigator bartender specialist electrician officer pathologist teacher lawyer planner
    practitioner plumber instructor surgeon veterinarian paramedic examiner chemist machinist appraiser
    nutritionist architect hairdresser baker programmer paralegal hygienist scientist dispatcher cashier auditor
    dietitian painter broker chef doctor firefighter secretary"""

STRUCTURE = re.compile(r"\[(MASK|OCC)(?::([^]]*))?\]")


@cache
def rows(language: str, name: str) -> tuple[dict[str, str], ...]:
    with (FOLDER / language / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return tuple(csv.DictReader(stream, strict=True))


def texts(language: str, experiment: str) -> list[str]:
    return [row["structure"] for row in rows(language, "structures") if row["experiment"] == experiment]


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", STRUCTURE.sub(" ", text).lower())


both_languages = pytest.mark.parametrize("language", LANGUAGES)
every_experiment = pytest.mark.parametrize("experiment", EXPERIMENTS)


@both_languages
def test_no_other_experiment_is_in_the_file(language: str) -> None:
    assert list(dict.fromkeys(row["experiment"] for row in rows(language, "structures"))) == list(EXPERIMENTS)


@both_languages
@every_experiment
def test_there_are_54_structures_numbered_from_one(language: str, experiment: str) -> None:
    numbers = [int(r["number"]) for r in rows(language, "structures") if r["experiment"] == experiment]

    assert numbers == list(range(1, 55))


@both_languages
@every_experiment
def test_no_structure_repeats_another_up_to_case_punctuation_and_white_space(
    language: str, experiment: str
) -> None:
    bare = [re.sub(r"[\W_]+", "", text).lower() for text in texts(language, experiment)]

    assert [text for text, count in Counter(bare).items() if count > 1] == []


@both_languages
@every_experiment
def test_each_structure_has_one_gap_of_each_kind(language: str, experiment: str) -> None:
    wrong = [
        text
        for text in texts(language, experiment)
        if sorted(kind for kind, _ in STRUCTURE.findall(text)) != ["MASK", "OCC"]
        or len(re.findall(r"[][]", text)) != 4
    ]

    assert wrong == []


@both_languages
@every_experiment
def test_each_structure_is_one_sentence_with_final_punctuation_and_tidy_spaces(
    language: str, experiment: str
) -> None:
    wrong = [
        text
        for text in texts(language, experiment)
        if not re.fullmatch(r"[\[A-ZÄÖÜ][^.?!]*[.?]", text)
        or "  " in text
        or re.search(r" [,;.?]|[,;](?! )", text)
    ]

    assert wrong == []


@both_languages
@every_experiment
def test_no_structure_has_another_gendered_word(language: str, experiment: str) -> None:
    gendered = set(GENDERED[language].split())
    gendered |= {row[side].lower() for row in rows(language, "names") for side in ("male", "female")}

    assert {text: found for text in texts(language, experiment) if (found := gendered & {*words(text)})} == {}


@both_languages
@every_experiment
def test_no_structure_names_an_occupation_of_the_list(language: str, experiment: str) -> None:
    columns = [column for column in rows(language, "occupations")[0] if column != "field"]
    nouns = {row[column].lower() for row in rows(language, "occupations") for column in columns}

    assert {text: found for text in texts(language, experiment) if (found := nouns & {*words(text)})} == {}


@both_languages
@every_experiment
def test_the_term_stands_at_the_start_in_the_middle_and_at_the_end(language: str, experiment: str) -> None:
    starts, middles, ends = 0, 0, 0
    for text in texts(language, experiment):
        after = len(words(text[text.index("[MASK") :]))
        starts += text.startswith("[MASK")
        ends += not text.startswith("[MASK") and after <= 1
        middles += not text.startswith("[MASK") and after > 1

    assert min(starts, middles, ends) >= 5
    assert starts + middles + ends == 54


@every_experiment
def test_no_english_gap_comes_after_a_or_an(experiment: str) -> None:
    assert [text for text in texts("en", experiment) if re.search(r"\ban? \[", text, re.IGNORECASE)] == []


@every_experiment
def test_english_gaps_have_no_forms(experiment: str) -> None:
    forms = {gap for text in texts("en", experiment) for gap in re.findall(r"\[[^]]*\]", text)}

    assert forms == {"[MASK]", "[OCC]"}


def test_an_english_possessive_comes_before_a_noun_and_a_pronoun_with_a_verb() -> None:
    after_possessive = [re.search(r"\[MASK\] [a-z]+", text) for text in texts("en", "his-her")]
    before_pronoun = [re.search(r"\b(of|for|with|to|by|at) \[MASK\]", text) for text in texts("en", "he-she")]

    assert all(after_possessive)
    assert not any(before_pronoun)


@pytest.mark.parametrize(
    ("experiment", "terms"),
    [
        ("he-she", {"[MASK]"}),
        ("his-her", {"[MASK:-]", "[MASK:e]", "[MASK:en]", "[MASK:em]", "[MASK:er]", "[MASK:es]"}),
        ("names", {"[MASK]"}),
    ],
)
def test_german_gaps_use_every_form_that_there_is(experiment: str, terms: set[str]) -> None:
    gaps = {gap for text in texts("de", experiment) for gap in re.findall(r"\[[^]]*\]", text)}

    assert gaps == terms | {"[OCC]", "[OCC:nom]", "[OCC:acc]", "[OCC:dat]", "[OCC:gen]"}


@every_experiment
def test_no_german_word_before_an_occupation_would_have_to_agree_with_it(experiment: str) -> None:
    before = {text: words(text[: text.index("[OCC")])[-1:] for text in texts("de", experiment)}

    assert {text for text, last in before.items() if set(last) & GERMAN_AGREEING} == set()


@every_experiment
def test_german_prepositions_before_an_article_are_not_those_that_merge_with_it(experiment: str) -> None:
    merging = re.compile(r"\b(an|bei|in|von|zu) \[OCC:dat\]", re.IGNORECASE)

    assert [text for text in texts("de", experiment) if merging.search(text)] == []


def test_there_are_the_60_occupations_of_winogender_in_the_same_fields_in_both_languages() -> None:
    english, german = (
        {row["occupation"]: row["field"] for row in rows(language, "occupations")}
        for language in ("en", "de")
    )

    assert english == german
    assert set(english) == set(WINOGENDER.split())
    assert len(rows("en", "occupations")) == len(rows("de", "occupations")) == len(english) == 60
    assert set(Counter(english.values()).values()) == {10}
    assert len(set(english.values())) == 6


def test_every_german_form_is_one_capitalised_word_and_no_occupation_shares_it() -> None:
    columns = ("masculine", "masculine_acc", "masculine_dat", "masculine_gen", "feminine")
    forms = [tuple(row[column] for column in columns) for row in rows("de", "occupations")]

    assert [form for row in forms for form in row if not re.fullmatch(r"[A-ZÄÖÜ][a-zäöüß]+", form)] == []
    assert len({row[0] for row in forms}) == len({row[-1] for row in forms}) == 60


def test_german_masculine_nouns_are_declined_as_strong_or_as_weak_ones() -> None:
    weak = set()
    for row in rows("de", "occupations"):
        noun, *others = (row[key] for key in ("masculine", "masculine_acc", "masculine_dat", "masculine_gen"))
        if others == [noun + ("n" if noun.endswith("e") else "en")] * 3:
            weak.add(noun)
        else:
            assert others[:2] == [noun, noun]
            assert others[2] in (f"{noun}s", f"{noun}es")

    assert weak == {
        "Anwaltsgehilfe", "Architekt", "Chirurg", "Diätassistent", "Disponent", "Maschinist", "Pathologe",
        "Polizist", "Psychologe", "Pädagoge", "Rezeptionist", "Spezialist", "Therapeut",
    }  # fmt: skip


def test_german_feminine_forms_follow_from_the_masculine_ones_but_for_these() -> None:
    irregular = {
        row["masculine"]: row["feminine"]
        for row in rows("de", "occupations")
        if row["feminine"] != f"{row['masculine'].removesuffix('e')}in"
    }

    assert irregular == {
        "Arzt": "Ärztin",
        "Hausarzt": "Hausärztin",
        "Tierarzt": "Tierärztin",
        "Anwalt": "Anwältin",
        "Koch": "Köchin",
        "Feuerwehrmann": "Feuerwehrfrau",
    }


@both_languages
def test_there_are_29_pairs_of_names_and_no_name_twice(language: str) -> None:
    names = [row[side] for row in rows(language, "names") for side in ("male", "female")]

    assert len(rows(language, "names")) == 29
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert [name for name in names if not re.fullmatch(r"[A-ZÄÖÜ][a-zäöüß]+", name)] == []


@both_languages
def test_definitional_pairs_are_all_different_and_no_word_is_on_both_sides(language: str) -> None:
    pairs = [(row["male"], row["female"]) for row in rows(language, "definitional_pairs")]

    assert 30 <= len(pairs) <= 50
    assert len(set(pairs)) == len(pairs)
    assert {male for male, _ in pairs} & {female for _, female in pairs} == set()


def test_definitional_pairs_have_the_pairs_that_everybody_expects() -> None:
    english = {(row["male"], row["female"]) for row in rows("en", "definitional_pairs")}
    german = {(row["male"], row["female"]) for row in rows("de", "definitional_pairs")}

    assert {("he", "she"), ("man", "woman"), ("father", "mother"), ("king", "queen")} <= english
    assert {("er", "sie"), ("Mann", "Frau"), ("Vater", "Mutter"), ("Herr", "Frau")} <= german
    assert not {"his", "her", "him", "hers"} & {word for pair in english for word in pair}


@both_languages
def test_every_file_is_plain_utf_8_with_unix_line_ends(language: str) -> None:
    for path in sorted((FOLDER / language).glob("*.csv")):
        content = path.read_bytes()
        assert content.decode("utf-8").endswith("\n")
        assert not content.startswith(b"\xef\xbb\xbf")
        assert b"\r" not in content


def test_the_licence_is_beside_the_files() -> None:
    assert "CC BY 4.0" in (FOLDER / "LICENSE").read_text(encoding="utf-8")
