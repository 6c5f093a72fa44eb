"""Instruments: ways of measuring a model.

Other packages may rely on what this module exports: an instrument over items derives from ``ItemInstrument``.
"""

from evenhand.instruments.controls import PRONOUN_CONTROL, Control
from evenhand.instruments.instrument import InstrumentOptions
from evenhand.instruments.measures import Gap, Mean, RowMeasure, Share
from evenhand.instruments.runner import ItemInstrument, ItemSet

__all__ = [
    "PRONOUN_CONTROL",
    "Control",
    "Gap",
    "InstrumentOptions",
    "ItemInstrument",
    "ItemSet",
    "Mean",
    "RowMeasure",
    "Share",
]
