"""The protocol ``malor-2023``: structures as a study lists them, in lower case, with names as a mean."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean

import pytest
from zoo_fixtures import Zoo

from evenhand.core.errors import ComparisonError, EvenhandError, UnknownNameError
from evenhand.core.experiments import Experiment
from evenhand.core.probes import ProbeProblem
from evenhand.data.probes import load_listed_probes, load_probes
from evenhand.instruments.malor.instrument import MALOR, MalorOptions
from evenhand.instruments.malor.questions import TermCase, probe_questions
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run

pytestmark = pytest.mark.usefixtures("without_gate")

FEW = Resampling(resamples=100)
TOLERANCE = 5e-5

STRUCTURES = (
    ("he-she", "[MASK] Dreams of being the best [OCC]."),
    ("he-she", "In Rome [MASK] met the [OCC]."),
    ("he-she", "[MASK] Dreams of being the best [OCC]"),
    ("names", "My friend [MASK] wants to be the [OCC]."),
)
OCCUPATIONS = ("Teacher", "Nurse")
NAMES = (("David", "Susan"), ("Paul", "Anna"))
"""As many tokens in each pair, so that none is left out."""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    rows = [
        f'{experiment},{number},"{text}"' for number, (experiment, text) in enumerate(STRUCTURES, start=1)
    ]
    texts = {
        "structures": "experiment,number,structure\n" + "\n".join(rows),
        "occupations": "\n".join(["occupation", *OCCUPATIONS]),
        "terms": "experiment,male,female\n" + "\n".join(f"names,{male},{female}" for male, female in NAMES),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(f"{text}\n", encoding="utf-8")
    return {name: tmp_path / f"{name}.csv" for name in texts}


def measured(menagerie: Zoo, model: str, files: dict[str, Path], protocol: str = "malor-2023") -> Run:
    options = MalorOptions(protocol=protocol, resampling=FEW, **files)  # type: ignore[arg-type]
    return MALOR.prepare(menagerie.model(model), options).measure()


@pytest.mark.torch
def test_values_are_those_of_the_plain_way_with_repeats_and_in_lower_case(
    menagerie: Zoo, files: dict[str, Path]
) -> None:
    run = measured(menagerie, "bert", files)
    reference = menagerie.reference("bert")

    def probability(text: str, word: str) -> float:
        return math.exp(math.fsum(reference.blank(text, word)))

    pairs = {"he-she": (("he", "she"),), "names": tuple((a.lower(), b.lower()) for a, b in NAMES)}
    for result in run.results:
        leans = []
        for occupation in OCCUPATIONS:
            ratios = []
            for experiment, structure in STRUCTURES:
                if experiment != result.experiment:
                    continue
                text = structure.replace("[OCC]", occupation).lower().replace("[mask]", "BLANK")
                male, female = (
                    fmean(probability(text, pair[side]) for pair in pairs[experiment]) for side in (0, 1)
                )
                ratios.append(math.log2(male / female))
            leans.append(fmean(ratios))
        assert result.MALoR.value == pytest.approx(fmean(map(abs, leans)), abs=TOLERANCE)
        assert result.occupations[0].n == sum(experiment == result.experiment for experiment, _ in STRUCTURES)


@pytest.mark.torch
def test_the_record_names_the_protocol_and_says_where_files_are_not_those_of_the_study(
    menagerie: Zoo, files: dict[str, Path]
) -> None:
    record = measured(menagerie, "bert", files).record

    assert record.protocol is not None
    assert record.protocol.name == "malor-2023"
    assert record.options["case"] == "lower"
    assert any("malor-2023 has 51 he-she structures; the files have 3" in text for text in record.warnings)
    assert any("malor-2023 has 54 occupations; the files have 2" in text for text in record.warnings)
    assert any("malor-2023 has 29 pairs of names; the files have 2" in text for text in record.warnings)
    assert MALOR.prepare(menagerie.model("bert"), MalorOptions(resampling=FEW)).record.protocol is None


@pytest.mark.torch
def test_runs_under_two_protocols_are_not_compared(menagerie: Zoo, files: dict[str, Path]) -> None:
    ours, theirs = (measured(menagerie, "bert", files, protocol) for protocol in ("malor.v1", "malor-2023"))

    with pytest.raises(ComparisonError, match=r"malor\.v1 and .* under malor-2023"):
        MALOR.refuse_incomparable(ours, theirs)


def test_both_gaps_are_asked_in_lower_case_and_the_gap_stays() -> None:
    probes = load_probes("en").first(1)
    asked = [
        (experiment, direction) for experiment in probes.experiments for direction in ("gender", "occupation")
    ]
    for question in probe_questions(probes, asked, case=TermCase.LOWER):  # type: ignore[arg-type]
        assert question.question.text.count("BLANK") == 1
        assert question.question.text.replace("BLANK", "").islower()
        assert all(fill == fill.lower() for fill in question.question.fills)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--structures and --occupations are missing"),
        ({"structures": "structures"}, "--occupations is missing"),
        ({"structures": "structures", "occupations": "occupations"}, "first names"),
        ({"language": "de"}, "in English"),
        (
            {"structures": "structures", "occupations": "occupations", "terms": "terms", "case": "as-is"},
            "in lower case",
        ),
    ],
)
def test_what_the_study_needs_is_asked_for(
    files: dict[str, Path], options: dict[str, str], message: str
) -> None:
    chosen = {name: files.get(value, value) for name, value in options.items()}

    with pytest.raises(EvenhandError, match=message):
        MALOR.refuse_impossible(MalorOptions(protocol="malor-2023", **chosen))  # type: ignore[arg-type]


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'malor-2023'"):
        MALOR.refuse_impossible(MalorOptions(protocol="malor-2022"))


def test_text_about_the_experiment_is_not_asked_as_a_structure(files: dict[str, Path]) -> None:
    """As in the printed list, whose first rows of two experiments are sentences of the study itself."""
    with files["structures"].open("a", encoding="utf-8") as stream:
        stream.write('he-she,5,"We put “he” and “she” in place of [MASK] and a job in place of [OCC]."\n')
        stream.write('he-she,6,"They say ""he"" when [MASK] speaks of the [OCC]."\n')

    probes = load_listed_probes(**files)

    assert [own.number for own in probes.of(Experiment.HE_SHE)] == [1, 2, 3, 6]
    (warning,) = (own for own in probes.warnings if own.problem is ProbeProblem.RUNNING_TEXT)
    assert "5 names 'he' and 'she'" in str(warning)


def test_listed_probes_keep_what_is_listed_twice(files: dict[str, Path]) -> None:
    listed = load_listed_probes(**files)
    once = load_probes("en", **files)

    assert len(listed.structures) == 4
    assert len(once.structures) == 3
