"""Whether the probes of one page were asked the same, and what to call each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from evenhand.report.association.reading import language_name
from evenhand.report.probes.words import TEST_TITLES
from evenhand.runs.run import Run


def run_labels(runs: Sequence[Run]) -> list[str]:
    """Names of runs, with a number behind those that several have."""
    often = Counter(run.name for run in runs)
    seen: Counter[str] = Counter()
    labels = []
    for run in runs:
        seen[run.name] += 1
        labels.append(f"{run.name} ({seen[run.name]})" if often[run.name] > 1 else run.name)
    return labels


def different_questions(runs: Sequence[Run]) -> list[str]:
    """For each test and language whose runs were not all asked the same, a sentence that says so."""
    by_test: dict[tuple[str, str], dict[str, list[str]]] = {}
    for label, run in zip(run_labels(runs), runs, strict=True):
        record = run.record
        asked_the_same = by_test.setdefault((record.instrument, record.language), {})
        asked_the_same.setdefault(json.dumps(record.data, sort_keys=True), []).append(label)
    return [
        f"{TEST_TITLES.get(test, test)}, {language_name(language)}: these were asked different questions, so their "
        f"figures do not compare: {'; '.join(', '.join(labels) for labels in groups.values())}. Probe all with the "
        "same structures, occupations, terms and data."
        for (test, language), groups in by_test.items()
        if len(groups) > 1
    ]
