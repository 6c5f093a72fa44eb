"""Label schemes by name or from a file of one's own.

A scheme is a YAML or JSON file with the fields of ``LabelScheme``; ``resources/label_schemes`` has two to copy.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from evenhand.core.errors import DatasetError, UnknownNameError, fault
from evenhand.core.inputs import checked_path
from evenhand.core.labels import LabelScheme
from evenhand.core.yaml_files import read_yaml

REGARD = "regard"
SIX_CATEGORIES = "six-categories"

_BUNDLED = resources.files("evenhand.data") / "resources" / "label_schemes"
_ENDINGS = (".yaml", ".yml", ".json")


def bundled_schemes() -> tuple[str, ...]:
    """The names of the schemes that come with the package."""
    return tuple(
        sorted(
            entry.name.removesuffix(".yaml") for entry in _BUNDLED.iterdir() if entry.name.endswith(".yaml")
        )
    )


def load_scheme(name: str | Path = REGARD) -> LabelScheme:
    """A bundled scheme by name, or one from a file that ends in ``.yaml``, ``.yml`` or ``.json``.

    Raises:
        UnknownNameError: If it is neither the name of a scheme nor a file.
        DatasetError: If the file cannot be read or is no scheme.
    """
    if str(name) in bundled_schemes():
        return read_scheme(Path(str(_BUNDLED / f"{name}.yaml")))
    path = checked_path(name, error=DatasetError)
    if path.suffix.lower() not in _ENDINGS and not path.is_file():
        raise UnknownNameError("label scheme", str(name), bundled_schemes())
    return read_scheme(path)


def read_scheme(path: Path) -> LabelScheme:
    """A scheme from a YAML or JSON file.

    Raises:
        DatasetError: If the file cannot be read, or lacks what a scheme needs.
    """
    content = read_yaml(path, error=DatasetError)
    if not isinstance(content, dict):
        raise DatasetError(
            f"{path} is not a label scheme. It needs a name and a list of labels, each with a code; "
            f"{_BUNDLED / 'regard.yaml'} is one to copy."
        )
    try:
        return LabelScheme.model_validate(content)
    except ValidationError as problem:
        raise DatasetError(f"{path} is not a label scheme: {fault(problem)}.") from None
