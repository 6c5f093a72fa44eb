"""Speed on a CPU: our kernels against PyTorch's own, and against peers, in one run with the machine's limit beside it.

    python benchmarks/cpu.py --data STEREOSET.json --gpt2 FOLDER --pairs CROWS_PAIRS.csv --model MODEL \
        --peers PYTHON --llama FOLDER --page docs/performance.md

``--model`` is a real decoder as a folder or a GGUF file. ``--peers`` is the interpreter of an environment that has
lm-evaluation-harness and minicons, ``--llama`` a folder with llama.cpp's programs, for which the model must be a GGUF
file; what is not given is left out. Models other than that decoder have random weights of real size. Run it alone on
the machine: anything beside it makes the ratios worthless.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile
from pathlib import Path

import models_of_size
import numpy as np
import plain_scoring
import polars as pl
import torch
import transformers
from scoring import ours, replace_section, timed
from torch.utils.flop_counter import FlopCounterMode

from evenhand.core.items import Association, Task
from evenhand.core.recipes import Kernels
from evenhand.data.stereoset import read_stereoset
from evenhand.models.engine.products import MatrixProducts
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.store.records import SCORES_FILE

LLAMA_LINE = re.compile(r"^(\d+)\t(\d+\.\d+)$", re.MULTILINE)
"""How many tasks are done, and in percent of how many the first answer won."""

SIDE = 1024
"""Rows and columns of the products whose speed is the machine's limit."""

LM_EVAL_TASK = """\
task: pairs_of_a_file
dataset_path: csv
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: ""
target_delimiter: ""
doc_to_choice: "{{{{[sent_more, sent_less]}}}}"
doc_to_target: 0
metric_list: [{{metric: acc}}]
"""

MINICONS = """
import json, sys, time
from minicons import scorer
folder, file = sys.argv[1:]
rows = json.load(open(file))
judge = scorer.IncrementalLMScorer(folder, "cpu")
def run(rows):
    for start in range(0, len(rows), 32):
        batch = rows[start:start + 32]
        judge.conditional_score([a for a, _ in batch], [b for _, b in batch], bos_token=True)
run(rows[:32])
started = time.perf_counter()
run(rows)
print(time.perf_counter() - started)
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A model and what it is asked."""

    what: str
    folder: str
    task: Task
    plain: Callable[..., object] | None
    has_peer: bool = False


def limit() -> tuple[float, float]:
    """Operations per second of products in fp32: by PyTorch's own kernels, and by oneDNN's."""
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(SIDE, SIDE, generator=generator) for _ in range(2))

    def rate(products: MatrixProducts) -> float:
        with products.in_use():
            return 2 * SIDE**3 / min(timed(lambda: left @ right) for _ in range(20))

    return rate(MatrixProducts(False, "")), rate(MatrixProducts(True, ""))


def load(folder: str, kernels: Kernels) -> LanguageModel:
    """A model with the kernels that are asked for."""
    return load_language_model(ModelRef(id=folder, device="cpu", kernels=kernels))


def cases(options: argparse.Namespace, folder: Path) -> Iterator[Case]:
    """Masked, decoder and T5 of real size, and the real decoder."""
    masking, gpt2 = (
        models_of_size.masking_tokenizer(options.gpt2),
        models_of_size.gpt2_tokenizer(options.gpt2),
    )
    sentinel = models_of_size.sentinel_tokenizer(options.gpt2)
    bert = models_of_size.save(models_of_size.bert_base(masking), masking, folder / "bert")
    yield Case("BERT-base, intra", str(bert), Task.INTRASENTENCE, plain_scoring.masked)
    small = models_of_size.save(models_of_size.gpt2_small(gpt2), gpt2, folder / "gpt2")
    yield Case("GPT-2, inter", str(small), Task.INTERSENTENCE, plain_scoring.continuation, has_peer=True)
    t5 = models_of_size.save(models_of_size.t5_base(sentinel), sentinel, folder / "t5")
    yield Case("T5-base, intra", str(t5), Task.INTRASENTENCE, plain_scoring.sentinel)
    yield Case(f"{options.name}, intra", options.model, Task.INTRASENTENCE, None)
    yield Case(f"{options.name}, inter", options.model, Task.INTERSENTENCE, plain_scoring.continuation)


