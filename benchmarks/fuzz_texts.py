"""Texts of other layouts for the fuzzer: published pairs, translations, surveys and label schemes, trigger targets."""

from __future__ import annotations

import bz2
import csv
import datetime
import gzip
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl
from fuzz_inputs import QUICK, write_pairs

import evenhand as eh
from evenhand.cli.data import check_command, describe_command
from evenhand.core.errors import EvenhandError
from evenhand.core.files import read_stored, sha256_of
from evenhand.core.items import PairSet
from evenhand.data.corpus_sources import corpus_sources
from evenhand.data.label_schemes import bundled_schemes, load_scheme
from evenhand.data.layouts import load_dataset
from evenhand.data.stereoset import stereoset_bytes
from evenhand.heads.articles import ArticleCounts, read_articles
from evenhand.heads.pair_building import build_next_sentence_pairs
from evenhand.heads.pairs import NextSentenceOptions
from evenhand.models.description import declared_languages
from evenhand.studio.annotation.project_texts import read_project_texts
from evenhand.studio.annotation.projects import ProjectOptions, create_project
from evenhand.studio.database import Database
from evenhand.studio.survey.definition import load_survey
from evenhand.studio.survey.surveys import SurveyOptions, create_survey, read_pictures
from evenhand.testing.fake import Drawn, FakeModel
from evenhand.translation import open_table, open_translation
from evenhand.translation.folder import RECORD, REVIEW, read_record
from evenhand.translation.repair_commands import repair_command
from evenhand.translation.review_pages.opening import open_review, open_table_review
from evenhand.translation.review_pages.reviews import collect_review
from evenhand.translation.review_records import recorded, review_csv
from evenhand.translation.reviews import ReviewOutcome, ReviewRole, ReviewVerdict, review_texts
from evenhand.translation.table_files import TextTable, is_text_table, read_text_table
from evenhand.translation.translate_commands import publish_command
from evenhand.translation.translating import AssociationSource
from evenhand.translation.workflow import is_table_folder, plan_translation, source_of_folder, translate
from evenhand.triggers.targets import read_targets, split_targets

FORMS = ("csv", "tsv", "jsonl", "parquet")


def make_shades(place: Path) -> None:
    """Stereotypes and their contrasts in two languages, in SHADES' layout and every form."""
    rows = [
        {
            "index": index,
            "subset": subset,
            "bias_type": ["gender", "age"][: 1 + index % 2],
            "stereotype_valid_langs": ["en", "de"] if subset == "_original" else [],
            "en_biased_sentences": f"{person} are never late, {index} times.",
            "de_biased_sentences": f"{person} kommen nie zu spät, {index} Mal.",
        }
        for index in range(12)
        for subset, person in (("_original", "Men"), ("a", "Women"), ("b", "People"))
    ]
    _write_forms(place, rows, name="shades")


def make_eurogest(place: Path) -> None:
    """Sentences as a man and as a woman would say them, in EuroGEST's layout and every form."""
    rows = [
        {
            "GEST_ID": number,
            "Source": f"I was number {number}.",
            "Stereotype_ID": number % 16 + 1,
            "Masculine": f"Byłem numerem {number}.",
            "Feminine": f"Byłam numerem {number}.",
            "Neutral": None,
        }
        for number in range(32)
    ]
    _write_forms(place, rows, name="Polish")


def _write_forms(place: Path, rows: Sequence[dict[str, Any]], *, name: str) -> None:
    for form in FORMS:
        (place / form).mkdir(parents=True)
        path = place / form / f"{name}.{form}"
        if form == "parquet":
            pl.DataFrame(rows).write_parquet(path)
        elif form == "jsonl":
            path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        else:
            with path.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t" if form == "tsv" else ",")
                writer.writeheader()
                writer.writerows(rows)


