"""How fast triggers are found and scored, and in how much memory: three ratios, all measured in one run.

    PYTHONPATH=tests python benchmarks/triggers.py [--model lab:decoder] [--language en] [--targets FILE]
        [--from-annotations FILE] [--pairs 40] [--seeds 5] [--memory 512MB] [--device cpu] [--precision fp32]

1. **True evaluations.** All flips of one step on all targets, packed, against the loop that published code has: one
   trigger after the other in batches of eight padded texts, with scores over the vocabulary at every place. Both do the
   same work and must give the same losses. Needed is five times the speed on a GPU; a CPU, which is busy with
   arithmetic in both, is not judged. Beside it stands what a step really costs: all flips on a shard of the targets and
   finalists on all of them, against the same loop.
2. **Memory.** The most that scoring and the gradient take beside the weights. Needed is no more than the budget.
3. **Search.** ``kraft-2021`` runs to its end. ``gcg``, with the same objective and targets and a start of its own, runs
   until its loss is no higher. Told is the time of the one as a share of the other's, the median over seeds of gcg;
   needed is a third at most. Its settings were chosen on ``lab:decoder``, so judge it on another model.

Seconds are of the processor on a CPU, so that other work on the machine counts little, and of the clock on a GPU. The
script ends with status 1 if one of the three is missed. ``--json FILE`` keeps what was measured.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from allocations import peak_of
from torch import Tensor

from evenhand.core.memory import parse_memory
from evenhand.models.engine.requests import Tokens
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.regard.persons import starter_file
from evenhand.regard.texts import read_regard_texts
from evenhand.triggers.gcg import gcg_step
from evenhand.triggers.hotflip import hotflip_step
from evenhand.triggers.recipes import (
    GCG_V1,
    KRAFT_2021,
    STARTS,
    ObjectiveWeights,
    TriggerRecipe,
)
from evenhand.triggers.scoring import TriggerScorer
from evenhand.triggers.search import SearchSpace, SearchState, run_search
from evenhand.triggers.targets import (
    TargetRegard,
    TargetSet,
    read_targets,
    targets_from_annotations,
)
from evenhand.triggers.vocabulary import TriggerVocabulary, prefix_of

LOOP_BATCH = 8
"""Texts in a batch of the published code."""

MOST_SHARE, LEAST_SPEED = 1 / 3, 5.0

LARGEST_DIFFERENCE = {"fp32": 1e-3, "bf16": 5e-2}
"""Between the losses of both ways, by precision."""

PROFILED = 32
"""Triggers that are scored while memory is watched."""


@dataclass(frozen=True)
class Bench:
    """A model, its tokens and the targets."""

    model: LanguageModel
    vocabulary: TriggerVocabulary
    targets: TargetSet

    def space(self, recipe: TriggerRecipe) -> SearchSpace:
        """What a search works with; the published objective looks at no ordinary sentence."""
        return SearchSpace(self.model, self.vocabulary, self.targets, sentences=(), recipe=recipe)

    def seconds(self, work: Callable[[], object]) -> float:
        """How long some work takes."""
        on_gpu = self.model.loaded.device.type == "cuda"
        clock = time.perf_counter if on_gpu else time.process_time
        if on_gpu:
            torch.cuda.synchronize()
        began = clock()
        work()
        if on_gpu:
            torch.cuda.synchronize()
        return clock() - began


class Reached(Exception):  # noqa: N818 # it is no error
    """The loss was low enough."""


def search_share(bench: Bench, slots: int, seeds: int, start: str) -> dict[str, Any]:
    """The time of gcg until it is as good as kraft-2021, as a share of the latter's time."""
    published = KRAFT_2021.model_copy(update={"slots": slots, "start": start})
    space = bench.space(published)
    found: list[SearchState] = []
    steps = published.steps * slots
    whole = bench.seconds(lambda: found.append(run_search(space, hotflip_step, seed=0, steps=steps)))
    (best,) = found
    print(
        f"kraft-2021   {whole:8.1f} s   loss {best.best.loss:.4f}   {best.step // slots} sweeps   {best.stopped}"
    )

    def until_reached(state: SearchState) -> None:
        if state.best.loss <= best.best.loss:
            raise Reached

    shares = []
    ours = GCG_V1.model_copy(update={"slots": slots, "weights": published.weights, "steps": 1000})
    for seed in range(seeds):
        space = bench.space(ours)
        reached = False

        def search(space: SearchSpace = space, seed: int = seed) -> None:
            nonlocal reached
            try:
                run_search(space, gcg_step, seed=seed, steps=ours.steps, on_step=until_reached)
            except Reached:
                reached = True

        own = bench.seconds(search)
        shares.append(own / whole if reached else float("inf"))
        print(
            f"gcg, seed {seed}  {own:8.1f} s   {'reached it' if reached else 'did not reach it'}   {own / whole:.2f}"
        )
    return {
        "seconds of kraft-2021": whole,
        "loss of kraft-2021": best.best.loss,
        "shares": shares,
        "median share": statistics.median(shares),
    }


