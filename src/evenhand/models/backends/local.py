"""Models of Transformers: a folder, a model of the hub, or a GGUF file, loaded into this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.errors import require_extra

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.references import ModelRef


class LocalBackend:
    """Loads weights with Transformers."""

    name = "local"
    summary = "a folder with a config.json, or a model of the hub"
    extra = "hf"

    def location(self, ref: ModelRef) -> str:
        """The folder, file or hub id itself."""
        return ref.id.removeprefix(f"{self.name}:")

    def load(self, ref: ModelRef) -> LanguageModel:
        """The model in memory."""
        require_extra(self.extra, "torch", "transformers", purpose=f"The model {ref.id}")
        from evenhand.models.language_model import LanguageModel
        from evenhand.models.loading import load

        return LanguageModel(load(ref))

    def weights(self, ref: ModelRef) -> str | None:
        """The digest that records have of the weights, which are not loaded for it; None for a model of the hub."""
        if not Path(ref.location).exists():
            return None
        require_extra(self.extra, "torch", "transformers", purpose=f"The model {ref.id}")
        from evenhand.models.description import weights_digest

        return weights_digest(ref, None)

    def capabilities(self, ref: ModelRef) -> frozenset[type]:
        """What the model can be asked, as far as that is known without its weights."""
        require_extra(self.extra, "torch", "transformers", purpose=f"The model {ref.id}")
        from evenhand.models.loading import family_of

        return family_of(ref).capabilities


class GgufBackend(LocalBackend):
    """Loads weights of a GGUF file, which are dequantised."""

    name = "gguf"
    summary = "a file that ends in .gguf, here or in a repository of the hub: ORG/NAME/FILE.gguf"
    extra = "gguf"


LOCAL = LocalBackend()
GGUF = GgufBackend()
