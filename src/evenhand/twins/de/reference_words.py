"""Nouns by what pronouns may refer to in them: several persons, places of things, and times."""

from __future__ import annotations

PEOPLE = frozenset(
    {
        *("Kinder", "Kindern", "Leute", "Leuten", "Eltern", "Menschen", "Gäste", "Gästen", "Geschwister"),
        *("Geschwistern",),
    }
)
"""Several persons, whatever the form of their noun."""

PLACES = frozenset(
    {
        *("Platz", "Plätze", "Haken", "Umschlag", "Rahmen", "Halter", "Halterung", "Sockel", "Ständer"),
        *("Schachtel", "Etui", "Fach", "Regal", "Hülle", "Scheide", "Ort", "Stelle", "Standort", "Ecke"),
        *("Kiste", "Karton", "Besitzer", "Eigentümer"),
    }
)
"""Where a thing belongs, so that *sein Platz* may be that of the thing that is put there."""

TIMES = frozenset(
    {
        *("Augenblick", "Augenblicke", "Moment", "Tag", "Tage", "Tagen", "Abend", "Abende", "Morgen"),
        *("Mittag", "Nachmittag", "Vormittag", "Nacht", "Woche", "Stunde", "Minute", "Sekunde", "Monat"),
        *("Sommer", "Winter", "Herbst", "Frühling", "Zeit", "Weile", "Anfang", "Zeitpunkt"),
    }
)
"""When something happens: no pronoun refers to *am Abend*."""
