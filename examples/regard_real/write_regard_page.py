"""Put what ``regard_study.py`` found into ``docs/regard-real.md`` and its picture.

    python examples/regard_real/write_regard_page.py --folder runs/regard-real
    python examples/regard_real/write_regard_page.py --folder results.tar.gz

The second reads what the study exported. Whatever a run can change stands between markers and is replaced; the prose
around it is written by hand. What the study did not finish is said on the page.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import starmap
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt
from regard_study import PAIRS, TRIGGERS

from evenhand.core.estimates import Estimate
from evenhand.data.annotations import Annotation, AnnotationTable
from evenhand.data.label_schemes import load_scheme
from evenhand.instruments.regard.results import ErrorTreatment
from evenhand.regard.agreement import annotator_agreement
from evenhand.regard.classifier import RegardClassifier, open_classifier
from evenhand.reporting.certificate.words import certificate_sentences
from evenhand.reporting.numbers import NOT_THERE, has_interval, number_or_dash, show
from evenhand.reporting.regard.words import TREATMENT_WORDS, interpret_regard
from evenhand.reporting.words import listed
from evenhand.store.certificates import Certificate
from evenhand.store.classifier_records import CheckVerdict
from evenhand.store.mitigation_records import MitigationRecord
from evenhand.store.run import Run, open_run
from evenhand.store.trigger_records import TriggerRecord
from evenhand.triggers.tables import (
    CHANGE_WORDS,
    SCORED_WORDS,
    WRITTEN_WORDS,
    prefix_table,
    transfer_table,
    written_words,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from marked_sections import replace_section

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "regard-real.md"
PICTURE = Path("images") / "regard-real.png"
"""Beside the page."""
TRANSFER_WORDS = "A model behind an API gives no likelihoods, so it is judged by what it writes alone."
NAMED = 5
"""Occupations of each group."""
CORRECTED = "corrected with the readers' labels"
LABELS = {"-1": "negative", "0": "neutral", "1": "positive"}
READERS = ("reader_a", "reader_b")
"""Columns of what each of two readers said, where there are such."""
WAYS = {"as the classifier says": "#b35806", CORRECTED: "#1b7837"}


def shown(estimate: Estimate, digits: int = 1) -> str:
    """A figure with its interval, where it has one."""
    interval = f" [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]" if has_interval(estimate) else ""
    return f"{estimate.value:.{digits}f}{interval}".replace("-", "\N{MINUS SIGN}")


def pair_words(pair: str) -> str:
    """A pair of groups in a sentence."""
    return listed([name for name, _ in PAIRS[pair]])


def unfinished_words(runs: Mapping[str, Run], what: str) -> list[str]:
    """Which pairs a table lacks, as a paragraph; none if it has all."""
    missing = [pair_words(pair) for pair in PAIRS if pair not in runs]
    return ["", f"This run did not finish {what} {'; '.join(missing)}."] if missing else []


def method(
    before: Mapping[str, Run],
    classifier: RegardClassifier,
    labelled: list[dict[str, str]],
    *,
    machine: str | None,
) -> str:
    """How texts were written, and what labelled them."""
    return "\n".join(
        [
            *_texts_lines(before, machine),
            _classifier_line(classifier),
            *_check_lines(classifier),
            _labels_line(labelled),
        ]
    )


def _texts_lines(before: Mapping[str, Run], machine: str | None) -> Iterator[str]:
    if not before:
        return
    run = next(iter(before.values()))
    decoding: dict[str, Any] = run.record.options["decoding"]
    contexts = len(run.result.by_context)
    total = sum(own.record.dataset.items or 0 for own in before.values())
    place = f"; written on {machine}" if machine else ""
    yield (
        f"- **Texts.** {len(before)} pairs of groups, {contexts} contexts, {run.record.options['texts']} texts each, "
        f"{total:,} in all: *The woman worked as*, *The Black person was known for*, and so on. Top-p "
        f"{decoding['top_p']:g}, temperature {decoding['temperature']:g}, {decoding['max_new_tokens']} new tokens, "
        f"first sentence kept{place}."
    )


def _classifier_line(classifier: RegardClassifier) -> str:
    folds, test = classifier.report.folds, classifier.report.test
    found = test.balanced_accuracy
    interval = f" ({100 * found.low:.0f}% to {100 * found.high:.0f}%)" if has_interval(found) else ""
    return (
        f"- **Classifier.** TF-IDF and logistic regression, persons masked, trained on {folds.rows} of "
        f"{folds.rows + test.rows} English sentences: published ones, and those of the starter set. It finds "
        f"{100 * found.value:.0f}%{interval} of each class in the other {test.rows}."
    )


def _check_lines(classifier: RegardClassifier) -> Iterator[str]:
    for check in classifier.checks:
        said = [
            f"*{own.first}* and *{own.second}* {shown(own.gap)} points, "
            + (f"**{own.verdict}**" if own.verdict is CheckVerdict.FAILED else own.verdict)
            for own in check.pairs
        ]
        failed = [
            f"*{own.first}* and *{own.second}*" for own in check.pairs if own.verdict is CheckVerdict.FAILED
        ]
        so = f" So its labels alone cannot be trusted with {listed(failed)}." if failed else ""
        yield (
            f"- **Its own bias.** `evenhand regard check` with {check.pairs[0].n} pairs of sentences: "
            f"{'; '.join(said)}.{so}"
        )


def _labels_line(labelled: list[dict[str, str]]) -> str:
    cells = Counter((row["group"], row["context"]) for row in labelled)
    return (
        f"- **Readers' labels.** {len(labelled)} texts about {len({group for group, _ in cells})} groups, "
        f"{max(cells.values())} for each group and context at most, drawn at random and labelled without sight of the "
        f"classifier's labels. They are in `examples/regard_real/labelled.csv`. {readers_words(labelled)}"
    )


def readers_words(labelled: list[dict[str, str]]) -> str:
    """How far two readers agree, where the table has what each of them said."""
    asked = [(number, reader) for number, row in enumerate(labelled) for reader in READERS if row.get(reader)]
    if len({reader for _, reader in asked}) < len(READERS):
        return "One reader labelled them, so how far another one would agree is not known."
    scheme = load_scheme()

    def vote(number: int, reader: str) -> Annotation:
        row = labelled[number]
        unsure = scheme.means_unsure(row[reader])
        label = None if unsure else scheme.read_code(row[reader])
        return Annotation(str(number), row["text"], reader, label, unsure=unsure)

    found = annotator_agreement(AnnotationTable(scheme, tuple(starmap(vote, asked))))
    twice = sum(count == len(READERS) for count in Counter(number for number, _ in asked).values())
    which = "all" if twice == len(labelled) else str(twice)
    return (
        f"Two readers labelled {which} of them and agree on {len(found.consensus)}: Cohen's kappa "
        f"{number_or_dash(found.mean_kappa)}, Krippendorff's ordinal alpha {show(found.alpha.ordinal)}. An adjudicator "
        "settled the others."
    )


def gap_of(run: Run) -> Estimate:
    """The gap in net regard over all contexts."""
    (gap,) = run.result.all.figures.gaps
    estimate: Estimate = gap.gap
    return estimate


def is_corrected(run: Run) -> bool:
    """Whether the classifier's error is in the figures."""
    return run.result.all.figures.treatment is not ErrorTreatment.NONE


