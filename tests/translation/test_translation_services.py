"""Services that cost money or refuse texts: estimates, quotas, refusals, and what people fill in."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import document, inter, intra, write_json
from recording_monitor import RecordingMonitor
from running import Command
from translation_files import translate_command
from translation_servers import (
    FakeService,
    amazon_answer,
    amazon_fault,
    chat_message,
    serving,
    serving_amazon,
    spell_backwards,
)

from evenhand.data import load_dataset, read_stereoset
from evenhand.translation.workflow import plan_translation, translate


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_json(tmp_path / "en.json", document([intra(1), inter(2)]) | {"licence": "CC BY 4.0"})


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    """Amazon Translate on this machine; nobody sits at the terminal."""
    pytest.importorskip("boto3")
    with serving_amazon(monkeypatch) as service:
        monkeypatch.setattr("sys.stdin", io.StringIO())
        yield service


@pytest.mark.usefixtures("service")
class TestPaidTranslators:
    """What costs money is estimated and asked for, and paid for once."""

    @pytest.fixture
    def command(self, source: Path, tmp_path: Path) -> list[str | Path]:
        return translate_command(source, tmp_path / "out", to="de", translator="amazon")

    def test_an_estimate_prints_the_price_with_its_date_and_asks_for_nothing(
        self, command: list[str | Path], service: FakeService, run_evenhand_here: Command
    ) -> None:
        ended = run_evenhand_here(*command, "--estimate")
        told = json.loads(run_evenhand_here(*command, "--estimate", "--json").stdout)

        assert "9 texts" in ended.stdout
        assert "2025-01-15" in ended.stdout
        assert "Nothing was translated." in ended.stderr
        assert told["price_usd"] == pytest.approx(15e-6 * told["characters"])
        assert "check it with the provider" in told["price_basis"]
        assert not service.requests

    def test_somebody_who_knows_the_price_gives_it(
        self, command: list[str | Path], run_evenhand_here: Command
    ) -> None:
        told = json.loads(run_evenhand_here(*command, "--price", "20", "--estimate", "--json").stdout)
        refused = run_evenhand_here(*command, "--price", "-1", "--estimate")

        assert told["price_usd"] == pytest.approx(20e-6 * told["characters"])
        assert told["price_basis"] == "the price that was given"
        assert refused.returncode == 2
        assert "0 or more" in refused.stderr

    def test_nothing_is_spent_without_consent(
        self, command: list[str | Path], service: FakeService, run_evenhand_here: Command
    ) -> None:
        ended = run_evenhand_here(*command)

        assert ended.returncode == 2
        assert "Give --yes to agree" in ended.stderr
        assert not service.requests

    @pytest.mark.parametrize(("reply", "requests"), [("n\n", 0), ("y\n", 9)])
    def test_somebody_at_a_terminal_is_asked(
        self,
        command: list[str | Path],
        service: FakeService,
        run_evenhand_here: Command,
        monkeypatch: pytest.MonkeyPatch,
        reply: str,
        requests: int,
    ) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        monkeypatch.setattr("sys.stdin", Terminal(reply))

        run_evenhand_here(*command, "--estimate")

        assert len(service.asked("TranslateText")) == requests

    def test_nothing_is_paid_for_twice(
        self, command: list[str | Path], service: FakeService, run_evenhand_here: Command
    ) -> None:
        run_evenhand_here(*command, "--yes")
        paid = len(service.asked("TranslateText"))
        ended = run_evenhand_here(*command, "--fresh")

        assert paid == 9
        assert ended.returncode == 0
        assert len(service.asked("TranslateText")) == paid

    def test_a_quota_that_ends_in_the_middle_costs_nothing_that_was_paid_for(
        self, command: list[str | Path], service: FakeService, run_evenhand_here: Command
    ) -> None:
        def until_five(operation: str, request: dict[str, object]) -> tuple[int, dict[str, object]]:
            if len(service.asked("TranslateText")) > 5:
                return 400, {"__type": "LimitExceededException", "message": "quota"}
            return amazon_answer(operation, request)

        service.answer = until_five
        stopped = run_evenhand_here(*command, "--yes")
        service.answer = amazon_answer
        service.requests.clear()
        ended = run_evenhand_here(*command, "--yes")

        assert stopped.returncode == 2
        assert "quota of Amazon Translate is used up" in stopped.stderr
        assert ended.returncode == 0
        assert len(service.asked("TranslateText")) == 4


class TestChatModels:
    """A model that refuses some texts does not end a translation, and people fill them in."""

    @pytest.fixture(autouse=True)
    def service(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
        def choosy(_: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
            texts = json.loads(request["messages"][1]["content"])
            return chat_message(
                {key: spell_backwards(text) for key, text in texts.items() if "paint" not in text}
            )

        with serving(FakeService(choosy)) as service:
            monkeypatch.setenv("EVENHAND_API_BASE", service.address)
            monkeypatch.setattr("sys.stdin", io.StringIO())
            yield service

    @pytest.fixture
    def command(self, source: Path, tmp_path: Path) -> list[str | Path]:
        return translate_command(source, tmp_path / "out", to="de", translator="api:small")

    def test_refused_texts_are_listed_and_filled_in_by_people(
        self, command: list[str | Path], tmp_path: Path, service: FakeService, run_evenhand_here: Command
    ) -> None:
        out = tmp_path / "out"

        first = run_evenhand_here(*command, "--yes")
        listed = out / "untranslated.csv"
        before = listed.read_text()
        texts = [candidate.text for candidate in load_dataset(out).items[1].candidates]
        filled = tmp_path / "filled.csv"
        filled.write_text(
            before.replace("It smells of paint.,,", "It smells of paint.,Es riecht nach Farbe.,")
        )
        asked = len(service.requests)
        second = run_evenhand_here(*command, "--yes", "--fill", filled, "--fresh")

        assert first.returncode == second.returncode == 0
        assert "1 text was refused and left as in the source." in " ".join(first.stderr.split())
        assert before.splitlines()[0] == "source,target,reason"
        assert texts == ["tI sllems fo .daerb", "It smells of paint.", "neveS si a .rebmun"]
        assert load_dataset(out).items[1].candidates[1].text == "Es riecht nach Farbe."
        assert not listed.exists()
        assert len(service.requests) == asked, "nothing else was asked for again"

    def test_the_estimate_says_what_placeholders_may_add(
        self, command: list[str | Path], run_evenhand_here: Command
    ) -> None:
        told = run_evenhand_here(*command, "--estimate").stdout
        figures = json.loads(run_evenhand_here(*command, "--estimate", "--json").stdout)

        sent = sum(len(f"The baker likes {form} bread.") for form in ("Zxq", "QX7", "___"))
        assert figures["more_characters"] == sent
        assert f"If blanks do not survive, at most {sent} characters more." in " ".join(told.split())
        assert "Price: unknown (the server charges by the token; give" in " ".join(told.split())
        assert "2025" not in told, "a price that is not known has no date"


def test_a_terminology_that_is_refused_is_in_the_record(
    source: Path, tmp_path: Path, service: FakeService
) -> None:
    service.faults.append((400, amazon_fault("InvalidParameterValueException", "none here")))
    monitor = RecordingMonitor()
    plan = plan_translation(read_stereoset(source), to="de", translator="amazon")

    record = translate(plan, tmp_path / "out", monitor=monitor)

    assert record.translator is not None
    assert record.translator.settings["terminology"] == "none (refused)"
    assert any("refuses the terminology" in warning for warning in monitor.warnings)
    assert not plan.cache.path.exists(), "answers made without it are not kept as made with it"
