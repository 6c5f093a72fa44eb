"""Experiments of one's own, of gender or of any other two groups, in probe, pairs, equalise and certify."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import zoo
from marked_corpora import result_of, written
from measuring import probe
from slow_malor import SlowProbe
from slow_vectors import slow_cosine, slow_means
from zoo_fixtures import Zoo

from evenhand.api import mitigate as mitigate_module
from evenhand.api.defaults.mitigating import CertifyOptions, default_data, default_plan
from evenhand.api.mitigate import mitigate
from evenhand.cli.mitigation_runs import run_mitigation
from evenhand.core.errors import DatasetError, EvenhandError, UnknownNameError
from evenhand.core.experiments import Experiment
from evenhand.core.probes import ProbeSet, TermPairs
from evenhand.core.recipes import Recipe
from evenhand.data.probes import ProbeFiles, load_probes, with_terms
from evenhand.instruments.direct_bias.instrument import DIRECT_BIAS, DirectBiasOptions
from evenhand.instruments.malor.comparison import malor_bias_rows
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.instruments.malor.results import MalorResult
from evenhand.mitigation.equalising.equalise import EqualiseOptions
from evenhand.mitigation.equalising.gaps import OnlyTerm, finder_for
from evenhand.mitigation.pairs.matching import Matcher, PairSearch
from evenhand.models.references import ModelRef
from evenhand.reporting import render_page
from evenhand.stats.resampling import Resampling
from evenhand.store.energy import NO_GPU, EnergyRecord
from evenhand.text.listed_pairs import ARTICLE, swapper_with
from evenhand.text.swappers import Rejected, Twin

KIN, ORIGIN = Experiment("father-mother"), Experiment("origin")
FEW = Resampling(resamples=100)
TOLERANCE = 5e-5

STRUCTURES = """experiment,number,structure
father-mother,1,The [OCC] is a good [MASK].
father-mother,2,"My [MASK] is the [OCC]."
origin,1,The [OCC] is the [MASK] man.
"""
OCCUPATIONS = "occupation\nteacher\nnurse\nengineer\n"
KIN_TERMS = "experiment,male,female\nfather-mother,father,mother\n"
ORIGIN_TERMS = "experiment,german,turkish\norigin,German,Turkish\n"


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def kin_files(folder: Path) -> ProbeFiles:
    only_kin = "\n".join(line for line in STRUCTURES.splitlines() if not line.startswith("origin"))
    return ProbeFiles(
        file(folder, "structures.csv", only_kin),
        file(folder, "occupations.csv", OCCUPATIONS),
        file(folder, "kin.csv", KIN_TERMS),
    )


def origin_files(folder: Path) -> ProbeFiles:
    only_origin = "\n".join(line for line in STRUCTURES.splitlines() if not line.startswith("father"))
    return ProbeFiles(
        file(folder, "structures.csv", only_origin),
        file(folder, "occupations.csv", OCCUPATIONS),
        file(folder, "origin.csv", ORIGIN_TERMS),
    )


def both(folder: Path) -> ProbeSet:
    kin = kin_files(folder).load("en")
    return kin.joined(origin_files(folder).load("en"))


def test_experiments_and_groups_are_those_of_the_files(tmp_path: Path) -> None:
    probes = both(tmp_path)

    assert probes.experiments == (KIN, ORIGIN)
    assert probes.terms[KIN].groups == ("male", "female")
    assert probes.terms[ORIGIN] == TermPairs(("German",), ("Turkish",), ("german", "turkish"))


def test_a_word_that_tells_gender_is_no_leak_where_gender_is_not_asked(tmp_path: Path) -> None:
    assert origin_files(tmp_path).load("en").warnings == ()


@pytest.mark.parametrize(
    ("structures", "terms", "message"),
    [
        ("he-sh,1,[MASK] is the [OCC].", None, "Did you mean 'he-she'"),
        ("kin folk,1,The [MASK] is the [OCC].", None, "cannot be the name of an experiment"),
        (
            "pets,1,The [MASK] is the [OCC].",
            "experiment,cat,dog,cow\npets,a,b,c\n",
            "two groups are compared",
        ),
        (
            "pets,1,The [MASK] is the [OCC].",
            "experiment,cat,dog\npets,tabby,\n",
            "no dog term beside 'tabby'",
        ),
        ("pets,1,The [MASK] is the [OCC].", "experiment,cat,dog\n,tabby,pug\n", "has no experiment"),
        ("pets,1,The [MASK] is the [OCC].", "experiment,cat,dog\nhens,tabby,pug\n", "ask only pets"),
    ],
)
def test_files_that_cannot_be_asked_are_refused(
    tmp_path: Path, structures: str, terms: str | None, message: str
) -> None:
    path = file(tmp_path, "s.csv", f"experiment,number,structure\n{structures}\n")
    own = file(tmp_path, "t.csv", terms) if terms else None

    with pytest.raises(DatasetError, match=message):
        load_probes("en", structures=path, terms=own)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_log_ratios_of_own_experiments_are_those_of_the_slow_way(
    menagerie: Zoo, tmp_path: Path, name: str
) -> None:
    probes = both(tmp_path)
    run = probe(menagerie.model(name), probes, options=MalorOptions(direction="both", resampling=FEW))
    slow = SlowProbe(menagerie.reference(name), zoo.SPECIES[name].family)
    found = {
        (row["experiment"], row["direction"], row["structure"], row["occupation"]): row["log2_ratio"]
        for row in run.scores.iter_rows(named=True)
    }

    for experiment, hidden_term in ((KIN, "gender"), (ORIGIN, "term")):
        expected = {
            hidden_term: slow.gender(probes, experiment),
            "occupation": slow.occupation(probes, experiment),
        }
        for direction, values in expected.items():
            for (number, occupation), value in values.items():
                assert found[experiment, direction, number, occupation] == pytest.approx(value, abs=TOLERANCE)


@pytest.mark.torch
@pytest.mark.usefixtures("once_without_gate")
def test_the_page_names_the_groups(menagerie: Zoo, tmp_path: Path) -> None:
    probes = origin_files(tmp_path).load("en")
    run = probe(menagerie.model("gpt2"), probes, options=MalorOptions(resampling=FEW))
    (result,) = run.results
    assert isinstance(result, MalorResult)
    assert result.groups == ("german", "turkish")

    page = render_page([run])

    assert "P(german)" in page
    assert "← turkish · bits · german →" in page
    assert "P(male)</th>" not in page


TERMS = {
    KIN: TermPairs(("father",), ("mother",)),
    ORIGIN: TermPairs(("German", "American"), ("Turkish", "Dutch"), ("western", "other")),
}


@pytest.mark.parametrize(
    ("sentence", "twin"),
    [
        ("The nurse met my father.", "The nurse met my mother."),
        ("Mother said that she was a nurse.", "Father said that he was a nurse."),
        ("The German nurse and her dog slept.", "The Turkish nurse and her dog slept."),
        ("Turkish and German nurses met.", "German and Turkish nurses met."),
        ("The nurse said he slept.", "The nurse said she slept."),
        ("An American nurse slept.", ARTICLE),
    ],
)
def test_listed_terms_are_exchanged(sentence: str, twin: str) -> None:
    found = swapper_with("en", TERMS).twin(sentence)

    assert (found.text if isinstance(found, Twin) else found.reason) == twin


def test_pairs_are_found_for_own_experiments(tmp_path: Path) -> None:
    probes = with_terms(load_probes("en"), file(tmp_path, "t.csv", ORIGIN_TERMS))
    matcher = Matcher(PairSearch.of(probes, experiments=[ORIGIN]))

    (pair,) = matcher.pairs(["The German nurse slept.", "He met the nurse.", "The Turkish sea is cold."])

    assert pair.sentences == ("The German nurse slept.", "The Turkish nurse slept.")
    assert pair.experiments == (ORIGIN,)


@pytest.mark.parametrize(
    ("sentence", "term"),
    [
        ("The nurse met my father.", "father"),
        ("The father met his nurse.", None),
        ("The German nurse lost her coat.", "German"),
        ("The nurse slept.", None),
    ],
)
def test_sentences_for_equalising_have_the_term_alone(sentence: str, term: str | None) -> None:
    found = finder_for("en", TERMS)(sentence)

    assert (found.span.of(sentence) if isinstance(found, OnlyTerm) else None) == term


@pytest.mark.torch
def test_equalising_takes_the_gaps_of_an_own_pair_and_certificates_judge_it(
    menagerie: Zoo, tmp_path: Path
) -> None:
    files = kin_files(tmp_path)
    jobs = ("teacher", "nurse", "engineer", "doctor", "baker", "farmer")
    texts = [
        text.format(job, side)
        for job in jobs
        for side in ("father", "mother")
        for text in ("The {0} has a {1}.", "A {1} saw the {0}.", "The old {0} met a {1} at home.")
    ]
    corpus = file(
        tmp_path, "corpus.txt", "\n".join([*texts, *(f"The {job} likes cold tea." for job in jobs)])
    )
    held_out = file(
        tmp_path, "held.txt", "\n".join(f"The sea is cold in the month of {job}s." for job in jobs)
    )
    ref = ModelRef(id=str(menagerie.folder("bert")), device="cpu")
    data = default_data(ref, [corpus], held_out=[held_out], probe_files=files)
    recipe = Recipe(epochs=1, batch_size=8, learning_rate=1e-3, plateau=None)

    made = mitigate(ref, "equalise", out=tmp_path / "even", data=data, options=EqualiseOptions(recipe=recipe))

    probes = files.load("en")
    before, after = (
        probe(model, probes, options=MalorOptions(resampling=FEW)) for model in (ref.id, made.ref.id)
    )
    assert made.record.experiments == ("father-mother",)
    assert made.record.energy == EnergyRecord(reason=NO_GPU)
    assert made.record.data is not None
    assert made.record.data.counts["gaps for father-mother"] == len(texts)
    assert set(made.record.before) >= {"father-mother.MALoR"}
    rows = malor_bias_rows(before, after, resampling=FEW)
    assert rows["father-mother.gender.MALoR"].experiment == "father-mother"
    plan = default_plan(ref, CertifyOptions(probe_files=files))
    asked = plan.measurements[0].instrument.experiments(plan.measurements[0].options)
    assert asked == ("him-her", "himself-herself", "man-woman", "kin", "titles", "father-mother")
    assert default_plan(ref, CertifyOptions(probe_files=files), after=made.ref).trained is None
    with pytest.raises(EvenhandError, match=r"even was trained for father-mother, which .* --structures"):
        default_plan(ref, CertifyOptions(), after=made.ref)


def test_the_next_step_after_a_mitigation_has_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = SimpleNamespace(trigger=None, model_dump=lambda **_: {})
    monkeypatch.setattr(mitigate_module, "mitigate", lambda *_, **__: SimpleNamespace(record=record))
    files = kin_files(tmp_path)

    run_mitigation(
        ModelRef(id="original"),
        "equalise",
        data=default_data(ModelRef(id="original"), probe_files=files),
        options=EqualiseOptions(),
        files=(files.structures, None, files.terms),
        out=tmp_path / "even",
        fresh=False,
        json=True,
    )

    told = "".join(capsys.readouterr().err.split())
    expected = f"certify original {tmp_path}/even --structures {files.structures} --terms {files.terms}"
    assert expected.replace(" ", "") in told


def test_a_pair_that_certificates_ask_untrained_is_not_trained(menagerie: Zoo, tmp_path: Path) -> None:
    structures = "experiment,number,structure\nman-woman,1,The [OCC] is the [MASK].\n"
    files = ProbeFiles(structures=file(tmp_path, "s.csv", structures))

    with pytest.raises(EvenhandError, match="another name, such as my-man-woman"):
        default_data(ModelRef(id=str(menagerie.folder("bert"))), probe_files=files)


def test_a_lab_model_takes_no_probes_of_another_origin(tmp_path: Path) -> None:
    with pytest.raises(EvenhandError, match="takes no structures or occupations or terms of yours"):
        default_data(ModelRef(id="lab:masked"), probe_files=kin_files(tmp_path))


def test_an_experiment_that_no_structure_has_is_refused(menagerie: Zoo, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Known: all, father-mother"):
        default_data(
            ModelRef(id=str(menagerie.folder("bert"))),
            experiments=["siblings"],
            probe_files=kin_files(tmp_path),
        )


CORPUS = (
    "My <father> came home and was tired.",
    "A <mother> left, nobody saw it.",
    "<Mother> and <father> were late.",
    "The <nurse> was quiet.",
    "Our <teacher> came home late.",
    "Her nurse saw it.",
    "The teacher met a father.",
)


@pytest.mark.torch
def test_direct_bias_lies_along_any_pair(menagerie: Zoo, tmp_path: Path) -> None:
    marked = [*CORPUS[:-1], "The teacher met a <father>."]
    options = DirectBiasOptions(corpus=(written(tmp_path, *marked),), pair="father-mother", resampling=FEW)
    run = DIRECT_BIAS.prepare(menagerie.model("bert"), options).measure()
    means = slow_means(menagerie.reference("bert"), zoo.SPECIES["bert"].family, marked, layer=-1)
    direction = means["father"] - means["mother"]
    expected = {word: slow_cosine(means[word], direction) for word in ("nurse", "teacher")}

    result = result_of(run)

    assert {each.profession: each.cosine for each in result.professions} == pytest.approx(
        expected, abs=TOLERANCE
    )
    assert result.direct_bias.value == pytest.approx(np.mean(np.abs(list(expected.values()))), abs=TOLERANCE)
    assert result.pronouns == {"father": 3, "mother": 2}
    assert "← mother · cosine · father →" in render_page([run])


@pytest.mark.parametrize("pair", ["father", "father-", "father-father", "a-b-c"])
def test_what_is_no_pair_is_refused(tmp_path: Path, pair: str) -> None:
    options = DirectBiasOptions(corpus=(written(tmp_path, *CORPUS),), pair=pair)

    with pytest.raises(DatasetError, match="is no pair"):
        DIRECT_BIAS.refuse_impossible(options)


def test_a_rejected_sentence_stays_rejected() -> None:
    assert isinstance(swapper_with("en", TERMS).twin("The nurse slept."), Rejected)
