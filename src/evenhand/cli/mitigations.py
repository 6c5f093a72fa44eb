"""A mitigation as the command line asked for it, carried out with bars and lines that tell how it goes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand.cli.exit_codes import INTERRUPTED
from evenhand.cli.mitigation_options import RecipeWishes
from evenhand.cli.mitigation_tables import epoch_line
from evenhand.cli.monitor import progress_bar
from evenhand.cli.output import say, warn

if TYPE_CHECKING:
    from evenhand.core.recipes import Recipe
    from evenhand.mitigation.mitigate import Material, Mitigated, MitigationReport
    from evenhand.models.references import ModelRef
    from evenhand.runs.learning_curves import LearningCurve


@dataclass(frozen=True, slots=True)
class Equalising:
    """With the usual balance, another, or several."""

    balances: Sequence[float] = ()

    @property
    def usual(self) -> Recipe:
        """The method's recipe."""
        from evenhand.mitigation.equalising.method import EqualiseMethod

        return EqualiseMethod.recipe

    def execute(self, ref: ModelRef, **options: Any) -> Mitigated:
        """Mitigate, or sweep the balances."""
        from evenhand.mitigation.equalising.method import EqualiseMethod
        from evenhand.mitigation.equalising.objective import Balance
        from evenhand.mitigation.mitigate import mitigate
        from evenhand.mitigation.sweep import sweep

        balances = [replace(Balance(), weight=weight) for weight in self.balances] or [Balance()]
        if len(balances) > 1:
            return sweep(ref, balances, **options)
        return mitigate(ref, EqualiseMethod(balances[0]), **options)


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """Continued pre-training on pairs."""

    whole_words: bool = False

    @property
    def usual(self) -> Recipe:
        """The method's recipe."""
        from evenhand.mitigation.counterfactual import CounterfactualMethod

        return CounterfactualMethod.recipe

    def execute(self, ref: ModelRef, **options: Any) -> Mitigated:
        """Mitigate."""
        from evenhand.mitigation.counterfactual import CounterfactualMethod
        from evenhand.mitigation.mitigate import mitigate

        return mitigate(ref, CounterfactualMethod(whole_words=self.whole_words), **options)


@dataclass(frozen=True, slots=True)
class AskedMitigation:
    """Everything that the command line asked for."""

    model: str
    corpus: list[str] | None
    experiment: list[str] | None
    language: str | None
    held_out: list[Path] | None
    seeds: int
    seed: int
    device: str
    allow_pickle_weights: bool
    trust_remote_code: bool
    recipe: RecipeWishes
    method: Equalising | Counterfactual

    @property
    def reference(self) -> ModelRef:
        """The model."""
        from evenhand.cli.options import model_reference

        return model_reference(
            self.model,
            precision="fp32",
            device=self.device,
            allow_pickle_weights=self.allow_pickle_weights,
            trust_remote_code=self.trust_remote_code,
        )

    @property
    def material(self) -> Material:
        """Corpus, probes and held-out sentences."""
        from evenhand.workflows.mitigation_data import material_for

        return material_for(
            self.reference,
            self.corpus or (),
            experiments=self.experiment or ("all",),
            language=self.language,
            held_out=self.held_out or (),
        )

    @property
    def _full_recipe(self) -> Recipe:
        from evenhand.workflows.mitigation_data import recipe_for

        return self.recipe.applied_to(recipe_for(self.reference, self.method.usual))

    @property
    def quality_margin(self) -> float:
        """By how much the perplexity may rise, as a share."""
        return self._full_recipe.quality_margin

    def execute(self, out: Path) -> Mitigated:
        """Mitigate into a folder."""
        reference, material, recipe = self.reference, self.material, self._full_recipe
        say(f"Loading {reference.id}")
        try:
            with _reporting(several=self.seeds > 1) as report:
                return self.method.execute(
                    reference,
                    material=material,
                    recipe=recipe,
                    out=out,
                    seeds=range(self.seed, self.seed + self.seeds),
                    report=report,
                    command=shlex.join(["evenhand", *sys.argv[1:]]),
                )
        except KeyboardInterrupt:
            say("Stopped. Give the same command again to go on after the last whole epoch.")
            raise typer.Exit(INTERRUPTED) from None


def tell_of_margin(mitigated: Mitigated) -> None:
    """Warn where no epoch kept the quality."""
    record = mitigated.record
    if not record.chosen.keeps_quality:
        warn(
            f"no epoch stayed within the quality margin of {record.recipe.quality_margin:.1%}; the one whose "
            f"perplexity rose least ({record.perplexity_rise:+.1%}) was kept. Try a lower --learning-rate."
        )


@contextmanager
def _reporting(*, several: bool) -> Iterator[MitigationReport]:
    """Bars and lines for every epoch."""
    from evenhand.mitigation.mitigate import MitigationReport
    from evenhand.training.fitting import FitReport

    with _Bars() as bars:

        def of_seed(seed: int) -> FitReport:
            return FitReport(steps=bars.steps, judged=_epoch_teller(f"seed {seed}, " if several else ""))

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
