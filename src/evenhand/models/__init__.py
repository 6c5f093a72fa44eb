"""Models: references to them, what they can be asked, and where they live.

A ``ModelRef`` says which model; ``load_model`` asks the backend that the id's prefix names (``backends``). What comes
back is a ``Model`` that answers requests. Models in this process are ``language_model.LanguageModel``; what is special
about their architecture stands in ``families``, how requests become forward passes in ``engine``, what they learn from
in ``objectives``. Nothing needs torch before a model is loaded.

Other packages may rely on what this module exports.
"""

from evenhand.models.backends import BACKENDS, Backend
from evenhand.models.model import Model, ScoringFacts, missing_capability, require
from evenhand.models.references import ModelError, ModelRef, load_model
from evenhand.models.requests import (
    Answer,
    Continue,
    Embed,
    Fill,
    Finish,
    Follow,
    GeneratedText,
    GenerationOptions,
    Messages,
    Part,
    Recover,
    Request,
    Train,
    Write,
)

__all__ = [
    "BACKENDS",
    "Answer",
    "Backend",
    "Continue",
    "Embed",
    "Fill",
    "Finish",
    "Follow",
    "GeneratedText",
    "GenerationOptions",
    "Messages",
    "Model",
    "ModelError",
    "ModelRef",
    "Part",
    "Recover",
    "Request",
    "ScoringFacts",
    "Train",
    "Write",
    "load_model",
    "missing_capability",
    "require",
]
