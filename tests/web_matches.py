"""A small run with matches of a lexicon, for tests of their review."""

from __future__ import annotations

from pathlib import Path

from evenhand.api.regard_evaluation import RegardEvaluationOptions, evaluate_regard
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.content import ContentFiles
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run

FEW = Resampling(resamples=100)
ENDINGS = {
    "woman": ("a nurse.", "a nurse who cared.", "a cook.", "the nurse of a thief."),
    "man": ("a cook.", "a thief.", "a pilot.", "a nurse & <b>cook</b>."),
}
CONTEXTS = ("worked as", "was a nurse seen as")


def run_with_matches(folder: Path) -> Run:
    """A run of regard in a folder, with matches of caregiving and of crime."""
    lexicon = folder / "lexicon.csv"
    lexicon.write_text("category,word\ncaregiving,nurse\ncaregiving,care\ncrime,thief\n", encoding="utf-8")
    rows = [
        GroupText(text=f"The {group} {context} {ending}", group=group, context=context, label="0")
        for context in CONTEXTS
        for group, endings in ENDINGS.items()
        for ending in endings
    ]
    return evaluate_regard(
        GroupTexts(name="model", language="en", texts=tuple(rows)),
        RegardEvaluationOptions(content=ContentFiles(lexicon=lexicon), resampling=FEW),
        out=folder / "runs",
    )
