"""What is shown of an experiment about other groups than men and women has no word about gender."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import probe_runs
import pytest
from certificates import certificate, malor_row
from mitigation_records import a_record
from running import run_here

from evenhand.core.estimates import Estimate
from evenhand.instruments.direct_bias.instrument import DirectBiasResult
from evenhand.instruments.malor.results import SCORES_SCHEMA, MalorResult
from evenhand.mitigation.pairs.twin_pairs import read_twin_pairs
from evenhand.reporting import format_probe_table, render_certificate_page, render_page
from evenhand.reporting.certificate.words import certificate_sentences
from evenhand.reporting.model_cards import mitigation_card
from evenhand.reporting.probes.words import probe_sentences
from evenhand.store.certificates import LeanChange
from evenhand.store.comparison import ALL_ITEMS
from evenhand.store.run import Run

GROUPS = ("German", "Turkish")
GENDER_WORDS = re.compile(
    r"\b(gender\w*|males?|females?|man|men|woman|women|pronouns?|he|she|his|her)\b", re.IGNORECASE
)


def words_about_gender(text: str) -> set[str]:
    return set(GENDER_WORDS.findall(text))


class _PageText(HTMLParser):
    """What a page shows, and the data of its plots and tables; not the libraries that draw them."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._skips = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        is_data = dict(attributes).get("type") == "application/json"
        self._skips = tag == "style" or (tag == "script" and not is_data)
        self.pieces += [value or "" for name, value in attributes if name in ("aria-label", "title", "alt")]

    def handle_endtag(self, _tag: str) -> None:
        self._skips = False

    def handle_data(self, data: str) -> None:
        if not self._skips:
            self.pieces.append(data)


def text_of(page: str) -> str:
    parser = _PageText()
    parser.feed(page)
    return "\n".join(parser.pieces)


def origin(direction: str = "term", *, shift: float = 0.0) -> MalorResult:
    leans = {"teacher": 0.9 + shift, "nurse": -0.7 + shift, "judge": 0.2, "baker": -0.4, "pilot": 1.5}
    return probe_runs.malor(leans, experiment="origin", direction=direction, groups=GROUPS)


def run(*, name: str = "tiny", shift: float = 0.0) -> Run:
    """Both directions, each of three structures."""
    results = origin(shift=shift), origin("occupation", shift=shift)
    bits = [
        (result, structure, lean.occupation, lean.log2_ratio.value + 0.1 * structure)
        for result in results
        for structure in range(3)
        for lean in result.occupations
    ]
    rows = [
        (own.experiment, own.direction, place, f"{place} [MASK] [OCC]", name, None, -1.0, -1.0 - value, value)
        for own, place, name, value in bits
    ]
    made = probe_runs.probe_run(*results, name=name)
    return replace(made, scores=pl.DataFrame(rows, schema=dict(SCORES_SCHEMA), orient="row"))


def test_the_check_itself_finds_what_pages_about_gender_say() -> None:
    page = text_of(render_page([probe_runs.malor_run()]))
    assert {"gender", "male", "men", "women"} <= words_about_gender(page)


def test_tables_and_sentences() -> None:
    table = format_probe_table([run()], "markdown")
    assert words_about_gender(table) == set()
    assert "| origin | term |" in table
    assert "| origin | occupation |" in table
    sentences = " ".join(probe_sentences(run()))
    assert words_about_gender(sentences) == set()
    assert "towards German" in sentences
    assert words_about_gender(format_probe_table([run()], "csv")) == set()


@pytest.mark.parametrize("count", [1, 2])
def test_the_page_of_runs(count: int) -> None:
    runs = [run(name=f"run {number}", shift=0.1 * number) for number in range(count)]
    text = text_of(render_page(runs))
    assert words_about_gender(text) == set()
    for words in ("P(German)", "P(Turkish)", "← Turkish · bits · German →", "leans towards German"):
        assert words in text


def test_a_page_of_both_kinds_names_the_groups_of_each() -> None:
    mixed = probe_runs.probe_run(probe_runs.malor({"teacher": 0.4, "nurse": -0.3}), origin())
    text = text_of(render_page([mixed]))
    for words in ("← women · bits · men →", "← Turkish · bits · German →", "word of the first group"):
        assert words in text


def lean_change(occupation: str, before: float, after: float) -> LeanChange:
    return LeanChange(
        experiment="origin",
        occupation=occupation,
        before=probe_runs.estimate(before),
        after=probe_runs.estimate(after),
    )


def test_the_certificate() -> None:
    own = certificate(
        trained=(malor_row("origin", 1.35, 0.11),),
        untrained=(),
        groups={"origin": GROUPS},
        occupations=(lean_change("teacher", 0.9, 0.1), lean_change("nurse", -0.7, -0.1)),
    )
    sentences = certificate_sentences(own)
    assert sentences[0].startswith("Lean between German and Turkish was lowered")
    assert words_about_gender(" ".join(sentences)) == set()
    text = text_of(render_certificate_page(own))
    assert words_about_gender(text) == set()
    assert "← Turkish · bits · German →" in text


