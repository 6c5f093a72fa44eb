"""``evenhand mitigate``: lower what the probes read off a model, and keep what it knows."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.exit_codes import INTERRUPTED
from evenhand.cli.mitigation_options import (
    AllowPickle,
    BatchSize,
    Corpus,
    Device,
    Epochs,
    Experiments,
    FirstSeed,
    HeldOutFiles,
    Language,
    LearningRate,
    Lora,
    LoraRank,
    LoraTargets,
    MaxTokens,
    Model,
    Out,
    QualityMargin,
    ReportTo,
    Seeds,
    TrainingPrecision,
    TrustRemoteCode,
    asked_recipe,
)
from evenhand.cli.mitigation_tables import epoch_line, show_mitigation
from evenhand.cli.options import Json
from evenhand.cli.output import print_json, say, warn
from evenhand.cli.progress import progress_bar

if TYPE_CHECKING:
    from evenhand.core.learning_curves import LearningCurve
    from evenhand.core.recipes import Recipe
    from evenhand.mitigation.methods.base import Method
    from evenhand.mitigation.pipeline import Mitigated, MitigationReport

mitigate_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Lower the gender lean of a model, and keep what it knows.",
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line asked for, whatever the method."""

    model: str
    out: Path
    corpus: list[str] | None
    experiment: list[str] | None
    language: str | None
    held_out: list[Path] | None
    seeds: int
    seed: int
    device: str
    allow_pickle_weights: bool
    trust_remote_code: bool
    json: bool


@mitigate_app.command("equalise")
def equalise_command(
    model: Model,
    out: Out,
    corpus: Corpus = None,
    experiment: Experiments = None,
    language: Language = None,
    held_out: HeldOutFiles = None,
    balance: Annotated[
        float, typer.Option(help="How much evening out counts beside staying the same.", min=0.0)
    ] = 1.0,
    epochs: Epochs = None,
    seeds: Seeds = 1,
    seed: FirstSeed = 0,
    learning_rate: LearningRate = None,
    batch_size: BatchSize = 32,
    quality_margin: QualityMargin = 0.01,
    lora: Lora = False,
    lora_rank: LoraRank = 16,
    lora_target: LoraTargets = None,
    max_tokens: MaxTokens = None,
    precision: TrainingPrecision = None,
    report_to: ReportTo = None,
    device: Device = "auto",
    allow_pickle_weights: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    json: Json = False,
) -> None:
    """Teach a model its own predictions, with the probability of gendered terms shared equally.

    Where a gendered term is the only gendered word of a sentence, both sides are made equally likely; on ordinary
    sentences the model learns to stay as it is. Any text serves. MALoR and the perplexity on held-out sentences are
    shown after every epoch; the epoch with the lowest MALoR whose perplexity rose by no more than the margin is kept.
    `--out` becomes an ordinary model folder. A stopped run goes on when the same command is given again.

    **Examples**

    `evenhand mitigate equalise lab:masked --out models/even`

    `evenhand mitigate equalise bert-base-uncased --corpus novels/ --experiment he-she --out models/bert-even`

    `evenhand mitigate equalise gpt2 --corpus hub:wikitext:wikitext-103-raw-v1 --lora --seeds 3 --out models/gpt2-even`
    """
    from dataclasses import replace

    from evenhand.mitigation.equalising.objective import Balance
    from evenhand.mitigation.methods.equalise import EqualiseMethod

    method = EqualiseMethod(balance=replace(Balance(), weight=balance))
    recipe = asked_recipe(
        method.recipe, epochs=epochs, batch_size=batch_size, learning_rate=learning_rate,
        quality_margin=quality_margin, max_tokens=max_tokens, precision=precision, report_to=report_to,
        lora=(lora_rank, lora_target or []) if lora or lora_target else None,
    )  # fmt: skip
    _carry_out(method, recipe, Wishes(
        model, out, corpus, experiment, language, held_out, seeds, seed, device, allow_pickle_weights,
        trust_remote_code, json,
    ))  # fmt: skip


