"""Records of mitigations that never took place."""

from __future__ import annotations

from pathlib import Path

from evenhand.core.estimates import Estimate
from evenhand.core.planted_bias import PlantedBias
from evenhand.core.recipes import LoraRecipe, Recipe
from evenhand.store.energy import EnergyRecord
from evenhand.store.head_records import model_weights_digest
from evenhand.store.mitigation_records import (
    MITIGATION_FILE,
    DataRecord,
    EpochMetrics,
    LearningCurve,
    MitigationRecord,
    SeedRecord,
    TextRecord,
)
from evenhand.store.records import EnvironmentRecord, ModelRecord


def put_beside(folder: Path, record: MitigationRecord) -> MitigationRecord:
    """The record of the weights that lie in a folder, written there."""
    own = record.model_copy(update={"weights": model_weights_digest(folder)})
    (folder / MITIGATION_FILE).write_text(own.model_dump_json(), encoding="utf-8")
    return own


HE_SHE = "he-she.MALoR"


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, n=60, clusters=60, method="bootstrap")


def a_seed(seed: int, *malor: float, perplexity: float = 20.1, keeps_quality: bool = True) -> SeedRecord:
    curve = LearningCurve(
        epochs=tuple(
            EpochMetrics(
                epoch=epoch,
                bias={HE_SHE: value},
                quality={"perplexity": perplexity if epoch else 20.0},
            )
            for epoch, value in enumerate((1.5, *malor))
        )
    )
    best = min(curve.trained, key=lambda metrics: metrics.bias[HE_SHE])
    return SeedRecord(
        seed=seed, stopped="all epochs were done", curve=curve, best=best, keeps_quality=keeps_quality
    )


def a_record(
    *seeds: SeedRecord, planted: bool = False, lora: bool = False, chosen_seed: int = 0
) -> MitigationRecord:
    known = PlantedBias(family="masked", strength=2.0, language="en", seed=0)
    return MitigationRecord(
        method="counterfactual",
        objective="masked language modelling",
        model=ModelRecord(
            id="tiny",
            revision=None,
            weights="sha256 0123",
            family="masked",
            architecture="BertForPreTraining",
            precision="fp32",
            device="cpu",
            planted=known if planted else None,
        ),
        language="en",
        experiments=("he-she",),
        probes="4567",
        data=DataRecord(
            corpus=(TextRecord(name="novels.txt", sha256="89ab", sentences=1234),),
            examples=462,
            counts={"pairs": 231},
            sha256="cdef",
            held_out=TextRecord(name="news.txt", sha256="fedc", sentences=100),
        ),
        recipe=Recipe(lora=LoraRecipe(rank=4)) if lora else Recipe(),
        precision="fp32",
        seeds=seeds or (a_seed(0, 0.9, 0.6),),
        chosen_seed=chosen_seed,
        before={HE_SHE: estimate(1.5, 1.2, 1.8)},
        after={HE_SHE: estimate(0.6, 0.4, 0.8)},
        environment=EnvironmentRecord.current(),
        libraries={"torch": "2.0"},
        energy=EnergyRecord(reason="the model is made up"),
        weights="0" * 64,
        fingerprint="the very one",
    )
