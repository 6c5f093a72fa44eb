"""Speed of the probes, as ratios in one run against the plain way, on a model of BERT-base's size.

    python benchmarks/probe.py --gpt2 FOLDER [--structures 51]

``--gpt2`` is a folder with GPT-2's vocab.json and merges.txt, whose vocabulary the model has. The plain way is a loop
as in published code: for every structure and occupation, and for every term where the occupation is masked, one
sentence at a time, a softmax over the whole vocabulary at every position. Both ways must give the same log-ratios.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import models_of_size
import numpy as np
import torch
from measuring import probe

from evenhand.core.experiments import Experiment
from evenhand.core.items import BLANK
from evenhand.core.probes import ProbeSet, open_occupation, open_term
from evenhand.data.probes import load_probes
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.stats.resampling import Resampling


@torch.inference_mode()
def log_probability(model: Any, tokenizer: Any, text: str, fill: str) -> float:
    """Natural logarithm of a word's probability in a blank, token by token, each with a run of its own."""
    total = 0.0
    before, _, after = text.partition(BLANK)
    tokens = tokenizer.encode(f" {fill}" if before else fill, add_special_tokens=False)
    for step, token in enumerate(tokens):
        shown = before.rstrip() + tokenizer.decode(tokens[:step]) + tokenizer.mask_token + after
        ids = torch.tensor([tokenizer(shown)["input_ids"]])
        logs = model(input_ids=ids).logits.log_softmax(-1)
        place = int((ids[0] == tokenizer.mask_token_id).nonzero()[0])
        total += float(logs[0, place, token])
    return total


def plain(model: Any, tokenizer: Any, probes: ProbeSet, direction: str) -> np.ndarray[Any, Any]:
    """log2 ratios, an occupation and a structure at a time."""
    terms = probes.terms[Experiment.HE_SHE].all
    rows = []
    for occupation in probes.occupations:
        row = []
        for structure in probes.of(Experiment.HE_SHE):
            form = occupation.forms[0]
            if direction == "gender":
                sentence = open_term(structure, form, terms=terms)
                found = [log_probability(model, tokenizer, sentence.text, fill) for fill in sentence.fills]
            else:
                asked = [open_occupation(structure, term, forms=[form]) for term in terms]
                found = [log_probability(model, tokenizer, one.text, one.fills[0]) for one in asked]
            row.append((found[0] - found[1]) / math.log(2))
        rows.append(row)
    return np.array(rows)


def compare(model: LanguageModel, probes: ProbeSet, direction: str) -> str:
    """A row of the table."""
    options = MalorOptions(experiment="he-she", direction=direction, resampling=Resampling(resamples=1000))
    few = replace(probes, structures=probes.structures[:2])
    probe(model, few, options=options)
    started = time.perf_counter()
    run = probe(model, probes, options=options)
    fast = time.perf_counter() - started
    sample = replace(probes, structures=tuple(probes.structures[::5]))
    started = time.perf_counter()
    slow_values = plain(model.loaded.model, model.loaded.tokenizer, sample, direction)
    slow = (time.perf_counter() - started) * len(probes.structures) / len(sample.structures)
    values = run.scores["log2_ratio"].to_numpy().reshape(len(probes.structures), -1).T[:, ::5]
    difference = float(np.abs(values - slow_values).max())
    sentences = len(probes.structures) * len(probes.occupations)
    return f"| {direction} | {sentences:,} | {fast:.1f} s | {slow:.1f} s | {slow / fast:.1f}x | {difference:.1e} |"


def main() -> None:
    """Build the model, time both ways, print the table."""
    parser = argparse.ArgumentParser(description="Speed of the probes against the plain way.")
    parser.add_argument("--gpt2", type=Path, required=True, help="Folder with vocab.json and merges.txt.")
    parser.add_argument("--structures", type=int, default=51)
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    everything = load_probes("en")
    chosen = everything.of(Experiment.HE_SHE)[: arguments.structures]
    probes = replace(everything, structures=chosen)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = models_of_size.masking_tokenizer(arguments.gpt2)
        models_of_size.save(models_of_size.bert_base(tokenizer), tokenizer, Path(folder))
        model = load_language_model(folder, device="cpu")
        print(
            "| masked | sentences | Evenhand | plain, from every fifth structure | ratio | largest difference |"
        )
        print("|---|---|---|---|---|---|")
        for direction in ("gender", "occupation"):
            print(compare(model, probes, direction), flush=True)


if __name__ == "__main__":
    main()
