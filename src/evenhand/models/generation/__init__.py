"""Generation: texts that a model writes after prompts.

``GenerationOptions`` says how texts are decoded, ``GeneratedText`` is one result. The capability is ``Write``.
Local models have it through ``LocalGenerator``, which needs torch and is imported from ``generation.local``.
"""

from evenhand.models.generation.texts import (
    Finish,
    GeneratedText,
    GenerationOptions,
    GenerationOptionsError,
    TextProgress,
)

__all__ = ["Finish", "GeneratedText", "GenerationOptions", "GenerationOptionsError", "TextProgress"]
