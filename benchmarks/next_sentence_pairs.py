"""How much memory, time and disk next-sentence pairs need, on a synthetic corpus of any size.

    python benchmarks/next_sentence_pairs.py --gigabytes 10 --folder SCRATCH

The corpus is written as JSON Lines of invented words, in articles of 5 to 60 sentences; nearly all sentences are
different. A tenth of it is drawn, and written ten times with its letters exchanged. ``evenhand data next-sentence``
then runs in a process of its own. Printed are the most memory that this process had resident, its time, the pairs, and
the most bytes that the folder held, corpus included. The folder is emptied afterwards.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import string
import subprocess
import sys
import time
from pathlib import Path

WORDS, CLAUSES = 30_000, 200_000
TIMES = 10
"""That what is drawn is written, each time with other letters."""
BEFORE, AFTER = b'{"text": "', b'"}\n'
CONSONANTS, VOWELS = "bcdfghjklmnprstvwz", "aeiou"
EVERY_SECONDS = 2.0
"""Between two looks at the size of the folder."""


def write_corpus(path: Path, size: int, *, seed: int) -> None:
    """Write articles until there are as many bytes of them."""
    chance = random.Random(seed)  # noqa: S311 # no secret
    words = [
        "".join(
            chance.choice(CONSONANTS) + chance.choice(VOWELS) for _ in range(chance.choice((1, 2, 2, 3, 4)))
        )
        for _ in range(WORDS)
    ]
    clauses = [" ".join(chance.choices(words, k=chance.randint(2, 8))) for _ in range(CLAUSES)]
    ciphers = [exchanged_letters(chance) for _ in range(TIMES)]
    written = 0
    with path.open("wb") as stream:
        while written < size:
            sentences = (
                ", ".join(chance.choices(clauses, k=chance.choice((1, 2, 2, 3)))).capitalize() + "."
                for _ in range(chance.randint(5, 60))
            )
            text = " ".join(sentences).encode("ascii")
            for cipher in ciphers:
                written += stream.write(BEFORE + text.translate(cipher) + AFTER)


def exchanged_letters(chance: random.Random) -> bytes:
    """A table that puts another letter in the place of each; small ones stay small."""
    letters = list(string.ascii_lowercase)
    chance.shuffle(letters)
    others = "".join(letters)
    return bytes.maketrans(
        (string.ascii_lowercase + string.ascii_uppercase).encode(), (others + others.upper()).encode()
    )


def bytes_below(folder: Path) -> int:
    """Of all files; those that are removed meanwhile count as nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total


def main() -> None:
    """Write, build, print, clean up."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gigabytes", type=float, default=0.1)
    parser.add_argument("--folder", type=Path, required=True, help="New; emptied afterwards.")
    parser.add_argument("--files", type=int, default=1, help="That the corpus is written to.")
    parser.add_argument("--test-share", type=float, default=0.05, help="Of the articles.")
    parser.add_argument("--on", default="here")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True)
    corpus = chosen.folder / "corpus"
    corpus.mkdir()
    try:
        for number in range(chosen.files):
            size = int(chosen.gigabytes * 1e9 / chosen.files)
            write_corpus(corpus / f"{number:03d}.jsonl", size, seed=number)
        held = bytes_below(corpus)
        command = [sys.executable, "-m", "evenhand", "data", "next-sentence", "--corpus", str(corpus)]
        command += ["--language", "en", "--out", str(chosen.folder / "pairs"), "--on", chosen.on, "--json"]
        command += ["--test-share", str(chosen.test_share)]
        begin, most = time.monotonic(), 0
        with (chosen.folder / "record.json").open("wb") as record:
            process = subprocess.Popen(command, stdout=record)
            while process.poll() is None:
                most = max(most, bytes_below(chosen.folder))
                time.sleep(EVERY_SECONDS)
        if process.returncode:
            sys.exit(f"The command failed with exit status {process.returncode}.")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        pairs = json.loads((chosen.folder / "record.json").read_bytes())
        figures = {
            "corpus_gigabytes": held / 1e9,
            "most_resident_mebibytes": used.ru_maxrss / 2**10,
            "seconds": time.monotonic() - begin,
            "processor_seconds": used.ru_utime + used.ru_stime,
            "train_pairs": pairs["train_pairs"],
            "test_pairs": pairs["test_pairs"],
            "pairs_gigabytes": bytes_below(chosen.folder / "pairs") / 1e9,
            "most_disk_gigabytes": most / 1e9,
        }
        print(json.dumps(figures, indent=1))
    finally:
        shutil.rmtree(chosen.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
