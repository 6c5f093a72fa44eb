"""Speed of the scoring engine, as ratios in one run against the plain way and against minicons.

    python benchmarks/scoring.py --data STEREOSET.json --gpt2 FOLDER [--items 300] [--large]

``--data`` is a benchmark in StereoSet's layout, ``--gpt2`` a folder with GPT-2's vocab.json and merges.txt, whose
vocabulary all models have. Everything runs on the GPU if there is one. ``--large`` adds the
6.7 B decoder, which needs one. The results are printed as a Markdown table, and with ``--page docs/performance.md``
written into the section of that page which belongs to the device.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

import models_of_size
import plain_scoring
import torch
import transformers

from evenhand.core.items import Association, Benchmark, Task
from evenhand.core.recipes import Precision
from evenhand.data.stereoset import read_stereoset
from evenhand.instruments.association.ways import Method, MethodOptions, choose_method
from evenhand.models.families.decoder import DECODER
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.loading import Loaded
from evenhand.models.references import ModelRef, UnscorableError
from evenhand.models.requests import ScoringRequest

PEAK_FLOPS = {"NVIDIA H200": 990e12}
"""Dense bfloat16 arithmetic by the vendor's datasheet."""


Requests: TypeAlias = tuple[ScoringRequest, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the result."""

    what: str
    items: int
    seconds: float
    compared: str
    ratio: float | None

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:.1f}x"
        return f"| {self.what} | {self.items:,} | {self.seconds:.2f} s | {self.compared} | {ratio} |"


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call takes, the device's work included."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    started = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - started


def requested(method: Method, items: Sequence[Association]) -> Iterator[tuple[str, Requests]]:
    """For each candidate the id of its item and what is requested; items that cannot be asked about are left out."""
    for item in items:
        with suppress(UnscorableError):
            yield from [(item.id, method.requests(item, candidate)) for candidate in item.candidates]


def ours(model: LanguageModel, items: Sequence[Association], task: Task) -> Callable[[], list[float]]:
    """Our way: questions, plan, answers, scores."""
    method = choose_method(model, task, MethodOptions())

    def run() -> list[float]:
        asked = list(requested(method, items))
        names = [item for item, own in asked for _ in own]
        answers = iter(model.answer([r for _, own in asked for r in own], items=names, whole_items=True))
        scores = []
        for _, requests in asked:
            own = [next(answers) for _ in requests]
            if not any(answer.problem for answer in own):
                scores.append(method.combine([answer.log_probs for answer in own]))
        return scores

    return run


def minicons_continuation(
    folder: Path, items: Sequence[Association], device: str
) -> Callable[[], object] | None:
    """The same continuation scores with minicons, if it is installed."""
    try:
        from minicons import scorer
    except ImportError:
        return None
    judge = scorer.IncrementalLMScorer(str(folder), device)

    def run() -> None:
        rows = [
            (item.context if item.context[-1] in ".!?" else f"{item.context}.", candidate.text)
            for item in items
            for candidate in item.candidates
        ]
        for batch in plain_scoring.batches(rows):
            judge.conditional_score(
                [first for first, _ in batch], [second for _, second in batch], bos_token=True
            )

    return run


def compare(
    what: str, model: LanguageModel, items: Sequence[Association], task: Task, plain: Callable[..., object]
) -> Row:
    """Our way against the plain way on the same model and items."""
    run = ours(model, items, task)
    loaded = model.loaded
    warm = items[:40] if loaded.device.type == "cpu" else items
    ours(model, warm, task)()
    plain(loaded.model, loaded.tokenizer, items[:40])
    fast = timed(run)
    slow = timed(lambda: plain(loaded.model, loaded.tokenizer, items))
    return Row(what, len(items), fast, f"plain {slow:.2f} s", slow / fast)


def growth(model: LanguageModel, items: Sequence[Association], task: Task) -> list[Row]:
    """Cost at one, four and sixteen times the items: time for each, and the peak of memory."""
    rows = []
    base = list(items)
    for times in (1, 4, 16):
        many = [renamed(item, copy) for copy in range(times) for item in base]
        seconds = timed(ours(model, many, task))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        rows.append(Row(f"growth, {times}x items", len(many), seconds, f"peak {peak:,.0f} MB", None))
    return rows


def renamed(item: Association, copy: int) -> Association:
    """The same item with other words at the end, so that nothing is computed only once."""
    from dataclasses import replace

    return replace(item, id=f"{item.id}-{copy}", context=f"Note {copy}: {item.context}")


def resident_gigabytes(kind: str) -> float:
    """Memory of this process by the kernel's count: now (VmRSS), or the most since it was reset (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind)) / 2**20


def large_vocabulary(tokenizer: Any, items: Sequence[Association]) -> Row:
    """Memory that scoring adds over the weights of a decoder with 250,000 vocabulary entries."""
    model: Any = models_of_size.gpt2_small(tokenizer, vocabulary=250_000)
    model.eval()
    loaded = Loaded(ModelRef(id="large-vocabulary"), DECODER, model.config, tokenizer, model,
                    torch.device("cpu"), torch.float32)  # fmt: skip
    asked = LanguageModel(loaded)
    before = resident_gigabytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    seconds = timed(ours(asked, items, Task.INTERSENTENCE))
    added = resident_gigabytes("VmHWM") - before
    return Row("decoder, 250,000 entries", len(items), seconds, f"{added:.2f} GB over its weights", None)


def large_vocabulary_apart(options: argparse.Namespace) -> Row:
    """The same in a process of its own, because a process's peak of memory never falls."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_large_vocabulary, options.data, options.gpt2).result()


def _large_vocabulary(data: Path, gpt2: Path) -> Row:
    items = read_stereoset(data, language="en").of_task(Task.INTERSENTENCE)[:100]
    return large_vocabulary(models_of_size.gpt2_tokenizer(gpt2), items)


def arithmetic(model: LanguageModel, items: Sequence[Association], task: Task, seconds: float) -> str:
    """Share of the device's peak arithmetic that was reached."""
    method = choose_method(model, task, MethodOptions())
    asked = model.token_requests([r for _, own in requested(method, items) for r in own])
    plan, _ = model.plan([r for own in asked if not isinstance(own, str) for r in own])
    body = sum(
        weight.numel() for name, weight in model.loaded.model.named_parameters() if "embed" not in name
    )
    operations = 2 * body * plan.tokens
    peak = next((value for name, value in PEAK_FLOPS.items() if name in torch.cuda.get_device_name()), None)
    share = f", {operations / seconds / peak:.0%} of peak" if peak else ""
    return f"{plan.tokens:,} tokens, {operations / seconds / 1e12:.0f} TFLOP/s{share}"


def large_decoder(tokenizer: Any, items: Sequence[Association]) -> list[Row]:
    """A 6.7 B decoder in bfloat16 on the GPU."""
    model: Any = models_of_size.llama_7b(tokenizer, "cuda")
    model.eval()
    reference = ModelRef(id="llama-shaped", precision=Precision.BF16)
    loaded = Loaded(reference, DECODER, model.config, tokenizer, model, torch.device("cuda"), torch.bfloat16)
    asked = LanguageModel(loaded)
    row = compare(
        "Llama shape, 6.7 B, bf16, inter d", asked, items, Task.INTERSENTENCE, plain_scoring.continuation
    )
    note = arithmetic(asked, items, Task.INTERSENTENCE, row.seconds)
    return [row, Row("its arithmetic", row.items, row.seconds, note, None)]


def rows_of(benchmark: Benchmark, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """All comparisons."""
    intra = benchmark.of_task(Task.INTRASENTENCE)[: options.items]
    inter = benchmark.of_task(Task.INTERSENTENCE)[: options.items]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    gpt2_tokens = models_of_size.gpt2_tokenizer(options.gpt2)
    tokenizer = models_of_size.masking_tokenizer(options.gpt2)
    bert = models_of_size.save(models_of_size.bert_base(tokenizer), tokenizer, folder / "bert")
    asked = load_language_model(str(bert), device=device)
    yield compare("BERT-base, intra", asked, intra, Task.INTRASENTENCE, plain_scoring.masked)
    gpt2 = models_of_size.save(models_of_size.gpt2_small(gpt2_tokens), gpt2_tokens, folder / "gpt2")
    for precision in ("fp32", "bf16") if device == "cuda" else ("fp32",):
        asked = load_language_model(str(gpt2), device=device, precision=precision)
        what = f"GPT-2, inter d, {precision}"
        row = compare(what, asked, inter, Task.INTERSENTENCE, plain_scoring.continuation)
        yield row
        if device == "cuda":
            note = arithmetic(asked, inter, Task.INTERSENTENCE, row.seconds)
            yield Row("its arithmetic", len(inter), row.seconds, note, None)
    asked = load_language_model(str(gpt2), device=device)
    peer = minicons_continuation(gpt2, inter, device)
    if peer:
        mine = timed(ours(asked, inter, Task.INTERSENTENCE))
        slow = timed(peer)
        yield Row("GPT-2, inter d, fp32", len(inter), mine, f"minicons {slow:.2f} s", slow / mine)
    yield from growth(asked, inter[: max(40, options.items // 8)], Task.INTERSENTENCE)
    tokenizer = models_of_size.sentinel_tokenizer(options.gpt2)
    t5 = models_of_size.save(models_of_size.t5_base(tokenizer), tokenizer, folder / "t5")
    asked = load_language_model(str(t5), device=device)
    yield compare("T5-base, intra", asked, intra, Task.INTRASENTENCE, plain_scoring.sentinel)
    if device == "cpu":
        yield large_vocabulary_apart(options)
    if options.large:
        yield from large_decoder(gpt2_tokens, benchmark.of_task(Task.INTERSENTENCE))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--gpt2", type=Path, required=True)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    benchmark = read_stereoset(options.data, language="en")
    on_gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if on_gpu else f"CPU, {torch.get_num_threads()} threads"
    lines = [
        f"{device}; PyTorch {torch.__version__}, Transformers {transformers.__version__}.",
        "",
        "| what | items | ours | compared with | ratio |",
        "|---|---:|---:|---|---:|",
    ]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for row in rows_of(benchmark, options, Path(folder)):
            print(row, flush=True)
            lines.append(str(row))
    if options.page:
        replace_section(options.page, "gpu" if on_gpu else "cpu", "\n".join(lines))


def replace_section(page: Path, name: str, text: str) -> None:
    """Put text between the markers of a section of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, _, after = rest.partition(f"<!-- end {name} -->\n")
    page.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- end {name} -->\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
