"""An intact input of every kind that is read, small, and made by the package itself."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from importlib import resources
from pathlib import Path

import numpy as np
import polars as pl

import evenhand as eh
from evenhand.core.estimates import Estimate
from evenhand.core.recipes import Recipe
from evenhand.data.datasets import bundled_calibration_path, example_scores
from evenhand.data.layouts import load_dataset
from evenhand.data.probes import bundled_probe_path
from evenhand.data.stereoset import HUB_LABELS
from evenhand.lab.regard_gap import PlantedGap, plant_gap
from evenhand.models.backends.lab import embedded_folder
from evenhand.reporting import render_page
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
from evenhand.testing.fake import Drawn, FakeModel
from evenhand.training.checkpoints import CURVE_FILE

QUICK = eh.Resampling(resamples=100)


def make_models(place: Path) -> None:
    """The embedded models: a masked one, a decoder and an encoder-decoder."""
    for name in ("masked", "decoder", "encoder-decoder"):
        shutil.copytree(embedded_folder(f"lab:{name}"), place / name)


def make_adapters(place: Path) -> None:
    """A LoRA adapter beside the model that it belongs to."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    source = embedded_folder("lab:decoder")
    network = AutoModelForCausalLM.from_pretrained(source)
    names = [name.rpartition(".")[2] for name, part in network.named_modules() if hasattr(part, "weight")]
    wanted = sorted({name for name in names if name.endswith(("proj", "attn"))})
    adapted = get_peft_model(network, LoraConfig(r=2, target_modules=wanted, task_type="CAUSAL_LM"))
    adapted.save_pretrained(str(place / "lora"))
    settings = place / "lora" / "adapter_config.json"
    document = json.loads(settings.read_bytes()) | {"base_model_name_or_path": str(source)}
    settings.write_text(json.dumps(document), encoding="utf-8")


def make_runs(place: Path) -> None:
    """A run of every instrument but BEC-Pro, which needs a model with a mask."""
    fake = FakeModel(Drawn("fuzz"), name="fuzz")
    pairs = write_pairs(place.parent / "some pairs_en.csv")
    corpus = write_corpus(place.parent / "some text.txt")
    winogender = write_winogender(place.parent / "some sentences.tsv")
    runs = (
        eh.audit(fake, "starter", options=eh.AuditOptions(limit=30, resampling=QUICK), name="a"),
        eh.probe(
            fake,
            "malor",
            options=eh.MalorOptions(experiment="he-she", limit=None, resampling=QUICK),
            name="m",
        ),
        _probed(fake, "crows-pairs", data=pairs),
        _probed(fake, "cosine", data=winogender),
        _probed(fake, "direct-bias", corpus=(corpus,)),
        _probed(fake, "knowledge", limit=60),
        _probed(fake, "regard", data=plant_gap(PlantedGap(texts=6, labelled=60), np.random.default_rng(0))),
    )
    for run in runs:
        run.save(place / run.record.instrument, pages={"report.html": render_page([run])})


def _probed(model: FakeModel, instrument: str, **options: object) -> eh.Run:
    made = eh.INSTRUMENTS.get(instrument).options_type(resampling=QUICK, **options)
    return eh.probe(model, instrument, options=made, name=instrument)


