"""The files of a model folder: which of them are no files, which are damaged, and what a library's failure means.

Libraries read these files, and what they raise where one is damaged is of any kind. What can be told without reading
much is refused beforehand. The rest is found out afterwards, so that loading an intact model costs nothing more.
"""

from __future__ import annotations

import errno
import inspect
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import transformers
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from safetensors import SafetensorError
from transformers import CONFIG_MAPPING
from transformers.utils.logging import disable_progress_bar, enable_progress_bar

from evenhand.core.errors import EvenhandError
from evenhand.core.files import load_json
from evenhand.models.backends import is_gguf
from evenhand.models.gguf_files import gguf_path, read_gguf_header
from evenhand.models.references import ModelError, ModelRef, refuse_missing_path

CONFIG_FILE = "config.json"

TOKENIZER_CONFIG_FILE = "tokenizer_config.json"

MOST_EXTRA_TOKENS = 100_000
"""Sentinels that a T5-style tokenizer may have; published ones have 100 to 300."""

MOST_LAYERS = 2_000
"""Layers that a model may have; published ones have up to about 130."""

_LAYERS = ("num_hidden_layers", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers")

_RARE_CHARACTER = "\N{EGYPTIAN HIEROGLYPH A001}"
"""One that hardly any vocabulary has."""

CONFIGURATION = "configuration"

WEIGHTS = "weights"

_READ_BY_LIBRARIES = (".json", ".safetensors", ".bin", ".model", ".txt", ".jinja")
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_RUST_PANIC = "PanicException"
"""What tokenizers raises where it did not expect to fail. It is no ``Exception``, and cannot be imported."""

_HEADER_SIZE = 8
_LONGEST_HEADER = 100_000_000
"""As safetensors itself has it."""

_LONGEST_REASON = 300

_CHATTER = ("transformers", "huggingface_hub")
"""Loggers that are kept to errors while something loads; the hub's tells of every retry."""

_UNREACHED = "cannot be reached. Check the path, or the connection if it is a model of the hub."

_HUB_ANSWERS: Mapping[type[BaseException], str] = {
    GatedRepoError: "gives {id} only to those who asked for it. Ask on its page, then log in with: hf auth login.",
    RepositoryNotFoundError: "has no model of this name. Check the path or the spelling; if the model is private, log "
    "in with: hf auth login.",
    RevisionNotFoundError: "has no revision {revision} of it. Give another after the @.",
    LocalEntryNotFoundError: _UNREACHED,
    OfflineModeIsEnabled: _UNREACHED,
    ConnectionError: _UNREACHED,
    HFValidationError: "takes no such name. Check the path, or give an id such as bert-base-cased or ORG/NAME.",
    HfHubHTTPError: "does not give it ({error}). Check the path, or try again later.",
}
"""What the hub did, by its library's errors; the order matters, for some are kinds of others."""


def refuse_unreadable_files(folder: Path) -> None:
    """Refuse a model folder in which a link leads nowhere, a file is none, or stands for one that was not fetched.

    Raises:
        ModelError: With the name of the file.
    """
    for path in sorted(folder.iterdir()):
        if path.suffix not in _READ_BY_LIBRARIES:
            continue
        if not path.is_file():
            kind = f"a link to {path.readlink()}, where there is no file" if path.is_symlink() else "no file"
            raise ModelError(f"{path} is {kind}. Copy or download the model again.")
        try:
            with path.open("rb") as stream:
                begin = stream.read(len(_LFS_POINTER))
        except OSError as problem:
            raise ModelError(f"{path} cannot be read: {problem.strerror or problem}.") from None
        if begin == _LFS_POINTER:
            raise ModelError(
                f"{path} is not the file itself but a pointer of git-LFS. Fetch the files in the model's "
                "repository with: git lfs pull."
            )


def check_configuration(config: Any) -> None:
    """Find fields that Transformers takes as they are and that fail later.

    Raises:
        ValueError: With the field.
    """
    architectures = getattr(config, "architectures", None) or []
    if not isinstance(architectures, list) or not all(isinstance(name, str) for name in architectures):
        raise ValueError(f"architectures is {architectures!r}, and a list of names is needed.")
    for name, value in vars(config).items():
        may_be_several = isinstance(value, list) and name == "eos_token_id"
        numbers = value if may_be_several else [] if value is None else [value]
        if name.endswith("_token_id") and not all(isinstance(number, int) for number in numbers):
            raise ValueError(f"{name} is {value!r}, and a whole number is needed.")
    shape = config.get_text_config()
    layers = {name: getattr(shape, name, None) for name in _LAYERS}
    counts = {name: value for name, value in layers.items() if isinstance(value, int)}
    for name, value in counts.items():
        if not 0 <= value <= MOST_LAYERS:
            raise ValueError(f"{name} is {value:,}, and 1 to {MOST_LAYERS:,} layers are sensible.")
    if counts and not any(counts.values()):
        raise ValueError(f"{next(iter(counts))} is 0, and a model needs at least one layer.")


def check_tokenizer_options(folder: Path) -> None:
    """Find options of a tokenizer in a folder that it would take without end to follow, or that fail later.

    Raises:
        ValueError: With the option.
    """
    path = folder / TOKENIZER_CONFIG_FILE
    options = load_json(path.read_text(encoding="utf-8")) if path.is_file() else None
    if not isinstance(options, dict):
        return
    extra, longest = options.get("extra_ids"), options.get("model_max_length")
    if isinstance(extra, int) and extra > MOST_EXTRA_TOKENS:
        raise ValueError(f"extra_ids is {extra:,}, and {MOST_EXTRA_TOKENS:,} are the most that is sensible.")
    if longest is not None and not isinstance(longest, int | float):
        raise ValueError(f"model_max_length is {longest!r}, and a number is needed.")


def check_unknown_token(tokenizer: Any) -> None:
    """Find an unknown token that is missing: without one, or without an entry for it, texts cannot be read.

    Raises:
        ValueError: With the token.
    """
    try:
        _ = tokenizer.unk_token_id
    except RecursionError:
        raise ValueError(
            f"unk_token is {tokenizer.unk_token!r}, which its vocabulary does not have."
        ) from None
    try:
        tokenizer(_RARE_CHARACTER)
    except Exception as problem:  # a Rust library raises no other kind
        raise ValueError(
            f"it cannot read a character that is not in its vocabulary ({problem}); its unk_token is "
            f"{tokenizer.unk_token!r}."
        ) from None


def damage_in(folder: Path) -> str | None:
    """Which file of a model folder is damaged, and how; None where each is whole by itself."""
    for path in sorted(folder.iterdir()):
        damage = _damage_of(path)
        if damage:
            return f"{path} is damaged: {damage}. Copy or download the model again."
    return None


def _damage_of(path: Path) -> str | None:
    try:
        if path.suffix == ".safetensors":
            return _damage_of_tensors(path)
        if path.suffix == ".json":
            load_json(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as problem:
        return f"it is not valid JSON ({problem.msg} at line {problem.lineno}, column {problem.colno})"
    except UnicodeDecodeError:
        return "it is not UTF-8 text"
    except ValueError as problem:
        return str(problem)
    except OSError as problem:
        return f"it cannot be read ({problem.strerror or problem})"
    return None


def _damage_of_tensors(path: Path) -> str | None:
    """Whether the header of a safetensors file is whole, and the file as long as the header says."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(_HEADER_SIZE), "little")
        if length > min(_LONGEST_HEADER, size - _HEADER_SIZE):
            return f"its {size:,} bytes are no safetensors file, or only the beginning of one"
        header = load_json(stream.read(length).decode())
    try:
        ends = [int(entry["data_offsets"][1]) for name, entry in header.items() if name != "__metadata__"]
    except (AttributeError, KeyError, IndexError, TypeError):
        return "its header does not say where the tensors are"
    needed = _HEADER_SIZE + length + max(ends, default=0)
    return None if size == needed else f"it has {size:,} bytes, and its header tells of {needed:,}"


@contextmanager
def failures_explained(explain: Callable[[BaseException], str]) -> Iterator[None]:
    """Turn whatever a library raises over a model's files into a ModelError.

    Args:
        explain: What to say of an error.
    """
    try:
        yield
    except EvenhandError:
        raise
    except BaseException as problem:
        if not isinstance(problem, Exception) and type(problem).__name__ != _RUST_PANIC:
            raise
        raise ModelError(explain(problem)) from problem


def reason_of(problem: BaseException) -> str:
    """What an error says, on one line and not too long; its kind where it says nothing."""
    text = " ".join(str(problem).split()) or type(problem).__name__
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 3]}..."


@contextmanager
def loading_explained(ref: ModelRef, part: str) -> Iterator[None]:
    """Turn what the libraries raise into errors that say what to do; keep their chatter out of the way.

    Args:
        ref: The model.
        part: What is loaded of it, for messages.
    """
    folder = Path(ref.location)
    if folder.is_dir() and not (folder / CONFIG_FILE).is_file():
        file = next(filter(is_gguf, sorted(path.name for path in folder.iterdir())), None)
        advice = f" Give the file in it: {folder / file}." if file else ""
        raise ModelError(f"{ref.id} is a folder without a {CONFIG_FILE}, so it is no model.{advice}")
    refuse_missing_path(ref.location)
    if folder.is_dir():
        refuse_unreadable_files(folder)
    levels = {name: logging.getLogger(name).level for name in _CHATTER}
    for name in _CHATTER:
        logging.getLogger(name).setLevel(logging.ERROR)
    disable_progress_bar()
    try:
        explain = _gguf_explanation if is_gguf(ref.location) else _explanation
        with failures_explained(lambda problem: hub_failure(ref, problem) or explain(ref, part, problem)):
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
        enable_progress_bar()


def save_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write weights, configuration and tokenizer as an ordinary folder, without a progress bar of Transformers.

    Raises:
        OSError: If the system does not write it, such as on a full disk.
    """
    disable_progress_bar()
    try:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    except SafetensorError as problem:
        number = re.search(r"os error (\d+)", str(problem))
        raise OSError(int(number[1]) if number else errno.EIO, str(problem)) from None
    finally:
        enable_progress_bar()


def _gguf_explanation(ref: ModelRef, part: str, problem: BaseException) -> str:
    architecture = read_gguf_header(gguf_path(ref)).architecture
    return (
        f"{ref.id} is a GGUF file of the architecture {architecture}, and Transformers {transformers.__version__} "
        f"cannot read its {part}: {reason_of(problem)} Give the model that it was made from, as a folder or by its id "
        "on the hub."
    )


def _explanation(ref: ModelRef, part: str, problem: BaseException) -> str:
    folder, reason = Path(ref.location), reason_of(problem)
    if "trust_remote_code" in reason or "custom code" in reason:
        return f"{ref.id} needs code of its own. If you trust it, allow that with --trust-remote-code."
    damage = damage_in(folder) if folder.is_dir() else None
    if damage:
        return damage
    has_pickles = bool(list(folder.glob("*.bin"))) if folder.is_dir() else False
    if (
        folder.is_dir()
        and not list(folder.glob("*.safetensors"))
        and not (has_pickles and ref.allow_pickle_weights)
    ):
        if has_pickles:
            return (
                f"{ref.id} has its weights only as .bin files, which can run code when loaded. Convert them to "
                "safetensors, or allow them with --allow-pickle-weights if you trust the source."
            )
        return f"{ref.id} has a config.json but no weights (*.safetensors)."
    if isinstance(problem, OSError) and "safetensors" in reason:
        return (
            f"{ref.id} offers no safetensors weights. Allow others with --allow-pickle-weights if you trust the "
            f"source. ({reason})"
        )
    misfit = _misfit_in(folder / CONFIG_FILE) if part == WEIGHTS and folder.is_dir() else None
    if misfit:
        part, reason = CONFIGURATION, misfit
    return f"{ref.id} cannot be loaded. Its {part} cannot be used: {reason}"


def _misfit_in(path: Path) -> str | None:
    """The first field of a configuration that is no whole number where its kind of model has one; None where all fit.

    Older versions of Transformers take any value, and fail over the weights. Null and lists fit: some sizes may be
    left open, and a model may have several tokens that end a text.
    """
    fields: dict[str, Any] = load_json(path.read_text(encoding="utf-8"))
    architecture = fields.get("model_type", "")
    if architecture not in CONFIG_MAPPING:
        return None
    for name, parameter in inspect.signature(CONFIG_MAPPING[architecture]).parameters.items():
        value = fields.get(name)
        if type(parameter.default) is int and isinstance(value, str | float | dict):
            return f"{name} is {value!r}, and a whole number is needed."
    return None


def hub_failure(ref: ModelRef, problem: BaseException) -> str | None:
    """What to say of a name that is no folder when the hub did not give it; None where the hub is not to blame."""
    if Path(ref.location).exists():
        return None
    answer = next(filter(None, (_answer(ref, error) for error in _causes(problem))), None)
    return answer and f"There is no folder {ref.id} here, and the hub {answer}"


def _answer(ref: ModelRef, error: BaseException) -> str | None:
    """The hub's part in an error of its library."""
    answer = next((words for kind, words in _HUB_ANSWERS.items() if isinstance(error, kind)), None)
    return answer and answer.format(id=ref.id, revision=ref.revision or "main", error=reason_of(error))


def _causes(problem: BaseException) -> Iterator[BaseException]:
    """An error and those that it came from, the innermost last."""
    error: BaseException | None = problem
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
