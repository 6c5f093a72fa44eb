"""Speed on a CPU: our kernels against PyTorch's own, and against peers, in one run with the machine's limit beside it.

    python benchmarks/cpu.py --data STEREOSET.json --gpt2 FOLDER --pairs CROWS_PAIRS.csv --model MODEL \
        --peers PYTHON --page docs/performance.md

``--model`` is a real decoder as a folder or a GGUF file. ``--peers`` is the interpreter of an environment that has
lm-evaluation-harness and minicons; without it their columns stay empty. Models other than that decoder have random
weights of real size. Run it alone on the machine: anything beside it makes the ratios worthless.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import models_of_size
import numpy as np
import plain_scoring
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
doc_to_choice: ["{{{{sent_more}}}}", "{{{{sent_less}}}}"]
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
        rows = list(csv.reader(stream))
    file = folder / "pairs.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows[: options.pairs_items + 1])
    evenhand = Path(sys.executable).with_name("evenhand")
    command = [evenhand, "probe", options.model, "--test", "crows-pairs", "--data", file]
    seconds = {}
    for kernels in Kernels:
        out = folder / kernels
        seconds[kernels] = of_command([*command, "--kernels", kernels, "--out", out])
    fast = seconds[Kernels.AUTO]
    yield f"| Evenhand | {fast:.1f} s | |"
    usual = seconds[Kernels.DEFAULT]
    yield f"| Evenhand, PyTorch's kernels | {usual:.1f} s | {usual / fast:.2f}x |"
    if options.peers:
        (folder / "task.yaml").write_text(LM_EVAL_TASK.format(file=file), encoding="utf-8")
        source = Path(options.model)
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
        slow = of_command(lm_eval)
        yield f"| lm-evaluation-harness | {slow:.1f} s | {slow / fast:.2f}x |"


def of_command(command: Sequence[str | Path]) -> float:
    """Seconds that a command takes; its output is shown where it fails."""
    print(f"{Path(command[0]).name} ...", file=sys.stderr, flush=True)
    started = time.perf_counter()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-4000:]}")
    return time.perf_counter() - started


def tables(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """All lines of the section."""
    usual, peak = limit()
    threads = torch.get_num_threads()
    yield (
        f"CPU, {threads} threads; PyTorch {torch.__version__}, Transformers {transformers.__version__}. Products of "
        f"{SIDE:,} by {SIDE:,} matrices in fp32: {usual / 1e9:.0f} GFLOP/s by PyTorch's own kernels, "
        f"{peak / 1e9:.0f} by oneDNN's."
    )
    yield ""
    yield "| what | items | ours | PyTorch's kernels | plain Transformers | minicons | of the limit | bits apart |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    benchmark = read_stereoset(options.data, language="en")
    for case in cases(options, folder):
        items = benchmark.of_task(case.task)
        chosen = np.random.default_rng(0).permutation(len(items))[: options.items]
        yield row_of(case, [items[place] for place in chosen], peak, options)
    yield ""
    yield f"{options.pairs_items} sentence pairs on {options.name}, whole commands from start to written results:"
    yield ""
    yield "| command | seconds | of ours |"
    yield "|---|---:|---:|"
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
