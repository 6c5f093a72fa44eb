"""Names that are neither a folder nor a model on the hub."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from transformers import AutoConfig

from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError

RESPONSE: Any = SimpleNamespace(headers={}, request=None, status_code=404)


def failing(cause: Exception) -> Callable[..., Any]:
    """What Transformers does when the hub's library fails."""

    def fail(*_arguments: Any, **_options: Any) -> Any:
        logging.getLogger("huggingface_hub.utils._http").warning("Retrying in 1s [Retry 1/5].")
        raise OSError("a long story") from cause

    return fail


@pytest.fixture(autouse=True)
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (LocalEntryNotFoundError("no network"), "cannot be reached"),
        (RepositoryNotFoundError("404", response=RESPONSE), "has no model of this name"),
        (GatedRepoError("403", response=RESPONSE), "gives models/nothere only to those who asked"),
        (RevisionNotFoundError("404", response=RESPONSE), "has no revision v2 of it"),
        (HfHubHTTPError("502 Bad Gateway", response=RESPONSE), r"does not give it \(502 Bad Gateway\)"),
    ],
)
def test_a_name_that_may_be_either_is_said_to_be_neither(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, cause: Exception, said: str
) -> None:
    monkeypatch.setattr(AutoConfig, "from_pretrained", failing(cause))
    with pytest.raises(ModelError, match=f"^There is no folder models/nothere here, and the hub {said}"):
        load_language_model("models/nothere@v2")
    assert not caplog.records
    assert logging.getLogger("huggingface_hub").level != logging.ERROR


def test_a_name_that_the_hub_does_not_take() -> None:
    with pytest.raises(
        ModelError, match=r"^There is no folder my model here, and the hub takes no such name"
    ):
        load_language_model("my model")


def test_what_is_wrong_with_a_model_of_the_hub_is_not_blamed_on_a_missing_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(AutoConfig, "from_pretrained", failing(KeyError("odd")))
    with pytest.raises(
        ModelError, match=r"nothere cannot be loaded\. Its configuration .* used: a long story"
    ):
        load_language_model("models/nothere")


def test_a_path_that_leads_nowhere_is_not_looked_for_on_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        AutoConfig, "from_pretrained", lambda *_arguments, **_options: pytest.fail("the hub was asked")
    )
    with pytest.raises(ModelError, match=r"^There is no folder \./nope\."):
        load_language_model("./nope")
