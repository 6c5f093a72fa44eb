"""Measure one model for a certificate, or a part of what the certificate needs, in a process of its own.

    python examples/real_model/measure_ahead.py MODEL --original ORIGINAL --role after --part malor --held-out test.txt
        ... --out certificate.html
    python examples/real_model/measure_ahead.py MODEL OTHER_SEED OTHER_SEED --original ORIGINAL --part seeds ...

``evenhand certify`` with the same options finds what was measured here and measures the rest itself. A small model
keeps a GPU waiting, so the parts of several models side by side take hardly longer than one of them. The part *seeds*
compares models of one recipe, without classifiers, from what the other parts have measured.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

MALOR = "malor"
OTHER_RUNS = "other-runs"
"""All other instruments, and held-out text."""
ANSWERS = "answers-"
"""With the seed of a classifier."""
SEEDS = "seeds"
CLASSIFIERS = 5


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--original", required=True)
    parser.add_argument("--role", default="after", help="before, after, after-2, ...")
    parser.add_argument("--part", required=True, help=f"{MALOR}, {OTHER_RUNS}, {ANSWERS}SEED, or {SEEDS}")
    parser.add_argument("--out", type=Path, required=True, help="the page of the certificate")
    for name in ("held-out", "corpus", "settled-text", "data", "crows-pairs", "labelled"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--language", required=True)
    parser.add_argument("--margin", action="append", default=[])
    chosen = parser.parse_args()

    from evenhand.api.certify import certify_seeds
    from evenhand.api.defaults.mitigating import CertifyOptions, default_plan
    from evenhand.api.models import reference_to
    from evenhand.certificate import Margins
    from evenhand.certificate.measuring import ModelMeasurer
    from evenhand.models.language_model import load_language_model
    from evenhand.store.certificate_files import runs_folder

    options = CertifyOptions(
        held_out=(chosen.held_out,),
        corpus=(chosen.corpus,),
        settled_text=(chosen.settled_text,),
        data=str(chosen.data),
        crows_pairs=str(chosen.crows_pairs),
        labelled=None if chosen.part == SEEDS else chosen.labelled,
        language=chosen.language,
        margins=Margins.parse(chosen.margin, perplexity=None),
    )
    if chosen.part == SEEDS:
        certify_seeds(chosen.original, chosen.models, options=options, out=chosen.out)
        return
    plan = default_plan(reference_to(chosen.original), options)
    wanted = tuple(own for own in plan.measurements if (own.name == MALOR) == (chosen.part == MALOR))
    measurer = ModelMeasurer(
        load_language_model(chosen.models[0]),
        # Classifiers ask nothing, but a plan has at least one instrument.
        replace(plan, measurements=wanted[-1:] if chosen.part.startswith(ANSWERS) else wanted),
        folder=runs_folder(chosen.out) / chosen.role,
    )
    if chosen.part.startswith(ANSWERS):
        if plan.labelled:
            measurer.answers_of_seed(plan.labelled, int(chosen.part.removeprefix(ANSWERS)))
        return
    measurer.measure()
    if chosen.part == OTHER_RUNS:
        if plan.held_out:
            measurer.held_out(plan.held_out)
        if plan.passages:
            measurer.passages(plan.passages)


if __name__ == "__main__":
    main()