def test_the_card_of_a_mitigated_model() -> None:
    record = a_record()
    data = record.data
    assert data is not None
    own = record.model_copy(
        update={
            "method": "equalise",
            "summary": "gendered terms were made equally likely",
            "experiments": ("origin",),
            "groups": {"origin": GROUPS},
            "data": data.model_copy(update={"counts": {"gaps": 3, "sentences with a gendered subject": 4}}),
            "before": {"origin.MALoR": probe_runs.estimate(1.5)},
            "after": {"origin.MALoR": probe_runs.estimate(0.3)},
        }
    )
    card = mitigation_card(own)
    assert words_about_gender(card) == set()
    assert "# tiny after a mitigation (equalise)" in card
    assert "P(German term) to P(Turkish term)" in card


def direct_bias(words: tuple[str, str], *, tells_gender: bool) -> DirectBiasResult:
    result = probe_runs.direct_bias().model_copy(
        update={
            "pronouns": dict.fromkeys(words, 40),
            "tells_gender": tells_gender,
            "left_out": {"a profession beside one of the two words": 3},
        }
    )
    assert isinstance(result, DirectBiasResult)
    return result


def test_direct_bias_between_two_words() -> None:
    own = probe_runs.probe_run(direct_bias(GROUPS, tells_gender=False), name="tiny")
    text = text_of(render_page([own])) + " ".join(probe_sentences(own))
    assert words_about_gender(text) == set()
    assert "a direction from 'Turkish' to 'German'" in text


def test_direct_bias_between_other_gendered_words_does_not_speak_of_pronouns() -> None:
    own = probe_runs.probe_run(direct_bias(("father", "mother"), tells_gender=True), name="tiny")
    text = text_of(render_page([own])) + " ".join(probe_sentences(own))
    assert words_about_gender(text) <= {"gendered", "genders"}
    assert "from 'mother' to 'father'" in text


def test_pairs_of_a_corpus(tmp_path: Path) -> None:
    terms = tmp_path / "terms.csv"
    terms.write_text("experiment,German,Turkish\norigin,German,Turkish\n", encoding="utf-8")
    corpus = tmp_path / "text.txt"
    corpus.write_text(
        "A German teacher came home. The Turkish nurse left early. The teacher saw the baker. It rained.\n",
        encoding="utf-8",
    )
    out = tmp_path / "pairs.jsonl"
    command = ("data", "counterfactual", "--corpus", corpus, "--terms", terms, "--experiment", "origin")
    done = run_here(*command, "--out", out)
    assert done.returncode == 0, done.stderr
    counts = (tmp_path / "pairs.counts.json").read_text(encoding="utf-8")
    assert words_about_gender(done.stdout + done.stderr + out.read_text(encoding="utf-8") + counts) == set()
    for words in ("German before", "Turkish after", "2 German and 2 Turkish sentences"):
        assert words in done.stdout
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["original"] for row in rows] == ["first", "second"]
    assert rows[0]["second"] == "A Turkish teacher came home."
    assert json.loads(counts)["by_experiment"][0]["found"] == {"first": 1, "second": 1}
    pairs = list(read_twin_pairs(out))
    assert [pair.tells_gender for pair in pairs] == [False, False]
    again = run_here(*command, "--out", out, "--json")
    assert json.loads(again.stdout)["groups"] == {"origin": list(GROUPS)}


def test_groups_keep_the_spelling_of_the_header(tmp_path: Path) -> None:
    from evenhand.data.probe_files import read_terms

    path = tmp_path / "terms.csv"
    path.write_text("Experiment,East German,TURKISH\norigin,Saxon,Turkish\n", encoding="utf-8")
    (pairs,) = read_terms(path).terms.values()
    assert pairs.groups == ("East German", "TURKISH")
    assert pairs.male == ("Saxon",)


def test_a_difference_of_runs_speaks_of_no_gender() -> None:
    from evenhand.reporting.differences import difference_sentence
    from evenhand.store.comparison import Difference

    row = Difference(
        task="origin",
        group=ALL_ITEMS,
        measure="MALoR",
        first=1.0,
        second=0.4,
        difference=Estimate(value=-0.6, low=-0.8, high=-0.4, n=5, clusters=5, method="made up"),
        p_value=0.001,
        test="made up",
        p_holm=0.001,
        neutral=0.0,
        unit="bits",
    )
    for own in (row, row.model_copy(update={"measure": "direct_bias"})):
        assert words_about_gender(difference_sentence(own, first="a", second="b", about="")) == set()
