"""A server that is killed at random moments loses no answer that it acknowledged."""

from __future__ import annotations

import pytest
from web_clients import Annotator, Participant
from web_server import run_kills

from evenhand.studio.database import Database


@pytest.mark.parametrize("kind", [Annotator, Participant])
def test_no_acknowledged_answer_is_lost_when_the_server_is_killed(
    database: Database, kind: type[Annotator | Participant]
) -> None:
    address = database.url.render_as_string(hide_password=False)
    report = run_kills(address, kind, clients=4, answers=60, kills=2, seed=5)
    assert report.acknowledged == 60
    assert (report.kills, report.lost, report.different, report.repeated) == (2, 0, 0, 0)
