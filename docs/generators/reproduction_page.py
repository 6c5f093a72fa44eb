"""The page that compares Evenhand with printed figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduce import FRENCH_BERT, PREDICTIONS, Cell, Reproduction, reproduce

from generators.tables import markdown_table

GENERATED = "<!-- Made by docs/generate.py from a real run. Do not edit. -->"

TITLES = {
    "2": "Table 2: intra-sentence",
    "3": "Table 3: inter-sentence",
    "4": "Table 4: both tasks together",
    "5": "Table 5: both tasks together, over target terms",
    "8": "Table 8: intra-sentence, over target terms",
    "9": "Table 9: inter-sentence, over target terms",
}

THESIS_TITLES = {
    "4.1": "Table 4.1: intra-sentence",
    "4.2": "Table 4.2: inter-sentence",
    "4.3": "Table 4.3: both tasks together",
    "4.4": "Table 4.4: intra-sentence, over target terms",
    "4.5": "Table 4.5: inter-sentence, over target terms",
    "4.6": "Table 4.6: both tasks together, over target terms",
}


def reproduction_page(folder: Path) -> str:
    """The whole page, from the published material in the folder."""
    outcome = reproduce(folder)
    return "\n".join(
        [
            GENERATED,
            _introduction(outcome),
            _differences(outcome),
            _french_bert(outcome),
            _macro_icats(outcome),
            _variants(outcome),
            _thesis(outcome),
            "## Every printed cell\n\nPrinted first, computed second. A star marks the cells that differ.\n",
            *(
                f"### {title}\n\n{_cells_table([cell for cell in outcome.cells if cell.table == table])}"
                for table, title in TITLES.items()
            ),
            "## Every printed cell of the thesis\n\nAs above.\n",
            *(
                f"### {title}\n\n{_cells_table([cell for cell in outcome.thesis if cell.table == table])}"
                for table, title in THESIS_TITLES.items()
            ),
        ]
    )


def _introduction(outcome: Reproduction) -> str:
    differing = len(outcome.differing)
    files = markdown_table(
        ["row of the tables", "language", "file of predictions"],
        [[model, language, f"`{name}`"] for (model, language), name in PREDICTIONS.items()],
    )
    return f"""# Reproduction

Öztürk et al. (2023), *How different is stereotypical bias across languages?*, evaluated six models on StereoSet and
on its translations. They published the translations and the score of every single candidate (repository
`slds-lmu/stereotypes-multi`). So their tables can be computed again: the published predictions go into Evenhand under
the protocol `multilingual-2023`, and each result stands beside the printed figure.