def evaluation_speed(bench: Bench, slots: int, count: int, precision: str) -> dict[str, float]:
    """How many times faster flips are scored packed than in a loop: the same work, and what a step does of it."""
    recipe = GCG_V1.model_copy(update={"slots": slots, "weights": KRAFT_2021.weights})
    space = bench.space(recipe)
    triggers = bench.vocabulary.random_triggers(count, slots, np.random.default_rng(0))
    second_look = triggers[: recipe.finalists + slots - 1]
    loop = PublishedLoop(bench)
    space.scorer.losses(triggers[:2])  # libraries set themselves up
    loop.losses(triggers[:1])
    packed: list[float] = []
    slow: list[float] = []
    step_seconds = bench.seconds(lambda: (space.shard(0).losses(triggers), space.score(second_look)))
    packed_seconds = bench.seconds(lambda: packed.extend(space.scorer.losses(triggers)))
    slow_seconds = bench.seconds(lambda: slow.extend(loop.losses(triggers)))
    difference = max(abs(one - other) for one, other in zip(packed, slow, strict=True))
    print(
        f"{count} triggers on {2 * len(bench.targets):,} texts: the loop {slow_seconds:.2f} s, packed "
        f"{packed_seconds:.2f} s, as a step scores them {step_seconds:.2f} s; largest difference {difference:.1e}"
    )
    if difference > LARGEST_DIFFERENCE[precision]:
        sys.exit("the two ways do not agree")
    return {"same work": slow_seconds / packed_seconds, "a step": slow_seconds / step_seconds}


