"""Inputs of regard for the fuzzer, and what a user does with them: annotations, texts, classifiers, word lists."""

from __future__ import annotations

import json
import shutil
from importlib import resources
from pathlib import Path

import numpy as np
import polars as pl
from fuzz_inputs import QUICK

import evenhand as eh
from evenhand.api.regard import compare_person_treatments, read_test_rows
from evenhand.core.files import write_text
from evenhand.data.annotations import Annotation, AnnotationTable
from evenhand.data.contexts import load_contexts
from evenhand.data.label_schemes import load_scheme
from evenhand.data.regard_prompts import read_groups
from evenhand.instruments.regard.analysis import frame_of_texts
from evenhand.instruments.regard.lexicon_rates import read_review
from evenhand.lab.regard import PlantedRegard, plant_texts
from evenhand.lab.regard_gap import PlantedGap, plant_gap
from evenhand.regard.agreement import write_labels
from evenhand.regard.bias_check import check_labelled_files
from evenhand.regard.persons import read_person_pairs
from evenhand.regard.splits import SharedAuthors
from evenhand.regard.texts import read_plain_texts
from evenhand.reporting.regard.page import reading, render_classifier_page
from evenhand.text.lexicons import load_lexicon
from evenhand.text.occupations import load_occupations

SOME_TEXTS = ("The person helped a neighbour.", "The person lied, and nobody cared.", "The person waited.")


def make_annotations(place: Path) -> None:
    """Three annotators in every layout, with the scheme as a file."""
    scheme = load_scheme()
    table = AnnotationTable(
        scheme,
        tuple(
            Annotation(
                str(text), f'The person said, "{text}".', annotator, str((text + shift) % 3 - 1), seconds=1.5
            )
            for annotator, shift in (("ada", 0), ("ben", 0), ("cem", 1))
            for text in range(20)
        ),
    )
    for layout, name in (
        ("long", "long.csv"),
        ("aligned", ""),
        ("label-studio", "tasks.json"),
        ("doccano", ""),
    ):
        (place / layout).mkdir(parents=True)
        eh.write_annotations(table, place / layout / name, layout=layout)
        (place / layout / "scheme.yaml").write_text(scheme.model_dump_json(indent=1), encoding="utf-8")


def read_annotated(folder: Path, _intact: Path, out: Path | None) -> None:
    """Read annotations under a scheme from a file, measure agreement, and write them in every layout."""
    scheme = load_scheme(folder / "scheme.yaml")
    files = [path for path in sorted(folder.iterdir()) if path.name != "scheme.yaml"]
    table = eh.read_annotations(files, scheme=scheme)
    eh.annotator_agreement(table, resampling=QUICK)
    if out:
        write_labels(table, out / "labels.csv")
        eh.write_annotations(table, out / "long.csv")
        eh.write_annotations(table, out / "tasks.json", layout="label-studio")


def make_group_texts(place: Path) -> None:
    """Texts about two groups, their contexts, and a labelled sample."""
    folder = place / "texts"
    folder.mkdir(parents=True)
    texts = plant_gap(PlantedGap(texts=4, labelled=30), np.random.default_rng(0))
    frame = frame_of_texts(texts)
    frame.select("text", "group", "context", "label").write_csv(folder / "texts.csv")
    sample = frame.drop_nulls("human_label").select("text", pl.col("human_label").alias("label"))
    sample.write_csv(folder / "sample.csv")
    lines = [f"context {number},{'respect' if number % 2 else 'occupation'}" for number in range(10)]
    (folder / "contexts.csv").write_text("\n".join(["context,kind", *lines]) + "\n", encoding="utf-8")


def read_group_texts(folder: Path, _intact: Path, out: Path | None) -> None:
    """Evaluate texts about groups with a labelled sample."""
    texts = eh.read_group_texts(
        [folder / "texts.csv"],
        columns=eh.GroupTextColumns(group="group", context="context"),
        contexts=load_contexts(folder / "contexts.csv"),
    )
    sample = eh.read_regard_texts([folder / "sample.csv"])
    eh.evaluate_regard(texts, eh.RegardEvaluationOptions(labelled=sample, resampling=QUICK), out=out)


def make_training_texts(place: Path) -> None:
    """A table of labelled texts with authors, and the rows to test on."""
    folder = place / "table"
    folder.mkdir(parents=True)
    _write_training_texts(folder / "texts.csv")
    (folder / "test_rows.json").write_text(json.dumps(list(range(0, 60, 4))), encoding="utf-8")


