r"""German regard from votes to gaps, on published data alone, and the page that tells it: ``docs/regard-german.md``.

    python examples/regard_german/german_chain.py --regard-de regard_de/ --folder runs/regard-german

``--regard-de`` is the folder of krangelie/bias-in-german-nlg (MIT): sentences of a survey with the votes of five
annotators, texts of GerPT-2 with the votes of five annotators, and the texts that GerPT-2 wrote about women and men
without a trigger and with two. Nothing of it is copied into the page but figures.

1. agreement of the annotators;
2. a classifier, trained on their votes, with whole participants of the survey held out;
3. its own bias;
4. its labels of the texts about women and men, beside the published ones;
5. shares and gaps, with the error carried through that it makes on generated texts which people labelled.

On two cores it takes two minutes. The texts are offensive in places, and none is printed.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from evenhand.core.estimates import Estimate
from evenhand.instruments.regard.results import ErrorTreatment, RegardFigures, RegardResult
from evenhand.reporting.numbers import show_p
from evenhand.store.run import Run, open_run

sys.path.insert(0, str(Path(__file__).parents[1]))
from marked_sections import replace_section

PAGE = Path(__file__).parents[2] / "docs" / "regard-german.md"
ARMS = {"not_triggered": "no trigger", "aschenkeller": "Aschenkeller", "vitamin": "Vitamin"}
VOTES = ("--label", "Label", "--unsure", "Unsicher")
WAYS = {
    "published": "published labels",
    "ours": "labels of our classifier",
    "carried": "its error carried through",
}


def evenhand(*arguments: object) -> str:
    """What a command prints, after it ended well."""
    words = [str(argument) for argument in arguments]
    print("$ evenhand", *words, flush=True)
    finished = subprocess.run(
        [sys.executable, "-m", "evenhand", *words], check=False, text=True, stdout=subprocess.PIPE
    )
    if finished.returncode:
        raise SystemExit(finished.returncode)
    return finished.stdout


def write_sample(source: Path, target: Path) -> None:
    """Votes on generated texts, told of *Die Person* as the sentences are that the classifier learnt from."""
    with source.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["text_id", "text", "annotator", "label", "unsure"])
        writer.writerows(
            [row["text_id"], f"Die Person {row['text']}", row["annotator"], row["label"], row["unsure"]]
            for row in rows
        )


def shown(estimate: Estimate) -> str:
    """A figure with its interval."""
    words = f"{estimate.value:.1f} [{estimate.low:.1f}, {estimate.high:.1f}]"
    return words.replace("-", "\N{MINUS SIGN}")


def figures_of(result: RegardResult, treatment: ErrorTreatment) -> RegardFigures | None:
    """The figures over all contexts after one treatment of the classifier's errors; None if it was not possible."""
    whole = result.all
    return next((own for own in (whole.figures, *whole.others) if own.treatment is treatment), None)


def agreement_section(found: dict[str, Any]) -> str:
    """How far the annotators agree."""
    return (
        f"Five people voted on {found['n']:,} sentences. Cohen's kappa of every two is {found['mean_kappa']:.3f} on "
        f"average, Krippendorff's ordinal alpha {found['alpha']['ordinal']:.3f}. All five agree on "
        f"{found['consensus']:,} sentences; {found['unsure']} have a vote that is unsure."
    )


def classifier_section(folder: Path, check: dict[str, Any]) -> str:
    """What the classifier gets right in texts that it never saw, and whether its check found a bias."""
    figures = json.loads((folder / "estimates.json").read_text(encoding="utf-8"))
    found = Estimate.model_validate(figures["test"]["balanced_accuracy"])
    ceiling = Estimate.model_validate(figures["human_ceiling"]["accuracy"])
    (pair,) = check["pairs"]
    gap = Estimate.model_validate(pair["gap"])
    return (
        f"On {found.n} sentences of participants that it never saw, it finds {percent(found)} of each class on "
        "average; guessing would find 33%. People agree with the majority of the others on "
        f"{percent(ceiling)}. Its own bias, with {pair['n']} pairs of sentences about a woman and a man: "
        f"{shown(gap)} points, {check['verdict']}."
    )


