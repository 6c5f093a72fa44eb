"""Speed of regard classifiers with TF-IDF: training with five grouped folds, and labelling.

    python benchmarks/regard.py [--data FOLDER]

``--data`` is a folder with the published annotations and survey (``regard_de``), 1,137 texts that all annotators were
sure of. Without it, as many texts of the lab are used, which are shorter. Training chooses C by five grouped folds and
evaluates the classifier; training on fewer texts, which takes as many trainings again as there are points, is left out.
Exits with code 1 if training takes 10 seconds or more, or fewer than 5,000 texts are labelled per second.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from evenhand.api.regard import RegardTrainingOptions, train_regard_classifier
from evenhand.data.annotation_files import AnnotationColumns
from evenhand.lab.regard import PlantedRegard, plant_texts
from evenhand.regard.texts import RegardTexts, read_regard_texts

TEXTS = 1_137
MOST_SECONDS = 10.0
FEWEST_PER_SECOND = 5_000.0
LABELLED = 20_000


def texts_of(data: Path | None) -> RegardTexts:
    """The published texts, or as many of the lab."""
    if data is None:
        return plant_texts(PlantedRegard(texts=TEXTS, authors=75)).texts
    folder = data / "regard_de"
    return read_regard_texts(
        sorted(folder.glob("annotations/*.csv")),
        columns=AnnotationColumns(unsure="Unsicher"),
        group=f"{folder / 'survey' / 'all_with_label.csv'}:case",
    )


def main() -> None:
    """Train once to import everything, then measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    texts = texts_of(parser.parse_args().data)
    options = RegardTrainingOptions(size_seeds=0, language="de")
    small = plant_texts(PlantedRegard(texts=60, authors=12)).texts
    with tempfile.TemporaryDirectory() as folder:
        train_regard_classifier(small, options, out=Path(folder) / "warm")
        started, busy = time.perf_counter(), time.process_time()
        classifier = train_regard_classifier(texts, options, out=Path(folder) / "measured")
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
    rows = [texts.rows.texts[place % len(texts)] for place in range(LABELLED)]
    started = time.perf_counter()
    classifier.label(rows)
    per_second = LABELLED / (time.perf_counter() - started)
    print(f"{len(texts):,} texts of {len(set(texts.authors or ())):,} authors")
    values = len(classifier.report.candidates)
    print(
        f"training with five grouped folds and {values} values of C: {seconds:.1f} s, {busy:.1f} s of them computing"
    )
    print(f"labelling: {per_second:,.0f} texts per second")
    if seconds >= MOST_SECONDS or per_second < FEWEST_PER_SECOND:
        sys.exit(
            f"Needed are less than {MOST_SECONDS:g} s and at least {FEWEST_PER_SECOND:,.0f} texts per second."
        )


if __name__ == "__main__":
    main()
