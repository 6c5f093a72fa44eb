"""``evenhand probe`` as a user meets it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from running import Command

from evenhand.core.experiments import Experiment
from evenhand.instruments.malor.preparation import MalorPreparation
from evenhand.lab.items import lab_probes
from evenhand.store.run import Run, open_run

pytestmark = pytest.mark.torch

FEW = ("--resamples", "200")
OCCUPATIONS = ("nurse", "engineer", "plumber", "librarian")


def refusal(run_evenhand: Command, *arguments: str) -> str:
    done = run_evenhand("probe", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return done.stderr


def test_json_has_the_promised_shape_and_the_planted_leans(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    done = run_evenhand_here("probe", "lab:decoder", "--limit", "8", "--json", "--out", str(tmp_path), *FEW)
    assert done.returncode == 0
    entries = json.loads(done.stdout)["runs"]
    assert [entry["experiment"] for entry in entries] == ["he-she", "his-her", "names"]
    for entry in entries:
        assert {"name", "experiment", "MALoR", "signed_mean", "occupations", "skipped"} <= entry.keys()
        assert set(entry["MALoR"]) >= {"value", "low", "high"}
        assert abs(entry["MALoR"]["value"] - 2.0) < 0.3
        assert entry["skipped"] == 0
        leans = {one["occupation"]: one["log2_ratio"] for one in entry["occupations"]}
        assert leans["engineer"] > 0 > leans["nurse"]
        assert all({"p_male", "p_female"} <= one.keys() for one in entry["occupations"])


def test_a_finished_probe_is_left_alone_and_another_is_not_mixed_in(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    first = run_evenhand_here("probe", "lab:decoder", "-e", "he-she", "--out", str(tmp_path), *FEW)
    assert (tmp_path / "lab-decoder_malor_probes_en" / "report.html").is_file(), first.stderr
    again = run_evenhand_here("probe", "lab:decoder", "-e", "he-she", "--out", str(tmp_path), *FEW)
    assert "left as it is" in again.stderr
    assert "differs in the option experiments" in refusal(
        run_evenhand_here, "lab:decoder", "-e", "names", "--out", str(tmp_path), *FEW
    )


def test_no_bar_is_shown_where_nothing_is_asked(
    run_evenhand_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars: list[str] = []

    @contextlib.contextmanager
    def bar(description: str, _unit: str) -> Iterator[Callable[[int, int], None]]:
        bars.append(description)
        yield lambda _done, _total: None

    monkeypatch.setattr("evenhand.cli.output.progress_bar", bar)
    for _ in range(2):
        run_evenhand_here("probe", "lab:decoder", "-e", "he-she", "--out", str(tmp_path), *FEW)
    assert bars == ["lab-decoder_malor_probes_en"]


def test_two_probes_share_a_page(run_evenhand_here: Command, tmp_path: Path) -> None:
    models = ("lab:masked", "lab:masked-neutral")
    run_evenhand_here("probe", *models, "-e", "he-she", "--out", str(tmp_path), *FEW)
    folders = [str(tmp_path / f"{model.replace(':', '-')}_malor_probes_en") for model in models]
    done = run_evenhand_here("report", *folders, "--out", str(tmp_path / "both.html"))
    assert done.returncode == 0
    text = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert "lab-masked_malor_probes_en" in text
    assert "lab-masked-neutral_malor_probes_en" in text


@pytest.mark.parametrize(
    ("option", "content", "said"),
    [
        ("--structures", "experiment,number,structure\nhe-she,1,Someone works as the [OCC].\n", "[MASK]"),
        ("--structures", "experiment,number,structure\nhe-she,1,[MASK] works here.\n", "[OCC]"),
        ("--structures", "experiment,number,structure\nhe-she,1,[MASK] and [MASK] the [OCC].\n", "[MASK]"),
        ("--structures", "experiment,number,structure\nheshe,1,[MASK] is the [OCC].\n", "he-she"),
        ("--terms", "male,female\nJames,\nPaul,Emma\n", "row"),
        ("--occupations", "occupation\nnurse\nnurse\n", "nurse"),
    ],
    ids=["no mask", "no occupation", "two masks", "unknown experiment", "one side", "repeated"],
)
def test_faulty_files_are_refused(
    run_evenhand_here: Command, tmp_path: Path, option: str, content: str, said: str
) -> None:
    path = tmp_path / "given.csv"
    path.write_text(content, encoding="utf-8")
    assert said in refusal(run_evenhand_here, "lab:decoder", option, str(path), "--out", str(tmp_path / "r"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--experiment", "he-shee"), "he-she"),
        (("--direction", "up"), "gender"),
        (("--test", "cosinus"), "cosine"),
        (("--score", "sum"), "product"),
        (("--score", "mean-prob"), "Use --score product"),
        (("--case", "upper"), "as-is"),
        (("--language", "fr"), "en"),
        (("--test", "direct-bias"), "--corpus"),
        (("--test", "crows-pairs", "--data", "nowhere.csv"), "nowhere.csv"),
        (("--test", "malor", "--data", "/nonexistent"), "not a dataset such as '/nonexistent'"),
        (("--test", "cosine", "--language", "de"), "--language is not an option of cosine"),
        (("--test", "direct-bias", "--max-tokens", "9"), "--max-tokens is not an option of direct-bias"),
        (("--memory", "much"), "such as 4GB"),
        (("--test", "direct-bias", "--set", "data=x"), "Unknown option of direct-bias 'data'"),
    ],
)
def test_unknown_wishes_are_refused_with_what_there_is(
    run_evenhand_here: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    assert said in refusal(run_evenhand_here, "lab:decoder", *arguments, "--out", str(tmp_path))


def test_occupations_that_the_tokenizer_does_not_know_are_counted(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    structures, occupations = tmp_path / "s.csv", tmp_path / "o.csv"
    structures.write_text(
        "experiment,number,structure\nhe-she,1,[MASK] works as our [OCC].\n"
        "he-she,2,The [OCC] said that [MASK] was tired.\n",
        encoding="utf-8",
    )
    occupations.write_text("occupation\nnurse\nplumber\nЖ\n", encoding="utf-8")
    done = run_evenhand_here(
        "probe", "lab:masked", "--structures", str(structures), "--occupations", str(occupations),
        "--json", "--out", str(tmp_path / "r"), *FEW,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads(done.stdout)["runs"]
    assert entry["skipped"] == 2
    by_name = {one["occupation"]: (one["p_male"], one["p_female"]) for one in entry["occupations"]}
    assert by_name["Ж"] == (None, None)
    assert by_name["plumber"][0] > by_name["plumber"][1]
    assert by_name["nurse"][0] < by_name["nurse"][1]
    assert "Warning: lab-masked_malor_probes_en: he-she, gender: skipped, because" in done.stderr
    assert ": 2 (Ж)." in done.stderr


def test_a_model_of_another_language_is_warned_of_before_it_is_asked(
    run_evenhand_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned: list[str] = []
    measure = MalorPreparation.measure

    def measured(self: MalorPreparation, **options: Any) -> Run:
        warned.append("asked")
        return measure(self, **options)

    monkeypatch.setattr(MalorPreparation, "measure", measured)
    monkeypatch.setattr("evenhand.cli.output.warn", warned.append)
    done = run_evenhand_here(
        "probe", "lab:masked", "--language", "de", "-e", "he-she", "--limit", "2", "--out", tmp_path, *FEW
    )

    assert done.returncode == 0, done.stderr
    assert "was made for en, not for de" in warned[0]
    assert warned.index("asked") > 0
    assert sum("was made for en" in warning for warning in warned) == 1


def test_a_limit_asks_less(run_evenhand_here: Command, tmp_path: Path) -> None:
    done = run_evenhand_here("probe", "lab:masked", "-e", "he-she", "--limit", "2", "--out", tmp_path, *FEW)

    assert done.returncode == 0, done.stderr
    run = open_run(tmp_path / "lab-masked_malor_probes_en_limit-2")
    assert run.scores["structure"].n_unique() == 2
    assert (
        str(run.record.dataset.sample)
        == f"sample of 2 of {len(lab_probes().of(Experiment.HE_SHE))} structures"
    )


def test_real_shares_of_women_come_from_a_file(run_evenhand_here: Command, tmp_path: Path) -> None:
    shares = tmp_path / "shares.tsv"
    rows = ["occupation\tbergsma_pct_female\tbls_pct_female\tbls_year"]
    rows += [f"{name}\t{number}\t{number + 1}\t2016" for number, name in enumerate(OCCUPATIONS)]
    shares.write_text("\n".join(rows), encoding="utf-8")
    done = run_evenhand_here(
        "probe",
        "lab:masked",
        "-e",
        "he-she",
        "--limit",
        "2",
        "--shares",
        shares,
        "--out",
        tmp_path / "r",
        *FEW,
    )

    assert done.returncode == 0, done.stderr
    (result,) = open_run(tmp_path / "r" / "lab-masked_malor_probes_en_limit-2").results
    assert {one.source: one.n for one in result.correlations} == {
        "bls_pct_female": len(OCCUPATIONS),
        "bergsma_pct_female": len(OCCUPATIONS),
    }
    said = " ".join(done.stdout.split())
    for correlation in result.correlations:
        value = f"{correlation.pearson.value:+.2f}".replace("-", "−")
        assert f"({correlation.source})" in said
        assert f"Correlation over {len(OCCUPATIONS)} occupations: Pearson {value}" in said


def test_shares_that_cannot_be_fetched_name_the_option_that_takes_a_copy(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    environment = {"EVENHAND_OFFLINE": "1", "EVENHAND_HOME": str(tmp_path)}
    done = run_evenhand_here(
        "probe", "lab:masked", "--shares", "winogender-occupations", environment=environment
    )

    assert done.returncode == 2
    assert "give any copy with --shares PATH" in done.stderr


def test_pairs_name_their_run_by_their_own_language(run_evenhand_here: Command, tmp_path: Path) -> None:
    data = tmp_path / "mine" / "french.csv"
    data.parent.mkdir()
    data.write_text(
        "id,sent_more,sent_less,stereo_antistereo,bias_type\n"
        "0,The men are tidy.,The women are tidy.,stereo,gender\n"
        "1,The girls are calm.,The boys are calm.,antistereo,gender\n",
        encoding="utf-8",
    )
    done = run_evenhand_here(
        "probe", "lab:masked", "--test", "crows-pairs", "--data", data, "--out", tmp_path / "r"
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r" / "lab-masked_crows-pairs_mine_fr" / "report.html").is_file()


def test_direct_bias_refuses_a_corpus_in_another_encoding(run_evenhand_here: Command, tmp_path: Path) -> None:
    corpus = tmp_path / "novel.txt"
    corpus.write_bytes("Er arbeitet als B\xe4cker.\n".encode("latin-1"))
    said = refusal(
        run_evenhand_here,
        "lab:masked",
        "--test",
        "direct-bias",
        "--corpus",
        str(corpus),
        "--out",
        str(tmp_path / "r"),
    )
    assert "novel.txt" in said
    assert "UTF-8" in said


def test_help_has_examples(run_evenhand_here: Command) -> None:
    done = run_evenhand_here("probe", "--help")
    assert done.returncode == 0
    assert "evenhand probe bert-base-uncased" in done.stdout
