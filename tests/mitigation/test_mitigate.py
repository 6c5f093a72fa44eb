"""Mitigating from a reference to a reference: what is made, what is refused, and going on after a stop."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from fitting_runs import same, weights_of
from measuring import probe
from plain_swapper import PlainSwapper
from zoo_fixtures import Zoo

from evenhand.core.errors import DatasetError, OutputError, RunError
from evenhand.core.experiments import Experiment
from evenhand.core.recipes import Recipe
from evenhand.data.corpus_sources import CorpusSource
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.lab.items import lab_probes
from evenhand.mitigation import counterfactual, training_mitigation
from evenhand.mitigation.counterfactual import CounterfactualMitigation, CounterfactualOptions
from evenhand.mitigation.mitigate import mitigate
from evenhand.mitigation.mitigation import MitigatedModel, MitigationData
from evenhand.mitigation.texts import PairFile, SentenceList
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.mitigation_records import DataRecord, LearningCurve, SeedRecord, read_mitigation_record
from evenhand.training.pretraining import pretraining_objective

PROBES = lab_probes("en").first(8)
WORDS = [occupation.name for occupation in PROBES.occupations][:8]
TEXT = SentenceList(
    "a small corpus",
    tuple(
        sentence
        for word in WORDS
        for sentence in (f"He is a good {word}.", f"She met the {word}.", f"The {word} likes tea.")
    ),
)
HELD_OUT = SentenceList(
    "some more", ("The sea is cold.", "A farmer sings at night.", "My neighbour has a dog.")
)
RECIPE = Recipe(epochs=2, batch_size=8, learning_rate=1e-3, plateau=None)
METHOD = CounterfactualMitigation(make_swapper=PlainSwapper)
HE_SHE = "he-she.MALoR"


def small_data(*sources: CorpusSource, held_out: tuple[CorpusSource, ...] = (HELD_OUT,)) -> MitigationData:
    return MitigationData(sources or (TEXT,), PROBES, (Experiment.HE_SHE,), held_out=held_out)


def reference(menagerie: Zoo, name: str = "bert") -> ModelRef:
    return ModelRef(id=str(menagerie.folder(name)), device="cpu")


def made(
    menagerie: Zoo, out: Path, *, name: str = "bert", recipe: Recipe = RECIPE, seeds: tuple[int, ...] = (0,),
    data: MitigationData | None = None, on_epoch: Callable[[int, LearningCurve], None] | None = None,
    replace: bool = False,
) -> MitigatedModel:  # fmt: skip
    options = CounterfactualOptions(recipe=recipe, seeds=seeds, on_epoch=on_epoch)
    return mitigate(
        reference(menagerie, name),
        METHOD,
        data=data or small_data(),
        out=out,
        options=options,
        replace=replace,
    )


def record_data(done: MitigatedModel) -> DataRecord:
    assert done.record.data is not None
    return done.record.data


def training(done: MitigatedModel) -> SeedRecord:
    assert done.record.chosen is not None
    return done.record.chosen


def weights_in(folder: Path | str) -> dict[str, torch.Tensor]:
    return weights_of(load_language_model(str(folder), device="cpu"))


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_a_reference_comes_back_to_a_model_that_was_changed(
    menagerie: Zoo, tmp_path: Path, name: str
) -> None:
    done = made(menagerie, tmp_path / "out", name=name)
    assert done.ref == reference(menagerie, name).model_copy(update={"id": str(tmp_path / "out")})
    assert not same(weights_in(done.ref.id), weights_in(menagerie.folder(name)))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert done.record == read_mitigation_record(tmp_path / "out")
    assert record_data(done).counts == {"pairs": 16, "pairs left out as held out": 0}
    assert record_data(done).examples == 32
    assert record_data(done).corpus[0].sentences == len(TEXT.sentences)
    assert done.record.model.weights.startswith("sha256")


@pytest.mark.usefixtures("once_without_gate")
def test_the_record_has_what_the_probe_reads_before_and_after(menagerie: Zoo, tmp_path: Path) -> None:
    done = made(menagerie, tmp_path / "out")
    options = MalorOptions(experiment="he-she", resampling=Resampling())
    for place, told in (
        (menagerie.folder("bert"), done.record.before),
        (tmp_path / "out", done.record.after),
    ):
        (result,) = probe(ModelRef(id=str(place), device="cpu"), PROBES, options=options).results
        assert told[HE_SHE].value == pytest.approx(result.MALoR.value, rel=1e-4)
        assert told[HE_SHE].low == pytest.approx(result.MALoR.low, rel=1e-3)
        assert told["he-she.signed_mean"].value == pytest.approx(result.signed_mean.value, rel=1e-4)
        assert told["he-she.spread"].value == pytest.approx(result.spread.value, rel=1e-4)
    assert training(done).best.bias[HE_SHE] == pytest.approx(done.record.after[HE_SHE].value, rel=1e-4)
    assert training(done).curve.original.bias[HE_SHE] == pytest.approx(
        done.record.before[HE_SHE].value, rel=1e-4
    )


def test_a_finished_mitigation_is_found_again(
    menagerie: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = made(menagerie, tmp_path / "out")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it is trained again")

    monkeypatch.setattr(training_mitigation, "fit_seeds", refuse)
    assert made(menagerie, tmp_path / "out") == first
    with pytest.raises(RunError, match=r"holds another result: .*--fresh"):
        made(menagerie, tmp_path / "out", recipe=RECIPE.model_copy(update={"epochs": 3}))


def test_another_mitigation_gives_way_on_demand(menagerie: Zoo, tmp_path: Path) -> None:
    first = made(menagerie, tmp_path / "out")
    second = made(menagerie, tmp_path / "out", recipe=RECIPE.model_copy(update={"epochs": 1}), replace=True)
    assert second.record.fingerprint != first.record.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def stop_after_one(_: int, curve: LearningCurve) -> None:
    if len(curve.trained) == 1:
        raise KeyboardInterrupt


def test_a_stopped_mitigation_goes_on_to_the_same_weights(menagerie: Zoo, tmp_path: Path) -> None:
    made(menagerie, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        made(menagerie, tmp_path / "parts", on_epoch=stop_after_one)
    assert not (tmp_path / "parts").exists()
    epochs: list[int] = []
    made(menagerie, tmp_path / "parts", on_epoch=lambda _, curve: epochs.append(curve.last.epoch))
    assert epochs == [1, 2]
    whole, parts = (tmp_path / name / "model.safetensors" for name in ("whole", "parts"))
    assert whole.read_bytes() == parts.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"whole", "parts"}


def test_what_another_mitigation_left_behind_does_not_stand_in_the_way(
    menagerie: Zoo, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        made(menagerie, tmp_path / "out", on_epoch=stop_after_one)
    done = made(menagerie, tmp_path / "out", seeds=(1,))
    assert done.record.chosen_seed == 1


def test_a_disk_that_is_full_at_the_end_costs_no_training(
    menagerie: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = transformers.BertForPreTraining.save_pretrained

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(transformers.BertForPreTraining, "save_pretrained", full)
    with pytest.raises(OutputError, match="No space left"):
        made(menagerie, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(transformers.BertForPreTraining, "save_pretrained", real)
    epochs: list[int] = []
    made(menagerie, tmp_path / "out", on_epoch=lambda _, curve: epochs.append(curve.last.epoch))
    assert epochs == [2]  # what was kept is shown, and nothing is trained


def test_without_seeds_the_recipe_has_the_seed(menagerie: Zoo, tmp_path: Path) -> None:
    recipe = RECIPE.model_copy(update={"seed": 7, "epochs": 1})
    ref = ModelRef(id=str(menagerie.folder("bert")))
    options = CounterfactualOptions(recipe=recipe)
    done = mitigate(ref, METHOD, data=small_data(), options=options, out=tmp_path / "seven")
    assert [known.seed for known in done.record.seeds] == [7]
    assert done.record.recipe == recipe


def test_of_several_seeds_the_record_has_all_and_the_folder_the_best(menagerie: Zoo, tmp_path: Path) -> None:
    generous = RECIPE.model_copy(update={"quality_margin": 100.0})
    done = made(menagerie, tmp_path / "both", recipe=generous, seeds=(0, 1))
    best = {known.seed: known.best.bias[HE_SHE] for known in done.record.seeds}
    assert set(best) == {0, 1}
    assert best[done.record.chosen_seed or 0] == min(best.values())
    chosen = done.record.chosen_seed
    assert chosen is not None
    assert done.record.recipe is not None
    assert done.record.recipe.seed == chosen
    alone = made(menagerie, tmp_path / "alone", recipe=generous, seeds=(chosen,))
    assert same(weights_in(done.ref.id), weights_in(alone.ref.id))


def test_nothing_held_out_is_trained_on(
    menagerie: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[str] = []
    real = pretraining_objective

    def noted(sentences: Sequence[str], *arguments: Any, **options: Any) -> Any:
        trained.extend(sentences)
        return real(sentences, *arguments, **options)

    monkeypatch.setattr(counterfactual, "pretraining_objective", noted)
    held = SentenceList("held", ("he is a good " + WORDS[0] + ".", f"He met the {WORDS[1]}."))
    done = made(menagerie, tmp_path / "out", data=small_data(held_out=(held,)))
    # One found sentence is held out, and the twin of another; both pairs go.
    assert record_data(done).counts == {"pairs": 14, "pairs left out as held out": 2}
    expected = {
        (f"{who} is a good {word}." if kind else f"{who} met the {word}.")
        for word in WORDS
        for kind in (True, False)
        for who in ("He", "She")
        if (kind, word) not in ((True, WORDS[0]), (False, WORDS[1]))
    }
    assert set(trained) == expected
    assert len(trained) == len(expected)


def test_a_file_of_pairs_serves_as_it_is(menagerie: Zoo, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(pair_line(word) for word in WORDS))
    done = made(menagerie, tmp_path / "out", data=small_data(PairFile(path)))
    assert record_data(done).counts["pairs"] == len(WORDS)
    names = MitigationData((PairFile(path),), PROBES, (Experiment.NAMES,), held_out=(HELD_OUT,))
    with pytest.raises(DatasetError, match=r"None of the 8 pairs .* is for names"):
        made(menagerie, tmp_path / "other", data=names)


def pair_line(word: str) -> str:
    swap = {"role": "subject pronoun", "male": "He", "female": "She", "male_at": [0, 2], "female_at": [0, 3]}
    row = {"male": f"He is a {word}.", "female": f"She is a {word}.", "original": "male"}
    row |= {"experiments": ["he-she"], "occupations": [word], "swaps": [swap]}  # type: ignore[dict-item]
    return json.dumps(row) + "\n"


def test_a_corpus_without_a_match_is_refused(menagerie: Zoo, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="No sentence of the corpus gives a pair"):
        made(menagerie, tmp_path / "out", data=small_data(SentenceList("dull", ("Grass is green.",))))
    assert list(tmp_path.iterdir()) == []  # so that another corpus can be tried for the same folder


def test_a_corpus_that_is_held_out_as_a_whole_is_refused(menagerie: Zoo, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="all 16 pairs are among the held-out"):
        made(menagerie, tmp_path / "out", data=small_data(held_out=(TEXT,)))


def test_a_model_without_an_objective_is_refused_before_anything_is_read(
    menagerie: Zoo, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="cannot be mitigated by training"):
        made(menagerie, tmp_path / "out", name="bart")
    assert list(tmp_path.iterdir()) == []


def test_a_place_with_something_else_is_refused_before_anything_is_read(
    menagerie: Zoo, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match="is not empty"):
        made(menagerie, out)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
