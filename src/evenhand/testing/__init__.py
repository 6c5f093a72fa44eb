"""For tests of one's own: conformance checks, and models without weights whose answers are known.

Each check raises ``AssertionError`` with a message that says what was expected and what was given:

    from evenhand.testing import check_measure

    def test_my_measure_conforms() -> None:
        check_measure(MY_MEASURE)

``FakeModel`` answers from a table or a function and goes through every instrument that its capabilities suffice for:

    from evenhand.testing import FakeModel

    def test_a_model_that_likes_short_texts() -> None:
        run = evenhand.audit(FakeModel(lambda text: 1 / len(text)), "starter")

``AnalyticModel`` knows the lab's language exactly; what a measure should read on it is known, because it was planted:

    from evenhand.testing import AnalyticModel, lab_benchmark

    def test_my_scoring_finds_what_was_planted() -> None:
        items = lab_benchmark()
        run = evenhand.evaluate(AnalyticModel(strength=2.0).scores(items), data=items)
        assert run.result.tasks["overall"].SS.low > 50
"""

from evenhand.lab.analytic import AnalyticModel
from evenhand.lab.items import lab_benchmark
from evenhand.testing.conformance import check_dataset, check_measure
from evenhand.testing.fake import FakeModel
from evenhand.testing.models import ModelSamples, check_model

__all__ = [
    "AnalyticModel",
    "FakeModel",
    "ModelSamples",
    "check_dataset",
    "check_measure",
    "check_model",
    "lab_benchmark",
]
