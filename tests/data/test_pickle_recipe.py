"""The recipe of the documentation makes a file of StereoSet's layout of tables like the published ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from builders import inter, intra

from evenhand.core.items import Association
from evenhand.data import read_stereoset

pandas = pytest.importorskip("pandas")

PAGE = Path(__file__).parents[2] / "docs" / "data.md"


def row_of(item: Association) -> dict[str, str]:
    row = {
        "id": item.id,
        "target": item.target,
        "target_original": item.cluster,
        "bias_type": item.bias_type,
        "context": item.context,
    }
    for number, candidate in enumerate(item.candidates, start=1):
        row |= {
            f"c{number}_id": candidate.id,
            f"c{number}_sentence": candidate.text,
            f"c{number}_gold_label": candidate.label.value,
        }
        if candidate.word:
            row[f"c{number}_word"] = candidate.word
    return row


def test_the_recipe_converts_tables_like_the_published_ones(tmp_path: Path) -> None:
    items = {
        "intrasentence": [intra(1, language="de", target="Bäcker", words=("fresh", "brown", "purple"))],
        "intersentence": [inter(2, language="de", target="Bäcker")],
    }
    for task, listed in items.items():
        (tmp_path / task).mkdir()
        pandas.DataFrame([row_of(item) for item in listed]).to_pickle(tmp_path / task / f"df_{task}_de.pkl")
    (recipe,) = re.findall(r"```python\n(# convert\.py\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "convert.py").write_text(recipe, encoding="utf-8")

    subprocess.run([sys.executable, "convert.py"], cwd=tmp_path, check=True)

    assert list(read_stereoset(tmp_path / "de.json")) == [*items["intrasentence"], *items["intersentence"]]
