"""A mitigation as the command line asked for it, carried out with bars and lines that tell how it goes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand.cli.exit_codes import INTERRUPTED
from evenhand.cli.mitigation_options import RecipeWishes
from evenhand.cli.monitor import TerminalMonitor
from evenhand.cli.output import say, warn

if TYPE_CHECKING:
    from evenhand.core.recipes import Recipe
    from evenhand.mitigation.mitigation import MitigatedModel, MitigationData
    from evenhand.models.references import ModelRef


@dataclass(frozen=True, slots=True)
class Equalising:
    """With the usual balance, another, or several."""

    balances: Sequence[float] = ()

    name = "equalise"

    @property
    def own_options(self) -> dict[str, Any]:
        """What only this method takes."""
        return {"balances": tuple(self.balances)} if self.balances else {}


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """Continued pre-training on pairs."""

    whole_words: bool = False

    name = "counterfactual"

    @property
    def own_options(self) -> dict[str, Any]:
        """What only this method takes."""
        return {"whole_words": self.whole_words}


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
        from evenhand.cli.audit import model_reference

        return model_reference(
            self.model,
            precision="fp32",
            device=self.device,
            allow_pickle_weights=self.allow_pickle_weights,
            trust_remote_code=self.trust_remote_code,
        )

    @property
    def data(self) -> MitigationData:
        """Corpus, probes and held-out sentences."""
        from evenhand.workflows.mitigation_data import default_data

        return default_data(
            self.reference,
            self.corpus or (),
            experiments=self.experiment or ("all",),
            language=self.language,
            held_out=self.held_out or (),
        )

    @property
    def _full_recipe(self) -> Recipe:
        from evenhand.mitigation.registry import MITIGATIONS
        from evenhand.workflows.mitigation_data import recipe_for

        usual: Recipe = MITIGATIONS.get(self.method.name).recipe  # type: ignore[attr-defined] # both train
        return self.recipe.applied_to(recipe_for(self.reference, usual))

    @property
    def quality_margin(self) -> float:
        """By how much the perplexity may rise, as a share."""
        return self._full_recipe.quality_margin

    def execute(self, out: Path, *, fresh: bool = False) -> MitigatedModel:
        """Mitigate into a folder."""
        from evenhand.mitigation.mitigate import mitigate
        from evenhand.mitigation.registry import MITIGATIONS

        reference, data = self.reference, self.data
        options_type: Any = MITIGATIONS.get(self.method.name).options_type
        options = options_type(
            recipe=self._full_recipe,
            seeds=tuple(range(self.seed, self.seed + self.seeds)),
            **self.method.own_options,
        )
        say(f"Loading {reference.id}")
        try:
            return mitigate(
                reference,
                self.method.name,
                data=data,
                out=out,
                options=options,
                replace=fresh,
                monitor=TerminalMonitor(),
                command=shlex.join(["evenhand", *sys.argv[1:]]),
            )
        except KeyboardInterrupt:
            say("Stopped. Give the same command again to go on after the last whole epoch.")
            raise typer.Exit(INTERRUPTED) from None


def tell_of_margin(mitigated: MitigatedModel) -> None:
    """Warn where no epoch kept the quality."""
    training, recipe = mitigated.record.chosen, mitigated.record.recipe
    if training and recipe and not training.keeps_quality:
        loss = training.curve.quality_loss(training.best)
        warn(
            f"no epoch stayed within the quality margin of {recipe.quality_margin:.1%}; the one that lost least "
            f"({loss:+.1%}) was kept. Try a lower --learning-rate."
        )
