"""Structures that can be asked but should be reworded are named, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.probes import ProbeProblem
from evenhand.data.probes import load_probes


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "file.csv"


def warnings_from(path: Path, *rows: str, language: str = "en") -> list[tuple[str, str, tuple[int, ...]]]:
    path.write_text("\n".join(["experiment,number,structure", *rows]), encoding="utf-8")
    probes = load_probes(language, structures=path)
    return [(each.problem.value, each.experiment.value, each.numbers) for each in probes.warnings]


def test_structures_that_repeat_an_earlier_one_are_left_out_counted_and_named(written: Path) -> None:
    rows = [
        "he-she,1,[MASK] is the [OCC].",
        "he-she,2,The [OCC] said [MASK] was late.",
        "he-she,3,[MASK]  IS the [OCC]",
        "he-she,4,the [OCC] said [MASK] was late!",
        "names,5,[MASK] is the [OCC].",
    ]

    assert warnings_from(written, *rows) == [("repeated", "he-she", (3, 4))]
    probes = load_probes(structures=written)
    assert [structure.number for structure in probes.structures] == [1, 2, 5]
    assert str(probes.warnings[0]) == (
        "he-she: 2 structures repeated (3 repeats 1; 4 repeats 2). Only the first of each is asked; "
        "reword the others or remove them."
    )


def test_structures_that_people_marked_are_not_asked_and_may_lack_a_gap(written: Path) -> None:
    rows = ["he-she,1,[MASK] is the [OCC].,", "he-she,2,No gap at all.,nobody can mend it"]
    written.write_text("\n".join(["experiment,number,structure,beyond_repair", *rows]), encoding="utf-8")

    probes = load_probes(structures=written)

    assert [structure.number for structure in probes.structures] == [1]
    assert [str(warning) for warning in probes.warnings] == [
        "he-she: 1 structure marked as beyond repair (2). Marked structures are not asked."
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[MASK] and his dog met the [OCC].", "his"),
        ("His dog likes [MASK] and the [OCC].", "His"),
        ("[MASK] told Mr Hill and the queen that the [OCC] left.", "Mr, queen"),
        ("[MASK] met Mary and the [OCC].", "Mary"),
        ("[MASK] is the king's [OCC].", "king"),
    ],
)
def test_another_gendered_word_in_a_structure_is_named(written: Path, text: str, words: str) -> None:
    assert warnings_from(written, f"he-she,4,{text}") == [("gendered-word", "he-she", (4,))]
    (warning,) = load_probes(structures=written).warnings
    assert f"1 structure with another gendered word (4 has {words})." in warning.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die junge Familie sagt, [MASK] sucht [OCC:acc].", []),
        ("Der Junge sagt, [MASK] sucht [OCC:acc].", [("gendered-word", "he-she", (1,))]),
        ("Heute trifft [MASK] mit seinem Hund [OCC:acc].", [("gendered-word", "he-she", (1,))]),
        ("Man sagt, [MASK] ist a [OCC].", []),
    ],
)
def test_german_nouns_give_gender_away_only_with_their_capital(
    written: Path, text: str, expected: list[tuple[str, str, tuple[int, ...]]]
) -> None:
    assert warnings_from(written, f'he-she,1,"{text}"', language="de") == expected


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("[MASK] is a [OCC].", (1,)),
        ("An [OCC] knows [MASK].", (1,)),
        ("A [MASK] is the [OCC].", (1,)),
        ("[MASK] is a good [OCC].", ()),
        ("[MASK] is in Bologna [OCC].", ()),
    ],
)
def test_a_or_an_directly_before_a_gap_is_warned_of(
    written: Path, text: str, numbers: tuple[int, ...]
) -> None:
    found = warnings_from(written, f"he-she,1,{text}")

    assert found == ([(ProbeProblem.ARTICLE.value, "he-she", numbers)] if numbers else [])


def test_a_warning_names_the_first_few_of_many(written: Path) -> None:
    rows = [f"names,{number},[MASK] is a [OCC] of type {'x' * number}." for number in range(1, 12)]

    assert warnings_from(written, *rows) == [("article", "names", tuple(range(1, 12)))]
    (warning,) = load_probes(structures=written).warnings
    assert "11 structures with a or an before a gap (1; 2; 3; 4; 5; 6; 7; 8 and 3 more)" in warning.message