def row_of(case: Case, items: Sequence[Association], peak: float, options: argparse.Namespace) -> str:
    """One line of the table."""
    print(f"{case.what} ...", file=sys.stderr, flush=True)
    ask, seconds, scores = {}, {}, {}
    for kernels in Kernels:
        ask[kernels] = ours(load(case.folder, kernels), items, case.task)
        ask[kernels]()
    for kernels in Kernels:  # the second pass of each counts
        started = time.perf_counter()
        scores[kernels] = ask[kernels]()
        seconds[kernels] = time.perf_counter() - started
    fast, usual = seconds[Kernels.AUTO], seconds[Kernels.DEFAULT]
    apart = max(
        abs(math.log2(one / other))
        for one, other in zip(scores[Kernels.AUTO], scores[Kernels.DEFAULT], strict=True)
    )
    with FlopCounterMode(display=False) as counter:
        ask[Kernels.AUTO]()
    share = counter.get_total_flops() / fast / peak
    model = load(case.folder, Kernels.DEFAULT).loaded
    plain = minicons = ""
    if case.plain:
        case.plain(model.model, model.tokenizer, items[:32])
        slow = timed(lambda: case.plain and case.plain(model.model, model.tokenizer, items))
        plain = f"{slow:.2f} s, {slow / fast:.1f}x"
    if case.has_peer and options.peers and (peer := minicons_seconds(case.folder, items, options.peers)):
        minicons = f"{peer:.2f} s, {peer / fast:.1f}x"
    cells = (
        case.what,
        f"{len(items)}",
        f"{fast:.2f} s",
        f"{usual:.2f} s, {usual / fast:.2f}x",
        plain,
        minicons,
        f"{share:.0%}",
        f"{apart:.0e}",
    )
    return f"| {' | '.join(cells)} |"


def minicons_seconds(folder: str, items: Sequence[Association], python: str) -> float | None:
    """The same continuations with minicons."""
    rows = [
        (item.context if item.context[-1] in ".!?" else f"{item.context}.", candidate.text)
        for item in items
        for candidate in item.candidates
    ]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "rows.json"
        file.write_text(json.dumps(rows), encoding="utf-8")
        done = subprocess.run(
            [python, "-c", MINICONS, folder, str(file)], capture_output=True, text=True, check=False
        )
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return None
    return float(done.stdout.split()[-1])