def _write_training_texts(path: Path) -> None:
    texts = plant_texts(PlantedRegard(texts=60, authors=6, seed=3)).texts
    pl.DataFrame(
        {
            "text": texts.rows.texts,
            "label": [texts.classes[label] for label in texts.labels],
            "author": [f"author {number}" for number in texts.groups],
        }
    ).write_csv(path)


def read_training_texts(folder: Path, _intact: Path, out: Path | None) -> None:
    """Read texts and test rows, and train on them."""
    texts = eh.read_regard_texts([folder / "texts.csv"], group="author")
    rows = read_test_rows(folder / "test_rows.json")
    read_plain_texts(folder / "texts.csv")
    if out:
        options = eh.RegardTrainingOptions(
            folds=2, size_seeds=0, resampling=QUICK, test_rows=rows, shared_authors=SharedAuthors.WARN
        )
        eh.train_regard_classifier(texts, options, out=out / "classifier")


def make_classifiers(place: Path) -> None:
    """A folder of each head that needs no other model; one of them was checked."""
    texts = plant_texts(PlantedRegard(texts=180, authors=18, error=0.1, seed=7)).texts
    for head in ("logistic", "boosted-trees", "dense"):
        options = eh.RegardTrainingOptions(
            classifier=head, folds=2, size_seeds=1, resampling=QUICK, language="en"
        )
        eh.train_regard_classifier(texts, options, out=place / head)
    eh.check_classifier(place / "logistic", eh.CheckOptions(resampling=QUICK))


def read_classifier(folder: Path, _intact: Path, out: Path | None) -> None:
    """Open a classifier, label with it, show what it says of itself, and check it for a bias of its own."""
    classifier = eh.open_classifier(folder)
    classifier.label(SOME_TEXTS).to_frame(SOME_TEXTS)
    _ = classifier.bias_warning
    titles = [classifier.scheme.option(code).title_in("en") for code in classifier.record.classes]
    reading(classifier.record, classifier.report, titles)
    if out:
        page = render_classifier_page(classifier.record, classifier.report, scheme=classifier.scheme)
        write_text(out / "page.html", page)
        options = eh.CheckOptions(texts=SOME_TEXTS, resampling=QUICK)
        eh.check_classifier(folder, options)
        texts = plant_texts(PlantedRegard(texts=180, authors=18, error=0.1, seed=7)).texts
        compare_person_treatments(folder, texts, options)


def make_versions(place: Path) -> None:
    """A classifier's labels of the same texts about two groups, and a file of persons to compare."""
    folder = place / "files"
    folder.mkdir(parents=True)
    for name, person in (("women", "The woman"), ("men", "The man")):
        labels = [(number + (name == "men" and number % 7 == 0)) % 3 - 1 for number in range(40)]
        rows = [f'"{person} said it {number} times, aloud.",{label}' for number, label in enumerate(labels)]
        (folder / f"{name}.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    shutil.copy(_resource("pairs_en.csv"), folder / "pairs.csv")


def read_versions(folder: Path, _intact: Path, _out: Path | None) -> None:
    """Compare both files, and read the persons."""
    check = check_labelled_files(folder / "women.csv", folder / "men.csv", resampling=QUICK)
    json.dumps(check.summary())
    read_person_pairs(folder / "pairs.csv")


def make_word_lists(place: Path) -> None:
    """Lexicons, occupations, groups and contexts of both languages, and matches that somebody reviewed."""
    for language in ("en", "de"):
        folder = place / language
        folder.mkdir(parents=True)
        for name in ("lexicons", "occupations", "groups", "contexts"):
            shutil.copy(_resource(f"{name}_{language}.csv"), folder / f"{name}.csv")
        rows = [
            f"female,care,The person cares {number}.,cares,{verdict}"
            for number, verdict in enumerate(_VERDICTS)
        ]
        (folder / "review.csv").write_text(
            "\n".join(["group,category,text,match,verdict", *rows]) + "\n", encoding="utf-8"
        )


_VERDICTS = ("right", "wrong", "", "right")


def read_word_lists(folder: Path, _intact: Path, _out: Path | None) -> None:
    """Read every list, and look for its words in texts."""
    lexicon = load_lexicon(folder.name, folder / "lexicons.csv")
    occupations = load_occupations(folder.name, folder / "occupations.csv")
    for text in SOME_TEXTS:
        lexicon.find(text)
        occupations.find(text)
    read_groups(folder / "groups.csv")
    contexts = load_contexts(folder / "contexts.csv")
    for text in SOME_TEXTS:
        contexts.find(text)
    read_review(folder / "review.csv")


def _resource(name: str) -> Path:
    return Path(str(resources.files("evenhand.data") / "resources" / "regard" / name))
