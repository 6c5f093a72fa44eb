"""``apertium``: a rule-based translator that runs on this machine, from Debian's packages or others."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import TranslationError
from evenhand.core.files import sha256_of
from evenhand.translation.translators import THREE_LETTERS, LanguagePair, listed_cost

_TIMEOUT = 600

_BETWEEN = "\n\n"
"""Only an empty line ends a sentence for sure: over a line break, the program moves words from one text to the next."""


class ApertiumTranslator:
    """Asks the program ``apertium``; one text per paragraph."""

    batch_size = 500
    concurrency = 1
    batch_bound = True
    """Its taggers learn from words that they do not know, and so treat later texts differently."""

    def __init__(self, mode: str, version: str, dictionaries: str) -> None:
        self.mode = mode
        self.cost = listed_cost("apertium")
        self.settings: Mapping[str, str] = {"mode": mode, "version": version, "dictionaries": dictionaries}

    def translate(self, texts: Sequence[str]) -> list[str]:
        """The translation of each text; words that the program does not know stay as they are."""
        lines = [" ".join(text.split()) for text in texts]
        answers = re.split(r"\n\s*\n", _run(["-u", self.mode], _BETWEEN.join(lines)).strip())
        return [_in_case_of(line, answer.strip()) for line, answer in zip(lines, answers, strict=False)]


def _in_case_of(text: str, answer: str) -> str:
    """An answer without the capital that the program gives to the beginning of every paragraph."""
    is_raised = text[:1].islower() and answer[:1].isupper() and not answer[1:2].isupper()
    return answer[:1].lower() + answer[1:] if is_raised else answer


class ApertiumKind:
    """Opens Apertium's modes, by name or by the languages."""

    name = "apertium"
    summary = "Apertium, a rule-based translator on this machine; apertium:MODE for a mode by name"

    def open(self, argument: str, languages: LanguagePair) -> ApertiumTranslator:
        """The mode of this name, or of these languages."""
        if shutil.which("apertium") is None:
            raise TranslationError(
                "Apertium is not installed. On Debian: apt-get install apertium apertium-eng-spa, or another pair."
            )
        modes = _run(["-l"], "").split()
        source, target = (THREE_LETTERS.get(tag, tag) for tag in (languages.source, languages.target))
        mode = argument or f"{source}-{target}"
        if mode not in modes:
            raise TranslationError(
                f"Apertium has no mode {mode} here; it has {', '.join(modes) or 'none'}. Install the language pair, on "
                f"Debian apertium-{mode} or the pair the other way round."
            )
        return ApertiumTranslator(mode, _run(["-V"], "").strip(), _digest_of_mode(mode))


def _digest_of_mode(mode: str) -> str:
    """A digest of the files that a mode works with: another version of a language pair gives other answers."""
    program = Path(shutil.which("apertium") or "apertium").resolve()
    path = program.parents[1] / "share" / "apertium" / "modes" / f"{mode}.mode"
    if not path.is_file():
        return "not known"
    command = path.read_bytes()
    named = re.findall(r"/[^\s'\"|]+", command.decode(errors="replace"))
    files = sorted(file for name in dict.fromkeys(named) if (file := Path(name)).is_file())
    return sha256_of(command + b"".join(file.read_bytes() for file in files))[:16]


def _run(arguments: Sequence[str], text: str) -> str:
    try:
        ended = subprocess.run(  # noqa: S603 # a program of the user's own, and no shell
            [shutil.which("apertium") or "apertium", *arguments],
            input=text,
            capture_output=True,
            encoding="utf-8",
            check=True,
            timeout=_TIMEOUT,
        )
    except subprocess.CalledProcessError as problem:
        raise TranslationError(
            f"Apertium failed: {(problem.stderr or problem.stdout).strip()[:300]}"
        ) from None
    except subprocess.TimeoutExpired:
        raise TranslationError(f"Apertium gave no answer within {_TIMEOUT} seconds.") from None
    return ended.stdout


APERTIUM = ApertiumKind()
