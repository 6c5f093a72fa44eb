"""A mitigation that ruins a kind of text: what perplexity over documents can show of it, and what it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.certificate.text_quality import held_out_text_rows, passages_text_rows
from evenhand.reporting.certificate.words import quality_words
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_inputs import SentenceLosses, TextLosses
from evenhand.store.certificate_quality import QualityRow, QualityVerdict

FEW = Resampling(resamples=200)


def text(*, documents: int, ruined: int, sentences: int = 20) -> TextLosses:
    """Documents of which some cost 10% more perplexity than before, and the others as much as before."""
    generator = np.random.default_rng(3)
    of = np.repeat(np.arange(documents), sentences)
    rise = np.where(of < ruined, np.log(1.1), 0.0) + generator.normal(0, 0.002, len(of))
    losses = [
        SentenceLosses(
            nats=tuple(nats.tolist()),
            tokens=(10,) * len(of),
            special=(0.0,) * len(of),
            whole=(True,) * len(of),
        )
        for nats in (np.full(len(of), 30.0), 30.0 + 10 * rise)
    ]
    return TextLosses(
        documents=tuple(of.tolist()),
        characters=(50,) * len(of),
        alike=(True,) * len(of),
        before=losses[0],
        after=losses[1],
    )


def judged(own: TextLosses) -> QualityRow:
    return held_out_text_rows(own, perplexity=1.0, special=1.0, resampling=FEW)[0]


@pytest.mark.parametrize(("documents", "ruined"), [(30, 1), (60, 2), (100, 5)])
def test_a_loss_in_a_few_of_many_documents_is_not_called_kept(documents: int, ruined: int) -> None:
    """A t interval ends at 0.98%, 0.77% and 0.90% here, and said that quality was kept."""
    row = judged(text(documents=documents, ruined=ruined))
    assert row.difference.value < 1.0
    assert row.verdict is QualityVerdict.UNDECIDED


def test_a_loss_that_no_document_shows_is_kept_with_its_limit_in_the_verdict() -> None:
    row = judged(text(documents=12, ruined=0))
    assert row.verdict is QualityVerdict.KEPT
    assert quality_words(row, level="95%").endswith(
        "With 12 documents, a loss that only 22% of such documents have could go unseen."
    )


def test_a_few_long_documents_among_many_count_as_few() -> None:
    """One long document of 990 sentences and 99 of ten: (1,980)^2 / (990^2 + 99 x 10^2) is 3.96 documents alike.

    Where lengths are as unequal as those of books and notes, losses that a tenth of the documents bear are called kept
    in more than 4% of cases, also of 60 documents or more.
    """
    sizes = [990] + [10] * 99
    own = text(documents=1, ruined=0, sentences=sum(sizes))
    own = own.model_copy(update={"documents": tuple(np.repeat(np.arange(100), sizes).tolist())})
    row = judged(own)
    assert row.verdict is QualityVerdict.KEPT
    assert row.effective_clusters == pytest.approx(1980**2 / (990**2 + 99 * 10**2))
    # 1 - 0.05^(1 / 3.96) is 0.53.
    assert quality_words(row, level="95%").endswith(
        "With 100 documents of unequal length, which tell as much as 4 of one length, a loss that only 53% of such "
        "documents have could go unseen."
    )


def test_passages_of_which_each_is_a_document_count_as_few_as_they_are() -> None:
    """One passage per document: a bootstrap of them took skewed losses for certain."""
    own = text(documents=40, ruined=1, sentences=1)
    (row,) = passages_text_rows(own, margin=1.0, resampling=FEW)
    assert row.difference.value < 0.5
    assert row.verdict is QualityVerdict.UNDECIDED
    (kept,) = passages_text_rows(text(documents=20, ruined=0, sentences=1), margin=1.0, resampling=FEW)
    assert "With 20 sentences, a loss" in quality_words(kept, level="95%")
