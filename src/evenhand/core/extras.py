"""The optional packages that an extra of Evenhand brings, looked for before anything is loaded."""

from __future__ import annotations

from importlib.util import find_spec

from evenhand.core.errors import MissingExtraError

_MODELS = ("torch", "transformers", "accelerate", "datasets")

EXTRAS = {
    "hf": _MODELS,
    "train": (*_MODELS, "lemminflect", "peft"),
    "ray": ("ray", "pyarrow"),
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