def percent(estimate: Estimate) -> str:
    """A share with its interval."""
    value, low, high = (100 * own for own in (estimate.value, estimate.low, estimate.high))
    return f"{value:.0f}% [{low:.0f}, {high:.0f}]"


def gaps_section(runs: dict[tuple[str, str], Run]) -> str:
    """One row per arm and way: shares of both groups and the gap."""
    lines = [
        "| | labels | women: negative, positive % | men: negative, positive % | gap in points | p |",
        "|---|---|---|---|---|---|",
    ]
    for arm, name in ARMS.items():
        published, ours = (runs[arm, way].result for way in ("published", "ours"))
        rows = {
            "published": figures_of(published, ErrorTreatment.NONE),
            "ours": figures_of(ours, ErrorTreatment.NONE),
            "carried": figures_of(ours, ErrorTreatment.CONFUSION_MATRIX),
        }
        for way, figures in rows.items():
            if figures is None:
                lines.append(f"| {name} | {WAYS[way]} | not possible | | | |")
                continue
            (gap,) = figures.gaps
            shares = [
                f"{own.negative.value:.1f}, {own.positive.value:.1f}" for own in figures.groups.values()
            ]
            cells = (name, WAYS[way], *shares, shown(gap.gap), show_p(gap.p_value))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def labels_section(runs: dict[tuple[str, str], Run]) -> str:
    """How often our labels are the published ones, and how often they are those of people."""
    lines = []
    for arm, name in ARMS.items():
        published, ours = (runs[arm, way].scores["label"].to_list() for way in ("published", "ours"))
        same = sum(one == other for one, other in zip(published, ours, strict=True))
        lines.append(f"{same:,} of {len(ours):,} ({name})")
    sample = runs["not_triggered", "ours"].result.labelled_sample
    if sample is None:
        raise SystemExit("People's labels of generated texts are missing.")
    return (
        f"Our labels are the published ones in {'; '.join(lines)}. On the {sample.texts:,} generated texts that people "
        f"labelled, it says what most of them say in {100 * sample.accuracy.value:.0f}% "
        f"[{100 * sample.accuracy.low:.0f}, {100 * sample.accuracy.high:.0f}]."
    )


def main() -> None:
    """From the votes to the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--regard-de", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="for everything that is made")
    chosen = parser.parse_args()
    data, folder = chosen.regard_de, chosen.folder
    folder.mkdir(parents=True, exist_ok=True)

    votes = sorted((data / "annotations").glob("*.csv"))
    agreement = json.loads(evenhand("annotate", "agreement", *votes, *VOTES, "--json"))
    classifier = folder / "classifier"
    participants = f"{data / 'survey' / 'all_with_label.csv'}:case"
    evenhand(
        "regard", "train", *votes, *VOTES, "--group", participants, "--language", "de", "--labels", "soft",
        "--persons", "mask", "--size-seeds", "0", "--out", classifier,
    )  # fmt: skip
    check = json.loads(evenhand("regard", "check", classifier, "--json"))
    evenhand(
        "annotate", "import", *sorted((data / "annotations_generated").glob("*.csv")), *VOTES, "--out",
        folder / "votes.csv", "--replace",
    )  # fmt: skip
    sample = folder / "sample.csv"
    write_sample(folder / "votes.csv", sample)
    runs: dict[tuple[str, str], Run] = {}
    for arm in ARMS:
        files = [
            data / "generated" / arm / f"{group}_SINGLE_texts_regard_qualbias_labeled.csv"
            for group in ("FEMALE", "MALE")
        ]
        shared = ("--text", "Text", "--context-flag", "OCC context", "--out", folder / "runs")
        ways = {
            "published": ("--label", "Prediction"),
            "ours": ("--classifier", classifier, "--labelled", sample),
        }
        for way, options in ways.items():
            evenhand("regard", "evaluate", *files, *shared, *options, "--name", f"{arm}-{way}")
            runs[arm, way] = open_run(folder / "runs" / f"{arm}-{way}")
    text = PAGE.read_text(encoding="utf-8")
    for name, content in {
        "agreement": agreement_section(agreement),
        "classifier": classifier_section(classifier, check),
        "labels": labels_section(runs),
        "gaps": gaps_section(runs),
    }.items():
        text = replace_section(text, name, content)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
