"""What all pages are made with: templates that escape what they show, and the files of ours that go in as they are."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evenhand.reporting.numbers import measure_words, number, show, show_p, signed, unsigned
from evenhand.reporting.words import language_name, task_title

_EXPOSE_EMBED = "window.vegaEmbed = vegaEmbed;"

_BUNDLE = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle(sys.argv[1]).encode('utf-8'))"


@lru_cache(maxsize=1)
def template_environment() -> Environment:
    """Templates of the package, with the filters that they share."""
    environment = Environment(
        loader=PackageLoader("evenhand.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        show=show,
        number=number,
        show_p=show_p,
        measure_words=measure_words,
        signed=signed,
        unsigned=unsigned,
        language=language_name,
        task=task_title,
    )
    environment.globals["percent_scale"] = lambda value: min(100.0, max(0.0, value))
    return environment


def render(template: str, part: str, **context: Any) -> Markup:
    """One part of a page: a macro of a template of the package, which escapes what it is given."""
    return Markup(getattr(template_environment().get_template(template).module, part)(**context))  # noqa: S704


def render_page_template(
    template: str, *, data: Mapping[str, Any], scripts: tuple[str, ...] = (), **context: Any
) -> str:
    """A whole page.

    Args:
        template: It extends ``base.html.j2``.
        data: What the page's scripts work on: ``plots`` by id, ``csv`` by section, and more. Without plots the page
            goes without what draws them.
        scripts: Further scripts of ours.
        context: What the template shows.
    """
    return (
        template_environment()
        .get_template(template)
        .render(
            style=_resource("page.css"),
            plotting=_plotting_script() if "plots" in data else "",
            scripts=[_resource(name) for name in ("page.js", *scripts)],
            data=Markup(to_script_json(data)),  # noqa: S704
            **context,
        )
    )


def to_script_json(value: Any) -> str:
    """JSON that can stand inside a script element: no character in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@lru_cache(maxsize=1)
def _plotting_javascript() -> str:
    """The libraries that draw the plots, for use without a network.

    Another process bundles them: it takes a second in which this one could not say that it is still busy.
    """
    bundling = (sys.executable, "-P", "-c", _BUNDLE, _EXPOSE_EMBED)
    return subprocess.run(bundling, check=True, stdout=subprocess.PIPE).stdout.decode("utf-8")  # noqa: S603


def _plotting_script() -> Markup:
    return Markup(_plotting_javascript().replace("</script", "<\\/script"))  # noqa: S704


def _resource(name: str) -> Markup:
    """A file of ours that goes into the page as it is."""
    text = (resources.files("evenhand.reporting") / "templates" / name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704
