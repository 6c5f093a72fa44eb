"""Which languages a model says it was made for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import HfHubHTTPError

from evenhand.core.items import Benchmark

MANY_UNKNOWN = 0.02
"""Share of unknown tokens above which a tokenizer does not know the language."""

MOST_TEXTS = 200
"""Texts in which unknown tokens are counted."""


def declared_languages(model: str, revision: str | None = None) -> tuple[str, ...]:
    """Languages in the front matter of a model's README, where it has one."""
    try:
        text = _readme(model, revision).read_text(encoding="utf-8")
    except (OSError, ValueError, HfHubHTTPError):
        return ()
    if not text.startswith("---"):
        return ()
    try:
        front = yaml.safe_load(text.split("---", 2)[1])
    except (yaml.YAMLError, IndexError):
        return ()
    entry = front.get("language") if isinstance(front, dict) else None
    listed = [entry] if isinstance(entry, str) else entry if isinstance(entry, list) else []
    return tuple(str(language) for language in listed)


def _readme(model: str, revision: str | None) -> Path:
    folder = Path(model)
    if folder.is_dir():
        return folder / "README.md"
    return Path(hf_hub_download(model, "README.md", revision=revision))


def language_warnings(
    model: str, tokenizer: Any, benchmark: Benchmark, *, revision: str | None = None
) -> tuple[str, ...]:
    """Reasons to doubt that a model knows the language of a benchmark."""
    return warnings_of_texts(
        model,
        tokenizer,
        [item.context for item in benchmark.items[:MOST_TEXTS]],
        name=benchmark.name,
        language=benchmark.language,
        revision=revision,
    )


def warnings_of_texts(
    model: str,
    tokenizer: Any,
    texts: Sequence[str],
    *,
    name: str,
    language: str,
    revision: str | None = None,
) -> tuple[str, ...]:
    """Reasons to doubt that a model knows the language of texts; ``name`` is what they are called."""
    warnings = []
    declared = declared_languages(model, revision)
    if declared and language not in declared and "multilingual" not in declared:
        warnings.append(
            f"the model says it was made for {', '.join(declared)}, not for {language}: its scores may "
            "say more about missing knowledge of the language than about stereotypes."
        )
    unknown = tokenizer.unk_token_id
    if unknown is not None:
        tokens = [
            token
            for text in texts[:MOST_TEXTS]
            for token in tokenizer(text, add_special_tokens=False)["input_ids"]
        ]
        share = tokens.count(unknown) / max(1, len(tokens))
        if share > MANY_UNKNOWN:
            warnings.append(f"{share:.0%} of the tokens of {name} ({language}) are unknown to the tokenizer.")
    return tuple(warnings)