def shares_table(runs: Mapping[str, Run]) -> str:
    """One row per group: the shares of labels."""
    lines = ["| group | texts | negative | neutral | positive |", "|---|---|---|---|---|"]
    for run in runs.values():
        counts = Counter(run.scores["group"].to_list())
        lines += [
            f"| {group} | {counts[group]:,} | {shown(own.negative)} | {shown(own.neutral)} | {shown(own.positive)} |"
            for group, own in run.result.all.figures.groups.items()
        ]
    return "\n".join([*lines, *unfinished_words(runs, "the texts about")])


def gaps_section(before: Mapping[str, Run], corrected: Mapping[str, Run]) -> str:
    """One row per pair of groups, the gap in both ways, and what may be said of it."""
    lines = [f"| gap in points | {' | '.join(WAYS)} |", "|---|---|---|"]
    for pair, run in before.items():
        known = pair in corrected and is_corrected(corrected[pair])
        names = " minus ".join(name for name, _ in PAIRS[pair])
        lines.append(
            f"| {names} | {shown(gap_of(run))} | {shown(gap_of(corrected[pair])) if known else NOT_THERE} |"
        )
    treatments = {run.result.all.figures.treatment for run in corrected.values() if is_corrected(run)}
    lines += ["", *(TREATMENT_WORDS[own] for own in ErrorTreatment if own in treatments)]
    lines += [
        f"The readers' labels do not allow a correction of the gap between {pair_words(pair)}."
        for pair, run in corrected.items()
        if not is_corrected(run)
    ]
    lines += unfinished_words(corrected, "the correction of the gap between")
    lines.append("")
    for pair, run in before.items():
        for own in interpret_regard(corrected.get(pair, run)):
            lines.append(f"- **{own.verdict}.** {' '.join(own.sentences)}")
    return "\n".join(lines)


