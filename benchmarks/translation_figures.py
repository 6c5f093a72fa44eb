"""The figures of docs/translation.md, from the published translations of StereoSet and scores on them.

    python benchmarks/translation_figures.py ../shared/data
    python docs/generate.py docs/translation.md

The first command takes about two minutes and writes ``translation_figures.json`` beside this script; the second makes
the tables of the page from it. The folder has ``stereoset/*.json``, ``stereoset/fixes_de`` and ``predictions``.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from concord_items import figures_of, read_items

from evenhand.api.measure import evaluate
from evenhand.core.items import OVERALL, Benchmark, Task
from evenhand.data import read_stereoset
from evenhand.data.inspection import CheckReport, check
from evenhand.instruments.association.results import GroupResult
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import ProblemShare
from evenhand.store.run import Run
from evenhand.translation import (
    Changes,
    Document,
    RepairOptions,
    RepairStage,
    bundled_term_table,
    read_document,
    read_people_tables,
    repair,
)
from evenhand.translation.changes import repaired_items
from evenhand.translation.concord import CONCORDS
from evenhand.translation.documents import BEYOND_REPAIR, DOUBTFUL_TARGET
from evenhand.translation.makers import CLOSEST
from evenhand.translation.repairs import StageCount
from evenhand.translation.score_effects import ANY, translation_effect

FIGURES = Path(__file__).with_suffix(".json")
SOURCE = "en"
REPAIRED = "de"
NEVER_REPAIRED = ("es", "fr", "tr")
TRANSLATIONS = (REPAIRED, *NEVER_REPAIRED)
COMPARED = "bert-base-multilingual-cased"
"""The model whose scores in all languages are compared."""

SCORES = {
    "dbmdz/bert-base-german-cased": "dbmdz_bert-base-german-cased_BertLM_BertNextSentence",
    COMPARED: f"{COMPARED}_BertLM_BertNextSentence",
    "google/mt5-base": "google_mt5-base_mT5LM_ModelNSP",
}
"""Models with published scores in German, and how the files of their scores begin."""

CHECKS = ("concord", "candidates-merged", "untranslated", "untranslated-word")


class PublishedTranslations:
    """The published translations, with the repair of German made once."""

    def __init__(self, folder: Path, resampling: Resampling | None = None) -> None:
        self.folder = folder
        self.resampling = resampling

    @cached_property
    def benchmarks(self) -> dict[str, Benchmark]:
        """The published files by language."""
        return {
            tag: read_stereoset(self.folder / "stereoset" / f"{tag}.json") for tag in (SOURCE, *TRANSLATIONS)
        }

    @cached_property
    def repair(self) -> tuple[Changes[Document], list[StageCount]]:
        """The German repair: all changes, and what is missing after each stage."""
        document = read_document(self.folder / "stereoset" / "de.untouched.json")
        changes = Changes(document)
        people = read_people_tables(self.folder / "stereoset" / "fixes_de", document)
        counts = repair(changes, RepairOptions(terms=bundled_term_table(REPAIRED), people=people))
        return changes, counts

    @cached_property
    def repaired(self) -> frozenset[str]:
        """The German items that have another text after the repair, cleaned blanks aside."""
        return repaired_items(self.repair[0].rows)

    def scores_of(self, model: str, language: str) -> Path:
        """The file with published scores."""
        return self.folder / "predictions" / f"{SCORES[model]}_{language}.json.gz"

    def evaluated(self, language: str, *, source: Benchmark | None = None) -> Run:
        """The published scores of the compared model."""
        return evaluate(
            self.scores_of(COMPARED, language),
            self.benchmarks[language],
            language=language,
            source=source,
            resampling=self.resampling,
        )

    def german(self) -> dict[str, Any]:
        """The German case: stages, changes, and how much comes out as published."""
        changes, counts = self.repair
        marks = Counter(row.field for row in changes.rows)
        published = read_document(self.folder / "stereoset" / "de.json")
        own = changes.document.items
        same = sum(all(item[name] == own[item.id][name] for name in item.fields()) for item in published)
        return {
            "stages": [[count.name, count.intrasentence, count.intersentence] for count in counts],
            "changes": len(changes.rows) - marks[DOUBTFUL_TARGET],
            "beyond_repair": marks[BEYOND_REPAIR],
            "published_items": len(published.items),
            "same_as_published": same,
            "repaired_items": {
                task: sum(item.id in self.repaired for item in self.benchmarks[REPAIRED].of_task(task))
                for task in Task
            },
        }

    def repaired_beside_others(self) -> list[dict[str, Any]]:
        """SS and LMS on the repaired German items, and on the others."""
        whole = self.benchmarks[REPAIRED]
        rows = []
        for model in SCORES:
            results = {}
            for part in (True, False):
                items = tuple(item for item in whole if (item.id in self.repaired) is part)
                results[part] = evaluate(
                    self.scores_of(model, REPAIRED),
                    replace(whole, items=items),
                    language=REPAIRED,
                    resampling=Resampling(resamples=100),  # no interval is shown
                ).result
            rows += [
                {
                    "model": model,
                    "task": task,
                    "repaired": means(results[True].tasks[task]),
                    "others": means(results[False].tasks[task]),
                }
                for task in Task
            ]
        return rows

    def guesses(self) -> dict[str, dict[str, int]]:
        """By language how many targets the closest word replaced, and how many of them are doubtful."""
        found = {}
        for language in TRANSLATIONS:
            name = "de.untouched" if language == REPAIRED else language
            changes = Changes(read_document(self.folder / "stereoset" / f"{name}.json"))
            stages = (RepairStage.TERMS, RepairStage.CLOSEST)
            repair(changes, RepairOptions(stages=stages, terms=bundled_term_table(language)))
            makers = Counter((row.field == DOUBTFUL_TARGET, row.by) for row in changes.rows)
            found[language] = {
                "guessed": makers[False, CLOSEST],
                "doubtful": sum(bool(item[DOUBTFUL_TARGET]) for item in changes.document),
            }
        return found

    def never_repaired(self) -> dict[str, dict[str, int]]:
        """By language what is missing and what the checks of translations find."""
        found = {}
        for language in NEVER_REPAIRED:
            document = read_document(self.folder / "stereoset" / f"{language}.json")
            report = check(self.benchmarks[language], source=self.benchmarks[SOURCE])
            found[language] = {
                **{task.value: document.missing_targets(task) for task in Task},
                **counts_of(report),
            }
        return found

    def sensitivity(self) -> dict[str, dict[str, Any]]:
        """By language SS and LMS of all items, and without those that are flagged."""
        found = {}
        for language in TRANSLATIONS:
            parts: dict[str, Any] = {}
            for name, source in (("without_source", None), ("with_source", self.benchmarks[SOURCE])):
                whole = self.evaluated(language, source=source).result.tasks[OVERALL]
                parts["all"] = {"items": whole.n, **means(whole)}
                parts[name] = {"left_out": whole.sensitivity.left_out, **means(whole.sensitivity.result)}
            found[language] = parts
        return found

    def differences(self) -> dict[str, dict[str, Any]]:
        """By language the difference to English, and what of it rests on items with a problem."""
        baseline = self.evaluated(SOURCE)
        found = {}
        for language in TRANSLATIONS:
            effect = translation_effect(
                baseline,
                self.evaluated(language),
                repaired={REPAIRED: self.repaired},
                resampling=self.resampling,
            )
            if effect is None:
                raise ValueError(f"{language} is not compared with {SOURCE}")
            rows = [row for row in effect.shares if (row.task, row.problem) == (OVERALL, ANY)]
            found[language] = {
                "items": rows[0].of_items,
                "with_problem": rows[0].items,
                **{row.measure: share_of(row) for row in rows},
            }
        return found

    def figures(self) -> dict[str, Any]:
        """Everything that the page shows."""
        return {
            "concord": concord(),
            "german": self.german(),
            "repaired_beside_others": self.repaired_beside_others(),
            "guesses": self.guesses(),
            "never_repaired": self.never_repaired(),
            "sensitivity": self.sensitivity(),
            "differences": self.differences(),
        }


def concord() -> dict[str, dict[str, Any]]:
    """How often the check of concord is right on items that were keyed by hand."""
    found = {}
    for language in CONCORDS:
        figures = figures_of(read_items(language))
        found[language] = {
            "items": figures.items,
            "words": dict(figures.words),
            "interval": [round(100 * bound, 1) for bound in figures.interval()],
            "flagged_as_keyed": len(figures.right),
            "incomplete": len(figures.incomplete),
            "wrong": len(figures.wrong),
        }
    return found


def counts_of(report: CheckReport) -> dict[str, int]:
    """How much each of the shown checks found, as far as it is done in the language."""
    counts: Counter[str] = Counter()
    for finding in report.findings:
        counts[finding.defect.name] += finding.count
    return {name: counts[name] for name in CHECKS if name in counts}


def means(result: GroupResult) -> dict[str, float]:
    """SS and LMS as the page shows them."""
    return {"SS": round(result.SS.value, 1), "LMS": round(result.LMS.value, 1)}


def share_of(row: ProblemShare) -> dict[str, Any]:
    """A difference, and what of it rests on items with a problem; no share where the difference is not clear."""
    estimate = row.contribution
    return {
        "difference": round(row.difference, 1),
        "contribution": [round(value, 1) for value in (estimate.value, estimate.low, estimate.high)],
        "share": None if row.share != row.share else round(row.share, 2),
    }


def main() -> None:
    """Write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder with the published data")
    folder = parser.parse_args().folder
    text = json.dumps(PublishedTranslations(folder).figures(), indent=1, ensure_ascii=False)
    FIGURES.write_text(text + "\n", encoding="utf-8")
    print(FIGURES)


if __name__ == "__main__":
    main()