def pair_rows(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Sentence pairs on a real decoder: whole commands, from start to written results."""
    with options.pairs.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    more, less = header.index("sent_more"), header.index("sent_less")
    # llama.cpp wants a question before the answers it compares: the words with which both sentences begin.
    rows = [row for row in rows if shared_words(row[more], row[less])][: options.pairs_items]
    pairs = [(row[more], row[less]) for row in rows]
    file = folder / "pairs.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    evenhand = Path(sys.executable).with_name("evenhand")
    command = [
        evenhand, "probe", options.model, "--test", "crows-pairs", "--data", file, "--language", "en",
        "--device", "cpu",
    ]  # fmt: skip
    seconds, decided = {}, {}
    for kernels in Kernels:
        out = folder / kernels
        seconds[kernels] = of_command([*command, "--kernels", kernels, "--out", out])[0]
        (scores,) = out.glob(f"*/{SCORES_FILE}")
        frame = pl.read_parquet(scores)
        decided[kernels] = (frame["more_score"] > frame["less_score"]).to_list()
    fast, own = seconds[Kernels.AUTO], decided[Kernels.AUTO]
    yield f"| Evenhand | {fast:.1f} s | | |"
    usual, same = seconds[Kernels.DEFAULT], alike(decided[Kernels.DEFAULT], own)
    yield f"| Evenhand, PyTorch's kernels | {usual:.1f} s | {usual / fast:.2f}x | {same} |"
    source = Path(options.model)
    if options.peers:
        (folder / "task.yaml").write_text(LM_EVAL_TASK.format(file=file), encoding="utf-8")
        where = (
            f"pretrained={source.parent},gguf_file={source.name}"
            if source.is_file()
            else f"pretrained={source}"
        )
        lm_eval: list[str | Path] = [
            Path(options.peers).with_name("lm_eval"), "--model", "hf", "--model_args", f"{where},dtype=float32",
            "--tasks", folder / "task.yaml", "--device", "cpu", "--batch_size", "32", "--output_path", folder / "lm",
            "--log_samples",
        ]  # fmt: skip
        slow, _ = of_command(lm_eval)
        yield f"| lm-evaluation-harness | {slow:.1f} s | {slow / fast:.2f}x | {alike(harness_decisions(folder), own)} |"
    if options.llama and source.is_file():
        yield from llama_rows(options, folder, pairs, own, fast)


def shared_words(one: str, other: str) -> str:
    """The words with which both of two sentences begin, short of the whole of either."""
    words = list(zip(one.split(" ")[:-1], other.split(" ")[:-1], strict=False))
    return " ".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], words))


def alike(decisions: Sequence[bool], own: Sequence[bool]) -> str:
    """How many decisions are ours."""
    return f"{sum(one == other for one, other in zip(decisions, own, strict=True))} of {len(own)}"


def harness_decisions(folder: Path) -> list[bool]:
    """For each pair, whether lm-evaluation-harness finds the first sentence likelier."""
    (log,) = folder.glob("lm/**/samples_*.jsonl")
    samples = sorted(
        map(json.loads, log.read_text(encoding="utf-8").splitlines()), key=lambda own: own["doc_id"]
    )
    answers = [[float(answer[0]) for answer in sample["filtered_resps"]] for sample in samples]
    return [first > second for first, second in answers]


def llama_rows(
    options: argparse.Namespace,
    folder: Path,
    pairs: Sequence[tuple[str, str]],
    own: Sequence[bool],
    fast: float,
) -> Iterator[str]:
    """llama.cpp's own tool, in fp32 and with the weights as the file holds them.

    It compares means over the tokens from the first one that differs. Where two sentences have equally many, that is
    the same question; only there are decisions compared.
    """
    questions = folder / "pairs.bin"
    questions.write_bytes(llama_tasks(pairs))
    full = folder / "fp32.gguf"
    of_command([options.llama / "llama-quantize", "--allow-requantize", options.model, full, "F32"])
    tokenizer = load(options.model, Kernels.DEFAULT).loaded.tokenizer
    same = [len(tokenizer(more)["input_ids"]) == len(tokenizer(less)["input_ids"]) for more, less in pairs]
    for what, model in (("in fp32", full), ("as the file holds it", Path(options.model))):
        seconds, output = of_command([
            options.llama / "llama-perplexity", "-m", model, "--multiple-choice", "-bf", questions, "-c", "64",
            "-np", "32", "-t", str(torch.get_num_threads()), "-ctk", "f32", "-ctv", "f32",
            "--override-kv", "tokenizer.ggml.add_bos_token=bool:true",  # texts begin as with the others
        ])  # fmt: skip
        right = [0, *(round(int(done) * float(share) / 100) for done, share in LLAMA_LINE.findall(output))]
        decided = [after > before for before, after in pairwise(right)]
        places = [place for place, is_same in enumerate(same) if is_same]
        compared = alike([decided[place] for place in places], [own[place] for place in places])
        yield f"| llama.cpp, {what} | {seconds:.1f} s | {seconds / fast:.2f}x | {compared} of equal length |"


def llama_tasks(pairs: Sequence[tuple[str, str]]) -> bytes:
    """Pairs as llama.cpp reads multiple choice: counts and places in 32 bits, then questions and their answers."""

    def text(words: str) -> bytes:
        return struct.pack("<I", len(words.encode())) + words.encode()

    tasks = []
    for pair in pairs:
        question = shared_words(*pair)
        answers = [text(sentence.removeprefix(f"{question} ")) for sentence in pair]
        tasks.append(text(question) + struct.pack("<I", 2) + b"".join(answers) + struct.pack("<3I", 1, 0, 0))
    places = accumulate((len(task) for task in tasks[:-1]), initial=0)
    return struct.pack(f"<{len(tasks) + 1}I", len(tasks), *places) + b"".join(tasks)


def of_command(command: Sequence[str | Path]) -> tuple[float, str]:
    """Seconds that a command takes, and what it prints; that is shown where it fails."""
    print(f"{Path(command[0]).name} ...", file=sys.stderr, flush=True)
    started = time.perf_counter()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-4000:]}")
    return time.perf_counter() - started, done.stdout


def peer_versions(options: argparse.Namespace) -> Iterator[str]:
    """Which peers were timed."""
    named = []
    if options.peers:
        program = (
            "from importlib.metadata import version as v;"
            "print(*(f'{name} {v(name)}' for name in ('lm_eval', 'minicons', 'torch', 'transformers')), sep=', ')"
        )
        named.append(subprocess.check_output([options.peers, "-c", program], text=True).strip())
    if options.llama:
        done = subprocess.run(
            [options.llama / "llama-perplexity", "--version"], capture_output=True, text=True, check=True
        )
        found = re.search(r"version: (.*)", done.stdout + done.stderr)
        named.append(f"llama.cpp {found[1]}" if found else "llama.cpp")
    if named:
        yield f"Peers: {'; '.join(named)}."


def tables(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """All lines of the section."""
    usual, peak = limit()
    threads = torch.get_num_threads()
    yield (
        f"CPU, {threads} threads; PyTorch {torch.__version__}, Transformers {transformers.__version__}. Products of "
        f"{SIDE:,} by {SIDE:,} matrices in fp32: {usual / 1e9:.0f} GFLOP/s by PyTorch's own kernels, "
        f"{peak / 1e9:.0f} by oneDNN's."
    )
    yield from peer_versions(options)
    yield ""
    yield "| what | items | ours | PyTorch's kernels | plain Transformers | minicons | of the limit | bits apart |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    benchmark = read_stereoset(options.data, language="en")
    for case in cases(options, folder):
        items = benchmark.of_task(case.task)
        chosen = np.random.default_rng(0).permutation(len(items))[: options.items]
        yield row_of(case, [items[place] for place in chosen], peak, options)
    yield ""
    yield f"{options.pairs_items} pairs of CrowS-Pairs on {options.name}, whole commands from start to written results:"
    yield ""
    yield "| command | seconds | of ours | decisions as ours |"
    yield "|---|---:|---:|---:|"
    yield from pair_rows(options, folder)


def main() -> None:
    """Print the section, and put it into a page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="StereoSet's English development set")
    parser.add_argument(
        "--gpt2", type=Path, required=True, help="folder with GPT-2's vocab.json and merges.txt"
    )
    parser.add_argument("--pairs", type=Path, required=True, help="CrowS-Pairs as CSV")
    parser.add_argument("--model", required=True, help="a real decoder")
    parser.add_argument("--name", default="SmolLM2-135M")
    parser.add_argument("--peers", default=shutil.which("lm_eval") and sys.executable)
    parser.add_argument("--llama", type=Path, help="folder with llama-perplexity and llama-quantize")
    parser.add_argument("--items", type=int, default=150)
    parser.add_argument("--pairs-items", type=int, default=400)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for line in tables(options, Path(folder)):
            print(line, flush=True)
            lines.append(line)
    if options.page:
        replace_section(options.page, "kernels", "\n".join(lines))


if __name__ == "__main__":
    main()
