"""The printed tables of five languages follow from the published predictions.

Tables 2-5, 8 and 9 of "How different is stereotypical bias across languages?" (Öztürk et al. 2023), to the
second decimal, except for the cells below, which the published files do not give.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import definitions
import published
import pytest

from evenhand.api.measure import evaluate
from evenhand.instruments.association.results import RunResult
from evenhand.stats.resampling import Resampling

FILES = {
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

Cell = tuple[str, str, str, str, str]
"""Table, task, model, language, measure."""

# Printed, and what the file gives. The intra-sentence scores of mBERT in German are not those of the file.
MBERT_GERMAN: dict[Cell, tuple[float, float]] = {
    ("2", "intrasentence", "mBERT", "de", "LMS"): (65.67, 65.29),
    ("2", "intrasentence", "mBERT", "de", "SS"): (49.17, 49.07),
    ("2", "intrasentence", "mBERT", "de", "ICAT"): (64.58, 64.08),
    ("4", "overall", "mBERT", "de", "LMS"): (71.50, 71.31),
    ("4", "overall", "mBERT", "de", "SS"): (53.62, 53.57),
    ("4", "overall", "mBERT", "de", "ICAT"): (66.32, 66.21),
    ("5", "overall", "mBERT", "de", "mean_LMS"): (71.53, 71.32),
    ("5", "overall", "mBERT", "de", "mean_SS"): (53.63, 53.58),
    ("5", "overall", "mBERT", "de", "macro_ICAT"): (61.71, 61.37),
    ("5", "overall", "mBERT", "de", "micro_ICAT"): (66.33, 66.22),
    ("8", "intrasentence", "mBERT", "de", "mean_LMS"): (65.67, 65.21),
    ("8", "intrasentence", "mBERT", "de", "mean_SS"): (49.13, 49.00),
    ("8", "intrasentence", "mBERT", "de", "macro_ICAT"): (53.59, 53.28),
    ("8", "intrasentence", "mBERT", "de", "micro_ICAT"): (64.50, 63.91),
}
# The overall scores of T5 in English were printed without the three items that German lacks.
T5_ENGLISH: dict[Cell, tuple[float, float]] = {
    ("4", "overall", "T5", "en", "SS"): (60.18, 60.20),
    ("4", "overall", "T5", "en", "ICAT"): (66.75, 66.70),
    ("5", "overall", "T5", "en", "mean_SS"): (60.28, 60.32),
    ("5", "overall", "T5", "en", "macro_ICAT"): (65.59, 65.53),
    ("5", "overall", "T5", "en", "micro_ICAT"): (66.57, 66.51),
}
# The printed SS and ICAT of this row belong to the LMS that the file gives.
MBERT_TURKISH: dict[Cell, tuple[float, float]] = {
    ("3", "intersentence", "mBERT", "tr", "LMS"): (78.23, 78.73),
}
EXCEPTIONS = MBERT_GERMAN | T5_ENGLISH | MBERT_TURKISH

HALF_A_DIGIT = 0.005 + 1e-9


@cache
def printed_cells(folder: Path) -> dict[Cell, float]:
    with (folder / "papers" / "stereotypes_across_languages.csv").open(encoding="utf-8") as stream:
        return {
            (row["table"], row["task"], row["model"], row["language"], row["measure"]): float(row["value"])
            for row in csv.DictReader(stream)
        }


@cache
def result_of(folder: Path, model: str, language: str) -> RunResult:
    result: RunResult = evaluate(
        published.predictions_path(folder, FILES[model, language]),
        published.benchmark(folder, language),
        protocol="multilingual-2023",
        resampling=Resampling(resamples=100),
    ).result
    return result


@pytest.mark.parametrize(("model", "language"), FILES)
def test_every_printed_cell_follows_except_the_known_ones(
    shared_data: Path, model: str, language: str
) -> None:
    result = result_of(shared_data, model, language)
    printed = {
        cell: value for cell, value in printed_cells(shared_data).items() if cell[2:4] == (model, language)
    }
    computed = {cell: result.tasks[cell[1]].estimate(cell[4]).value for cell in printed}
    differing = {cell for cell, value in printed.items() if abs(computed[cell] - value) > HALF_A_DIGIT}

    assert len(printed) == 21
    assert differing == {cell for cell in EXCEPTIONS if cell[2:4] == (model, language)}
    for cell in differing:
        assert EXCEPTIONS[cell][0] == printed[cell]
        assert computed[cell] == pytest.approx(EXCEPTIONS[cell][1], abs=HALF_A_DIGIT)


def test_the_printed_cells_are_those_of_the_paper(shared_data: Path) -> None:
    cells = printed_cells(shared_data)

    assert len(cells) == 609
    assert {cell[2:4] for cell in cells} == set(FILES)
    assert len(EXCEPTIONS) == 20


@pytest.mark.parametrize(
    ("model", "language", "exceptions"),
    [("mBERT", "de", MBERT_GERMAN), ("T5", "en", T5_ENGLISH), ("mBERT", "tr", MBERT_TURKISH)],
)
def test_the_exceptions_are_what_the_definitions_give_on_the_published_files(
    shared_data: Path, model: str, language: str, exceptions: dict[Cell, tuple[float, float]]
) -> None:
    items = published.plain_items(shared_data, FILES[model, language], language)
    pools = {task: list(members.values()) for task, members in items.items()}
    pools["overall"] = pools["intrasentence"] + pools["intersentence"]
    by_definition = {task: definitions.all_measures(pool, 0.0) for task, pool in pools.items()}

    for (_, task, _, _, measure), (printed, given) in exceptions.items():
        assert by_definition[task][measure] == pytest.approx(given, abs=HALF_A_DIGIT)
        assert abs(by_definition[task][measure] - printed) > HALF_A_DIGIT


def test_t5_in_english_follows_on_the_items_that_german_has(shared_data: Path) -> None:
    german = {item.id for item in published.benchmark(shared_data, "de")}
    items = published.plain_items(shared_data, FILES["T5", "en"], "en")
    pool = [item for members in items.values() for key, item in members.items() if key in german]

    by_definition = definitions.all_measures(pool, 0.0)

    assert len(pool) == 4_226
    for (_, _, _, _, measure), (printed, _) in T5_ENGLISH.items():
        assert by_definition[measure] == pytest.approx(printed, abs=HALF_A_DIGIT)


def thesis_rows() -> list[dict[str, str]]:
    path = Path(__file__).parents[2] / "docs" / "published" / "thesis_2022.csv"
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


THESIS_FILES = sorted({(row["predictions"], row["language"]) for row in thesis_rows()})


@pytest.mark.parametrize(("predictions", "language"), THESIS_FILES)
def test_every_cell_of_the_thesis_follows_except_the_known_ones(
    shared_data: Path, predictions: str, language: str
) -> None:
    rows = [row for row in thesis_rows() if (row["predictions"], row["language"]) == (predictions, language)]
    items = published.plain_items(shared_data, predictions, language)
    pools = {task: list(members.values()) for task, members in items.items()}
    pools["overall"] = pools["intrasentence"] + pools["intersentence"]

    differing = {
        (row["task"], row["measure"])
        for row in rows
        if abs(definitions.all_measures(pools[row["task"]], 0.0)[row["measure"]] - float(row["value"]))
        > HALF_A_DIGIT
    }

    known = {(cell[1], cell[4]) for cell in EXCEPTIONS if FILES[cell[2], cell[3]] == predictions}
    assert differing == known & {(row["task"], row["measure"]) for row in rows}


def test_the_thesis_is_transcribed_as_a_whole() -> None:
    cells = [
        (row["table"], row["model"], row["language"], row["method"], row["measure"]) for row in thesis_rows()
    ]

    assert len(cells) == len(set(cells)) == 308


def test_the_number_of_items_is_that_of_the_papers(shared_data: Path) -> None:
    tasks = result_of(shared_data, "BERT", "en").tasks

    assert [tasks[task].n for task in ("intrasentence", "intersentence", "overall")] == [2_106, 2_123, 4_229]
    assert tasks["overall"].clusters == 79
