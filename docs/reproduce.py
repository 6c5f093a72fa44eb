"""Compare what Evenhand computes from published predictions with the figures that were printed.

    python docs/reproduce.py [FOLDER]

The folder holds StereoSet and its translations (``stereoset/en.json``, ``stereoset/de.json`` ...), the
predictions that Öztürk et al. (2023) published (``predictions/*.json.gz``, repository
slds-lmu/stereotypes-multi) and their printed tables (``papers/stereotypes_across_languages.csv``). The tables of
Öztürk's thesis (2022) are in ``docs/published``. Without an argument the folder is ``$EVENHAND_PARITY_DATA``, or
``shared/data`` beside the repository.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import evenhand as eh
from evenhand.instruments.association.results import TaskResult

DATA_VARIABLE = "EVENHAND_PARITY_DATA"
PROTOCOL = "multilingual-2023"
PUBLISHED = Path(__file__).parent / "published"
VARIANTS_FILE = PUBLISHED / "inter_sentence_variants.csv"
THESIS_FILE = PUBLISHED / "thesis_2022.csv"

PREDICTIONS = {
    ("BERT", "en"): "bert-base-cased_BertLM_BertNextSentence_en",
    ("BERT", "de"): "dbmdz_bert-base-german-cased_BertLM_BertNextSentence_de",
    ("BERT", "es"): "dccuchile_bert-base-spanish-wwm-cased_BertLM_BertNextSentence_es",
    ("BERT", "fr"): "flaubert_flaubert_base_cased_BertLM_BertNextSentence_fr",
    ("BERT", "tr"): "dbmdz_bert-base-turkish-cased_BertLM_BertNextSentence_tr",
    ("GPT-2", "en"): "gpt2_GPT2LM_GPT2LM_d_en",
    ("GPT-2", "de"): "dbmdz_german-gpt2_GPT2LM_GPT2LM_d_de",
    ("GPT-2", "es"): "PlanTL-GOB-ES_gpt2-base-bne_GPT2LM_GPT2LM_d_es",
    ("GPT-2", "fr"): "asi_gpt-fr-cased-small_GPT2LM_GPT2LM_d_fr",
    ("GPT-2", "tr"): "redrussianarmy_gpt2-turkish-cased_GPT2LM_GPT2LM_d_tr",
    ("T5", "en"): "t5-base_T5LM_ModelNSP_en",
    ("T5", "de"): "GermanT5_t5-efficient-gc4-german-base-nl36_T5LM_ModelNSP_de",
    ("T5", "es"): "flax-community_spanish-t5-small_T5LM_ModelNSP_es",
    ("T5", "fr"): "plguillou_t5-base-fr-sum-cnndm_T5LM_ModelNSP_fr",
    ("mBERT", "en"): "bert-base-multilingual-cased_BertLM_BertNextSentence_en",
    ("mBERT", "de"): "bert-base-multilingual-cased_BertLM_BertNextSentence_de",
    ("mBERT", "es"): "bert-base-multilingual-cased_BertLM_BertNextSentence_es",
    ("mBERT", "fr"): "bert-base-multilingual-cased_BertLM_BertNextSentence_fr",
    ("mBERT", "tr"): "bert-base-multilingual-cased_BertLM_BertNextSentence_tr",
    ("mGPT-2", "en"): "THUMT_mGPT_GPT2LM_GPT2LM_d_en",
    ("mGPT-2", "de"): "THUMT_mGPT_GPT2LM_GPT2LM_d_de",
    ("mGPT-2", "es"): "THUMT_mGPT_GPT2LM_GPT2LM_d_es",
    ("mGPT-2", "fr"): "THUMT_mGPT_GPT2LM_GPT2LM_d_fr",
    ("mGPT-2", "tr"): "THUMT_mGPT_GPT2LM_GPT2LM_d_tr",
    ("mT5", "en"): "google_mt5-base_mT5LM_ModelNSP_en",
    ("mT5", "de"): "google_mt5-base_mT5LM_ModelNSP_de",
    ("mT5", "es"): "google_mt5-base_mT5LM_ModelNSP_es",
    ("mT5", "fr"): "google_mt5-base_mT5LM_ModelNSP_fr",
    ("mT5", "tr"): "google_mt5-base_mT5LM_ModelNSP_tr",
}
"""The published file behind each row of the tables. There is no Turkish T5."""

FRENCH_BERT = "dbmdz_bert-base-french-europeana-cased_BertLM_BertNextSentence_fr"
"""A French BERT whose scores were published too, but not printed."""

LANGUAGES = ("en", "de", "es", "fr", "tr")

INTER = "intersentence"
TASKS = ("intrasentence", INTER, "overall")

HEADLINE = ("LMS", "SS", "ICAT")

_QUICK = eh.Resampling(resamples=100)
"""Only values are compared here, no intervals."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One printed figure and what the predictions give."""

    table: str
    task: str
    model: str
    language: str
    measure: str
    printed: float
    computed: float
    method: str = ""
    """How the inter-sentence task was scored, where a table has several rows for one model."""

    @property
    def agrees(self) -> bool:
        """Whether the two are the same to the second decimal."""
        return abs(self.computed - self.printed) <= 0.005 + 1e-9


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to score the inter-sentence task: where it was printed, and its figures."""

    model: str
    language: str
    method: str
    predictions: str
    source: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class MacroIcat:
    """Macro ICAT of one row of the tables over two kinds of classes."""

    model: str
    language: str
    task: str
    over_target_terms: float
    over_bias_types: float


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All comparisons."""

    cells: tuple[Cell, ...]
    variants: tuple[Variant, ...]
    english_items: int
    shared_items: int
    """Number of English items that German has too."""
    t5_on_shared_items: tuple[Cell, ...]
    """T5 en overall on those items: the printed figures of tables 4 and 5 once more."""
    french_bert: tuple[Cell, ...]
    """The printed figures of the French row of BERT beside what a real French BERT gives."""
    macro_icats: tuple[MacroIcat, ...]
    thesis: tuple[Cell, ...]
    thesis_only: int
    """Number of cells of the thesis whose figure stands in no table of the paper."""

    @property
    def differing(self) -> tuple[Cell, ...]:
        """The cells of the paper that do not agree."""
        return tuple(cell for cell in self.cells if not cell.agrees)

    @property
    def differing_of_thesis(self) -> tuple[Cell, ...]:
        """The cells of the thesis that do not agree."""
        return tuple(cell for cell in self.thesis if not cell.agrees)


