"""What an audit of regard does where nothing was chosen: lab models are read as they were planted."""

from __future__ import annotations

import pytest

from evenhand.api.defaults.measuring import suited_regard_options
from evenhand.instruments.regard.audit import RegardOptions
from evenhand.models.references import ModelRef


@pytest.mark.parametrize("language", ["de", "en"])
def test_models_with_a_planted_gap_are_decoded_as_they_were_planted(language: str) -> None:
    """At the usual temperature and nucleus the German one read +9 points where -30 were planted."""
    suited = suited_regard_options(ModelRef(id=f"lab:decoder-regard-{language}"), RegardOptions())

    assert suited.language == language
    assert (suited.decoding.temperature, suited.decoding.top_p) == (1.0, 1.0)


def test_what_was_chosen_stays_and_other_models_are_decoded_as_published() -> None:
    chosen = RegardOptions(temperature=0.5, top_p=0.9)
    planted = suited_regard_options(ModelRef(id="lab:decoder-regard-en"), chosen)
    other = suited_regard_options(ModelRef(id="lab:decoder"), RegardOptions())

    assert (planted.decoding.temperature, planted.decoding.top_p) == (0.5, 0.9)
    assert (other.decoding.temperature, other.decoding.top_p) == (0.7, 0.92)
