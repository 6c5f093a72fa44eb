"""Contexts that a search did not see: what a trigger is judged on when the model writes behind it.

They are the published contexts with which no target of the search begins, and a dozen of our own; or those of a file,
of which the same is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

from evenhand.core.errors import DatasetError, shortlist
from evenhand.data.contexts import Context, begins_with, context_languages, load_contexts, read_contexts
from evenhand.triggers.targets import TargetPair

FEWEST_CONTEXTS = 2
"""Changes are held against how contexts vary."""

_RESOURCES = resources.files("evenhand.data") / "resources" / "triggers"


def held_out_contexts(
    search: Sequence[TargetPair], *, language: str, file: Path | None = None, own: bool = True
) -> tuple[Context, ...]:
    """Contexts with which no target of a search begins.

    Args:
        search: The target pairs that the search sees.
        language: Of the texts.
        file: Contexts to choose from; those that ship if None.
        own: Whether our own contexts are among those that ship, beside the published ones.

    Raises:
        DatasetError: If too few are left.
    """
    offered = read_contexts(file).contexts if file else offered_contexts(language, own=own)
    left = unseen_contexts(offered, search)
    if len(left) < FEWEST_CONTEXTS:
        seen = shortlist([context.words for context in offered if context not in left])
        raise DatasetError(
            f"Of {len(offered)} contexts, the search sees targets that begin with {seen or 'none'}, so {len(left)} can "
            f"be used to judge a trigger; at least {FEWEST_CONTEXTS} are needed. Give others with --contexts."
        )
    return left


def unseen_contexts(contexts: Iterable[Context], search: Sequence[TargetPair]) -> tuple[Context, ...]:
    """Those with which no target begins."""
    texts = {text for pair in search for text in pair.texts}
    return tuple(own for own in contexts if not any(begins_with(text, own.words) for text in texts))


def offered_contexts(language: str, *, own: bool = True) -> tuple[Context, ...]:
    """The contexts that ship: the published ones and, unless they are not wanted, our own.

    Raises:
        DatasetError: If there are none in the language.
    """
    path = _RESOURCES / f"contexts_{language}.csv"
    published = load_contexts(language).contexts if language in context_languages() else ()
    further = read_contexts(Path(str(path))).contexts if own and path.is_file() else ()
    if not (published or further):
        raise DatasetError(
            f"No contexts ship in the language {language!r} to judge a trigger on. Give some with --contexts."
        )
    return (*published, *further)
