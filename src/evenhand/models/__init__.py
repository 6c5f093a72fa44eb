"""Models: references to them, what they can be asked, and where they live.

A ``ModelRef`` says which model; ``load_model`` asks the backend that the id's prefix names (``backends``). What comes
back is a ``Model`` with capabilities. Models in this process are ``language_model.LanguageModel``; what is special
about their architecture stands in ``families``, how requests become forward passes in ``engine``, what they learn from
in ``objectives``. Instruments ask any model through ``text_model.measurable``. Nothing needs torch before a model is
loaded.
"""

from evenhand.models.backends import BACKENDS, Backend
from evenhand.models.capabilities import (
    Embeds,
    FillsBlanks,
    Generates,
    JudgesNextSentence,
    Model,
    NotEmbedded,
    ScoresText,
    TextScore,
    Trains,
    has_capability,
    require,
)
from evenhand.models.references import ModelError, ModelRef, load_model

__all__ = [
    "BACKENDS",
    "Backend",
    "Embeds",
    "FillsBlanks",
    "Generates",
    "JudgesNextSentence",
    "Model",
    "ModelError",
    "ModelRef",
    "NotEmbedded",
    "ScoresText",
    "TextScore",
    "Trains",
    "has_capability",
    "load_model",
    "require",
]
