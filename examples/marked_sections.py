"""Sections of a page that a script writes, between markers that the page keeps."""

from __future__ import annotations


def replace_section(text: str, name: str, content: str) -> str:
    """The text of a page with what stands between the markers of a section replaced."""
    start, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
    before, found, rest = text.partition(start)
    if not found or end not in rest:
        raise SystemExit(f"The page has no section {name}.")
    return f"{before}{start}{content}\n{end}{rest.partition(end)[2]}"