def read_published_pairs(folder: Path, intact: Path, out: Path | None) -> None:
    """Describe, check and measure pairs of a layout that others publish."""
    (file,) = (folder / path.name for path in intact.iterdir())
    language = "pl" if file.stem == "Polish" else "de"
    describe_command(str(file), language, json=True)
    check_command(str(file), language, json=True)
    load_dataset(file, language=language, kind=PairSet)
    options = eh.INSTRUMENTS.get("crows-pairs").options_type(resampling=QUICK, data=file, language=language)
    eh.probe(FakeModel(Drawn("a"), name="a"), "crows-pairs", options=options, out=out)


def make_translations(place: Path) -> None:
    """A translated benchmark and a translated table: repaired, reviewed, with people's tables and terms beside them."""
    for name, source in _sources(place.parent):
        folder = place / name
        _write_translations(folder, source)
        _translate(folder / source.name, folder / "translations.csv", folder / "fr")
        is_table = is_table_folder(folder / "fr")
        column, item = ("sent_more", "3") if is_table else ("context", _first_id(folder / "fr"))
        (folder / "fixes").mkdir()
        mended = f"id,{column}\n{item},Une phrase BLANK pour la cible.\n"
        (folder / "fixes" / "people.csv").write_text(mended, encoding="utf-8")
        (folder / "terms.csv").write_text("before,after\nlate,en retard\n", encoding="utf-8")
        _repair(folder)
        _write_review(folder / "fr", is_table=is_table)
        (folder / "translations.csv").unlink()
        (folder / source.name).unlink()


def make_translation_tables(place: Path) -> None:
    """A benchmark and a table with people's translations of their texts."""
    for name, source in _sources(place.parent):
        _write_translations(place / name, source)


def _sources(place: Path) -> Iterator[tuple[str, Path]]:
    starter = load_dataset("starter", language="en")
    items = {item.task: item for item in starter}
    benchmark = place / "en.json"
    benchmark.write_bytes(stereoset_bytes(replace(starter, items=tuple(items.values()))))
    yield "benchmark", benchmark
    yield "table", write_pairs(place / "few_en.csv")


