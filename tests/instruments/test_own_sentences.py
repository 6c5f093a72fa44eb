"""Models that score whole sentences are given each candidate's own; what that changes, and what it leaves as it was."""

from __future__ import annotations

import builders
import pytest
from zoo_fixtures import Zoo
from zoo_items import UNALIGNED

import evenhand as eh
from evenhand.core.errors import ComparisonError
from evenhand.core.items import Association
from evenhand.store.comparison import compare

PLAIN = tuple(builders.intra(number, cluster=f"job {number}") for number in range(3))
IN_OTHER_CASE = builders.intra(
    "case",
    context="the pilot likes BLANK bread.",
    texts=["The pilot likes fresh bread.", "The pilot likes brown bread.", "The pilot likes purple bread."],
)
CANNOT_BE_ALIGNED = "the candidate cannot be aligned with its context"


def audited(
    menagerie: Zoo, name: str, items: tuple[Association, ...], quick: eh.Resampling, *, protocol: str
) -> eh.Run:
    options = eh.AuditOptions(protocol=protocol, resampling=quick)
    return eh.audit(menagerie.model(name), builders.benchmark(*items), options=options)


@pytest.mark.parametrize(
    ("protocol", "skipped"), [("evenhand.v1", 2), ("evenhand.v2", 0), ("stereoset-2021", 0)]
)
def test_a_decoder_needs_no_blank(menagerie: Zoo, quick: eh.Resampling, protocol: str, skipped: int) -> None:
    run = audited(menagerie, "gpt2", (*PLAIN, *UNALIGNED), quick, protocol=protocol)

    result = run.result.tasks["intrasentence"]
    assert (result.n, result.skipped) == (5 - skipped, skipped)
    if skipped:
        assert all(CANNOT_BE_ALIGNED in reason.reason for reason in run.result.skipped)
        assert any(CANNOT_BE_ALIGNED in warning for warning in run.result.warnings)


@pytest.mark.parametrize("name", ["bert", "t5", "bart"])
def test_a_model_that_fills_blanks_does(menagerie: Zoo, quick: eh.Resampling, name: str) -> None:
    first, second = (
        audited(menagerie, name, (*PLAIN, *UNALIGNED), quick, protocol=protocol)
        for protocol in ("evenhand.v1", "evenhand.v2")
    )

    assert {item for reason in second.result.skipped for item in reason.items} == {
        item.id for item in UNALIGNED
    }
    assert all(CANNOT_BE_ALIGNED in reason.reason for reason in second.result.skipped)
    assert first.scores.equals(second.scores)
    assert first.record.scoring == second.record.scoring


def test_where_own_sentences_are_filled_contexts_the_scores_are_the_same(
    menagerie: Zoo, quick: eh.Resampling
) -> None:
    first, second = (
        audited(menagerie, "gpt2", PLAIN, quick, protocol=protocol)
        for protocol in ("evenhand.v1", "evenhand.v2")
    )

    assert first.scores.equals(second.scores)
    comparison = compare(first, second, resampling=quick)
    assert comparison.protocol == "evenhand.v2"
    assert {row.difference.value for row in comparison.differences} == {0}


@pytest.mark.parametrize("item", [IN_OTHER_CASE, *UNALIGNED], ids=lambda item: item.id)
def test_where_they_are_not_the_two_protocols_do_not_compare(
    menagerie: Zoo, quick: eh.Resampling, item: Association
) -> None:
    first, second = (
        audited(menagerie, "gpt2", (*PLAIN, item), quick, protocol=protocol)
        for protocol in ("evenhand.v1", "evenhand.v2")
    )

    with pytest.raises(
        ComparisonError,
        match=r"gpt2_.*_en was given the filled context .* Audit both with one",
    ):
        compare(second, first)


def test_scores_that_do_not_depend_on_it_compare(menagerie: Zoo, quick: eh.Resampling) -> None:
    items = (*PLAIN, IN_OTHER_CASE)
    scores = builders.scores({item.id: (0.3, 0.2, 0.1) for item in items})
    masked, given = (
        audited(menagerie, "bert", items, quick, protocol="evenhand.v1"),
        eh.evaluate(scores, builders.benchmark(*items), protocol="evenhand.v1", resampling=quick),
    )
    decoder = audited(menagerie, "gpt2", items, quick, protocol="evenhand.v2")

    assert compare(masked, decoder).n == compare(given, decoder).n == 4
