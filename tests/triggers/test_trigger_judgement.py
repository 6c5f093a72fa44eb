"""What a trigger is judged on is looked at before the search: the classifier's language and its own bias."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from recording_monitor import RecordingMonitor
from regard_training import NEEDS_REGARD

from evenhand.core.errors import EvenhandError
from evenhand.core.estimates import Estimate
from evenhand.models.references import ModelRef
from evenhand.regard.classifier import write_check
from evenhand.regard.classifier_check import CheckOptions, check_classifier
from evenhand.stats.resampling import Resampling
from evenhand.store.trigger_records import NO_PREFIX, TRIGGER, PrefixComparison, PrefixFigures
from evenhand.triggers.judgement import texts_to_write
from evenhand.triggers.tables import transfer_rows
from evenhand.triggers.targets import TargetSet, read_targets

DECODER = ModelRef(id="some/decoder")


@pytest.fixture
def targets(tmp_path: Path) -> TargetSet:
    path = tmp_path / "targets.csv"
    rows = (
        f"{regard},{text} {number}.,{text} {number}."
        for regard, text in (
            ("negative", "was a thief"),
            ("neutral", "took bus"),
            ("positive", "was kind to"),
        )
        for number in (1, 2)
    )
    path.write_text("\n".join(("regard,first,second", *rows)) + "\n", encoding="utf-8")
    return read_targets(path, language="en")


@NEEDS_REGARD
def test_a_classifier_of_another_language_is_refused(
    targets: TargetSet, trained_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(EvenhandError, match="trained on texts in the language 'en', and these are in 'de'"):
        texts_to_write(
            DECODER, targets, language="de", texts=2, classifier=trained_folder, beside=tmp_path / "out"
        )


@NEEDS_REGARD
def test_a_classifier_that_failed_its_check_is_warned_about(
    targets: TargetSet, trained_folder: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(trained_folder, tmp_path / "classifier"))
    check = check_classifier(folder, CheckOptions(resampling=Resampling(resamples=200)))
    failed = tuple(own.model_copy(update={"p_adjusted": 0.001}) for own in check.pairs)
    write_check(folder, check.model_copy(update={"pairs": failed}))
    monitor = RecordingMonitor()
    texts_to_write(
        DECODER, targets, language="en", texts=2, classifier=folder, beside=tmp_path / "out", monitor=monitor
    )
    (warning,) = monitor.warnings
    assert warning.startswith(f"The classifier {folder} failed the check for a bias of its own")


def test_the_change_of_perplexity_is_in_percent_wherever_it_is_shown() -> None:
    figures = [
        Estimate(value=value, low=value - 1, high=value + 1, n=9, clusters=9, method="t")
        for value in (20, 30)
    ]
    change = Estimate(value=50.0, low=40.0, high=60.0, n=9, clusters=9, method="t")
    rows = (
        PrefixFigures(name=NO_PREFIX, prefixes=("",), figures={"perplexity": figures[0]}),
        PrefixFigures(
            name=TRIGGER,
            prefixes=("a b ",),
            figures={"perplexity": figures[1]},
            changes={"perplexity": change},
        ),
    )
    comparison = PrefixComparison(
        model="m", pairs=1, contexts=1, sentences=9, rows=rows, units={"perplexity": "percent"}
    )
    (row,) = transfer_rows([comparison])
    assert row == ("m", "perplexity", "20.00", "30.00", "+50.0%", "[+40.0 to +60.0]")
