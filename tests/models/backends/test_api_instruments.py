"""A model behind a server keeps to the rules of models and goes through the instruments."""

from __future__ import annotations

from collections.abc import Iterator

import api_server
import pytest
from api_server import MODEL, SERVED, ApiServer
from recording_monitor import RecordingMonitor

import evenhand as eh
from evenhand.core.errors import EvenhandError
from evenhand.testing import check_model


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with api_server.running() as running:
        monkeypatch.setenv("EVENHAND_API_BASE", running.base_url)
        yield running


@pytest.mark.parametrize("manner", ["right", "echo ignored"])
def test_a_model_behind_a_server_conforms(server: ApiServer, manner: str) -> None:
    server.manner = manner

    check_model(eh.load(f"api:{MODEL}"))


def test_an_audit_asks_the_server(server: ApiServer) -> None:
    run = eh.audit(f"api:{MODEL}", data="starter", language="en", options=eh.AuditOptions(limit=6))

    assert any(request.get("echo") for request in server.requests)
    assert run.record.model is not None
    assert run.record.model.weights == f"served by 127.0.0.1:{server.port} as {SERVED}"
    assert run.record.model.precision == "unknown"


def test_an_audit_of_a_server_without_right_echo_says_why(server: ApiServer) -> None:
    server.manner = "zeros"

    with pytest.raises(
        EvenhandError, match=r"failed the self-test .* all tokens have the same log-probability"
    ):
        eh.audit(f"api:{MODEL}", data="starter", language="en")


@pytest.mark.usefixtures("server")
def test_what_an_audit_costs_is_told_before_it_starts() -> None:
    monitor = RecordingMonitor()

    eh.audit(f"api:{MODEL}", data="starter", language="en", options=eh.AuditOptions(limit=6), monitor=monitor)

    (told,) = [message for message in monitor.warnings if "requests with about" in message]
    assert "36 requests" in told  # two tasks, six items each, three candidates per item
