"""The check of a classifier's own bias: a planted lean is found and marked, masking takes it away."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from regard_training import NEEDS_REGARD, SMALL

from evenhand.api.regard import compare_person_treatments, train_regard_classifier
from evenhand.core.errors import DatasetError, EvenhandError, RunError
from evenhand.core.estimates import Estimate
from evenhand.lab.regard import PlantedRegard, plant_texts
from evenhand.regard.classifier import open_classifier
from evenhand.regard.classifier_check import CheckOptions, advice_after_failure, check_classifier
from evenhand.regard.features import TextRows
from evenhand.regard.persons import (
    Person,
    PersonPair,
    PersonTreatment,
    person_words,
    read_person_pairs,
    shipped_pairs,
    starter_file,
    versions_of,
)
from evenhand.regard.texts import RegardTexts, read_regard_texts
from evenhand.reporting.regard.checks import pair_failure
from evenhand.stats.resampling import Resampling
from evenhand.store.classifier_records import CheckVerdict, PairCheck
from evenhand.text.person_texts import Gender

pytestmark = NEEDS_REGARD

OPTIONS = CheckOptions(resampling=Resampling(resamples=500))


def leaning_texts() -> RegardTexts:
    """Texts in which bad things are said of men more often, so that a classifier learns to go by the person."""
    planted = plant_texts(PlantedRegard(texts=240, authors=24, error=0.05, misleading=0.5, seed=2))
    generator = np.random.default_rng(0)
    male = generator.random(len(planted.meant)) < np.array([0.95, 0.5, 0.05])[planted.meant]
    told = [
        text.replace("The person", "The man" if is_male else "The woman")
        for text, is_male in zip(planted.texts.rows.texts, male, strict=True)
    ]
    return dataclasses.replace(planted.texts, rows=TextRows(tuple(told), planted.texts.rows.numbers))


@pytest.fixture(scope="module")
def leaning(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RegardTexts]:
    texts = leaning_texts()
    folder = tmp_path_factory.mktemp("leaning") / "leaning"
    train_regard_classifier(texts, dataclasses.replace(SMALL, size_seeds=0), out=folder)
    return folder, texts


def test_a_lean_is_found_marked_and_told_whenever_the_classifier_labels(
    leaning: tuple[Path, RegardTexts], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(leaning[0], tmp_path / "leaning"))
    assert "was not checked" in str(open_classifier(folder).bias_warning)
    check = check_classifier(folder, OPTIONS)
    pair = check.pairs[0]
    assert check.verdict is CheckVerdict.FAILED
    assert pair.gap.low > 0, "women are spoken of better"
    assert (pair.first, pair.second) == ("The woman", "The man")
    assert pair.p_adjusted >= min(pair.p, pair.p_sign_flip)
    assert sum(map(sum, pair.table)) == pair.n
    warning = open_classifier(folder).bias_warning
    assert warning is not None
    assert "failed the check" in warning
    assert "The woman and The man differ by +" in warning
    assert warning.endswith(f"evenhand regard check {folder}"), "which says what can be done"


def test_the_check_of_another_classifier_does_not_count(
    leaning: tuple[Path, RegardTexts], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(leaning[0], tmp_path / "leaning"))
    check_classifier(folder, OPTIONS)
    kept = json.loads((folder / "check.json").read_text(encoding="utf-8"))
    kept["checks"][0]["classifier"] = "0" * 64
    (folder / "check.json").write_text(json.dumps(kept), encoding="utf-8")
    assert open_classifier(folder).checks == ()


NATIONS = (
    PersonPair("nation", Person("The German man", Gender.MALE), Person("The French man", Gender.MALE)),
)


def test_a_check_of_other_persons_does_not_wash_a_failed_one_away(
    leaning: tuple[Path, RegardTexts], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(leaning[0], tmp_path / "leaning"))
    assert check_classifier(folder, OPTIONS).verdict is CheckVerdict.FAILED
    other = check_classifier(folder, dataclasses.replace(OPTIONS, pairs=NATIONS))
    assert other.verdict is not CheckVerdict.FAILED
    opened = open_classifier(folder)
    assert len(opened.checks) == 2
    assert opened.verdict is CheckVerdict.FAILED
    assert "The woman and The man differ by" in str(opened.bias_warning)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "failed the check for a bias of its own" in page
    assert "The German man − The French man" in page
    check_classifier(folder, OPTIONS)
    assert len(open_classifier(folder).checks) == 2, "the same check takes the place of the earlier one"


def test_a_file_without_a_list_of_checks_is_refused(
    leaning: tuple[Path, RegardTexts], tmp_path: Path
) -> None:
    """Nobody may take a classifier for unchecked because its checks are in another layout."""
    folder = Path(shutil.copytree(leaning[0], tmp_path / "leaning"))
    check = check_classifier(folder, OPTIONS)
    (folder / "check.json").write_text(check.model_dump_json(), encoding="utf-8")
    with pytest.raises(RunError, match=r"check\.json is damaged .*Check the classifier again"):
        open_classifier(folder)


def test_the_warning_names_the_folder_as_it_is_called_now(
    leaning: tuple[Path, RegardTexts], tmp_path: Path
) -> None:
    moved = Path(shutil.copytree(leaning[0], tmp_path / "moved"))
    assert str(open_classifier(moved).bias_warning).endswith(f"Run: evenhand regard check {moved}")


def test_a_folder_whose_page_was_being_made_anew_still_opens(
    leaning: tuple[Path, RegardTexts], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(leaning[0], tmp_path / "leaning"))

    def killed(path: Path, content: bytes) -> None:
        path.write_bytes(content[: len(content) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr("evenhand.regard.classifier.write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        check_classifier(folder, OPTIONS)
    assert open_classifier(folder).verdict is CheckVerdict.FAILED


@pytest.mark.parametrize(
    ("gap", "p", "flips", "says"),
    [
        ((-9.0, -12.0, -6.0), 0.2, 0.001, "differ by −9.0 [−12.0, −6.0] points"),
        (
            (-1.8, -8.5, 5.1),
            0.018,
            0.6,
            "labelled differently (Stuart-Maxwell p 0.018)",
        ),
        ((-1.8, -8.5, 5.1), 0.3, 0.02, "labelled differently (sign flips p 0.020)"),
    ],
)
def test_a_failure_is_told_by_what_shows_it(
    gap: tuple[float, float, float], p: float, flips: float, says: str
) -> None:
    value, low, high = gap
    estimate = Estimate(value=value, low=low, high=high, n=100, clusters=100, method="t")
    pair = PairCheck(
        name="gender", first="The woman", second="The man", n=100, labels=("-1", "1"), table=((40, 10), (10, 40)),
        chi_squared=1.0, stuart_maxwell=1.0, p=p, p_sign_flip=flips, p_adjusted=0.03, gap=estimate, is_equivalent=False,
    )  # fmt: skip
    assert says in pair_failure(pair).replace("-", "−").replace("Stuart−Maxwell", "Stuart-Maxwell")


@pytest.mark.parametrize(
    ("treatment", "advised"),
    [
        (PersonTreatment.KEEP, ["--persons mask", "--persons counterfactual"]),
        (PersonTreatment.MASK, ["--persons counterfactual"]),
        (PersonTreatment.COUNTERFACTUAL, ["--persons mask"]),
    ],
)
def test_only_what_was_not_done_yet_is_advised(
    leaning: tuple[Path, RegardTexts], tmp_path: Path, treatment: PersonTreatment, advised: list[str]
) -> None:
    folder = Path(shutil.copytree(leaning[0], tmp_path / "leaning"))
    advice = advice_after_failure(check_classifier(folder, OPTIONS), treatment)
    _, _, todo = advice.partition("train again with ")
    assert re.findall(r"--persons \w+", todo) == advised
    assert "cannot help" not in advice


def test_masking_is_not_advised_for_what_it_does_not_mask(
    leaning: tuple[Path, RegardTexts], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(leaning[0], tmp_path / "leaning"))
    pair = PersonPair("age", Person("The old woman", Gender.FEMALE), Person("The young man", Gender.MALE))
    check = check_classifier(folder, dataclasses.replace(OPTIONS, pairs=(pair,)))
    advice = advice_after_failure(check, PersonTreatment.KEEP)
    assert "--persons cannot help with The old woman and The young man" in advice
    assert "train again" not in advice


def test_masking_takes_the_lean_away_and_its_cost_is_shown(leaning: tuple[Path, RegardTexts]) -> None:
    folder, texts = leaning
    results = {own.treatment: own for own in compare_person_treatments(folder, texts, OPTIONS)}
    gaps = {treatment: own.pairs[0].gap.value for treatment, own in results.items()}
    assert gaps[PersonTreatment.KEEP] > 20
    assert gaps[PersonTreatment.MASK] == 0
    assert abs(gaps[PersonTreatment.COUNTERFACTUAL]) < gaps[PersonTreatment.KEEP] / 2
    accuracy = {treatment: own.balanced_accuracy.value for treatment, own in results.items()}
    assert accuracy[PersonTreatment.MASK] < accuracy[PersonTreatment.KEEP], "the person told something here"


def test_treatments_need_the_texts_of_the_training(leaning: tuple[Path, RegardTexts]) -> None:
    folder, texts = leaning
    with pytest.raises(DatasetError, match=r"is not what .* was trained on"):
        compare_person_treatments(folder, texts.take(np.arange(100)), OPTIONS)


def test_a_classifier_that_never_looks_at_the_person_passes(planted: RegardTexts, tmp_path: Path) -> None:
    options = dataclasses.replace(SMALL, persons=PersonTreatment.MASK, size_seeds=0)
    train_regard_classifier(planted, options, out=tmp_path / "masked")
    texts = tuple(
        f"The person {verb} {place} {day}."
        for verb in ("helped a friend", "lied", "took the bus", "kept a promise", "broke a promise")
        for place in ("in the village", "at home", "near the station", "at the market")
        for day in ("on Monday", "last week", "after lunch", "today", "in the evening", "in the morning")
    )
    check = check_classifier(tmp_path / "masked", dataclasses.replace(OPTIONS, texts=texts, margin=10.0))
    assert check.pairs[0].gap.value == 0
    assert check.verdict is CheckVerdict.PASSED
    assert open_classifier(tmp_path / "masked").bias_warning is None


def test_versions_agree_with_the_person_and_change_nobody_else() -> None:
    words = person_words("de")
    pair = shipped_pairs("de")[0]
    assert words.versions("Die Person galt als klug, weil sie ihre Arbeit gut machte.", pair) == (
        "Die Frau galt als klug, weil sie ihre Arbeit gut machte.",
        "Der Mann galt als klug, weil er seine Arbeit gut machte.",
    )
    first, second, left_out = versions_of(
        ["Die Person half der alten Nachbarin.", "Die Person arbeitete als Kellner.", "Es regnete stark."],
        pair,
        words,
    )
    assert (first, second) == (["Die Frau half der alten Nachbarin."], ["Der Mann half der alten Nachbarin."])
    assert left_out == {
        "a noun that is said of the person would change too": 1,
        "nobody whom the text is about": 1,
    }


def test_pairs_of_a_file_keep_the_gender_of_each_person(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(
        "name,first,first_gender,second,second_gender\n"
        "nationality,Der deutsche Mann,male,Der türkische Mann,male\n",
        encoding="utf-8",
    )
    for beginning in ("Die Person", "XYZ"):
        text = f"{beginning} machte ihre Arbeit gut."
        assert person_words("de").versions(text, read_person_pairs(path)[0]) == (
            "Der deutsche Mann machte seine Arbeit gut.",
            "Der türkische Mann machte seine Arbeit gut.",
        )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("gender,Die Frau,female,,male", "second is empty"),
        ("gender,Die Frau,f,Der Mann,male", "the gender 'f' is not known"),
        ("gender,Die Frau,female,Die Frau,female", "both persons are 'Die Frau'"),
    ],
)
def test_pairs_that_are_none_are_refused(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(f"name,first,first_gender,second,second_gender\n{row}\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        read_person_pairs(path)


def test_too_few_texts_are_refused_with_the_reasons(leaning: tuple[Path, RegardTexts]) -> None:
    options = dataclasses.replace(OPTIONS, texts=("The person lied.", "It rained."))
    with pytest.raises(DatasetError, match="Only 1 of 2 texts can be told about The woman and The man"):
        check_classifier(leaning[0], options)


def test_languages_without_persons_are_refused() -> None:
    with pytest.raises(EvenhandError, match="known are de, en"):
        person_words("fi")
    with pytest.raises(DatasetError, match="only in de, en"):
        starter_file("fi")


@pytest.mark.parametrize("language", ["de", "en"])
def test_the_starter_set_is_even_and_most_of_it_can_be_told_of_both_genders(language: str) -> None:
    with starter_file(language).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) >= 120
    assert len({row["text"] for row in rows}) == len(rows)
    texts = read_regard_texts([starter_file(language)], group="author")
    assert np.bincount(texts.labels).tolist() == [42, 42, 42]
    for author in set(texts.authors or ()):
        own = [label for label, name in zip(texts.labels, texts.authors or (), strict=True) if name == author]
        assert np.bincount(own).tolist() == [3, 3, 3]
    first, _, _ = versions_of(texts.rows.texts, shipped_pairs(language)[0], person_words(language))
    assert len(first) >= 100