def seal_run(folder: Path) -> None:
    """Write the hashes of the files as they are now into the record."""
    path = folder / "record.json"
    with suppress(Exception):  # a record that cannot be sealed is left as it is
        record = json.loads(path.read_bytes())
        for name in record["files"]:
            if (folder / name).is_file() and not (folder / name).is_symlink():
                record["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        path.write_text(json.dumps(record), encoding="utf-8")


def make_certificates(place: Path) -> None:
    """A certificate with the runs behind it."""
    folder = place / "lab"
    folder.mkdir(parents=True)
    eh.certify(
        "lab:masked", "lab:masked-neutral", out=folder / "certificate.html",
        options=eh.CertifyOptions(sentences=20, resampling=QUICK),
    )  # fmt: skip
    (folder / "certificate.html").unlink()


def seal_certificate(folder: Path) -> None:
    """Write the digest of a certificate as it is now into it, and those of its runs."""
    path = folder / "certificate.json"
    with suppress(Exception):  # a certificate that cannot be sealed is left as it is
        for record in (folder / "certificate").glob("*/*/record.json"):
            seal_run(record.parent)
        document = json.loads(path.read_bytes())
        for name in document["runs"]:
            content = (folder / "certificate" / name / "record.json").read_bytes()
            document["runs"][name] = hashlib.sha256(content).hexdigest()
        inputs = (folder / "certificate" / "inputs.json").read_bytes()
        document["inputs"] = hashlib.sha256(inputs).hexdigest()
        document.pop("sha256", None)
        digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
        path.write_text(json.dumps(document | {"sha256": digest}), encoding="utf-8")


def make_mitigations(place: Path) -> None:
    """A model folder with the record of a mitigation."""
    folder = place / "mitigated"
    shutil.copytree(embedded_folder("lab:masked"), folder)
    key = "he-she.MALoR"
    curve = LearningCurve(
        epochs=tuple(
            EpochMetrics(epoch=n, bias={key: 1.5 / (n + 1)}, quality={"perplexity": 20.0 + n})
            for n in range(3)
        )
    )
    figure = Estimate(value=1.0, low=0.5, high=1.5, n=60, clusters=60, method="bootstrap")
    record = MitigationRecord(
        method="counterfactual",
        objective="masked language modelling",
        model=ModelRecord(
            id="tiny", revision=None, weights="sha256 0123", family="masked", architecture="BertForPreTraining",
            precision="fp32", device="cpu",
        ),
        language="en",
        experiments=("he-she",),
        data=DataRecord(
            corpus=(TextRecord(name="novels.txt", sha256="89ab", sentences=1234),), examples=462, sha256="cdef",
            held_out=TextRecord(name="news.txt", sha256="fedc", sentences=100),
        ),
        recipe=Recipe(),
        seeds=tuple(
            SeedRecord(seed=seed, stopped="done", curve=curve, best=curve.last, keeps_quality=True) for seed in (0, 1)
        ),
        chosen_seed=0,
        before={key: figure},
        after={key: figure},
        environment=EnvironmentRecord.current(),
        energy=EnergyRecord(reason="the model is made up"),
        fingerprint="0" * 64,
        weights=model_weights_digest(folder),
    )  # fmt: skip
    (folder / MITIGATION_FILE).write_text(record.model_dump_json(indent=1), encoding="utf-8")


def make_checkpoints(place: Path) -> None:
    """The learning curve of a training, as its checkpoint has it."""
    epochs = [
        EpochMetrics(epoch=n, bias={"he-she.MALoR": 1 / (n + 1)}, quality={"perplexity": 20.0})
        for n in range(4)
    ]
    folder = place / "curve" / "epoch-00003"
    folder.mkdir(parents=True)
    curve = LearningCurve(epochs=tuple(epochs), neutral={"he-she.MALoR": 0.0})
    (folder / CURVE_FILE).write_text(curve.model_dump_json(), encoding="utf-8")


def make_benchmarks(place: Path) -> None:
    """The starter set in two languages, alone and in a folder."""
    starter = Path(str(resources.files("evenhand.data") / "resources" / "starter"))
    for language in ("en", "de"):
        (place / language).mkdir(parents=True)
        shutil.copy(starter / f"{language}.json", place / language / f"{language}.json")


def make_predictions(place: Path) -> None:
    """Scores of the starter set in every form that is read."""
    for form in ("json", "jsonl", "csv", "parquet"):
        (place / form).mkdir(parents=True)
    source = example_scores("leaning")
    shutil.copy(source, place / "json" / "scores.json")
    rows = [row for task in json.loads(source.read_bytes()).values() for row in task]
    frame = pl.DataFrame([{"candidate": row["id"], "score": float(row["score"])} for row in rows])
    frame.write_parquet(place / "parquet" / "scores.parquet")
    frame.rename({"candidate": "id"}).write_csv(place / "csv" / "scores.csv")
    lines = "\n".join(json.dumps({"id": row["id"], "score": row["score"]}) for row in rows)
    (place / "jsonl" / "scores.jsonl").write_text(lines, encoding="utf-8")


def make_probe_files(place: Path) -> None:
    """Structures, occupations, terms and shares."""
    for language in ("en", "de"):
        folder = place / language
        folder.mkdir(parents=True)
        shutil.copy(bundled_probe_path(language, "occupations"), folder / "occupations.csv")
        shutil.copy(bundled_probe_path(language, "names"), folder / "terms.csv")
        structures = bundled_probe_path(language, "structures").read_text(encoding="utf-8").split("\n")
        (folder / "structures.csv").write_text(
            "\n".join([structures[0], *structures[1::8]]), encoding="utf-8"
        )
        write_shares(folder / "shares.tsv")


def make_pairs(place: Path) -> None:
    """CrowS-Pairs' layout."""
    (place / "pairs").mkdir(parents=True)
    write_pairs(place / "pairs" / "pairs_en.csv")


def make_bec_pro(place: Path) -> None:
    """BEC-Pro's layout."""
    (place / "bec-pro").mkdir(parents=True)
    write_bec_pro(place / "bec-pro" / "BEC-Pro_EN.tsv")


def write_bec_pro(path: Path) -> Path:
    """Sentences of BEC-Pro's form, masked in its three ways."""
    columns = (
        "", "Sentence", "Sent_TM", "Sent_AM", "Sent_TAM", "Template", "Person", "Gender", "Profession", "Prof_Gender",
    )  # fmt: skip
    rows = [list(columns)]
    for template in ("{} is a {}.", "{} works as a {}."):
        for person, gender in (("He", "male"), ("She", "female")):
            for profession, kind in (("plumber", "male"), ("nurse", "female"), ("baker", "balanced")):
                words = (
                    (person, profession),
                    ("[MASK]", profession),
                    (person, "[MASK]"),
                    ("[MASK]", "[MASK]"),
                )
                texts = [template.format(*own) for own in words]
                pattern = template.format("<person subject>", "<profession>")
                rows.append([str(len(rows) - 1), *texts, pattern, person, gender, profession, kind])
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def make_records(place: Path) -> None:
    """The starter set as the hub would have it: JSON Lines and Parquet."""
    rows = [
        {
            "id": item.id,
            "target": item.target,
            "bias_type": item.bias_type,
            "context": item.context,
            "sentences": [
                {"id": each.id, "sentence": each.text, "gold_label": HUB_LABELS.index(each.label)}
                for each in item.candidates
            ],
        }
        for item in load_dataset("starter", language="en")
    ]
    for form in ("jsonl", "parquet"):
        (place / form).mkdir(parents=True)
    (place / "jsonl" / "items").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    pl.DataFrame(rows).write_parquet(place / "parquet" / "items")


def make_logs(place: Path) -> None:
    """Scores of pairs: a table, a sample log of lm-evaluation-harness, and a log of Inspect in both forms."""
    pairs = [
        {
            "sent_more": f"He was number {number}.",
            "sent_less": f"She was number {number}.",
            "sent_more_score": -10 - number % 3,
            "sent_less_score": -11.0,
            "stereo_antistereo": "stereo",
            "bias_type": "gender",
        }
        for number in range(30)
    ]
    for form in ("csv", "harness", "inspect", "packed"):
        (place / form).mkdir(parents=True)
    rows = [[str(number), *map(str, pair.values())] for number, pair in enumerate(pairs)]
    table = "\n".join(map(",".join, [["", *pairs[0]], *rows]))
    (place / "csv" / "scores").write_text(table, encoding="utf-8")
    lines = [
        {
            "doc_id": number,
            "doc": pair,
            "arguments": [["", pair["sent_more"]], ["", pair["sent_less"]]],
            "filtered_resps": [[pair["sent_more_score"], False], [pair["sent_less_score"], False]],
        }
        for number, pair in enumerate(pairs)
    ]
    (place / "harness" / "scores").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    samples = [
        {"id": number, "metadata": pair, "scores": {"pairs": {"value": pair}}}
        for number, pair in enumerate(pairs)
    ]
    header = {"version": 2, "status": "success", "eval": {}, "results": {"total_samples": len(samples)}}
    (place / "inspect" / "scores").write_text(json.dumps({**header, "samples": samples}), encoding="utf-8")
    with zipfile.ZipFile(place / "packed" / "scores", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}.json", json.dumps(sample))


def make_winogender(place: Path) -> None:
    """Winogender's layout."""
    (place / "sentences").mkdir(parents=True)
    write_winogender(place / "sentences" / "all_sentences.tsv")


def make_labelled(place: Path) -> None:
    """Labelled text in three forms."""
    rows = [
        (f"sentence number {number} is {'good' if number % 2 else 'bad'}", number % 2)
        for number in range(120)
    ]
    for name in ("csv", "folder", "jsonl"):
        (place / name).mkdir(parents=True)
    table = "\n".join(["text,label", *(f"{text},{label}" for text, label in rows)])
    (place / "csv" / "labelled.csv").write_text(table, encoding="utf-8")
    for part in ("train", "dev"):
        tsv = "\n".join(["sentence\tlabel", *(f"{text}\t{label}" for text, label in rows)])
        (place / "folder" / f"{part}.tsv").write_text(tsv, encoding="utf-8")
    lines = "\n".join(json.dumps({"text": text, "label": label}) for text, label in rows)
    (place / "jsonl" / "labelled.jsonl").write_text(lines, encoding="utf-8")


def make_corpora(place: Path) -> None:
    """Plain text and JSON Lines."""
    for name in ("text", "jsonl"):
        (place / name).mkdir(parents=True)
    text = write_corpus(place / "text" / "corpus.txt").read_text(encoding="utf-8")
    lines = "\n".join(json.dumps({"text": paragraph}) for paragraph in text.split("\n"))
    (place / "jsonl" / "corpus.jsonl").write_text(lines, encoding="utf-8")


def make_twin_pairs(place: Path) -> None:
    """A file of pairs with its counts."""
    corpus = write_corpus(place.parent / "text for pairs.txt")
    (place / "twins").mkdir(parents=True)
    eh.build_pairs(corpus, place / "twins" / "pairs.jsonl")


def make_calibrations(place: Path) -> None:
    """The calibration that ships."""
    (place / "lab").mkdir(parents=True)
    shutil.copy(bundled_calibration_path(), place / "lab" / "calibration.json")


def write_pairs(path: Path) -> Path:
    """Forty pairs in the layout of CrowS-Pairs."""
    lines = ["id,sent_more,sent_less,stereo_antistereo,bias_type"]
    for number in range(40):
        side = "stereo" if number % 3 else "antistereo"
        kind = ("gender", "age", "race-color")[number % 3]
        lines.append(
            f'{number},"He is number {number}, and late.","She is number {number}, and late.",{side},{kind}'
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_winogender(path: Path) -> Path:
    """Sentences about a dozen occupations in Winogender's layout."""
    lines = ["sentid\tsentence"]
    for occupation in (
        "nurse",
        "doctor",
        "engineer",
        "cashier",
        "janitor",
        "chef",
        "pilot",
        "baker",
        "clerk",
        "judge",
    ):
        for answer in (0, 1):
            for gender, pronoun in (("male", "he"), ("female", "she"), ("neutral", "they")):
                name = f"{occupation}.customer.{answer}.{gender}.txt"
                lines.append(
                    f"{name}\tThe {occupation} told the customer that {pronoun} had won {answer} times."
                )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_shares(path: Path) -> Path:
    """Shares of women in a few occupations."""
    rows = [
        f"{name}\t{share}\t{share}" for name, share in (("nurse", 90.1), ("doctor", 37.9), ("engineer", 10.7))
    ]
    path.write_text(
        "\n".join(["occupation\tbergsma_pct_female\tbls_pct_female", *rows]) + "\n", encoding="utf-8"
    )
    return path


def write_corpus(path: Path) -> Path:
    """Sentences with occupations and pronouns."""
    path.write_text("\n".join(_sentences()) + "\n", encoding="utf-8")
    return path


def _sentences() -> Iterator[str]:
    for number in range(60):
        occupation = ("doctor", "nurse", "teacher", "lawyer", "carpenter", "librarian")[number % 6]
        pronoun = "He" if number % 2 else "She"
        yield f"{pronoun} was a {occupation} until {pronoun.lower()} left in {1900 + number}."
        yield f"The {occupation} worked in the city for {number} years."
