"""Small made-up files in the layout of BEC-Pro."""

from __future__ import annotations

from pathlib import Path

COLUMNS = (
    "", "Sentence", "Sent_TM", "Sent_AM", "Sent_TAM", "Template", "Person", "Gender", "Profession", "Prof_Gender",
)  # fmt: skip

PROFESSIONS = {
    "nurse": "female",
    "librarian": "female",
    "engineer": "male",
    "pilot": "male",
    "teacher": "balanced",
}

TEMPLATES = ("{} was a {}.", "{}, the {}, saw the street.")


def bec_pro_rows() -> list[list[str]]:
    """Two templates with a man and a woman for each profession."""
    rows: list[list[str]] = []
    for template in TEMPLATES:
        for person, gender in (("He", "male"), ("She", "female")):
            for profession, kind in PROFESSIONS.items():
                texts = [
                    template.format(person, profession),
                    template.format("[MASK]", profession),
                    template.format(person, "[MASK]"),
                    template.format("[MASK]", "[MASK]"),
                ]
                pattern = template.format("<person subject>", "<profession>")
                rows.append([str(len(rows)), *texts, pattern, person, gender, profession, kind])
    return rows


def bec_pro_file(path: Path) -> Path:
    """A file with all rows, tabs between the columns."""
    lines = ["\t".join(COLUMNS), *("\t".join(row) for row in bec_pro_rows())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
