"""Dataset layouts: how a file of items is read, and which named datasets come in that layout.

A layout is one object; StereoSet, CrowS-Pairs and Winogender are entries like any other. Another package adds its own
with an entry point, and every command that takes ``--data`` reads it:

    [project.entry-points."evenhand.datasets"]
    my-layout = "my_package.my_layout:MY_LAYOUT"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar, overload

from evenhand.core.errors import DatasetError, EvenhandError, UnknownNameError, shortlist
from evenhand.core.inputs import checked_path
from evenhand.core.items import Benchmark
from evenhand.core.progress import activity
from evenhand.core.registry import PluginError, Registry, lacks
from evenhand.data.datasets import BundledDataset, NamedDataset, PinnedDataset
from evenhand.data.language_folders import chosen_language, files_passed_over, languages_in, no_languages
from evenhand.data.records import field_sets, is_record_folder

Dataset = TypeVar("Dataset")


@dataclass(frozen=True, slots=True)
class DatasetLayout:
    """A way in which files hold items. Any object with these attributes will do.

    Attributes:
        name: The same as in the registry.
        description: What a file holds, for messages: "pairs of sentences".
        kind: The class that ``read`` returns: ``Benchmark``, ``PairSet``, ...
        suffixes: How its files end, without ``.gz``.
        recognises: Whether a file is in this layout, by its content; asked where several layouts have the suffix of a
            file.
        read: Reads a file. Called with the path and the keywords ``language`` (None if the file must say it), ``name``
            and ``licence`` (None unless the file belongs to a named dataset or a folder), and with ``encoding`` where
            one was named.
        datasets: Named datasets in this layout.
        fields: What its records have at least, for messages about a file that is in no layout.
    """

    name: str
    description: str
    kind: type
    suffixes: tuple[str, ...]
    recognises: Callable[[Path], bool]
    read: Callable[..., Any]
    datasets: tuple[NamedDataset, ...] = ()
    fields: tuple[str, ...] = ()


DATASET_LAYOUTS: Registry[DatasetLayout] = Registry(
    "dataset layout",
    "evenhand.datasets",
    order=(
        "stereoset",
        "stereoset-records",
        "crows-pairs",
        "shades",
        "eurogest",
        "bec-pro",
        "winogender",
        "occupation-shares",
    ),
    check=lambda entry: lacks(entry, "name", "description", "kind", "suffixes", "recognises", "read"),
)


@overload
def load_dataset(
    data: str | Path, *, language: str | None = None, encoding: str | None = None
) -> Benchmark: ...


@overload
def load_dataset(
    data: str | Path, *, language: str | None = None, kind: type[Dataset], encoding: str | None = None
) -> Dataset: ...


def load_dataset(
    data: str | Path,
    *,
    language: str | None = None,
    kind: type = Benchmark,
    encoding: str | None = None,
) -> Any:
    """One language of a dataset.

    Args:
        data: ``starter`` or another name that ``evenhand data list`` shows, a file, a folder with one file per
            language (``en.json``, ``de.json`` ...), or one that ``Dataset.save_to_disk`` made.
        language: Needed when ``data`` holds several languages and has no default, or when a file does not say
            its language.
        kind: What is needed: a ``Benchmark`` with contexts and candidates, a ``PairSet``, ...
        encoding: Of a text file that is not UTF-8.

    Raises:
        UnknownNameError: If no dataset of this kind has the name.
        DatasetError: If the data cannot be read, or are of another kind.
        PluginError: If the layout of another package fails.
    """
    named = _named(str(data), kind)
    if named is not None:
        layout, dataset = named
        loaded = _read(
            layout,
            dataset.file(language),
            language=dataset.language_for(language),
            name=dataset.name,
            licence=dataset.licence,
        )
        if isinstance(dataset, PinnedDataset) and isinstance(loaded, Benchmark):
            dataset.refuse_other_items(loaded)
        return loaded
    path = checked_path(data, error=DatasetError)
    places = _languages_of_folder(path, kind) if path.is_dir() else {}
    if places:
        chosen = chosen_language(path, places, language)
        place = places[chosen]
        return _read(
            layout_of(place, kind), place, language=chosen, name=path.resolve().name, encoding=encoding
        )
    _refuse_unknown_name(data, kind)
    return _read(layout_of(path, kind), path, language=language, encoding=encoding)


def dataset_path(data: str | Path, *, kind: type) -> Path:
    """The file of a name or a path, for readers that need more than ``load_dataset`` gives.

    Raises:
        UnknownNameError: If no dataset of this kind has the name.
    """
    named = _named(str(data), kind)
    if named is not None:
        return named[1].file()
    _refuse_unknown_name(data, kind)
    return Path(data)


def languages_of(data: str | Path, *, kind: type = Benchmark) -> tuple[str | None, ...]:
    """The languages that ``load_dataset`` can be asked for; None where the file itself decides."""
    dataset = named_datasets().get(str(data))
    if isinstance(dataset, BundledDataset):
        return dataset.languages
    if dataset is None and checked_path(data, error=DatasetError).is_dir():
        return tuple(_languages_of_folder(Path(data), kind)) or (None,)
    return (None,)


def passed_over(data: str | Path, *, kind: type = Benchmark) -> str | None:
    """Which files of a folder are not read, since they are not named after a language, in a sentence; None if none."""
    folder = checked_path(data, error=DatasetError)
    if str(data) in named_datasets() or not folder.is_dir():
        return None
    names = files_passed_over(folder, _suffixes_of(kind))
    if not names:
        return None
    return (
        f"Not read in {folder}: {shortlist(names, 5)}. Only files that are named after a language are read, such as "
        "en.json, one for each language. Rename them, or give them alone."
    )


def kind_of(data: str | Path) -> type:
    """What ``load_dataset`` gives for a name, a file or a folder: the class of its layout.

    Raises:
        UnknownNameError: If no dataset has the name.
        DatasetError: If the file is in no layout that is known.
    """
    named = _named(str(data), object)
    if named is not None:
        return named[0].kind
    _refuse_unknown_name(data, object)
    path = Path(data)
    if path.is_dir():
        path = next(iter(_languages_of_folder(path, object).values()), path)
    return layout_of(path).kind


def named_datasets() -> dict[str, NamedDataset]:
    """All datasets that have a name, in the order of the layouts, those of other packages last."""
    return {dataset.name: dataset for _, dataset in _all_named()}


def _all_named() -> list[tuple[DatasetLayout, NamedDataset]]:
    named: list[tuple[DatasetLayout, NamedDataset]] = []
    owners: dict[str, str] = {}
    for layout in DATASET_LAYOUTS.values():
        for dataset in getattr(layout, "datasets", ()):
            package = _package_of(layout)
            if dataset.name in owners:
                raise PluginError(
                    f"The package {package} has a dataset named {dataset.name!r}, a name that {owners[dataset.name]} "
                    "has taken. Rename or uninstall one of them."
                )
            owners[dataset.name] = package
            named.append((layout, dataset))
    return named


def _named(name: str, kind: type) -> tuple[DatasetLayout, NamedDataset] | None:
    for layout, dataset in _all_named():
        if dataset.name == name:
            if not issubclass(layout.kind, kind):
                raise DatasetError(
                    f"{name} has {layout.description}, not {_description_of(kind)}. Use it with: evenhand "
                    f"{dataset.used_by}."
                )
            return layout, dataset
    return None


def _refuse_unknown_name(data: str | Path, kind: type) -> None:
    path = checked_path(data, error=DatasetError)
    if not path.exists() and not path.suffix and os.sep not in str(data):
        of_kind = [dataset.name for layout, dataset in _all_named() if issubclass(layout.kind, kind)]
        raise UnknownNameError("dataset", str(data), of_kind)


def _package_of(layout: DatasetLayout) -> str:
    owners = (name for name in DATASET_LAYOUTS.names() if DATASET_LAYOUTS.get(name) is layout)
    return DATASET_LAYOUTS.package_of(next(owners))


def _has_suffix(path: Path, layout: DatasetLayout) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(tuple(layout.suffixes))


def layout_of(path: Path, kind: type = object) -> DatasetLayout:
    """The layout of a file or folder, by its content.

    Where none recognises it, the one whose fields it has in part, whose errors say what is wrong.

    Args:
        path: The file, or the folder of a saved dataset.
        kind: What is needed of it.

    Raises:
        DatasetError: If it is in a layout of another kind, or in none.
    """
    of_kind = [layout for layout in DATASET_LAYOUTS.values() if issubclass(layout.kind, kind)]
    others = [layout for layout in DATASET_LAYOUTS.values() if layout not in of_kind]
    for layout in _candidates(path, of_kind):
        if _recognises(layout, path):
            return layout
    for layout in _candidates(path, others):
        if _recognises(layout, path):
            raise DatasetError(
                f"{path} is in the layout {layout.name}: it has {layout.description}, not {_description_of(kind)}."
            )
    found = max(field_sets(path), key=len, default=frozenset())
    needed = {layout.name: tuple(getattr(layout, "fields", ())) for layout in of_kind}
    closest = max(of_kind, key=lambda layout: len(found & set(needed[layout.name])))
    if found & set(needed[closest.name]):
        return closest
    if found:
        known = "; ".join(f"{name} ({', '.join(fields)})" for name, fields in needed.items() if fields)
        raise DatasetError(
            f"{path} is in no layout that is known. It has the fields {shortlist(sorted(found), 8)}. "
            f"{'Known layouts are' if kind is object else f'For {_description_of(kind)} there are the layouts'} "
            f"{known}. Rename its fields, or add a layout of your own."
        )
    return next((layout for layout in of_kind if _has_suffix(path, layout)), of_kind[0])


def _candidates(path: Path, layouts: Sequence[DatasetLayout]) -> list[DatasetLayout]:
    """Layouts that a file may be in, those with its suffix first. Other packages see files of theirs alone."""
    fitting = [layout for layout in layouts if _has_suffix(path, layout)]
    own = [layout for layout in layouts if layout not in fitting and _package_of(layout) == "evenhand"]
    return [*fitting, *own]


def _description_of(kind: type) -> str:
    return next(layout.description for layout in DATASET_LAYOUTS.values() if issubclass(layout.kind, kind))


def _recognises(layout: DatasetLayout, path: Path) -> bool:
    return path.exists() and bool(_guarded(layout, path, layout.recognises))


def _read(layout: DatasetLayout, path: Path, *, encoding: str | None = None, **options: str | None) -> Any:
    if encoding is not None:
        if "encoding" not in signature(layout.read).parameters:
            raise DatasetError(
                f"The layout {layout.name} is read in UTF-8. Convert {path}, without --encoding."
            )
        options["encoding"] = encoding
    with activity(f"reading {path.name}"):
        dataset = _guarded(
            layout, path, lambda path: layout.read(path, **{"name": None, "licence": None, **options})
        )
    if not isinstance(dataset, layout.kind):
        raise PluginError(
            f"The dataset layout {layout.name!r} of the package {_package_of(layout)} gave "
            f"{type(dataset).__name__} for {path}, not {layout.kind.__name__} as it says."
        )
    return dataset


def _guarded(layout: DatasetLayout, path: Path, call: Callable[[Path], Any]) -> Any:
    """Call a layout of any package; errors of another package carry its name."""
    try:
        return call(path)
    except EvenhandError:
        raise
    except Exception as problem:
        package = _package_of(layout)
        if package == "evenhand":
            raise
        raise PluginError(
            f"The dataset layout {layout.name!r} of the package {package} failed on {path}: "
            f"{type(problem).__name__}: {problem}. Repair or uninstall that package."
        ) from problem


def _suffixes_of(kind: type) -> list[str]:
    """How files of a kind end."""
    layouts = (layout for layout in DATASET_LAYOUTS.values() if issubclass(layout.kind, kind))
    return list(dict.fromkeys(suffix for layout in layouts for suffix in layout.suffixes))


def _languages_of_folder(folder: Path, kind: type) -> dict[str, Path]:
    """The data of each language of a folder; none of a folder that holds one dataset.

    Raises:
        DatasetError: If it has neither.
    """
    suffixes = _suffixes_of(kind)
    places = languages_in(folder, suffixes)
    if not places and not is_record_folder(folder):
        raise no_languages(folder, suffixes)
    return places
