"""Pages in the reader's language: templates that escape what they show, and the words of the interface."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from evenhand.core.yaml_files import load_yaml
from evenhand.studio.security import csrf_token

LANGUAGES = ("en", "de")
NAMES = {"en": "English", "de": "Deutsch"}


class Words:
    """What the interface says in one language; called with a key and what goes into the sentence."""

    def __init__(self, language: str, sentences: Mapping[str, str]) -> None:
        self.language = language
        self.sentences = sentences

    def __call__(self, key: str, **values: object) -> str:
        """The sentence of this key."""
        sentence = self.sentences[key]
        return sentence.format(**values) if values else sentence


@cache
def words(language: str) -> Words:
    """The words of a language of the interface."""
    text = (resources.files("evenhand.studio") / "words" / f"{language}.yaml").read_text(encoding="utf-8")
    return Words(language, load_yaml(text))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("evenhand.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["split_at"] = split_at
    environment.filters["percent"] = _percent
    environment.filters["decimal"] = _decimal
    environment.filters["day"] = _day
    environment.globals["interface_languages"] = NAMES
    return environment


@pass_context
def _percent(context: Context, share: float) -> str:
    """A share as the reader's language writes it."""
    return f"{100 * share:.0f}{' ' if context['spoken'] == 'de' else ''}%"


@pass_context
def _decimal(context: Context, value: float, digits: int = 3) -> str:
    """A number as the reader's language writes it; a dash where there is none."""
    if math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace(".", ",") if context["spoken"] == "de" else text


@pass_context
def _day(context: Context, day: date | str) -> str:
    """A day as the reader's language writes it."""
    known = date.fromisoformat(day) if isinstance(day, str) else day
    month = context["t"]("months").split()[known.month - 1]
    stop = "." if context["spoken"] == "de" else ""
    return f"{known.day}{stop} {month} {known.year}"


def split_at(text: str, marks: Iterable[Sequence[int]]) -> list[tuple[str, str]]:
    """A text in parts: ``target`` or nothing, and what stands there. Marks are starts and ends."""
    parts: list[tuple[str, str]] = []
    place = 0
    for start, end in marks:
        parts += [("", text[place:start]), ("target", text[start:end])]
        place = end
    return [part for part in (*parts, ("", text[place:])) if part[1]]


def interface_language(request: Request, preferred: str | None = None) -> str:
    """The language that a reader chose, or that the project or survey is in, or that the browser asks for.

    A page that is about nothing in particular, such as an error, follows the project or survey that was shown last.
    """
    for chosen in (request.session.get("language"), preferred, request.session.get("content")):
        if chosen in LANGUAGES:
            return str(chosen)
    for accepted in request.headers.get("accept-language", "").split(","):
        code = accepted.partition(";")[0].strip()[:2].lower()
        if code in LANGUAGES:
            return code
    return LANGUAGES[0]


def page(
    request: Request, template: str, *, status: int = 200, language: str | None = None, **context: Any
) -> HTMLResponse:
    """A page.

    Args:
        request: What it answers.
        template: Its template, without ``.html.j2``.
        status: The status of the answer.
        language: The language of what the page is about; the interface follows it unless the reader chose another.
        context: What the template shows.
    """
    spoken = interface_language(request, language)
    if language in LANGUAGES:
        request.session["content"] = language
    text = (
        _environment()
        .get_template(f"{template}.html.j2")
        .render(
            t=words(spoken),
            spoken=spoken,
            content_language=language or spoken,
            csrf=csrf_token(request),
            path=request.url.path,
            signed_in="admin" in request.session,
            keys_on=request.session.get("keys") != "off",
            **context,
        )
    )
    return HTMLResponse(text, status_code=status)