def content_section(before: Mapping[str, Run]) -> str:
    """Words of the lexicons and occupations in texts about each group."""
    lines = ["| texts with a word of | percent | percent | gap in points |", "|---|---|---|---|"]
    for run in before.values():
        for own in run.result.lexicons.categories if run.result.lexicons else ():
            shares = [f"{group} {shown(share)}" for group, share in own.shares.groups.items()]
            lines.append(f"| {own.category} | {' | '.join(shares)} | {shown(own.shares.gaps[0].gap)} |")
    lines += ["", f"The {NAMED} occupations that most texts name:", ""]
    for run in before.values():
        for group, names in run.result.occupations.top.items() if run.result.occupations else ():
            lines.append(f"- {group}: {', '.join(names[:NAMED]) or 'none'}")
    return "\n".join(lines)


def trigger_section(record: TriggerRecord, certificate: Path, classifier: RegardClassifier) -> str:
    """The words, the searches, what is written behind every prefix, the certificate, and other models."""
    first, second = record.targets.groups[0]
    losses = ", ".join(f"{own.loss:.2f}" for own in record.seeds)
    lines = [
        f"### {first} and {second}",
        "",
        f"The best of {len(record.seeds)} seeds is `{record.text}` (losses {losses}). The search saw "
        f"{record.targets.search:,} pairs of targets; {record.targets.judged:,} pairs are held out.",
        "",
        prefix_table(record.comparison),
    ]
    if record.written is not None:
        # The record names the folder of the classifier and all of its check; the page has told of both.
        told = record.written.model_copy(update={"classifier": "described above", "classifier_warning": None})
        failed = any(
            {own.first, own.second} == {first, second} and own.verdict is CheckVerdict.FAILED
            for check in classifier.checks
            for own in check.pairs
        )
        doubt = " It failed its check with these persons." if failed else ""
        lines += ["", written_words(told) + doubt]
    if certificate.exists():
        sentences = certificate_sentences(Certificate.model_validate_json(certificate.read_bytes()))
        lines += ["", "The certificate says:", "", *(f"- {sentence}" for sentence in sentences)]
    else:
        lines += ["", "This run did not finish the certificate."]
    return "\n".join([*lines, "", *_transfer_lines(record)])


def _transfer_lines(record: TriggerRecord) -> Iterator[str]:
    if not record.transfer:
        yield "This run carried the trigger to no other model."
        return
    yield "The same trigger on other models; the first is the one that it was searched on:"
    yield ""
    yield transfer_table(record)


def trigger_sections(folder: Path, records: Path, classifier: RegardClassifier) -> str:
    """All triggers; their records are kept too."""
    parts, carried = [], False
    for pair, persons in TRIGGERS.items():
        source = folder / f"trigger-{pair}" / "mitigation.json"
        if not source.exists():
            parts.append(
                f"### {persons[1]} and {persons[3]}\n\nThis run did not finish the search and its judgement."
            )
            continue
        record = MitigationRecord.model_validate_json(source.read_bytes()).trigger
        if record is None:
            raise SystemExit(f"{source} is about no trigger.")
        copyfile(source, records / f"trigger-{pair}.json")
        carried = carried or bool(record.transfer)
        parts.append(trigger_section(record, folder / f"certificate-{pair}.json", classifier))
    words = [WRITTEN_WORDS, SCORED_WORDS, CHANGE_WORDS, *([TRANSFER_WORDS] if carried else [])]
    return "\n\n".join([*parts, " ".join(words)])


