"""Make what the lab ships: its items, its embedded models, its calibration.

    python docs/make_lab.py items          after the grammar changed
    python docs/make_lab.py models         after the grammar or the recipes changed; five minutes
    python docs/make_lab.py calibration FOLDER    from what ``evenhand lab calibrate --out FOLDER`` wrote

Everything is written into the package's own resources.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from evenhand.data.datasets import bundled_calibration_path, read_calibration
from evenhand.data.stereoset import LAB
from evenhand.lab.items import lab_benchmark, stereoset_layout


def make_items() -> None:
    """Write the lab's items in every language."""
    for language in LAB.languages:
        text = stereoset_layout(lab_benchmark(language).items, language)
        LAB.file(language).write_text(text, encoding="utf-8")


def make_models() -> None:
    """Build the embedded models anew."""
    from evenhand.cli.output import TerminalMonitor
    from evenhand.lab.embedded_models import embed_all

    embed_all(monitor=TerminalMonitor())


def make_calibration(folder: Path) -> None:
    """Take over a calibration; one of regard alone leaves the measures as they are."""
    calibration = read_calibration(folder / "calibration.json")
    if not calibration.measures:
        shipped = read_calibration(bundled_calibration_path())
        fields = ("schema_version", "regard", "regard_environment")
        calibration = shipped.model_copy(update={name: getattr(calibration, name) for name in fields})
    bundled_calibration_path().write_text(calibration.model_dump_json() + "\n", encoding="utf-8")


def main() -> None:
    """Make one of them."""
    parser = argparse.ArgumentParser(description="Make what the lab ships.")
    parser.add_argument("what", choices=("items", "models", "calibration"))
    parser.add_argument("folder", nargs="?", type=Path, help="Of a calibration.")
    arguments = parser.parse_args()
    if arguments.what == "items":
        make_items()
    elif arguments.what == "models":
        make_models()
    elif arguments.folder is None:
        parser.error("calibration needs the folder that evenhand lab calibrate wrote")
    else:
        make_calibration(arguments.folder)


if __name__ == "__main__":
    main()
