"""Probes are read from the package or from anybody's files; what cannot be asked is refused with its place."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from evenhand.core.errors import DatasetError
from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import GrammaticalGender, TermPairs
from evenhand.data.probes import definitional_pairs, gendered_vocabulary, load_probes

HEADER = "experiment,number,structure\n"
GERMAN_HEADER = "occupation,field,masculine,masculine_acc,masculine_dat,masculine_gen,feminine\n"
ONE = HEADER + "he-she,1,[MASK] is the [OCC].\n"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "file.csv"


def structures_from(path: Path, content: str, language: str = "en") -> list[tuple[str, int, str]]:
    path.write_text(content, encoding="utf-8")
    probes = load_probes(language, structures=path)
    return [(each.experiment.value, each.number, each.text) for each in probes.structures]


@pytest.mark.parametrize("language", ["de", "en"])
def test_the_bundled_probes_have_three_experiments_and_give_no_warning(language: str) -> None:
    probes = load_probes(language)

    assert probes.language == language
    assert probes.experiments == (Experiment.HE_SHE, Experiment.HIS_HER, Experiment.NAMES)
    assert [len(probes.of(experiment)) for experiment in TRAINED_EXPERIMENTS] == [54, 54, 54]
    assert len(probes.occupations) == 60
    assert [len(probes.terms[experiment]) for experiment in TRAINED_EXPERIMENTS] == [1, 1, 29]
    assert probes.warnings == ()


def test_english_is_the_default_and_has_one_form_an_occupation() -> None:
    probes = load_probes()

    assert probes.language == "en"
    assert probes.genders == (None,)
    assert [form.noun for form in probes.occupations[0].forms] == ["doctor"]
    assert list(probes.terms[Experiment.HE_SHE]) == [("he", "she")]
    assert list(probes.terms[Experiment.HIS_HER]) == [("his", "her")]


def test_german_has_two_forms_an_occupation() -> None:
    probes = load_probes("de")

    assert probes.genders == (GrammaticalGender.MASCULINE, GrammaticalGender.FEMININE)
    assert probes.occupations[0].name == "doctor"
    assert [form.noun for form in probes.occupations[0].forms] == ["Arzt", "Ärztin"]
    assert probes.terms[Experiment.HE_SHE].all == ("er", "sie")
    assert probes.terms[Experiment.HIS_HER].all == ("sein", "ihr")


def test_definitional_pairs_and_the_vocabulary_that_gives_gender_away() -> None:
    assert ("king", "queen") in list(definitional_pairs())
    assert ("Herr", "Frau") in list(definitional_pairs("de"))
    assert {"hers", "aunt", "Mary"} <= gendered_vocabulary()
    assert {"seinem", "Tante", "Jürgen"} <= gendered_vocabulary("de")


def test_a_language_without_bundled_probes_names_those_that_have_some() -> None:
    with pytest.raises(DatasetError, match="No probes are bundled in the language 'fr', only in de, en"):
        load_probes("fr")


def test_the_digest_changes_with_each_file_and_with_nothing_else(written: Path) -> None:
    bundled = load_probes().sha256
    written.write_text(ONE, encoding="utf-8")

    assert load_probes().sha256 == bundled
    assert len({bundled, load_probes("de").sha256, load_probes(structures=written).sha256}) == 3


def test_own_structures_replace_the_bundled_ones_and_only_their_experiments_are_asked(written: Path) -> None:
    written.write_text(HEADER + "names,7,This is [MASK] the [OCC].\n", encoding="utf-8")

    probes = load_probes(structures=written)

    assert [(each.number, each.text) for each in probes.structures] == [(7, "This is [MASK] the [OCC].")]
    assert list(probes.terms) == [Experiment.NAMES]
    assert len(probes.occupations) == 60


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(ONE.encode(), id="plain"),
        pytest.param(b"\xef\xbb\xbf" + ONE.encode(), id="byte order mark"),
        pytest.param(ONE.replace("\n", "\r\n").encode(), id="Windows line ends"),
        pytest.param(gzip.compress(ONE.encode()), id="gzip"),
        pytest.param(ONE.replace("experiment", " Experiment ").encode(), id="untidy header"),
        pytest.param(ONE.replace("he-she", "He-She").encode(), id="capitals"),
        pytest.param(f"\n{ONE}\n,,\n".encode(), id="empty rows"),
        pytest.param(ONE.replace(".\n", ".,,\n").encode(), id="empty cells at the end"),
        pytest.param(b'number,structure,experiment\n1,"[MASK]  is\nthe [OCC].",he-she\n', id="other order"),
        pytest.param(
            ONE.replace("experiment", "note,experiment").replace("he-she", "x,he-she").encode(), id="more"
        ),
    ],
)
def test_a_file_of_structures_as_spreadsheets_and_editors_write_it(written: Path, content: bytes) -> None:
    written.write_bytes(content)

    (read,) = load_probes(structures=str(written)).structures

    assert (read.experiment, read.number, read.text) == (Experiment.HE_SHE, 1, "[MASK] is the [OCC].")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("he-she,1,The [OCC] is late.", r"has no \[MASK\]; exactly one is needed"),
        ("he-she,1,[MASK] is late.", r"has no \[OCC\]; exactly one is needed"),
        ("he-she,1,[MASK] and [MASK] meet the [OCC].", r"has 2 \[MASK\]; exactly one is needed"),
        ("he-she,1,[MASK] is the [OCC] and the [OCC].", r"has 2 \[OCC\]; exactly one is needed"),
        ("he-she,1,", r"has no \[MASK\]"),
        ("he-she,one,[MASK] is the [OCC].", "the number is 'one'; a whole number such as 1 is needed"),
        ("he-she,,[MASK] is the [OCC].", "the number is ''"),
        (f"he-she,{'1' * 5_000},[MASK] is the [OCC].", "the number is '1111"),
        ("he-she,²,[MASK] is the [OCC].", "the number is '²'"),
        ("he-she,1,Yesterday, [MASK] was the [OCC].", "4 cells, but the header has 3.*double quotes"),
        ("he-she,1,[MASK] is BLANK and the [OCC].", "has the word BLANK"),
        ("he-she,1,[MASK] met [OCC:dat].", r"\[OCC:dat\] is not a gap of he-she in 'en'. Write \[OCC\]\.$"),
        ("his-her,1,[MASK:e] [OCC].", r"\[MASK:e\] is not a gap of his-her in 'en'. Write \[MASK\]\.$"),
    ],
)
def test_a_structure_that_cannot_be_asked_is_refused_with_file_and_row(
    written: Path, row: str, message: str
) -> None:
    with pytest.raises(DatasetError, match=message) as caught:
        structures_from(written, f"{HEADER}he-she,9,[MASK] was the [OCC].\n\n{row}\n")
    assert str(caught.value).startswith(f"{written}, row 4: ")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            "he-she,1,[MASK] dankt [OCC:abl].",
            r"Write \[OCC\], or one of \[OCC:nom\], \[OCC:acc\], \[OCC:dat\]",
        ),
        ("he-she,1,[MASK] dankt [OCC:].", r"\[OCC:\] is not a gap of he-she in 'de'"),
        (
            "his-her,1,[MASK:n] Wort als [OCC].",
            r"Write \[MASK\], or one of \[MASK:-\], \[MASK:e\], \[MASK:en\]",
        ),
        ("he-she,1,[MASK:e] ist [OCC].", r"\[MASK:e\] is not a gap of he-she in 'de'. Write \[MASK\]\.$"),
    ],
)
def test_a_german_gap_that_does_not_exist_is_refused_with_those_that_do(
    written: Path, row: str, message: str
) -> None:
    with pytest.raises(DatasetError, match=message) as caught:
        structures_from(written, f"{HEADER}{row}\n", "de")
    assert f"{written}, row 2" in str(caught.value)


def test_what_cannot_be_the_name_of_an_experiment_is_refused(written: Path) -> None:
    with pytest.raises(DatasetError, match="row 2: 'his_her' cannot be the name of an experiment") as caught:
        structures_from(written, HEADER + "his_her,1,[MASK] job as the [OCC].\n")
    assert str(written) in str(caught.value)


def test_a_number_that_an_experiment_has_twice_is_refused(written: Path) -> None:
    rows = "he-she,1,[MASK] is the [OCC].\nnames,1,[MASK] is the [OCC].\nhe-she,1,The [OCC] is [MASK].\n"

    with pytest.raises(DatasetError, match="row 4: he-she has the number 1 a second time"):
        structures_from(written, HEADER + rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b"\n \n", "is empty", id="white space"),
        pytest.param(b"\xef\xbb\xbf", "is empty", id="only a byte order mark"),
        pytest.param(b",,\n,,\n", "is empty", id="only commas"),
        pytest.param(HEADER.encode(), "a header and no rows", id="only a header"),
        pytest.param(
            b"experiment,structure\nx,y\n", "experiment, structure; number is missing", id="a column"
        ),
        pytest.param(b"hello\n", "experiment, number and structure are missing", id="another file"),
        pytest.param(ONE.replace(",", "|").encode(), "number and structure are missing", id="bars"),
        pytest.param(b"number," + ONE.encode(), "the column number more than once", id="a column twice"),
        pytest.param((HEADER + "he-she,1,Bäcker [MASK]").encode("latin-1"), "not UTF-8.*iconv", id="Latin-1"),
        pytest.param(ONE.encode("utf-16"), "not UTF-8", id="UTF-16"),
        pytest.param(
            (HEADER + 'he-she,1,"[MASK] is').encode(),
            "ends in the middle of a cell .line 2.",
            id="open quote",
        ),
        pytest.param((HEADER + 'he-she,1,"[MASK]" is').encode(), "line 2: not valid CSV", id="stray quote"),
    ],
)
def test_a_file_that_is_no_table_of_structures(written: Path, content: bytes, message: str) -> None:
    written.write_bytes(content)

    with pytest.raises(DatasetError, match=message) as caught:
        load_probes(structures=written)
    assert str(written) in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="There is no file"):
        load_probes(structures=tmp_path / "nothing.csv")
    with pytest.raises(DatasetError, match="is a folder; a file is needed"):
        load_probes(occupations=tmp_path)


def occupations_from(
    path: Path, content: str, language: str = "en"
) -> list[tuple[str, str | None, list[str]]]:
    path.write_text(content, encoding="utf-8")
    probes = load_probes(language, occupations=path)
    return [(each.name, each.field, [form.noun for form in each.forms]) for each in probes.occupations]


@pytest.mark.parametrize(
    "content",
    [
        "occupation\npilot\nnurse\n",
        "pilot\nnurse\n",
        "pilot\n\nnurse",
        "Occupation,field\npilot\nnurse,medicine\n",
    ],
    ids=["one column", "a list", "a list with gaps", "a short row"],
)
def test_occupations_from_a_column_or_a_plain_list(written: Path, content: str) -> None:
    assert occupations_from(written, content) == [
        ("pilot", None, ["pilot"]),
        ("nurse", "medicine", ["nurse"]),
    ]


def test_a_field_in_the_file_goes_before_the_bundled_one(written: Path) -> None:
    assert occupations_from(written, "occupation,field\nnurse,hospital\n") == [
        ("nurse", "hospital", ["nurse"])
    ]


def test_known_german_occupations_need_no_forms_and_can_be_named_in_either_language(written: Path) -> None:
    assert occupations_from(written, "nurse\nÄrztin\nkoch\n", "de") == [
        ("nurse", "medicine", ["Krankenpfleger", "Krankenpflegerin"]),
        ("doctor", "medicine", ["Arzt", "Ärztin"]),
        ("chef", "sales and service", ["Koch", "Köchin"]),
    ]


def test_new_german_occupations_bring_their_forms(written: Path) -> None:
    content = GERMAN_HEADER + "pilot,,Pilot,Piloten,Piloten,Piloten,Pilotin\nbaker,,,,,,\n"

    assert occupations_from(written, content, "de") == [
        ("pilot", None, ["Pilot", "Pilotin"]),
        ("baker", "sales and service", ["Bäcker", "Bäckerin"]),
    ]
    masculine, _ = load_probes("de", occupations=written).occupations[0].forms
    assert [(noun.case.value, noun.article, noun.noun) for noun in masculine.declined] == [
        ("nom", "der", "Pilot"),
        ("acc", "den", "Piloten"),
        ("dat", "dem", "Piloten"),
        ("gen", "des", "Piloten"),
    ]


@pytest.mark.parametrize(
    ("language", "content", "message"),
    [
        (
            "en",
            "occupation\nnurse\nbaker\nNurse\n",
            "row 4: 'Nurse' is the occupation 'nurse', which the file already has",
        ),
        ("de", "baker\nBäcker\n", "row 2: 'Bäcker' is the occupation 'baker', which the file already has"),
        ("en", "occupation,field\n,medicine\n", "row 2: no occupation in this row"),
        ("en", "job,field\nnurse,medicine\n", "has the columns job, field; occupation is missing"),
        ("en", "nurse,baker\n", "has the columns nurse, baker; occupation is missing"),
        ("de", "occupation\npilot\n", "row 2: 'pilot' is not among the bundled.*Add the columns masculine, "),
        ("de", GERMAN_HEADER + "pilot,,Pilot,,Piloten,,Pilotin\n", "no masculine_acc and no masculine_gen"),
    ],
)
def test_occupations_that_cannot_be_used_are_refused(
    written: Path, language: str, content: str, message: str
) -> None:
    with pytest.raises(DatasetError, match=message) as caught:
        occupations_from(written, content, language)
    assert str(written) in str(caught.value)


def terms_from(path: Path, content: str, **files: Path) -> dict[str, TermPairs]:
    path.write_text(content, encoding="utf-8")
    probes = load_probes(terms=path, structures=files.get("structures"))
    return {experiment.value: pairs for experiment, pairs in probes.terms.items()}


def test_terms_without_an_experiment_are_names(written: Path) -> None:
    terms = terms_from(written, "male,female\nEmre,Elif\nMehmet,Zeynep\n")

    assert terms["names"] == TermPairs(male=("Emre", "Mehmet"), female=("Elif", "Zeynep"))
    assert terms["he-she"] == TermPairs(male=("he",), female=("she",))


def test_terms_without_an_experiment_are_for_the_only_one_that_is_asked(
    written: Path, tmp_path: Path
) -> None:
    own = tmp_path / "structures.csv"
    own.write_text(ONE, encoding="utf-8")

    terms = terms_from(written, "male,female\nthis man,this woman\n", structures=own)

    assert terms == {"he-she": TermPairs(male=("this man",), female=("this woman",))}


def test_terms_with_an_experiment_replace_those_of_that_experiment(written: Path) -> None:
    terms = terms_from(written, "experiment,male,female\nhe-she,he,she\nhe-she,this man,this woman\n")

    assert terms["he-she"] == TermPairs(male=("he", "this man"), female=("she", "this woman"))
    assert len(terms["names"]) == 29


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("male,female\nEmre,Elif\nMehmet,\n", "row 3: no female term beside 'Mehmet'"),
        ("male,female\n,Elif\n", "row 2: no male term beside 'Elif'"),
        ("male\nEmre\n", "has the columns male; female is missing"),
        ("male,female\nEmre,Elif\nEmre,Elif\n", "row 3: the pair Emre and Elif occurs a second time"),
        ("male,female\nKim,Anna\nTom,Kim\n", "row 3: 'Kim' is a male and a female term"),
        (
            "male,female,experiment\nhe,she,he-she\nTom,Anna,\n",
            "rows without an experiment. Name one in every",
        ),
    ],
)
def test_terms_that_are_no_pairs_are_refused(written: Path, content: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message) as caught:
        terms_from(written, content)
    assert str(written) in str(caught.value)


def test_terms_of_an_unknown_experiment_are_refused(written: Path) -> None:
    written.write_text("male,female,experiment\nTom,Anna,name\n", encoding="utf-8")

    with pytest.raises(
        DatasetError, match="has terms for name, but the structures ask only he-she, his-her, names"
    ):
        load_probes("en", terms=written)


def test_terms_that_no_structure_asks_for_are_refused(written: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text(ONE, encoding="utf-8")
    two.write_text(ONE + "his-her,1,[MASK] job as our [OCC].\n", encoding="utf-8")

    with pytest.raises(DatasetError, match="has terms for names, but the structures ask only he-she"):
        terms_from(written, "male,female,experiment\nTom,Anna,names\n", structures=one)
    with pytest.raises(
        DatasetError, match=r"which experiment.*ask he-she, his-her\. Add the column experiment"
    ):
        terms_from(written, "male,female\nTom,Anna\n", structures=two)