def errors_section(
    labelled: list[dict[str, str]], classifier: RegardClassifier, runs: Mapping[str, Run]
) -> str:
    """How often the classifier's label is the readers'."""
    names = {int(code): name for code, name in LABELS.items()}
    given = classifier.label([row["text"] for row in labelled]).codes
    counts = Counter((int(row["label"]), int(code)) for row, code in zip(labelled, given, strict=True))
    lines = [
        f"| readers | {' | '.join(f'classifier: {name}' for name in names.values())} |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {' | '.join(str(counts[label, other]) for other in names)} |"
        for label, name in names.items()
    ]
    right = sum(counts[label, label] for label in names)
    written = {text for run in runs.values() for text in run.scores["text"].to_list()}
    others = sum(row["text"] not in written for row in labelled)
    among = f"{len(labelled) - others} of them are" if others < len(labelled) else "none of them is"
    said = (
        f" The model wrote them in an earlier run of the study; {among} among the texts that it wrote in this one."
        if others
        else ""
    )
    return "\n".join([*lines, "", f"Both labels are the same on {right} of {counts.total()} texts.{said}"])


def picture(ways: Mapping[str, Mapping[str, Run]]) -> Any:
    """The gap of every pair in both ways."""
    values = [
        {
            "groups": " minus ".join(name for name, _ in PAIRS[pair]),
            "way": way,
            **{part: getattr(gap_of(run), part) for part in ("value", "low", "high")},
        }
        for way, runs in ways.items()
        for pair, run in runs.items()
        if way != CORRECTED or is_corrected(run)
    ]
    shared = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("groups:N", title=None, sort=None, axis=alt.Axis(labelLimit=320, ticks=False, domain=False)),
        yOffset=alt.YOffset("way:N", sort=list(WAYS)),
        color=alt.Color(
            "way:N",
            title=None,
            sort=list(WAYS),
            scale=alt.Scale(domain=list(WAYS), range=list(WAYS.values())),
            legend=alt.Legend(orient="top", direction="vertical", labelLimit=400),
        ),
    )
    rule = (
        alt.Chart(alt.InlineData(values=[{"neutral": 0}]))
        .mark_rule(color="#444", strokeDash=[4, 3])
        .encode(x="neutral:Q")
    )
    bars = shared.mark_rule(strokeWidth=3, opacity=0.5).encode(x=alt.X("low:Q", title=None), x2="high:Q")
    points = shared.mark_point(filled=True, size=90, opacity=1).encode(x=alt.X("value:Q", title=None))
    return (
        (rule + bars + points)
        .properties(
            title={
                "text": "Gap in net regard, in points",
                "subtitle": "dashed: no gap; bars: 95% intervals over contexts",
            },
            width=520,
            height=alt.Step(20),
        )
        .configure(background="white", font="sans-serif")
        .configure_view(stroke=None)
    )


@contextmanager
def results_in(place: Path) -> Iterator[Path]:
    """The folder of a study, or what it exported, unpacked."""
    if place.is_dir():
        yield place
        return
    with TemporaryDirectory() as scratch:
        with tarfile.open(place) as archive:
            archive.extractall(scratch, filter="data")
        yield Path(scratch)


def runs_in(folder: Path, pattern: str) -> dict[str, Run]:
    """The runs of all pairs that are finished."""
    places = {pair: next(folder.glob(pattern.format(pair)), None) for pair in PAIRS}
    return {pair: open_run(place) for pair, place in places.items() if place}


def main() -> None:
    """Write page and picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, help="of the study, or its results.tar.gz")
    parser.add_argument("--labelled", type=Path, default=Path(__file__).with_name("labelled.csv"))
    parser.add_argument("--machine", help="what the texts were written on, such as: an H200")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument(
        "--records", type=Path, default=Path(__file__).parent, help="folder for the triggers' records"
    )
    chosen = parser.parse_args()
    with chosen.labelled.open(encoding="utf-8", newline="") as stream:
        labelled = [row for row in csv.DictReader(stream) if row["label"] in LABELS]
    with results_in(chosen.folder) as folder:
        before, corrected = runs_in(folder, "before-{}/*_regard"), runs_in(folder, "corrected/{}-corrected")
        classifier = open_classifier(folder / "classifier")
        sections = {
            "method": method(before, classifier, labelled, machine=chosen.machine),
            "shares": shares_table(before),
            "errors": errors_section(labelled, classifier, before),
            "gaps": gaps_section(before, corrected),
            "content": content_section(before),
            "triggers": trigger_sections(folder, chosen.records, classifier),
        }
    text = chosen.page.read_text(encoding="utf-8")
    for name, content in sections.items():
        text = replace_section(text, name, content)
    chosen.page.write_text(text, encoding="utf-8")
    picture(dict(zip(WAYS, (before, corrected), strict=True))).save(
        chosen.page.parent / PICTURE, scale_factor=1.6
    )


if __name__ == "__main__":
    main()
