"""Everything that Evenhand raises on purpose.

    EvenhandError
    ├── UnknownNameError      a protocol, measure, dataset ... that does not exist
    ├── DatasetError          a dataset that cannot be read or breaks the layout
    │   └── DatasetUnavailableError   a named dataset with no local copy and no way to fetch one
    ├── PredictionsError      a file of scores that cannot be read or does not fit its dataset
    ├── ConditionError        a ``--fail-if`` condition that cannot be parsed or evaluated
    ├── RunError              a run folder that is missing, unfinished or would be mixed with another
    ├── ComparisonError       runs that cannot be compared with each other
    ├── TranslationError      a benchmark that cannot be translated, or a translation that cannot be changed
    ├── OutputError           a result that could not be written
    └── MissingExtraError     a job that needs packages which are not installed

Each message says what was found, what is needed, and what to do next. The command line prints it
without a traceback and exits with code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from pydantic import ValidationError


class EvenhandError(Exception):
    """Base of all errors that a user can do something about."""


class UnknownNameError(EvenhandError):
    """A name that is not registered, with the closest known one."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        by_folded = {known_name.casefold(): known_name for known_name in names}
        close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.5)
        self.suggestion = by_folded[close[0]] if close else None
        hint = f" Did you mean {self.suggestion!r}?" if self.suggestion else ""
        listed = f"Known: {', '.join(names)}." if names else "There are none yet."
        super().__init__(f"Unknown {kind} {name!r}.{hint} {listed}")
        self.kind = kind
        self.name = name


class DatasetError(EvenhandError):
    """A dataset that cannot be read, or whose rows break the layout."""


class DatasetUnavailableError(DatasetError):
    """A named dataset that is neither on disk nor reachable."""


class PredictionsError(EvenhandError):
    """A file of candidate scores that cannot be read or does not fit its dataset."""


class ConditionError(EvenhandError):
    """A condition that cannot be parsed, or whose value is undefined."""


class RunError(EvenhandError):
    """A run folder that is missing, unfinished, or would be mixed with another run."""


class ComparisonError(EvenhandError):
    """Runs that cannot be compared with each other."""


class TranslationError(EvenhandError):
    """A benchmark that cannot be translated, or a translation that cannot be opened or changed."""


class OutputError(EvenhandError):
    """A result that could not be written."""


def how_to_install(extra: str) -> str:
    """What installs an extra. Evenhand is in no package index, so it is installed from a clone."""
    return f"In your clone of Evenhand, run: pip install '.[{extra}]'"


class MissingExtraError(EvenhandError):
    """A job that needs packages which are not installed, with the command that installs them from a clone."""

    def __init__(self, extra: str, missing: Sequence[str], *, purpose: str) -> None:
        names = " and ".join((", ".join(missing[:-1]), missing[-1])) if len(missing) > 1 else missing[0]
        state = "which is not installed" if len(missing) == 1 else "which are not installed"
        super().__init__(f"{purpose} needs {names}, {state}. {how_to_install(extra)}")
        self.extra = extra
        self.missing = tuple(missing)


def shortlist(names: Iterable[str], limit: int = 5) -> str:
    """The first few of many names, with the number left out."""
    listed = list(names)
    shown = ", ".join(listed[:limit])
    return shown if len(listed) <= limit else f"{shown} and {len(listed) - limit:,} more"


def are_missing(names: Sequence[str]) -> str:
    """What is missing, with its verb."""
    *others, last = names
    return f"{', '.join(others)} and {last} are missing" if others else f"{last} is missing"


_LONGEST_FAULT = 300
"""Characters of what a library says; some of them show the whole table."""


_RUST_PANIC = "PanicException"
"""What a library written in Rust raises where it did not expect to fail; its message tells of the library alone."""


def fault(problem: BaseException) -> str:
    """The fault of a file: of one that does not validate, the number of faults and the first."""
    if type(problem).__name__ == _RUST_PANIC:
        return "its parts do not fit together"
    if not isinstance(problem, ValidationError):
        text = " ".join(str(problem).split())
        return text if len(text) <= _LONGEST_FAULT else f"{text[: _LONGEST_FAULT - 3]}..."
    first = problem.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    count = problem.error_count()
    told = f"{where}: {first['msg']}" if where else first["msg"]
    return told if count == 1 else f"{count:,} faults, the first is {told}"


_MODELS = ("torch", "transformers", "accelerate", "datasets")

EXTRAS = {
    "hf": _MODELS,
    "gguf": (*_MODELS, "gguf"),
    "train": (*_MODELS, "lemminflect", "peft"),
    "regard": (*_MODELS, "sklearn", "xgboost", "optuna", "safetensors", "sentence_transformers", "simplemma"),
    "german": ("german_nouns",),
    "vectors": ("gensim",),
    "ray": ("ray", "pyarrow"),
    "crowd": ("crowdkit", "pandas"),
    "web": ("fastapi", "sqlalchemy", "alembic", "uvicorn", "argon2", "itsdangerous", "python_multipart"),
    "postgres": ("pg8000",),
    "translate": ("boto3", "simplemma"),
}
"""The modules that each extra brings, as far as Evenhand cannot do without them where it needs the extra."""


def missing_extra(problem: ModuleNotFoundError, *, purpose: str) -> MissingExtraError | None:
    """What to install after an import failed, or None if no extra brings the module."""
    module = (problem.name or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    return MissingExtraError(extra, [module], purpose=purpose) if extra else None


def require_extra(extra: str, *modules: str, purpose: str) -> None:
    """Refuse a job at once when a module that it needs is not installed. Nothing is imported.

    Args:
        extra: The extra that brings the modules, such as ``hf``.
        *modules: The modules that the job needs; all that the extra brings if none is named.
        purpose: What needs them, as the message begins, such as ``evenhand audit``.
    """
    missing = [module for module in modules or EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise MissingExtraError(extra, missing, purpose=purpose)
