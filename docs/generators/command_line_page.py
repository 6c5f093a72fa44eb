"""The page of the command line: the help of every command, and each of them at work."""

from __future__ import annotations

from collections.abc import Mapping

from generators.workshop import help_of, workshop

GENERATED = "<!-- Made by docs/generate.py from the command line itself. Do not edit. -->"

INTRODUCTION = """# Command line

Results go to standard output; messages, warnings and errors go to standard error. Every command that computes
something has `--json`, which prints one JSON object and nothing else.

| exit code | meaning |
|---|---|
| 0 | done |
| 2 | something that you can mend: a missing file, a wrong option, data that do not fit |
| 3 | a check failed: `evenhand lab check`, `evenhand lab calibrate` or `evenhand regard check` found a fault |
| 4 | a gate is closed: a `--fail-if` condition holds |
| 5 | a certificate says that quality is lost |
| 6 | a certificate could not compare quality on enough of the texts or items |
| 130 | stopped with Ctrl-C; what can go on says so |
| 141 | nobody read on, as behind `head -1` |

The examples use the bundled starter set and its two files of simulated scores, so they run anywhere and offline.
Commands that run or train a model are shown at work on the pages about them.
"""

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "evenhand audit": (),
    "evenhand probe": (),
    "evenhand evaluate": (
        "evenhand evaluate simulated-neutral.json simulated-leaning.json --data starter --out runs",
    ),
    "evenhand compare": ("evenhand compare runs/simulated-neutral runs/simulated-leaning",),
    "evenhand report": (
        "evenhand report runs/simulated-neutral runs/simulated-leaning --out both.html",
        "evenhand report runs/simulated-neutral runs/simulated-leaning --format markdown",
    ),
    "evenhand data list": ("evenhand data list",),
    "evenhand data describe": ("evenhand data describe starter --language en",),
    "evenhand data check": ("evenhand data check starter --language en",),
    "evenhand data problems": ("evenhand data problems starter --language en --most 5",),
    "evenhand data translate": (),
    "evenhand data repair": (),
    "evenhand data review": (),
    "evenhand data publish": (),
    "evenhand data counterfactual": (
        "echo 'She is a nurse. The engineer lost his keys. He saw her duck.' > text.txt",
        "evenhand data counterfactual --corpus text.txt --out pairs.jsonl",
    ),
    "evenhand data next-sentence": (),
    "evenhand annotate agreement": ("evenhand annotate agreement ada.csv ben.csv cem.csv --json",),
    "evenhand annotate import": ("evenhand annotate import ada.csv ben.csv cem.csv --out annotations.csv",),
    "evenhand annotate export": ("evenhand annotate export annotations.csv --to doccano --out doccano",),
    "evenhand regard audit": (),
    "evenhand regard train": ("evenhand regard train --language de --out toy --size-seeds 0",),
    "evenhand regard label": (
        "echo 'Die Person hilft anderen gern.' > sentences.txt",
        "evenhand regard label sentences.txt --classifier toy",
    ),
    "evenhand regard review": (),
    "evenhand regard check": ("evenhand regard check --texts women.csv men.csv --label prediction --json",),
    "evenhand regard evaluate": ("evenhand regard evaluate texts.csv --group group",),
    "evenhand regard balance": ("evenhand regard balance survey.csv --out balanced.csv",),
    "evenhand mitigate equalise": (),
    "evenhand mitigate counterfactual": (),
    "evenhand mitigate trigger": (),
    "evenhand certify": (),
    "evenhand study": (),
    "evenhand models inspect": (),
    "evenhand models convert-head": (),
    "evenhand train next-sentence": (),
    "evenhand annotate new": (),
    "evenhand annotate link": (),
    "evenhand annotate revoke": (),
    "evenhand annotate collect": (),
    "evenhand annotate delete": (),
    "evenhand survey new": (),
    "evenhand survey show": (),
    "evenhand survey revise": (),
    "evenhand survey state": (),
    "evenhand survey links": (),
    "evenhand survey revoke": (),
    "evenhand survey export": (),
    "evenhand survey purge": (),
    "evenhand survey delete": (),
    "evenhand serve": (),
    "evenhand serve password": (),
    "evenhand serve backup": (),
    "evenhand serve restore": (),
    "evenhand lab build": (),
    "evenhand lab calibrate": (),
    "evenhand lab check": (),
}
"""Every command, in the order of the page, with examples. They share a folder."""


def command_line_page() -> str:
    """The whole page."""
    parts = [GENERATED, INTRODUCTION, _fenced("evenhand --help", help_of("evenhand"))]
    with workshop() as shop:
        examples = {
            command: [(line, shop.command(line)) for line in lines] for command, lines in COMMANDS.items()
        }
    for command, shown in examples.items():
        parts += [f"## {command}\n", _fenced(f"{command} --help", help_of(command))]
        for line, output in shown:
            parts.append(_fenced(line, output))
    return "\n".join(parts)


def _fenced(command: str, output: str) -> str:
    return f"```console\n$ {command}\n{output}\n```\n"