**Of {len(outcome.cells)} printed cells in tables 2, 3, 4, 5, 8 and 9, in five languages,
{len(outcome.cells) - differing} agree to the second decimal and {differing} do not.** All {differing} are listed
below, with the reason. So are the {len(outcome.thesis)} cells of [the thesis behind it](#the-thesis-behind-the-paper).

To repeat it, with a folder that holds the published data: `python docs/reproduce.py FOLDER`.

{files}"""


def _differences(outcome: Reproduction) -> str:
    table = markdown_table(
        ["table", "task", "model", "language", "measure", "printed", "computed", "difference"],
        [
            [
                cell.table, cell.task, cell.model, cell.language, cell.measure.replace("_", " "),
                f"{cell.printed:.2f}", f"{cell.computed:.2f}", f"{cell.computed - cell.printed:+.2f}",
            ]
            for cell in outcome.differing
        ],
        right=["printed", "computed", "difference"],
    )  # fmt: skip
    german = [cell for cell in outcome.differing if (cell.model, cell.language) == ("mBERT", "de")]
    t5 = [cell for cell in outcome.differing if (cell.model, cell.language) == ("T5", "en")]
    turkish = [cell for cell in outcome.differing if (cell.model, cell.language) == ("mBERT", "tr")]
    others = len(outcome.differing) - len(german) - len(t5) - len(turkish)
    if others:
        raise ValueError(f"{others} cells differ that this page does not explain")
    figures = ", ".join(f"{cell.measure} {cell.computed:.2f}" for cell in german if cell.table == "2")
    again = markdown_table(
        ["table", "measure", "printed", f"computed on {outcome.shared_items:,} items"],
        [
            [cell.table, cell.measure.replace("_", " "), f"{cell.printed:.2f}", f"{cell.computed:.2f}"]
            for cell in outcome.t5_on_shared_items
        ],
        right=["printed", f"computed on {outcome.shared_items:,} items"],
    )
    agreeing = sum(cell.agrees for cell in outcome.t5_on_shared_items)
    (misprint,) = turkish
    lean, both = (
        _only(outcome.cells, table="3", model="mBERT", language="tr", measure=name).printed
        for name in ("SS", "ICAT")
    )
    return f"""## The cells that differ

{table}
**mBERT, German ({len(german)} cells).** All of them are the intra-sentence task or contain it; the inter-sentence
cells of the same file agree. On the intra-sentence task the published file gives {figures}. So the printed figures
most likely come from other intra-sentence scores than the published ones. We do not bend ours to fit.

**T5, English, both tasks together ({len(t5)} cells).** The printed figures count {outcome.shared_items:,} items, as
many as German has, instead of the {outcome.english_items:,} English ones:
{outcome.english_items - outcome.shared_items} intra-sentence items have no German version. Without those,
{agreeing} of {len(outcome.t5_on_shared_items)} printed figures of this row agree:

{again}
**mBERT, Turkish, inter-sentence (one cell).** The LMS is printed as {misprint.printed:.2f}; the published file gives
{misprint.computed:.2f}. The printed SS ({lean:.2f}) and ICAT ({both:.2f}) agree with the file, and belong to an LMS of
{both / min(lean, 100 - lean) * 50:.1f}. So it is a misprint.
"""


def _only(cells: Sequence[Cell], **wanted: str) -> Cell:
    (found,) = [cell for cell in cells if all(getattr(cell, name) == value for name, value in wanted.items())]
    return found


def _french_bert(outcome: Reproduction) -> str:
    """The row that was printed as French BERT, and a French BERT."""
    printed = [cell for cell in outcome.cells if (cell.model, cell.language) == ("BERT", "fr")]
    table = markdown_table(
        ["table", "task", "measure", "printed", "computed from the flaubert file", "computed from the europeana file"],
        [
            [
                cell.table, cell.task, cell.measure.replace("_", " "), f"{cell.printed:.2f}",
                f"{cell.computed:.2f}", f"{other.computed:.2f}",
            ]
            for cell, other in zip(printed, outcome.french_bert, strict=True)
        ],
        right=["printed", "computed from the flaubert file", "computed from the europeana file"],
    )  # fmt: skip
    guessing = _only(printed, table="2", measure="LMS")
    return f"""## The French row of BERT

The printed French figures of BERT follow from `{PREDICTIONS["BERT", "fr"]}`.
FlauBERT is no BERT. Its weights were loaded into BERT's class, which leaves aside what it does not know by name and
draws the rest at random, so the row hardly is about a trained model: sense beats nonsense in
{guessing.computed:.2f}% of the intra-sentence comparisons, and guessing gives 50. The authors also published the scores
of a real French BERT, which stand beside the printed figures: `{FRENCH_BERT}`.

{table}"""


def _macro_icats(outcome: Reproduction) -> str:
    """Macro ICAT over target terms beside macro ICAT over bias types."""
    tasks = list(dict.fromkeys(row.task for row in outcome.macro_icats))
    found = {(row.model, row.language, row.task): row for row in outcome.macro_icats}
    lower = sum(row.over_target_terms < row.over_bias_types for row in outcome.macro_icats)
    gap = max(row.over_bias_types - row.over_target_terms for row in outcome.macro_icats)
    table = markdown_table(
        ["model", "language", *tasks],
        [
            [
                model,
                language,
                *(
                    f"{found[model, language, task].over_target_terms:.2f} / "
                    f"{found[model, language, task].over_bias_types:.2f}"
                    for task in tasks
                ),
            ]
            for model, language in PREDICTIONS
        ],
        right=tasks,
    )
    return f"""## Macro ICAT over which classes?

The mean of ICAT over classes depends on what a class is. The paper's classes are the 79 target terms. Over
the four bias types the same scores give other figures, higher ones in {lower} of {len(outcome.macro_icats)} cases, by
up to {gap:.1f} points: the fewer items a class has, the farther its SS is from 50 by chance. Over target terms first,
over bias types second.

{table}"""


def _variants(outcome: Reproduction) -> str:
    figures = [cell for variant in outcome.variants for cell in variant.cells]
    table = markdown_table(
        ["model", "language", "method", "LMS", "SS", "ICAT", "printed in"],
        [
            [variant.model, variant.language, variant.method, *map(_both, variant.cells), variant.source]
            for variant in outcome.variants
        ],
        right=["LMS", "SS", "ICAT"],
    )
    return f"""## Ways to score the inter-sentence task

A decoder can be asked in several ways how well a sentence follows its context: with a fine-tuned next-sentence head,
or by the probability that it gives to the words. With p(·) the geometric mean of the token probabilities, the
generative variants are

- **orig**: p(candidate alone) / p(context), as in StereoSet's code; the candidate never sees its context;
- **c**: p(context and candidate together);
- **d**: p(candidate, given the context), which the tables of the paper use;
- **e**: p(candidate, given the context) / p(candidate alone).

The choice moves the stereotype score of one and the same model by many points, from one side of 50 to the other. A
figure without its scoring method says little. Printed first, computed second;
{sum(cell.agrees for cell in figures)} of {len(figures)} figures agree.

{table}
The figures come from table 7 of the paper; those of variants c and e from Öztürk's thesis (2022).
"""


def _thesis(outcome: Reproduction) -> str:
    differing = outcome.differing_of_thesis
    reasons = {("mBERT", "de"): "mBERT, German", ("T5", "en"): "T5, English, both tasks together"}
    unexplained = [cell for cell in differing if (cell.model, cell.language) not in reasons]
    if unexplained:
        raise ValueError(f"{len(unexplained)} cells of the thesis differ that this page does not explain")
    counts = {
        title: sum((cell.model, cell.language) == row for cell in differing) for row, title in reasons.items()
    }
    table = markdown_table(
        ["table", "model", "language", "measure", "printed", "computed", "reason"],
        [
            [
                cell.table, cell.model, cell.language, cell.measure.replace("_", " "), f"{cell.printed:.2f}",
                f"{cell.computed:.2f}", reasons[cell.model, cell.language],
            ]
            for cell in differing
        ],
        right=["printed", "computed"],
    )  # fmt: skip
    thesis = _only(outcome.thesis, table="4.4", model="mBERT", language="de", measure="mean_LMS")
    paper = _only(outcome.cells, table="8", model="mBERT", language="de", measure="mean_LMS")
    lean = _only(outcome.cells, table="8", model="mBERT", language="de", measure="mean_SS")
    micro = _only(outcome.cells, table="8", model="mBERT", language="de", measure="micro_ICAT")
    return f"""## The thesis behind the paper

Öztürk's thesis (2022) evaluated English and German first. Its tables 4.1 to 4.6 have {len(outcome.thesis)} cells, of
which {outcome.thesis_only} stand in no table of the paper: next-sentence heads and generative variants, over target
terms and with both tasks together. **{len(outcome.thesis) - len(differing)} agree to the second decimal and
{len(differing)} do not**, for two of the reasons above:
{" and ".join(f"{title} ({count} cells)" for title, count in counts.items())}.

{table}
The thesis prints {thesis.printed:.2f} for the mean LMS of mBERT in German where the paper has {paper.printed:.2f}. The
micro ICAT that both print, {micro.printed:.2f}, belongs to the former:
{thesis.printed:.2f} × {lean.printed:.2f} / 50 = {thesis.printed * lean.printed / 50:.2f}, but
{paper.printed:.2f} × {lean.printed:.2f} / 50 = {paper.printed * lean.printed / 50:.2f}.
"""


def _cells_table(cells: Sequence[Cell]) -> str:
    """One row per model and language, in the order of the files; of the thesis, one per method too."""
    measures = list(dict.fromkeys(cell.measure for cell in cells))
    order = {row: place for place, row in enumerate(PREDICTIONS)}
    rows = sorted(
        dict.fromkeys((cell.model, cell.language, cell.method) for cell in cells),
        key=lambda row: order[row[0], row[1]],
    )
    found = {(cell.model, cell.language, cell.method, cell.measure): cell for cell in cells}
    has_methods = any(cell.method for cell in cells)
    return markdown_table(
        [
            "model",
            "language",
            *(["method"] if has_methods else []),
            *(name.replace("_", " ") for name in measures),
        ],
        [
            [*(row if has_methods else row[:2]), *(_both(found[*row, name]) for name in measures)]
            for row in rows
        ],
        right=[name.replace("_", " ") for name in measures],
    )


def _both(cell: Cell) -> str:
    star = "" if cell.agrees else r" \*"
    return f"{cell.printed:.2f} / {cell.computed:.2f}{star}"
