"""Lexicons and occupations on the page of regard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from evenhand.cli.regard_content import print_lexicons
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.analysis import RegardAnalysisOptions
from evenhand.instruments.regard.content import ContentFiles, ContentLists
from evenhand.instruments.regard.evaluation import assemble_regard, regard_record
from evenhand.reporting.plotting import shown_runs
from evenhand.reporting.regard.content import lexicon_section, occupation_section, slope_plot
from evenhand.reporting.regard.view import regard_view
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run

pytest.importorskip("simplemma")

OPTIONS = RegardAnalysisOptions(resampling=Resampling(resamples=200))
CONTEXTS = ("worked as", "had a job as", "started working as")
BEFORE = {"female": ("a nurse <b>.", "a nurse.", "a cook."), "male": ("a killer.", "a cook.", "a pilot.")}
AFTER = {"female": ("a cook.", "a nurse.", "a cook."), "male": ("a cook.", "a cook.", "a pilot.")}


def run_of(name: str, endings: Mapping[str, Sequence[str]], *, with_content: bool = True) -> Run:
    texts = GroupTexts(
        name=name,
        language="en",
        texts=tuple(
            GroupText(
                text=f"The {group} {context} {ending}",
                group=group,
                context=context,
                kind="occupation",
                label=label,
            )
            for context in CONTEXTS
            for group, own in endings.items()
            for ending, label in zip(own, ("-1", "0", "1"), strict=True)
        ),
    )
    record = regard_record(texts, OPTIONS, name=name, model=None, determining={})
    lists = ContentLists.load("en", ContentFiles()) if with_content else None
    return assemble_regard(record, texts, OPTIONS, lists=lists)


def test_lexicons_have_a_plot_and_a_table() -> None:
    made = lexicon_section(shown_runs([run_of("plain", BEFORE)]))
    assert made is not None
    section, plot = made
    assert "caregiving" in section.html
    assert "Nobody has checked these matches yet" in section.html
    assert "66.7" in section.html
    assert "plain,caregiving,female,66.6" in section.csv
    assert plot.spec


def texts_of(context: str, group: str, *, nurses: int) -> tuple[GroupText, ...]:
    """Twenty texts, of which so many name an occupation of care."""
    return tuple(
        GroupText(
            text=f"The {group} {context} a {'nurse' if place < nurses else 'cook'}.",
            group=group,
            context=context,
            label="0",
        )
        for place in range(20)
    )


def run_of_nurses(nurses: Sequence[int]) -> Run:
    """None in texts about men, and so many in each context of those about women."""
    texts = GroupTexts(
        name="nurses",
        language="en",
        texts=tuple(
            text
            for place, count in enumerate(nurses)
            for group, own in (("female", count), ("male", 0))
            for text in texts_of(f"worked at place {place} as", group, nurses=own)
        ),
    )
    record = regard_record(texts, OPTIONS, name="nurses", model=None, determining={})
    return assemble_regard(record, texts, OPTIONS, lists=ContentLists.load("en", ContentFiles()))


def test_a_gap_in_mentions_that_test_and_interval_disagree_about_is_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All twelve signs are alike, which 2 of 2^12 patterns of signs are; one context has nearly all of the gap.

    By hand, the mean of eleven gaps of 5 and one of 100 is 12.9, its standard error 7.9, and 2.2 of them are 17.4.
    """
    said = (
        "caregiving, female − male: The test calls it more than chance, but the range includes 0: a few of the 12 "
        "contexts are far from the rest, which the test does not allow for."
    )
    run = run_of_nurses([1] * 11 + [20])
    made = lexicon_section(shown_runs([run]))
    assert made is not None
    assert said in made[0].html
    print_lexicons(run.result.lexicons)
    assert said in " ".join(capsys.readouterr().out.split())
    agreed = run_of_nurses([4, 5, 6, 5, 4, 5, 6, 5, 4, 5, 6, 5])
    print_lexicons(agreed.result.lexicons)
    assert "The test calls" not in capsys.readouterr().out


def test_occupations_are_slopes_between_groups_and_between_runs() -> None:
    runs = shown_runs([run_of("plain", BEFORE), run_of("prefixed", AFTER)])
    made = occupation_section(runs)
    assert made is not None
    section, plots = made
    assert [plot.id for plot in plots] == [
        "regard-occupations-0", "regard-occupations-1", "regard-shifts-1-0", "regard-shifts-1-1",
    ]  # fmt: skip
    assert "female: from plain to prefixed" in section.html
    assert "-33.3" in section.html or "−33.3" in section.html
    assert "plain,nurse,male,0.0" in section.csv


def test_runs_without_content_have_no_sections() -> None:
    runs = shown_runs([run_of("plain", BEFORE, with_content=False)])
    assert lexicon_section(runs) is None
    assert occupation_section(runs) is None


def test_the_page_has_both_sections_before_the_texts() -> None:
    view = regard_view(shown_runs([run_of("plain", BEFORE)]))
    assert [section.id for section in view.sections][-3:] == [
        "regard-lexicons", "regard-occupations", "regard-texts",
    ]  # fmt: skip
    assert {"regard-lexicons", "regard-occupations-0"} <= {plot.id for plot in view.plots}


def test_a_slope_has_a_value_at_every_place_and_its_name_at_the_higher_end() -> None:
    spec = slope_plot({"nurse": (10.0, 2.5), "cook": (0.0, 10.1), "pilot": (0.0, 10.0)}, ("female", "male"))
    rows = [row for own in spec["datasets"].values() for row in own]
    points = {(row["name"], row["place"]): row["value"] for row in rows if "value" in row}
    assert points["nurse", "female"] == 10.0
    assert points["nurse", "male"] == 2.5
    names = {row["name"]: (row["place"], row["height"]) for row in rows if "height" in row}
    assert names["nurse"] == ("female", 10.0)
    assert names["pilot"] == ("male", 10.0)
    assert names["cook"][1] > 10.4
    assert slope_plot({}, ("female", "male")) == {}
