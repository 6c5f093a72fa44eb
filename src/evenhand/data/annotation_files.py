"""Files of annotations, in any of the layouts that annotation tools write.

A layout is one object. Another package adds its own with an entry point:

    [project.entry-points."evenhand.annotations"]
    my-tool = "my_package.my_tool:MY_TOOL_LAYOUT"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.labels import LabelScheme
from evenhand.core.registry import Registry, lacks
from evenhand.data.annotations import AnnotationTable

LONG, ALIGNED, LABEL_STUDIO, DOCCANO = "long", "aligned", "label-studio", "doccano"


@dataclass(frozen=True, slots=True)
class AnnotationColumns:
    """What the columns of a table are called; capital letters do not matter.

    Attributes:
        text: The text.
        label: The code of a label, or the sign for unsure.
        unsure: A column that is ticked if the annotator was unsure. If None, ``unsure`` where there is one.
    """

    text: str = "text"
    label: str = "label"
    unsure: str | None = None


@dataclass(frozen=True, slots=True)
class AnnotationLayout:
    """A way in which files hold annotations. Any object with these attributes will do.

    Attributes:
        name: The same as in the registry.
        description: What the files hold, for messages and help.
        recognises: Whether a file is in this layout.
        read: Reads files, as ``read(paths, scheme=scheme, columns=columns)``; without a scheme, under the bundled one
            that fits.
        write: Writes a table to a path, which is a folder where the layout has one file per annotator; returns the
            files that it wrote.
    """

    name: str
    description: str
    recognises: Callable[[Path], bool]
    read: Callable[..., AnnotationTable]
    write: Callable[[AnnotationTable, Path], tuple[Path, ...]]


ANNOTATION_LAYOUTS: Registry[AnnotationLayout] = Registry(
    "annotation layout",
    "evenhand.annotations",
    order=(LONG, ALIGNED, LABEL_STUDIO, DOCCANO),
    check=lambda entry: lacks(entry, "name", "description", "recognises", "read", "write"),
)


def read_annotations(
    paths: Sequence[str | Path],
    *,
    scheme: LabelScheme | None = None,
    columns: AnnotationColumns | None = None,
    layout: str | None = None,
) -> AnnotationTable:
    """The annotations of one or several files.

    Args:
        paths: The files.
        scheme: The labels; the bundled scheme that fits if not given, which is ``regard`` where labels are in one
            column.
        columns: What the columns of a table are called.
        layout: A name of ``ANNOTATION_LAYOUTS``; the first that recognises the first file if not given.

    Raises:
        DatasetError: If a file cannot be read, or has a label that is not in the scheme.
        UnknownNameError: If there is no layout of this name.
    """
    files = [Path(path) for path in paths]
    if not files:
        raise DatasetError("No file of annotations was given. Give at least one.")
    twice = {file for file in files if files.count(file) > 1}
    if twice:
        raise DatasetError(f"{min(twice)} was given more than once. Give each file once.")
    chosen = ANNOTATION_LAYOUTS.get(layout) if layout else _layout_of(files[0])
    return chosen.read(files, scheme=scheme, columns=columns or AnnotationColumns())


def write_annotations(table: AnnotationTable, out: str | Path, *, layout: str = LONG) -> tuple[Path, ...]:
    """Write annotations in a layout, and return the files.

    Args:
        table: What to write.
        out: A file, or a folder where the layout has one file per annotator.
        layout: A name of ``ANNOTATION_LAYOUTS``.

    Raises:
        UnknownNameError: If there is no layout of this name.
        OutputError: If a file cannot be written.
    """
    return ANNOTATION_LAYOUTS.get(layout).write(table, Path(out))


def _layout_of(path: Path) -> AnnotationLayout:
    if not path.is_file():
        raise DatasetError(f"There is no file {path}. Check the path.")
    for layout in ANNOTATION_LAYOUTS.values():
        if layout.recognises(path):
            return layout
    known = "; ".join(f"{layout.name}: {layout.description}" for layout in ANNOTATION_LAYOUTS.values())
    raise DatasetError(f"{path} is in no layout of annotations that is known. Those are {known}.")