@mitigate_app.command("counterfactual")
def counterfactual_command(
    model: Model,
    out: Out,
    corpus: Corpus = None,
    experiment: Experiments = None,
    language: Language = None,
    held_out: HeldOutFiles = None,
    whole_words: Annotated[
        bool, typer.Option("--whole-words", help="Masked models: hide all tokens of a word or none.")
    ] = False,
    epochs: Epochs = None,
    seeds: Seeds = 1,
    seed: FirstSeed = 0,
    learning_rate: LearningRate = None,
    batch_size: BatchSize = 32,
    quality_margin: QualityMargin = 0.01,
    lora: Lora = False,
    lora_rank: LoraRank = 16,
    lora_target: LoraTargets = None,
    max_tokens: MaxTokens = None,
    precision: TrainingPrecision = None,
    report_to: ReportTo = None,
    device: Device = "auto",
    allow_pickle_weights: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    json: Json = False,
) -> None:
    """Go on with a model's own pre-training, on sentences and their twins.

    Sentences with an occupation and a gendered word are taken from the corpus; in the twin men and women have changed
    places, so both sides are equal in number. MALoR and the perplexity on held-out sentences are shown after every
    epoch; the epoch with the lowest MALoR whose perplexity rose by no more than the margin is kept. `--out` becomes an
    ordinary model folder. A stopped run goes on when the same command is given again.

    **Examples**

    `evenhand mitigate counterfactual lab:masked --learning-rate 1e-3 --epochs 20 --out models/swapped`

    `evenhand mitigate counterfactual bert-base-uncased --corpus pairs.jsonl --held-out news.txt --out models/bert-cda`
    """
    from evenhand.mitigation.methods.counterfactual import CounterfactualMethod

    method = CounterfactualMethod(whole_words=whole_words)
    recipe = asked_recipe(
        method.recipe, epochs=epochs, batch_size=batch_size, learning_rate=learning_rate,
        quality_margin=quality_margin, max_tokens=max_tokens, precision=precision, report_to=report_to,
        lora=(lora_rank, lora_target or []) if lora or lora_target else None,
    )  # fmt: skip
    _carry_out(method, recipe, Wishes(
        model, out, corpus, experiment, language, held_out, seeds, seed, device, allow_pickle_weights,
        trust_remote_code, json,
    ))  # fmt: skip


def _carry_out(method: Method, recipe: Recipe, wishes: Wishes) -> None:
    from evenhand.cli.audit import model_reference
    from evenhand.materials import material_for
    from evenhand.mitigation.pipeline import mitigate

    reference = model_reference(
        wishes.model,
        precision="fp32",
        device=wishes.device,
        allow_pickle_weights=wishes.allow_pickle_weights,
        trust_remote_code=wishes.trust_remote_code,
    )
    material = material_for(
        reference,
        wishes.corpus or (),
        experiments=wishes.experiment or ("all",),
        language=wishes.language,
        held_out=wishes.held_out or (),
    )
    say(f"Loading {reference.id}")
    try:
        with _reporting(wishes) as report:
            mitigated = mitigate(
                reference,
                method,
                material=material,
                recipe=recipe,
                out=wishes.out,
                seeds=range(wishes.seed, wishes.seed + wishes.seeds),
                report=report,
                command=shlex.join(["evenhand", *sys.argv[1:]]),
            )
    except KeyboardInterrupt:
        say("Stopped. Give the same command again to go on after the last whole epoch.")
        raise typer.Exit(INTERRUPTED) from None
    _tell(mitigated, wishes)


@contextmanager
def _reporting(wishes: Wishes) -> Iterator[MitigationReport]:
    """Bars and lines for every epoch."""
    from evenhand.mitigation.fitting import FitReport
    from evenhand.mitigation.pipeline import MitigationReport

    with _Bars() as bars:

        def of_seed(seed: int) -> FitReport:
            label = f"seed {seed}, " if wishes.seeds > 1 else ""
            return FitReport(steps=bars.steps, judged=_epoch_teller(label))

        yield MitigationReport(stage=say, warning=warn, read=bars.read, fit=of_seed)


class _Bars:
    """A bar while the corpus is read, and another while the model is trained; there can be only one at a time."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._name = ""
        self._report: Callable[[int, int], None] = lambda _done, _total: None

    def __enter__(self) -> _Bars:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def read(self, done: int, total: int) -> None:
        """So many bytes are read."""
        self._show("reading", "bytes", done, total)

    def steps(self, done: int, total: int) -> None:
        """So many steps are done."""
        self._show("training", "steps", done, total)

    def _show(self, name: str, unit: str, done: int, total: int) -> None:
        if name != self._name:
            self._open.close()
            self._report = self._open.enter_context(progress_bar(name, unit))
            self._name = name
        self._report(done, total)


def _epoch_teller(label: str) -> Callable[[LearningCurve], None]:
    return lambda curve: say(f"{label}{epoch_line(curve)}")


def _tell(mitigated: Mitigated, wishes: Wishes) -> None:
    record = mitigated.record
    if not record.chosen.keeps_quality:
        warn(
            f"no epoch stayed within the quality margin of {record.recipe.quality_margin:.1%}; the one whose "
            f"perplexity rose least ({record.perplexity_rise:+.1%}) was kept. Try a lower --learning-rate."
        )
    say(f"Wrote {wishes.out}. Prove the difference with: evenhand certify {wishes.model} {wishes.out}")
    if wishes.json:
        print_json(record.model_dump(mode="json"))
    else:
        show_mitigation(record)