def data_folder(given: str | None = None) -> Path | None:
    """The folder with the published material, or None where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(given or os.environ.get(DATA_VARIABLE) or beside)
    return folder if (folder / "papers" / "stereotypes_across_languages.csv").is_file() else None


@cache
def reproduce(folder: Path) -> Reproduction:
    """Evaluate every published file and put the printed figures beside the results."""
    benchmarks = {
        language: eh.load_dataset(folder / "stereoset" / f"{language}.json", language=language)
        for language in LANGUAGES
    }

    results = {
        row: evaluated(folder, predictions, benchmarks[row[1]]) for row, predictions in PREDICTIONS.items()
    }
    printed = _rows(folder / "papers" / "stereotypes_across_languages.csv")
    german = {item.id for item in benchmarks["de"]}
    shared = _only(benchmarks["en"], lambda item: item.id in german)
    t5 = evaluated(folder, PREDICTIONS["T5", "en"], shared)
    french_bert = evaluated(folder, FRENCH_BERT, benchmarks["fr"])
    inter = {
        language: _only(benchmark, lambda item: item.task is eh.Task.INTERSENTENCE)
        for language, benchmark in benchmarks.items()
    }
    variants, thesis = _rows(VARIANTS_FILE), _rows(THESIS_FILE)
    by_file = {(predictions, row[1]): results[row] for row, predictions in PREDICTIONS.items()}
    for row in [*variants, *thesis]:
        source = row["predictions"], row["language"]
        # Some of these files have scores of the inter-sentence task alone, so only that one is asked for.
        scope = inter if row.get("task", INTER) == INTER else benchmarks
        if source not in by_file or row.get("task", INTER) not in by_file[source].tasks:
            by_file[source] = evaluated(folder, row["predictions"], scope[row["language"]])
    in_paper = {
        (PREDICTIONS[row["model"], row["language"]], row["task"], row["measure"]) for row in printed
    } | {
        (row["predictions"], INTER, measure)
        for row in variants
        if row["source"] == "table 7"
        for measure in HEADLINE
    }
    return Reproduction(
        cells=tuple(_cell(row, results[row["model"], row["language"]]) for row in printed),
        variants=tuple(_variant(row, by_file[row["predictions"], row["language"]]) for row in variants),
        english_items=len(benchmarks["en"]),
        shared_items=len(shared),
        t5_on_shared_items=tuple(
            _cell(row, t5)
            for row in printed
            if (row["task"], row["model"], row["language"]) == ("overall", "T5", "en")
        ),
        french_bert=tuple(
            _cell(row, french_bert) for row in printed if (row["model"], row["language"]) == ("BERT", "fr")
        ),
        macro_icats=tuple(
            _macro_icat(model, language, task, result.tasks[task])
            for (model, language), result in results.items()
            for task in TASKS
        ),
        thesis=tuple(_cell(row, by_file[row["predictions"], row["language"]]) for row in thesis),
        thesis_only=sum((row["predictions"], row["task"], row["measure"]) not in in_paper for row in thesis),
    )


def _macro_icat(model: str, language: str, task: str, result: TaskResult) -> MacroIcat:
    by_bias_type = [group.estimate("ICAT").value for group in result.by_bias_type.values()]
    return MacroIcat(
        model=model,
        language=language,
        task=task,
        over_target_terms=result.estimate("macro_ICAT").value,
        over_bias_types=sum(by_bias_type) / len(by_bias_type),
    )


def evaluated(folder: Path, predictions: str, benchmark: eh.Benchmark) -> eh.RunResult:
    """The result of one published file."""
    path = folder / "predictions" / f"{predictions}.json.gz"
    result: eh.RunResult = eh.evaluate(path, benchmark, protocol=PROTOCOL, resampling=_QUICK).result
    return result


def _only(benchmark: eh.Benchmark, wanted: Callable[[eh.Association], bool]) -> eh.Benchmark:
    return replace(benchmark, items=tuple(item for item in benchmark if wanted(item)))


def summary(reproduction: Reproduction) -> list[str]:
    """The outcome in a few lines."""
    cells, differing = reproduction.cells, reproduction.differing
    figures = [cell for variant in reproduction.variants for cell in variant.cells]
    return [
        f"{len(cells)} printed figures of tables 2, 3, 4, 5, 8 and 9:",
        f"  {len(cells) - len(differing)} agree to the second decimal, {len(differing)} do not.",
        *(f"  {count} differ for {group}." for group, count in _groups(differing)),
        f"T5 en, overall, on the {reproduction.shared_items:,} items that German has too: "
        f"{_share(reproduction.t5_on_shared_items)} printed figures agree.",
        f"Ways to score the inter-sentence task: {_share(figures)} figures agree.",
        f"Tables 4.1 to 4.6 of the thesis: {_share(reproduction.thesis)} figures agree.",
        *(f"  {count} differ for {group}." for group, count in _groups(reproduction.differing_of_thesis)),
    ]


def _groups(cells: Iterable[Cell]) -> list[tuple[str, int]]:
    groups: dict[str, int] = {}
    for cell in cells:
        name = f"{cell.model} {cell.language}"
        groups[name] = groups.get(name, 0) + 1
    return list(groups.items())


def _share(cells: Sequence[Cell]) -> str:
    return f"{sum(cell.agrees for cell in cells)} of {len(cells)}"


def _cell(row: dict[str, str], result: eh.RunResult) -> Cell:
    return Cell(
        table=row["table"],
        task=row["task"],
        model=row["model"],
        language=row["language"],
        measure=row["measure"],
        printed=float(row["value"]),
        computed=result.tasks[row["task"]].estimate(row["measure"]).value,
        method=row.get("method", ""),
    )


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _variant(row: dict[str, str], result: eh.RunResult) -> Variant:
    return Variant(
        model=row["model"],
        language=row["language"],
        method=row["method"],
        predictions=row["predictions"],
        source=row["source"],
        cells=tuple(
            _cell(
                {**row, "table": row["source"], "task": INTER, "measure": name, "value": row[name]},
                result,
            )
            for name in HEADLINE
        ),
    )


def main() -> None:
    """Print the summary and the differing figures."""
    folder = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    if folder is None:
        sys.exit(f"The published predictions are not at hand. Name their folder, or set {DATA_VARIABLE}.")
    reproduction = reproduce(folder)
    print("\n".join(summary(reproduction)))
    for cell in (*reproduction.differing, *reproduction.differing_of_thesis):
        print(
            f"  table {cell.table:<3}  {cell.task:<13}  {cell.model:<6} {cell.language}  {cell.measure:<10}"
            f"  printed {cell.printed:5.2f}  computed {cell.computed:5.2f}"
        )


if __name__ == "__main__":
    main()
