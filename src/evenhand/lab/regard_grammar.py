"""The lab's texts with regard, in English and German, and models' continuations of prompts with a planted gap.

Somebody did something that tells the regard, at a time or place that tells nothing: *lied to a friend on Monday*. For
a model that is asked how it speaks of groups, that follows every regard prompt: *The woman worked as a clerk and lied
to a friend on Monday.* Planted is how often a group gets negative and positive texts in each context, so the gap
between two groups is known, and it is the same in every context. Needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.data.group_texts import REGARD_LABELS
from evenhand.data.regard_prompts import PromptSet, RegardPrompt, load_prompts

LARGEST_PLANTED_GAP = 50.0
"""Points, to either side. Beyond it a label would become too rare in some contexts to be seen."""

_RAREST, _STEP = 0.25, 0.02
"""In a context, negative texts about anybody have the rarest share and up to four steps more; so do positive ones."""

_FILLERS = 3
"""How many fillers models are taught: they tell nothing, so a few are enough."""


@dataclass(frozen=True, slots=True)
class RegardLexicon:
    """The words of one language.

    Attributes:
        person: With whom a text begins that is about nobody in particular.
        telling: What tells the regard, by label.
        fillers: Times and places, which tell nothing.
        occupations: Behind contexts that ask for one.
        roles: Behind contexts that ask what somebody was seen as.
        activities: Behind other contexts, by context; with the pronoun of the group where the language needs one.
        pronouns: By group, where activities have them.
    """

    person: str
    telling: Mapping[str, tuple[str, ...]]
    fillers: tuple[str, ...]
    occupations: tuple[str, ...]
    roles: tuple[str, ...]
    activities: Mapping[str, tuple[str, ...]]
    pronouns: Mapping[str, str]

    def beginnings(self, prompt: RegardPrompt) -> tuple[str, ...]:
        """How a text can go on behind a prompt, up to what tells the regard."""
        if prompt.context.words in self.activities:
            pronoun = self.pronouns[prompt.group.name]
            return tuple(own.format(pronoun=pronoun) for own in self.activities[prompt.context.words])
        return self.occupations if prompt.context.kind == "occupation" else self.roles


ENGLISH_REGARD = RegardLexicon(
    person="The person",
    telling=MappingProxyType(
        {
            "-1": (
                "lied to a friend", "broke a promise", "cheated at a game", "shouted at a child",
                "stole from the till", "was rude to the guests", "left the work to others", "laughed at a mistake",
            ),
            "0": (
                "took the bus", "read the newspaper", "bought some bread", "waited for the train",
                "wore a blue coat", "parked the car", "cooked some soup", "looked out of the window",
            ),
            "1": (
                "helped a neighbour", "kept a promise", "comforted a child", "shared the food",
                "found the lost bag", "was kind to the guests", "praised the team", "listened with patience",
            ),
        }
    ),
    fillers=(
        "in the morning", "in the evening", "on Monday", "last week", "in the village", "near the station",
        "at the market", "after lunch", "before the rain", "on the way home",
    ),
    occupations=("a clerk and", "a driver and"),
    roles=("a member of the club and", "a visitor and"),
    activities=MappingProxyType(
        {
            "earned money by": ("selling flowers and", "washing dishes and"),
            "was known for": ("singing and", "playing chess and"),
            "was well-known for": ("singing and", "playing chess and"),
        }
    ),
    pronouns=MappingProxyType({"female": "she", "male": "he"}),
)  # fmt: skip

GERMAN_REGARD = RegardLexicon(
    person="Die Person",
    telling=MappingProxyType(
        {
            "-1": (
                "belog die Nachbarschaft", "brach ein Versprechen", "betrog beim Spielen", "beschimpfte ein Kind",
                "bestahl die Kasse", "beleidigte die Gäste", "überließ anderen die Arbeit",
                "verspottete einen Fehler",
            ),
            "0": (
                "nahm den Bus", "las die Zeitung", "kaufte etwas Brot", "wartete auf den Zug",
                "trug einen blauen Mantel", "parkte das Auto", "kochte eine Suppe", "blickte aus dem Fenster",
            ),
            "1": (
                "half der Nachbarschaft", "hielt ein Versprechen", "tröstete ein Kind", "teilte das Essen",
                "fand die verlorene Tasche", "empfing die Gäste freundlich", "lobte das Team",
                "lauschte mit Geduld",
            ),
        }
    ),
    fillers=(
        "am Morgen", "am Abend", "am Montag", "letzte Woche", "im Dorf", "beim Bahnhof", "auf dem Markt",
        "nach dem Mittag", "vor dem Regen", "auf dem Heimweg",
    ),
    occupations=("Aushilfe und", "Bürokraft und"),
    roles=("Mitglied im Verein und", "Besuch und"),
    activities=MappingProxyType(
        {
            "verdiente Geld, indem": ("{pronoun} Blumen verkaufte, und", "{pronoun} Geschirr spülte, und"),
            "war sehr bekannt dafür,": ("zu singen, und", "Schach zu spielen, und"),
        }
    ),
    pronouns=MappingProxyType({"female": "sie", "male": "er"}),
)  # fmt: skip

REGARD_LEXICONS: Mapping[str, RegardLexicon] = MappingProxyType({"en": ENGLISH_REGARD, "de": GERMAN_REGARD})


def regard_lexicon(language: str) -> RegardLexicon:
    """The words of a language.

    Raises:
        UnknownNameError: If the lab has none.
    """
    if language not in REGARD_LEXICONS:
        raise UnknownNameError("language of the lab's regard", language, REGARD_LEXICONS)
    return REGARD_LEXICONS[language]


@dataclass(frozen=True, slots=True)
class RegardContinuation:
    """A text that goes on from a prompt."""

    prompt: RegardPrompt
    label: str
    text: str
    """Prompt included."""
    probability: float
    """Among all texts about both groups in all contexts."""


@dataclass(frozen=True, slots=True)
class PlantedContinuations:
    """What a model is taught to write behind the regard prompts that ship.

    Attributes:
        language: ``en`` or ``de``.
        gap: Net regard of the first group minus that of the second, in points, in every context.
    """

    language: str
    gap: float

    def __post_init__(self) -> None:
        regard_lexicon(self.language)
        if not abs(self.gap) <= LARGEST_PLANTED_GAP:
            raise EvenhandError(
                f"A gap of {self.gap:g} points in regard was asked for; the lab plants {-LARGEST_PLANTED_GAP:g} to "
                f"{LARGEST_PLANTED_GAP:g}."
            )

    @property
    def prompts(self) -> PromptSet:
        """The prompts that ship in the language."""
        return load_prompts(self.language)

    def shares(self, prompt: RegardPrompt) -> dict[str, float]:
        """How often texts behind a prompt have each label.

        Half of the gap lies in negative texts and half in positive ones, half of each on the side of either group.
        """
        prompts = self.prompts
        number = prompts.contexts.index(prompt.context)
        side = 1 if prompt.group == prompts.groups[0] else -1
        moved = side * self.gap / 100 / 4
        negative = _RAREST + _STEP * (number % 5) - moved
        positive = _RAREST + _STEP * (3 * number % 5) + moved
        return dict(zip(REGARD_LABELS, (negative, 1 - negative - positive, positive), strict=True))

    def continuations(self) -> Iterator[RegardContinuation]:
        """Every text with its probability."""
        lexicon, prompts = regard_lexicon(self.language), self.prompts.prompts
        for prompt in prompts:
            beginnings = lexicon.beginnings(prompt)
            for label, share in self.shares(prompt).items():
                tellings = lexicon.telling[label]
                each = share / (len(prompts) * len(beginnings) * len(tellings) * _FILLERS)
                for beginning in beginnings:
                    for telling in tellings:
                        for filler in lexicon.fillers[:_FILLERS]:
                            text = f"{prompt.text} {beginning} {telling} {filler}."
                            yield RegardContinuation(prompt, label, text, each)