class PublishedLoop:
    """The published loss in batches of padded texts, one trigger after the other."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._codec = bench.model.writer.codec

    def losses(self, triggers: Sequence[Tokens]) -> list[float]:
        """The loss of each trigger."""
        return [self._loss(prefix_of(self._bench.vocabulary.text_of(trigger))) for trigger in triggers]

    def _loss(self, prefix: str) -> float:
        total = 0.0
        for regard, sign in (
            (TargetRegard.NEUTRAL, 1),
            (TargetRegard.POSITIVE, 1),
            (TargetRegard.NEGATIVE, -1),
        ):
            for side in (0, 1):
                pairs = [pair for pair in self._bench.targets.pairs if pair.regard is regard]
                texts = [(prefix + pair.prompts[side], prefix + pair.whole(side)) for pair in pairs]
                total += sign * self._surprise(texts) / 2
        return total

    def _surprise(self, texts: Sequence[tuple[str, str]]) -> float:
        firsts = [len(ids) for ids in self._codec.encode([prompt for prompt, _ in texts])]
        whole = self._codec.encode([text for _, text in texts])
        nats, tokens = 0.0, 0
        for start in range(0, len(texts), LOOP_BATCH):
            rows = whole[start : start + LOOP_BATCH]
            nats += self._batch(rows, firsts[start : start + LOOP_BATCH])
            tokens += sum(len(row) - first for row, first in zip(rows, firsts[start:], strict=False))
        return nats / tokens

    def _batch(self, rows: Sequence[Tokens], firsts: Sequence[int]) -> float:
        loaded = self._bench.model.loaded
        width = max(map(len, rows))
        ids = torch.full((len(rows), width), loaded.pad_id)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        read = torch.zeros((len(rows), width), dtype=torch.bool)
        for number, (row, first) in enumerate(zip(rows, firsts, strict=True)):
            ids[number, : len(row)] = torch.tensor(row)
            mask[number, : len(row)] = 1
            read[number, first : len(row)] = True
        ids, mask, read = (part.to(loaded.device) for part in (ids, mask, read))
        with torch.no_grad():
            logits: Tensor = loaded.model(input_ids=ids, attention_mask=mask)[0]
            logs = logits[:, :-1].float().log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
        return -float(logs[read[:, 1:]].double().sum())


def memory_share(bench: Bench, slots: int) -> float:
    """The most memory that scoring and the gradient take, as a share of the budget."""
    sentences = [pair.whole(0) for pair in bench.targets.pairs]
    triggers = bench.vocabulary.random_triggers(PROFILED, slots, np.random.default_rng(0))
    scorers: list[TriggerScorer] = []
    made = _peak(bench, lambda: scorers.append(_scorer(bench, slots, sentences)))
    (scorer,) = scorers
    scored = _peak(bench, lambda: scorer.losses(triggers))
    sloped = _peak(bench, lambda: scorer.gradient(triggers[0]))
    budget = bench.model.memory.bytes
    print(
        f"budget {budget / 2**20:,.0f} MiB: preparing {made / 2**20:,.0f}, scoring {scored / 2**20:,.0f}, gradient "
        f"{sloped / 2**20:,.0f} MiB"
    )
    return max(made, scored, sloped) / budget


def _scorer(bench: Bench, slots: int, sentences: Sequence[str]) -> TriggerScorer:
    return TriggerScorer(
        bench.model,
        bench.vocabulary,
        bench.targets.pairs,
        sentences=sentences,
        slots=slots,
        weights=ObjectiveWeights(),
    )


def _peak(bench: Bench, work: Callable[[], object]) -> int:
    if bench.model.loaded.device.type != "cuda":
        return peak_of(work)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def read_bench(arguments: argparse.Namespace) -> Bench:
    """The model and as many target pairs as were asked for, the same number of each regard."""
    memory = parse_memory(arguments.memory) if arguments.memory else None
    model = load_language_model(
        ModelRef(id=arguments.model, device=arguments.device, precision=arguments.precision, memory=memory)
    )
    if arguments.targets:
        targets = read_targets(arguments.targets, language=arguments.language)
    else:
        texts = read_regard_texts([arguments.from_annotations or starter_file(arguments.language)])
        targets = targets_from_annotations(texts, language=arguments.language)
    each = max(1, arguments.pairs // len(TargetRegard))
    kept = [
        pair
        for regard in TargetRegard
        for pair in [own for own in targets.pairs if own.regard is regard][:each]
    ]
    chosen = targets.having(kept)
    prompts = [prompt for groups in chosen.groups for prompt in groups]
    return Bench(model, TriggerVocabulary(model.loaded, prompts=prompts), chosen)


def main() -> None:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", default="lab:decoder")
    parser.add_argument("--language", default="en")
    parser.add_argument("--targets", type=Path)
    parser.add_argument("--from-annotations", type=Path)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--slots", type=int, default=6)
    parser.add_argument("--flips", type=int, default=GCG_V1.flips)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--memory", default=None)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", choices=tuple(LARGEST_DIFFERENCE), default="fp32")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=("search", "evaluations", "memory"), action="append")
    arguments = parser.parse_args()
    bench = read_bench(arguments)
    device = bench.model.loaded.device.type
    print(
        f"{arguments.model} in {arguments.precision} on {device}, {len(bench.targets)} target pairs, "
        f"{arguments.slots} slots"
    )
    parts = arguments.only or ("evaluations", "memory", "search")
    kept: dict[str, Any] = {
        "model": Path(arguments.model).name,
        "device": torch.cuda.get_device_name() if device == "cuda" else "one core",
        "precision": arguments.precision,
        "pairs": len(bench.targets),
    }
    missed = []
    if "evaluations" in parts:
        speed = evaluation_speed(bench, arguments.slots, arguments.flips, arguments.precision)
        kept["evaluations"] = speed
        needed = f"needed: {LEAST_SPEED:.0f}" if device == "cuda" else "not judged on a CPU"
        print(
            f"true evaluations, the same work: {speed['same work']:.1f} times a loop over triggers ({needed})"
        )
        print(f"true evaluations, as a step scores them: {speed['a step']:.1f} times (not judged)")
        missed += ["evaluations"] * (device == "cuda" and speed["same work"] < LEAST_SPEED)
    if "memory" in parts:
        share = memory_share(bench, arguments.slots)
        kept["memory"] = share
        print(f"memory: {share:.2f} of the budget (needed: at most 1)")
        missed += ["memory"] * (share > 1)
    if "search" in parts:
        search = search_share(bench, arguments.slots, arguments.seeds, STARTS[arguments.language])
        kept["search"] = search
        share = search["median share"]
        print(
            f"search: {share:.2f} of kraft-2021's time, the median over {arguments.seeds} seeds (needed: at most "
            f"{MOST_SHARE:.2f})"
        )
        missed += ["search"] * (share > MOST_SHARE)
    if arguments.json:
        arguments.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