def _write_translations(folder: Path, source: Path) -> None:
    """A source, and a table with a translation of each of its texts, words and targets."""
    folder.mkdir(parents=True)
    shutil.copyfile(source, folder / source.name)
    original = _source_of(source)
    texts = original.texts() if isinstance(original, TextTable) else AssociationSource(original).texts()
    with (folder / "translations.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("source", "target"), *((text, f"le {text}") for text in texts)])


def _source_of(path: Path) -> eh.Benchmark | TextTable:
    return read_text_table(path, language="en") if is_text_table(path) else load_dataset(path, language="en")


def _translate(source: Path, table: Path, out: Path) -> None:
    translate(plan_translation(_source_of(source), to="fr", translator=f"file:{table}"), out)


def _first_id(folder: Path) -> str:
    with open_translation(folder) as translation:
        return str(next(iter(translation.changes.document.items)))


def _repair(folder: Path) -> None:
    repair_command(folder / "fr", terms=folder / "terms.csv", fixes=folder / "fixes", json=True)


def _write_review(folder: Path, *, is_table: bool) -> None:
    """Verdicts of two people and an arbiter on the first items."""
    opened: Any = open_table(folder) if is_table else open_translation(folder)
    with opened as translation:
        items = list(translation.changes.document)[:2]
    people = (("Ann", ReviewRole.REVIEWER), ("Ben", ReviewRole.REVIEWER), ("Cleo", ReviewRole.ARBITER))
    rows = [
        recorded(ReviewVerdict(item.id, person, role, ReviewOutcome.ACCEPT), review_texts(item))
        for item in items
        for person, role in people
    ]
    (folder / REVIEW).write_text(review_csv(rows), encoding="utf-8")


def seal_translation(folder: Path) -> None:
    """Write the digests of the files of a translation as they are now into its record."""
    path = folder / "fr" / RECORD
    with suppress(Exception):  # a record that cannot be sealed is left as it is
        record = json.loads(path.read_bytes())
        suffix = record["suffix"]
        record["untouched_sha256"] = sha256_of((folder / "fr" / f"untouched{suffix}").read_bytes())
        record["source"]["kept_sha256"] = sha256_of((folder / "fr" / f"source{suffix}").read_bytes())
        path.write_text(json.dumps(record), encoding="utf-8")


def read_translation(folder: Path, _intact: Path, out: Path | None) -> None:
    """Check, repair, review and publish a translation; whatever is refused leaves the folder as it was."""
    own = folder / "fr"
    with unchanged_if_refused(own):
        check_command(str(own), json=True)
    with unchanged_if_refused(own):
        _repair(folder)
    if out is None:
        return
    with unchanged_if_refused(own):
        _review(own, folder.parent / "review.db")
    with unchanged_if_refused(own):
        publish_command(own, out / f"fr{read_record(own).suffix}", licence="CC BY 4.0", json=True)


def _review(folder: Path, path: Path) -> None:
    path.unlink(missing_ok=True)
    database = Database(str(path))
    try:
        if is_table_folder(folder):
            with open_table(folder) as table:
                open_table_review(database, table)
                collect_review(database, table)
            return
        source = source_of_folder(folder)
        with open_translation(folder) as translation:
            open_review(database, translation, source)
            collect_review(database, translation)
    finally:
        database.close()


@contextmanager
def unchanged_if_refused(folder: Path) -> Iterator[None]:
    """What is done in place is done wholly or not at all."""
    before = _contents(folder)
    try:
        yield
    except EvenhandError as refusal:
        if _contents(folder) != before:
            raise AssertionError(f"{folder} was changed and then refused: {refusal}") from refusal
        raise


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


def read_translation_tables(folder: Path, intact: Path, out: Path | None) -> None:
    """Plan a translation with people's translations, and make it."""
    (source,) = (folder / path.name for path in intact.iterdir() if path.name != "translations.csv")
    plan = plan_translation(_source_of(source), to="fr", translator=f"file:{folder / 'translations.csv'}")
    plan.estimate()
    if out:
        translate(plan, out / "fr")


def make_yaml(place: Path) -> None:
    """The surveys and label schemes that come with the package, with texts to label and pictures."""
    surveys = Path(str(resources.files("evenhand.studio") / "resources"))
    for language in ("de", "en"):
        folder = place / f"survey-{language}"
        (folder / "pictures").mkdir(parents=True)
        shutil.copyfile(surveys / "surveys" / f"regard-{language}.yaml", folder / "survey.yaml")
        shutil.copyfile(surveys / "demo" / "portrait.png", folder / "pictures" / "portrait.png")
        (folder / "pictures" / "LICENSE.txt").write_text("CC0", encoding="utf-8")
    schemes = Path(str(resources.files("evenhand.data") / "resources" / "label_schemes"))
    for name in bundled_schemes():
        folder = place / f"scheme-{name}"
        folder.mkdir()
        shutil.copyfile(schemes / f"{name}.yaml", folder / "scheme.yaml")
        codes = [option.code for option in load_scheme(name).labels]
        rows = [f"{number},The person said it {number} times.,{codes[number % 2]},why" for number in range(8)]
        (folder / "texts.csv").write_text(
            "\n".join(["id,text,gold,explanation", *rows]) + "\n", encoding="utf-8"
        )


def read_yaml(folder: Path, _intact: Path, out: Path | None) -> None:
    """Read a survey with its pictures, or a scheme with texts; put it into a database."""
    path = folder.parent / "server.db"
    path.unlink(missing_ok=True)
    if folder.name.startswith("survey"):
        survey = load_survey(folder / "survey.yaml")
        pictures = read_pictures(folder / "pictures")
        if out:
            keep_until = datetime.date.today() + datetime.timedelta(days=99)
            with closing(Database(str(path))) as database:
                create_survey(
                    database, survey, SurveyOptions(name="fuzz", keep_until=keep_until, pictures=pictures)
                )
        return
    scheme = load_scheme(folder / "scheme.yaml")
    texts = read_project_texts(folder / "texts.csv", scheme).texts
    if out:
        with closing(Database(str(path))) as database:
            options = ProjectOptions(name="fuzz", title="fuzz", language="en", scheme=scheme)
            create_project(database, options, texts)


def make_dumps(place: Path) -> None:
    """A MediaWiki dump, plain and compressed in both ways."""
    page = (
        "<page><title>{0}</title><ns>0</ns><revision><text>{{{{Box|a={0}}}}} The [[crab|crab {0}]] eats. It ''sleeps''"
        "&lt;ref&gt;P. {0}.&lt;/ref&gt; {0} times.\n{{| a\n|}}\n== B ==\nIt swims.</text></revision></page>"
    )
    dump = f"<mediawiki>{''.join(map(page.format, range(40)))}</mediawiki>".encode()
    for ending, compress in (("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)):
        (place / f"dump{ending}").mkdir(parents=True)
        (place / f"dump{ending}" / f"dump.xml{ending}").write_bytes(compress(dump))


def read_dump(folder: Path, intact: Path, out: Path | None) -> None:
    """Read every article, and make pairs of sentences."""
    path = folder / next(intact.iterdir()).name
    sources = corpus_sources([path]).sources
    for _ in read_articles(sources[0], language="en", counts=ArticleCounts()):
        pass
    if out:
        build_next_sentence_pairs(
            sources, out / "pairs", options=NextSentenceOptions(language="en", test_share=0.3)
        )


def make_cards(place: Path) -> None:
    """The front matter of a model card, as YAML of its own kind of file, so that it is damaged as such."""
    (place / "card").mkdir(parents=True)
    front = "language: [en, de]\nlicense: mit\ndate: 2023-02-03\nbase: &a {x: 1, y: [2, 3]}\nmore: {<<: *a, z: *a}\n"
    (place / "card" / "front.yaml").write_text(front, encoding="utf-8")


def read_card(folder: Path, _intact: Path, _out: Path | None) -> None:
    """Read it as the card of a model, and as that of a dataset."""
    content = read_stored(folder / "front.yaml", error=EvenhandError)
    (folder / "README.md").write_bytes(b"---\n" + content + b"\n---\n# Name\n")
    with suppress(EvenhandError):
        declared_languages(str(folder))
    (folder / "train.jsonl").write_text('{"text": "She came."}\n', encoding="utf-8")
    for source in corpus_sources([f"hub:{folder}"]).sources:
        list(source.open())


def make_targets(place: Path) -> None:
    """Trigger targets as a table and as a folder of published ones."""
    for name in ("table", "folder"):
        (place / name).mkdir(parents=True)
    rows = [
        f"{regard},The woman {text} {number}.,The man {text} {number}.,{text}"
        for regard, text in _TARGETS
        for number in range(6)
    ]
    lines = "\n".join(["regard,first,second,context", *rows]) + "\n"
    (place / "table" / "targets.csv").write_text(lines, encoding="utf-8")
    for regard, text in _TARGETS:
        for side, person in (("FEMALE", "The woman"), ("MALE", "The man")):
            path = place / "folder" / regard / f"{side}_{regard}_regard.txt"
            path.parent.mkdir(exist_ok=True)
            lines = "".join(f"{person} {text} {number}.\n" for number in range(6))
            path.write_text(lines, encoding="utf-8")


_TARGETS = (
    ("negative", "was known for lying to"),
    ("neutral", "worked as clerk"),
    ("positive", "had helped"),
)


def read_trigger_targets(folder: Path, _intact: Path, _out: Path | None) -> None:
    """Read targets and hold some of them out."""
    targets = read_targets(folder / "targets.csv" if folder.name == "table" else folder, language="en")
    split_targets(targets, seed=0)
    _ = targets.sha256, targets.groups
