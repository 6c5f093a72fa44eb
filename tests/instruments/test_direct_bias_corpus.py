"""Direct bias over a corpus: however it is stored, in bounded memory, with what was left out said."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

from marked_corpora import ENGLISH, unmarked, written
from measuring import probe_direct_bias
from zoo_fixtures import Zoo

from evenhand.stats.resampling import Resampling


def test_the_same_corpus_gives_the_same_result_however_it_is_stored(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    model = menagerie.model("bert")
    plain = written(tmp_path, *ENGLISH)
    packed = tmp_path / "corpus.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    runs = [probe_direct_bias(model, path, resampling=quick) for path in (plain, packed, [str(plain)])]
    other = probe_direct_bias(model, written(tmp_path, *ENGLISH, "He left."), resampling=quick)

    assert runs[0].results == runs[1].results == runs[2].results
    assert runs[0].scores.equals(runs[1].scores)
    assert len({run.record.fingerprint for run in runs}) == 1
    assert runs[0].record.fingerprint != other.record.fingerprint


def test_what_was_cut_or_left_out_of_the_corpus_is_said(
    menagerie: Zoo, tmp_path: Path, quick: Resampling
) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    written(folder, *ENGLISH, "word " * 2_500)
    (folder / "table.csv").write_text("a,b")

    run = probe_direct_bias(menagerie.model("bert"), folder, resampling=quick)

    assert [warning for warning in run.record.warnings if "sentences have" not in warning] == [
        "sentences of more than 10,000 characters were cut in 1 places of the corpus.",
        "files of the corpus that are not named like text were left out: table.csv.",
    ]


def test_a_limit_takes_the_first_sentences(menagerie: Zoo, tmp_path: Path, quick: Resampling) -> None:
    model = menagerie.model("bert")
    shorter = probe_direct_bias(model, written(tmp_path, *ENGLISH), resampling=quick)
    corpus = written(tmp_path, *ENGLISH, "She is not the nurse.")

    run = probe_direct_bias(model, corpus, limit=shorter.result.sentences, resampling=quick)

    assert run.scores.equals(shorter.scores)
    assert run.record.fingerprint != probe_direct_bias(model, corpus, resampling=quick).record.fingerprint


def test_progress_is_told_in_bytes(menagerie: Zoo, tmp_path: Path, quick: Resampling) -> None:
    corpus = written(tmp_path, *ENGLISH)
    told: list[tuple[int, int]] = []

    probe_direct_bias(
        menagerie.model("bert"), corpus, resampling=quick, progress=lambda *progress: told.append(progress)
    )

    assert told[-1] == (corpus.stat().st_size, corpus.stat().st_size)


MEASURE = """
import resource, sys, torch
from evenhand.instruments.direct_bias.instrument import DIRECT_BIAS, DirectBiasOptions
from evenhand.models.language_model import load_language_model
from evenhand.stats.resampling import Resampling
torch.set_num_threads(1)
model = load_language_model(sys.argv[1], device="cpu")
quick = Resampling(resamples=100)
def probe(corpus):
    return DIRECT_BIAS.prepare(model, DirectBiasOptions(corpus=(corpus,), resampling=quick)).measure()
probe(sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
run = probe(sys.argv[3])
print(run.results[0].sentences, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_corpus(menagerie: Zoo, tmp_path: Path) -> None:
    """Thirty megabytes, of which a part goes through the model, after a first corpus has warmed everything up."""
    idle = "It rained for days and nothing was to be seen of the hills beyond the river.\n" * 10_000
    small, large = tmp_path / "small.txt", tmp_path / "large.txt"
    small.write_text(busy(200) + idle)
    with large.open("w") as stream:
        for part in range(40):
            stream.write(busy(5, start=5 * part) + idle)

    finished = subprocess.run(
        [sys.executable, "-c", MEASURE, str(menagerie.folder("bert")), str(small), str(large)],
        capture_output=True,
        text=True,
        check=True,
    )
    count, kilobytes = map(int, finished.stdout.split())

    assert large.stat().st_size > 30_000_000
    assert count == 40 * (5 * len(ENGLISH) + 10_000)
    assert kilobytes < 30_000


def busy(rounds: int, *, start: int = 0) -> str:
    """Sentences with words that count, no two alike, because a sentence that comes twice at once is read once."""
    return "".join(
        f"{unmarked(sentence).replace(' ', f' {number} ', 1)}\n"
        for number in range(start, start + rounds)
        for sentence in ENGLISH
    )
