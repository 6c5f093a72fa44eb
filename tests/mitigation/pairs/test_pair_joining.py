"""Repeats with other names that must not be trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from small_corpus import PROBES, options

from evenhand.core.experiments import Experiment
from evenhand.core.probes import Structure
from evenhand.data.corpus_sources import TextFile
from evenhand.mitigation.pairs.building import build_pairs
from evenhand.mitigation.pairs.twin_pairs import read_twin_pairs


def test_a_repeat_that_is_a_sentence_of_the_probes_is_not_trained_on(tmp_path: Path) -> None:
    """The structure has a name of its own, so the sentence is none of the probes, but its second repeat is."""
    structure = Structure(Experiment.NAMES, 1, "James met [MASK], our [OCC].")
    (tmp_path / "a.txt").write_text("Robert met Michael, our doctor.\n")

    build_pairs(
        [TextFile(tmp_path / "a.txt")],
        tmp_path / "pairs.jsonl",
        options=options(probes=replace(PROBES, structures=(*PROBES.structures, structure))),
    )

    # Not James and Robert, with whom the sentence would be one that the model is asked.
    assert [pair.sentences for pair in read_twin_pairs(tmp_path / "pairs.jsonl")] == [
        ("Robert met Michael, our doctor.", "Patricia met Jennifer, our doctor."),
        ("Michael met James, our doctor.", "Jennifer met Mary, our doctor."),
    ]
