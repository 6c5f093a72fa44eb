"""Options of certificates, whether made by themselves or at the end of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AssociationData = Annotated[
    str | None,
    typer.Option("--data", "-d", help="Association tests: a dataset's name or a file; the starter set."),
]
CrowsPairs = Annotated[
    str | None, typer.Option(help="CrowS-Pairs as a measure not trained on: its name, or a file.")
]
Labelled = Annotated[
    Path | None,
    typer.Option(help="Labelled text to fine-tune on: a file with text and label, or a folder."),
]
FinetuneSeeds = Annotated[int, typer.Option(help="Classifiers to fine-tune from each model.", min=2)]
FinetuneSteps = Annotated[int, typer.Option(help="Steps of each fine-tuning.", min=1)]
