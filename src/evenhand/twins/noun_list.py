"""What commands that make German twins say where the list of noun genders is not installed."""

from __future__ import annotations

from evenhand.cli.output import say


def mention_noun_list(language: str | None) -> None:
    """Say how fewer German sentences are left out; nothing in another language, or where the list is installed."""
    if language != "de":
        return
    from evenhand.twins.de.noun_genders import has_noun_list

    if not has_noun_list():
        say(
            "Fewer German sentences are left out with a list of noun genders. Install it with: pip install --no-deps "
            "german-nouns"
        )
