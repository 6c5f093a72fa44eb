"""The page of probes: what it says, and that it keeps to itself."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import probe_runs
import pytest

from evenhand.core.errors import RunError
from evenhand.core.estimates import Estimate
from evenhand.core.planted_bias import PlantedBias
from evenhand.instruments.instrument import Skipped
from evenhand.reporting.numbers import signed, times
from evenhand.reporting.page import render_page, write_page
from evenhand.reporting.plotting import MOST_ROWS, Mark
from evenhand.reporting.probes.malor_view import changed_sides
from evenhand.reporting.probes.plots import lean_plot
from evenhand.reporting.probes.words import probe_sentences
from evenhand.store.run import Run

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"


def section(page: str, name: str) -> str:
    """The text of a section, without markup."""
    found = page[page.index(f'<section id="{name}"') :].split("</section>", maxsplit=1)[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found)).split())


def plots(page: str) -> dict[str, Any]:
    found = re.search(r'id="page-data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])["plots"]
    return data


def render_probe_page(runs: Sequence[Run]) -> str:
    """The page of made-up runs, which have no answers that could be compared."""
    return render_page(runs, comparisons=())


def reading(*results: Any) -> str:
    return section(render_probe_page([probe_runs.probe_run(*results)]), "reading")


@pytest.fixture(scope="module")
def one() -> str:
    run = probe_runs.probe_run(
        probe_runs.plausible_malor(),
        probe_runs.plausible_malor(4, experiment="names", direction="occupation"),
        planted=PlantedBias(family="masked", strength=2.0, language="en", seed=3),
        warnings=["Structures 3 and 7 are the same."],
    )
    return render_probe_page([run])


@pytest.fixture(scope="module")
def rest() -> str:
    return render_probe_page(
        [
            probe_runs.probe_run(probe_runs.crows_pairs(), name="pairs"),
            probe_runs.probe_run(probe_runs.cosine(), name="cosines"),
            probe_runs.probe_run(probe_runs.direct_bias(), name="direct"),
        ]
    )


def test_a_type_of_pairs_is_called_the_farthest_only_where_it_is_shown() -> None:
    result = probe_runs.crows_pairs()
    assert "Farthest" not in reading(result)
    shown = probe_runs.crows_pairs(types={"age": probe_runs.estimate(95.0, 4.0)})
    assert "Farthest from neutral, by more than chance explains, are pairs about age (95.0)." in reading(
        shown
    )


def test_malor_is_read_in_words() -> None:
    text = reading(probe_runs.malor({"nurse": -2.0, "plumber": 3.0, "cook": 0.1, "clerk": 0.1}))
    assert "Gender and occupation are tied" in text
    assert "the likelier pronoun is 2.5 times as likely as the other" in text
    assert "MALoR is 1.30 bits (95% interval 1.15 to 1.45; neutral is 0)" in text
    assert "leans towards men: the base rate is +0.30 bits (0.15 to 0.45)" in text
    assert (
        "Occupations whose own interval leaves out 0, largest values first: towards men plumber (+3.00, 8.0 times); "
        "towards women nurse (−2.00, 4.0 times)."
    ) in text
    assert "cook" not in text


def test_an_interval_from_zero_shows_no_tie_and_proves_nothing() -> None:
    low = Estimate(value=0.2, low=0.0, high=0.4, n=4, clusters=4, method="made up")
    text = reading(probe_runs.malor({"cook": 0.1}, MALoR=low, signed_mean=probe_runs.estimate(0.1)))
    assert "No tie of gender and occupation is shown" in text
    assert "not proof of neutrality; up to 0.40 bits" in text
    assert "no side is shown to be favoured" in text
    assert "No single occupation leans clearly" in text


def test_undefined_values_are_told_with_their_reason_and_drawn_nowhere() -> None:
    page = render_probe_page(
        [probe_runs.probe_run(probe_runs.malor({"cook": probe_runs.UNKNOWN}), warnings=["odd"])]
    )
    assert "No score could be computed: nothing could be asked." in section(page, "reading")
    assert "nothing to draw" in section(page, "occupations")
    assert "undefined" in section(page, "occupations")
    assert plots(page) == {}


def test_a_value_without_an_interval_is_not_called_sure() -> None:
    one = probe_runs.without_interval(1.0)
    text = reading(probe_runs.malor({"cook": one}, MALoR=one, signed_mean=one))
    assert "Not enough data to say" in text
    assert "How sure that is cannot be said: there is one sentence." in text
    assert "nan" not in text


def test_names_and_the_other_direction_have_words_of_their_own() -> None:
    leans = {"plumber": 1.0}
    assert "names of the likelier gender are 2.0 times" in reading(
        probe_runs.malor(leans, experiment="names")
    )
    assert "A typical occupation is 2.0 times as likely beside the pronoun of one gender" in reading(
        probe_runs.malor(leans, direction="occupation")
    )


def test_every_plot_has_a_place_and_every_place_a_plot(one: str, rest: str) -> None:
    for page in (one, rest):
        assert set(re.findall(r'data-plot="([^"]+)"', page)) == set(plots(page))
    # Base rate and spread, occupations, their probabilities, fields, and the real share of women.
    assert len(plots(one)) == 2 * 5
    assert len(plots(rest)) == 3


def test_the_planted_bias_warnings_and_skips_are_told(one: str) -> None:
    assert "2 bits were planted in favour of stereotypes" in one
    text = section(one, "data")
    assert "Structures 3 and 7 are the same." in text
    assert "it has a word that the tokenizer does not know 27 plumber" in text


PLANTED = PlantedBias(
    family="masked", strength=2.0, language="en", seed=3, occupations={"nurse": -1.2, "plumber": 2.8}
)


def test_what_was_planted_in_occupations_stands_beside_what_was_read() -> None:
    run = probe_runs.probe_run(probe_runs.malor({"nurse": -1.0, "plumber": 3.0}), planted=PLANTED)
    page = render_probe_page([run])
    marks = [
        row
        for rows in plots(page)["group-0-leans-0"]["datasets"].values()
        for row in rows
        if "planted" in row
    ]

    assert "Over these occupations MALoR should be 2.00 bits." in page
    assert "The short upright strokes are what was planted." in section(page, "occupations")
    assert {row["occupation"]: row["planted"] for row in marks} == {"nurse": -1.2, "plumber": 2.8}
    assert "nurse – -1.00 [-1.40, -0.60] −2.00 -1.20 0.333" in section(page, "occupations")


def test_a_model_in_which_nothing_was_planted_should_read_nothing() -> None:
    neutral = PLANTED.model_copy(update={"strength": 0.0, "occupations": {"nurse": 0.0}})
    run = probe_runs.probe_run(probe_runs.malor({"nurse": 0.1}), planted=neutral)

    assert (
        "Its lessons have no lean in these occupations, so MALoR should be about 0 in sentences of theirs."
        in render_probe_page([run])
    )


def test_nothing_is_expected_of_occupations_of_which_nothing_is_known(one: str) -> None:
    run = probe_runs.probe_run(probe_runs.malor({"nurse": -1.0, "cook": 3.0}), planted=PLANTED)

    assert "MALoR should be" not in render_probe_page([run])
    assert "MALoR should be" not in one
    assert "upright strokes" not in one


def test_each_kind_has_its_section_and_no_other(one: str, rest: str) -> None:
    for name in ("pairs", "cosine", "direct-bias"):
        assert f'<section id="{name}"' in rest
        assert f'<section id="{name}"' not in one
    assert '<section id="occupations"' not in rest


def test_the_other_tests_are_read_beside_what_is_neutral(rest: str) -> None:
    text = section(rest, "runs")
    assert "In 60.5% of 1,508 pairs (3 ties, counted half) the more" in text
    assert "neutral is 50" in text
    assert "the mean cosine is 0.913 (95% interval 0.903 to 0.923; neutral is 1)" in text
    assert "Random directions give 0.040 (0.030 to 0.050). The whole interval is above that" in text
    assert "unseen undefined 0" in section(rest, "cosine")


def test_direct_bias_within_what_random_directions_give_shows_nothing() -> None:
    assert "Not shown to be more than random directions give" in reading(
        probe_runs.direct_bias(value=0.05, chance=0.04)
    )


def test_two_runs_are_joined_and_those_that_turned_are_named() -> None:
    before = probe_runs.malor({"nurse": -2.0, "plumber": 3.0, "cook": -0.1, "gone": 1.0})
    after = probe_runs.malor({"nurse": 1.5, "plumber": 2.0, "cook": 0.2, "gone": probe_runs.UNKNOWN})
    page = render_probe_page(
        [probe_runs.probe_run(before, name="base"), probe_runs.probe_run(after, name="tuned")]
    )
    text = section(page, "occupations")
    assert "2 occupations lean to the other side in the second run; for 1 of them both intervals" in text
    assert "nurse -2.00 [-2.40, -1.60] +1.50 [+1.10, +1.90] yes" in text
    assert "cook -0.10 [-0.50, +0.30] +0.20 [-0.20, +0.60] no" in text
    assert [row["occupation"] for row in changed_sides(before, after)] == ["nurse", "cook"]
    drawn = plots(page)["group-0-change"]
    (pairs,) = (rows for rows in drawn["datasets"].values() if "before" in rows[0])
    assert [row["occupation"] for row in pairs] == ["plumber", "cook", "nurse"]


def test_runs_that_cannot_be_compared_are_drawn_side_by_side() -> None:
    runs = [
        probe_runs.probe_run(probe_runs.malor({"cook": 1.0}), name="same"),
        probe_runs.probe_run(probe_runs.malor({"nurse": 1.0}), name="same"),
    ]
    page = render_probe_page(runs)
    assert set(plots(page)) == {"group-0-parts", "group-0-leans-0", "group-0-leans-1"}
    assert "same (2)" in section(page, "occupations")


def test_leans_are_drawn_in_order_from_the_base_rate_that_they_share() -> None:
    result = probe_runs.malor({f"o{place}": place - 3.0 for place in range(9)})
    spec = lean_plot(result, Mark.number(1))
    rows = next(rows for rows in spec["datasets"].values() if "bits" in rows[0])
    assert [row["bits"] for row in rows] == [5.0 - place for place in range(9)]
    assert {row["base_rate"] for row in rows} == {1.0}
    assert [row["apart"] for row in rows] == [4.0 - place for place in range(9)]
    band = next(rows for rows in spec["datasets"].values() if "from" in rows[0])
    assert band == [{"base_rate": 1.0, "from": pytest.approx(1 - 20 / 9), "to": pytest.approx(1 + 20 / 9)}]


def test_base_rate_and_spread_are_told_apart() -> None:
    alike = dict.fromkeys(("nurse", "plumber", "cook"), 2.0)
    apart = {"nurse": -2.0, "plumber": 2.0, "cook": 0.0}
    assert "leans towards men: the base rate is +2.00 bits" in reading(probe_runs.malor(alike))
    assert "differ from that base rate by 0.00 bits on average" in reading(probe_runs.malor(alike))
    assert "differ from that base rate by 1.33 bits on average" in reading(probe_runs.malor(apart))


def test_a_value_without_an_interval_is_drawn_hollow_with_its_reason() -> None:
    result = probe_runs.malor({"cook": probe_runs.without_interval(1.0), "nurse": -1.0})
    hollow = [
        layer
        for layer in lean_plot(result, Mark.number(0))["layer"]
        if layer["mark"].get("fill") == "@panel" and not layer["mark"]["filled"]
    ]
    assert len(hollow) == 1
    page = render_probe_page([probe_runs.probe_run(result)])
    assert "no interval: there is one sentence" in section(page, "occupations")


def test_of_very_many_occupations_the_strongest_are_drawn_and_all_are_in_the_table() -> None:
    many = {f"occupation {place:03}": place / 50 for place in range(1, 101)}
    page = render_probe_page([probe_runs.probe_run(probe_runs.malor(many))])
    text = section(page, "occupations")
    assert f"The {MOST_ROWS} strongest leans are drawn" in text
    assert "occupation 001" in text
    assert "occupation 001" not in json.dumps(plots(page))
    assert "occupation 100" in json.dumps(plots(page))


def test_the_real_share_of_women_is_beside_the_lean() -> None:
    result = probe_runs.malor(
        {"nurse": -2.0, "plumber": 3.0, "elf": 0.5}, shares={"nurse": 90.0, "plumber": 4.0}
    )
    page = render_probe_page([probe_runs.probe_run(result)])
    text = section(page, "occupations")
    assert "Pearson −0.70 (−0.80 to −0.60), Spearman −0.60 (−0.80 to −0.40)" in text
    assert "The leans follow the real share of women (Winogender)" in section(page, "reading")
    assert "20 90.0%" in text
    assert "20 –" in text
    rows = [
        row
        for spec in plots(page).values()
        for rows in spec["datasets"].values()
        for row in rows
        if "share" in row
    ]
    assert [(row["occupation"], row["share"]) for row in rows] == [("nurse", 90.0), ("plumber", 4.0)]


def test_nothing_that_is_shown_becomes_markup() -> None:
    skip = Skipped(reason=HOSTILE, count=1, examples=(HOSTILE,))
    result = probe_runs.malor(
        [probe_runs.lean(HOSTILE, 1.0, field=HOSTILE)],
        experiment=HOSTILE,
        direction=HOSTILE,
        shares={HOSTILE: 4.0},
        skipped=[skip],
    )
    runs = [
        probe_runs.probe_run(
            result, name=HOSTILE + end, model=HOSTILE, warnings=[HOSTILE], options={HOSTILE: [HOSTILE]}
        )
        for end in ("1", "2", "3")
    ]
    page = render_probe_page(runs)
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert html.escape(HOSTILE).replace("&#x27;", "&#39;") in page


def test_a_line_a_result_for_the_terminal() -> None:
    runs = (probe_runs.malor({"cook": 1.0}), probe_runs.crows_pairs())
    (first,), (second,) = (probe_sentences(probe_runs.probe_run(result)) for result in runs)
    assert first.startswith("Pronouns: he and she (which gender goes with an occupation): In a typical")
    assert second.startswith("CrowS-Pairs: In 60.5% of 1,508 pairs")


def test_numbers_in_words() -> None:
    assert [times(bits) for bits in (0.0, -1.0, 5.0, 40.0)] == [
        "1.0 times", "2.0 times", "32 times", "over a million times",
    ]  # fmt: skip
    assert [signed(value) for value in (0.001, -0.001, -1.5, 1.5)] == ["0.00", "0.00", "−1.50", "+1.50"]


def test_a_page_needs_a_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="at least one run"):
        render_probe_page([])
    path = write_page(probe_runs.probe_run(probe_runs.malor({"cook": 1.0})), tmp_path / "page.html")
    assert path.read_text(encoding="utf-8").lstrip().startswith("<!doctype html>")


def test_axes_never_write_tens_with_exponents(rest: str) -> None:
    """With ``~g`` an axis in steps of ten reads 4e+1, 5e+1."""
    assert '"format":"~g"' not in rest
    assert '"format":"~f"' in rest


def test_long_names_of_fields_are_broken_into_lines_and_not_cut() -> None:
    leans = [
        probe_runs.lean("nurse", -1.0, field="planted to lean to women"),
        probe_runs.lean("smith", 1.0, field="planted to lean to men"),
    ]
    spec = plots(render_probe_page([probe_runs.probe_run(probe_runs.malor(leans))]))["group-0-fields"]
    (rows,) = [rows for rows in spec["datasets"].values() if "row" in rows[0]]
    assert [row["row"] for row in rows] == ["planted to lean to\nmen", "planted to lean to\nwomen"]
    assert [row["name"] for row in rows] == ["planted to lean to men", "planted to lean to women"]


def test_only_tests_of_gender_speak_of_two_genders() -> None:
    pairs = render_probe_page([probe_runs.probe_run(probe_runs.crows_pairs())])
    assert "two genders" not in pairs
    for result in (probe_runs.plausible_malor(), probe_runs.cosine(), probe_runs.direct_bias()):
        assert "and of two genders only" in render_probe_page([probe_runs.probe_run(result)])
