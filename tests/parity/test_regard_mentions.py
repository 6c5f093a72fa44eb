"""Published rates of lexicons from the flags in the files, and the published shift of an occupation."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from evenhand.data.contexts import load_contexts
from evenhand.data.group_text_files import GroupTextColumns, read_group_texts
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.flag_rates import flag_rates
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
