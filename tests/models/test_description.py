"""What a model is and can be measured with, whatever its backend."""

from __future__ import annotations

from zoo_fixtures import Zoo

from evenhand.models.capabilities import FillsBlanks
from evenhand.models.description import describe_model
from evenhand.testing import FakeModel


def test_a_model_in_this_process_tells_about_its_weights(menagerie: Zoo) -> None:
    facts = describe_model(menagerie.model("bert"))

    assert facts["family"] == "masked"
    assert facts["capabilities"] == "FillsBlanks, ScoresText, JudgesNextSentence, Embeds, Trains"
    assert facts["class"] == "BertForMaskedLM"
    assert facts["intrasentence"].startswith("yes, by stepwise-blank")
    assert facts["intersentence"].startswith("yes, by next-sentence")


def test_a_model_elsewhere_tells_its_capabilities_and_tasks() -> None:
    facts = describe_model(FakeModel({}, capabilities=[FillsBlanks]))

    assert facts == {
        "family": "fake",
        "capabilities": "FillsBlanks",
        "intrasentence": facts["intrasentence"],
        "intersentence": facts["intersentence"],
    }
    assert facts["intrasentence"].startswith("yes, by blank in text")
    assert facts["intersentence"].startswith("no: fake:model (fake) cannot do the inter-sentence task")
