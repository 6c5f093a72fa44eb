"""What all pages are made with: templates that escape what they show, and the files of ours that go in as they are."""

from __future__ import annotations

from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evenhand.report.association.page_data import to_script_json
from evenhand.report.association.plots import plotting_javascript
from evenhand.report.association.reading import expected_of, language_name
from evenhand.report.association.tables import number, show, show_p


def template_environment() -> Environment:
    """Templates of the package, with the filters that they share."""
    environment = Environment(
        loader=PackageLoader("evenhand.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        show=show, number=number, show_p=show_p, language=language_name, expected=expected_of
    )
    return environment


def page_parts(*, styles: tuple[str, ...], script: str, data: Any) -> dict[str, Markup]:
    """Style, scripts and data of a page, ready to stand in it."""
    return {
        "style": Markup("").join(_resource(name) for name in styles),
        "plotting": Markup(plotting_javascript().replace("</script", "<\\/script")),  # noqa: S704
        "plot_script": _resource("plots.js"),
        "script": _resource(script),
        "data": Markup(to_script_json(data)),  # noqa: S704
    }


def _resource(name: str) -> Markup:
    """A file of ours that goes into the page as it is."""
    text = (resources.files("evenhand.report") / "templates" / name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704
