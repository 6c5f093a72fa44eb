"""Names that are neither a folder nor a model on the hub: what to say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from evenhand.models.references import ModelRef

_UNREACHED = "cannot be reached. Check the path, or the connection if it is a model of the hub."
_ANSWERS: Mapping[type[BaseException], str] = {
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


def hub_failure(ref: ModelRef, problem: BaseException) -> str | None:
    """What to say of a name that is no folder when the hub did not give it; None where the hub is not to blame."""
    if Path(ref.location).exists():
        return None
    answer = next(filter(None, (_answer(ref, error) for error in _causes(problem))), None)
    return answer and f"There is no folder {ref.id} here, and the hub {answer}"


def _answer(ref: ModelRef, error: BaseException) -> str | None:
    """The hub's part in an error of its library."""
    answer = next((told for kind, told in _ANSWERS.items() if isinstance(error, kind)), None)
    return answer and answer.format(id=ref.id, revision=ref.revision or "main", error=_first_line(error))


def _causes(problem: BaseException) -> Iterator[BaseException]:
    """An error and those that it came from, the innermost last."""
    error: BaseException | None = problem
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__
