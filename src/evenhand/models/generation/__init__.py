"""Writing: texts that a model generates from prompts.

``GenerationOptions`` says how texts are decoded, ``Generates`` is the capability, ``GeneratedText`` one result. Local
models generate through ``LocalGenerator``, which needs torch and is imported from ``generation.local``.
"""

from evenhand.models.generation.options import GenerationOptions
from evenhand.models.generation.texts import Finish, GeneratedText, Generates

__all__ = ["Finish", "GeneratedText", "Generates", "GenerationOptions"]
