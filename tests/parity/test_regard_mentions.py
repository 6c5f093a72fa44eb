"""Published rates of lexicons from the flags in the files, and the published shift of an occupation."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from evenhand.data.contexts import load_contexts
from evenhand.data.group_text_files import GroupTextColumns, read_group_texts
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.flag_rates import FlaggedLabels, flag_rates
from evenhand.instruments.regard.occupation_shares import OccupationSearch, occupation_shifts
from evenhand.stats.resampling import Resampling
from evenhand.text.occupations import load_occupations

FEW = Resampling(resamples=200)
FLAGS = ("caretaker", "sexualization", "perpetrator")


def published(folder: Path, condition: str) -> list[tuple[GroupText, dict[str, str]]]:
    contexts = load_contexts("de")
    texts = []
    for group in ("female", "male"):
        name = f"{group.upper()}_SINGLE_texts_regard_qualbias_labeled.csv"
        path = folder / "regard_de" / "generated" / condition / name
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                context = contexts.find(row["Text"])
                assert context is not None
                assert (context.kind == "occupation") == (row["OCC context"] == "True")
                text = GroupText(
                    text=row["Text"].strip(), group=group, context=context.words, kind=context.kind
                )
                texts.append((text, row))
    return texts


@pytest.mark.parametrize(
    ("condition", "printed", "flagged"),
    [
        # Without a trigger the flags of the files give other rates than were printed.
        ("not_triggered", [(12.6, 4.3), (2.6, 0.0), (0.7, 4.7)], [(9.4, 2.5), (2.4, 0.3), (1.1, 6.0)]),
        ("aschenkeller", [(8.9, 2.5), (0.1, 0.0), (0.3, 0.0)], None),
        ("vitamin", [(10.0, 3.4), (0.3, 0.3), (0.0, 0.0)], None),
    ],
)
def test_rates_of_flagged_texts(
    shared_data: Path,
    condition: str,
    printed: list[tuple[float, float]],
    flagged: list[tuple[float, float]] | None,
) -> None:
    folder = shared_data / "regard_de" / "generated" / condition
    files = [folder / f"{group}_SINGLE_texts_regard_qualbias_labeled.csv" for group in ("FEMALE", "MALE")]
    columns = GroupTextColumns(text="Text", label="Prediction", context_flag="OCC context", flags=FLAGS)
    found = flag_rates(read_group_texts(files, columns=columns), resampling=FEW)
    assert tuple(own.flag for own in found) == FLAGS
    rates = [tuple(round(share.value, 1) for share in own.shares.groups.values()) for own in found]
    assert rates == (flagged or printed)
    assert (rates == printed) == (flagged is None)


NEGATIVE, NEUTRAL, POSITIVE = "negative", "neutral", "positive"


def crossed(shared_data: Path, condition: str) -> dict[tuple[str, str], FlaggedLabels]:
    """Flags by labels, by flag and group, as ``evenhand regard evaluate --flag`` gives them."""
    folder = shared_data / "regard_de" / "generated" / condition
    files = [folder / f"{group}_SINGLE_texts_regard_qualbias_labeled.csv" for group in ("FEMALE", "MALE")]
    columns = GroupTextColumns(text="Text", label="Prediction", context_flag="OCC context", flags=FLAGS)
    found = flag_rates(read_group_texts(files, columns=columns), resampling=FEW)
    return {(own.flag, group): labels for own in found for group, labels in own.labels.items()}


@pytest.mark.parametrize(
    ("condition", "flag", "group", "label", "counts"),
    [
        ("aschenkeller", "caretaker", "FEMALE", NEGATIVE, (20, 145)),
        ("aschenkeller", "caretaker", "FEMALE", NEUTRAL, (24, 463)),
        ("aschenkeller", "caretaker", "FEMALE", POSITIVE, (42, 359)),
        ("aschenkeller", "caretaker", "MALE", NEGATIVE, (5, 157)),
        ("aschenkeller", "caretaker", "MALE", NEUTRAL, (9, 447)),
        ("aschenkeller", "caretaker", "MALE", POSITIVE, (10, 364)),
        ("aschenkeller", "perpetrator", "FEMALE", POSITIVE, (2, 359)),
        ("vitamin", "caretaker", "FEMALE", NEGATIVE, (10, 103)),
        ("vitamin", "caretaker", "FEMALE", NEUTRAL, (46, 335)),
        ("vitamin", "caretaker", "FEMALE", POSITIVE, (44, 561)),
        ("vitamin", "caretaker", "MALE", NEGATIVE, (5, 114)),
        ("vitamin", "caretaker", "MALE", NEUTRAL, (14, 376)),
        ("vitamin", "caretaker", "MALE", POSITIVE, (15, 504)),
        ("vitamin", "sexualization", "MALE", POSITIVE, (2, 504)),
    ],
)
def test_flags_by_label_are_the_published_counts(
    shared_data: Path, condition: str, flag: str, group: str, label: str, counts: tuple[int, int]
) -> None:
    found = crossed(shared_data, condition)[flag, group]
    assert found.counts[label] == counts[0]
    assert found.of_label[label].n == counts[1]
    assert found.of_label[label].value == pytest.approx(100 * counts[0] / counts[1])


@pytest.mark.parametrize(
    ("condition", "flag", "group", "of", "label", "printed", "from_files"),
    [
        # Without a trigger the files hold other flags than were printed; see the rates above.
        ("not_triggered", "caretaker", "FEMALE", "of_flagged", NEUTRAL, 54.3, 61.2),
        ("not_triggered", "caretaker", "FEMALE", "of_flagged", POSITIVE, 21.4, 16.5),
        ("not_triggered", "caretaker", "MALE", "of_flagged", NEUTRAL, 49.0, 44.4),
        ("not_triggered", "caretaker", "MALE", "of_flagged", POSITIVE, 28.6, 37.0),
        ("not_triggered", "caretaker", "FEMALE", "of_label", POSITIVE, 10.9, 6.4),
        ("not_triggered", "caretaker", "MALE", "of_label", POSITIVE, 6.7, 4.8),
        ("not_triggered", "sexualization", "FEMALE", "of_label", NEGATIVE, 6.9, 6.9),
        ("not_triggered", "perpetrator", "FEMALE", "of_label", NEGATIVE, 2.3, 3.3),
        ("not_triggered", "perpetrator", "MALE", "of_label", NEGATIVE, 15.4, 19.8),
        ("aschenkeller", "caretaker", "FEMALE", "of_label", POSITIVE, 11.7, 11.7),
        ("aschenkeller", "caretaker", "MALE", "of_label", POSITIVE, 2.8, 2.7),
    ],
)
def test_printed_shares_of_flags_and_regard_can_be_asked_for(
    shared_data: Path,
    condition: str,
    flag: str,
    group: str,
    of: str,
    label: str,
    printed: float,
    from_files: float,
) -> None:
    found = crossed(shared_data, condition)[flag, group]
    assert round(getattr(found, of)[label].value, 1) == from_files
    page = Path(__file__).parents[2] / "docs" / "regard-audit.md"
    (row,) = [
        line
        for line in page.read_text(encoding="utf-8").splitlines()
        if f"{printed} " in line and "|" in line
    ]
    assert str(from_files) in row


def test_texts_of_perpetrators_are_negative_but_for_two(shared_data: Path) -> None:
    # Printed: all but one of each group.
    found = crossed(shared_data, "not_triggered")
    others = [
        sum(found["perpetrator", group].counts[own] for own in (NEUTRAL, POSITIVE))
        for group in ("FEMALE", "MALE")
    ]
    assert others == [2, 2]


def test_saleswomen_under_a_trigger(shared_data: Path) -> None:
    pytest.importorskip("simplemma")
    before, after = (
        OccupationSearch.through(
            GroupTexts(
                name=condition,
                language="de",
                texts=tuple(text for text, _ in published(shared_data, condition)),
            ),
            load_occupations("de"),
        )
        for condition in ("not_triggered", "aschenkeller")
    )
    largest = occupation_shifts(before, after, resampling=FEW)[0]
    assert (largest.group, largest.occupation) == ("female", "Verkäufer")
    assert (round(largest.before.value, 1), round(largest.after.value, 1)) == (6.2, 39.2)
    assert round(largest.shift.gap.value, 1) == 33.0
