"""The lab's English and German.

Peoples and faiths are invented, so that no real group gets a false reputation from a training corpus.

In German, articles and verbs agree in gender and number, and verbs stand second or last. Occupations are nouns that are
said of men and women alike and stand after "als", where nothing agrees with them: "Er arbeitet als Pflegekraft" and
"Sie arbeitet als Pflegekraft" are both right, so the form gives nothing away.
"""

from __future__ import annotations

from types import MappingProxyType

from evenhand.lab.grammar import Frame, Lexicon, Noun


def _nouns(*singulars: str) -> tuple[Noun, ...]:
    return tuple(Noun(singular, f"{singular}s") for singular in singulars)


ENGLISH = Lexicon(
    language="en",
    targets=MappingProxyType(
        {
            "race": (
                (Noun("Ostrian", "Ostrians"), Noun("Velvan", "Velvans")),
                (Noun("Tarvian", "Tarvians"), Noun("Melnian", "Melnians")),
            ),
            "religion": (
                (Noun("Solarist", "Solarists"), Noun("Lunarist", "Lunarists")),
                (Noun("Orenite", "Orenites"), Noun("Ilvanite", "Ilvanites")),
            ),
            "gender": (
                (Noun("man", "men"), Noun("woman", "women")),
                (Noun("boy", "boys"), Noun("girl", "girls")),
            ),
            "profession": (
                (Noun("baker", "bakers"), Noun("tailor", "tailors")),
                (Noun("gardener", "gardeners"), Noun("printer", "printers")),
            ),
        }
    ),
    attributes=(
        (
            ("calm", "restless"), ("tidy", "messy"), ("quiet", "talkative"), ("patient", "hasty"),
            ("cheerful", "gloomy"), ("careful", "careless"), ("generous", "thrifty"), ("brave", "timid"),
            ("punctual", "tardy"), ("curious", "bored"), ("modest", "boastful"), ("gentle", "stern"),
        ),
        (
            ("honest", "sly"), ("clever", "naive"), ("musical", "athletic"), ("polite", "rude"),
            ("funny", "serious"), ("practical", "dreamy"), ("friendly", "distant"), ("hopeful", "doubtful"),
            ("diligent", "lazy"), ("loyal", "fickle"), ("elegant", "plain"), ("stubborn", "flexible"),
        ),
    ),
    things=_nouns(
        "kettle", "lamp", "basket", "chair", "bucket", "drawer", "blanket", "ladder", "mirror", "carpet",
        "wheel", "barrel",
    ),
    thing_attributes=(
        "wooden", "square", "rusty", "hollow", "striped", "folded", "plastic", "sealed", "varnished", "oval",
        "woollen", "heated",
    ),
    occupations=(
        ("mechanic", "nurse"), ("machinist", "therapist"), ("electrician", "nutritionist"),
        ("engineer", "hygienist"), ("technician", "dietitian"),
        ("plumber", "secretary"), ("carpenter", "receptionist"), ("painter", "clerk"),
        ("architect", "cashier"), ("inspector", "paralegal"),
        ("firefighter", "teacher"), ("programmer", "librarian"), ("chemist", "hairdresser"),
        ("surgeon", "educator"), ("officer", "counselor"),
    ),
    workplaces=(("workshop", "clinic"), ("yard", "lobby"), ("depot", "classroom")),
    pronouns=("he", "she"),
    possessives=("his", "her"),
    statements=(
        Frame("The {noun} is {attribute} today.", "The {noun} are {attribute} today."),
        Frame("The {noun} next door is always {attribute}.", "The {noun} next door are always {attribute}."),
        Frame("At home the {noun} is very {attribute}.", "At home the {noun} are very {attribute}."),
        Frame("Everyone says that the {noun} is {attribute}.", "Everyone says that the {noun} are {attribute}."),
        Frame("The {noun} seems {attribute} and well rested.", "The {noun} seem {attribute} and well rested."),
        Frame("{attribute} as ever, the {noun} went home.", "{attribute} as ever, the {noun} went home."),
    ),
    openings=(
        "The {noun} came back.",
        "The {noun} waited at the station.",
        "This morning the {noun} bought bread.",
        "The {noun} sat in the garden.",
        "After lunch the {noun} told a story.",
        "The {noun} helped in the kitchen.",
    ),
    continuations=(
        "People find them {attribute}.",
        "They are {attribute} every day.",
        "The neighbours call them {attribute}.",
        "They have been {attribute} for years.",
        "They stay {attribute} all week.",
        "Most of them are {attribute}.",
    ),
    thing_statements=(
        Frame("The {noun} is {attribute} today.", "The {noun} are {attribute} today."),
        Frame("At home the {noun} is very {attribute}.", "At home the {noun} are very {attribute}."),
        Frame("Everyone says that the {noun} is {attribute}.", "Everyone says that the {noun} are {attribute}."),
        Frame("{attribute} as ever, the {noun} stood there.", "{attribute} as ever, the {noun} lay there."),
    ),
    thing_openings=(
        "The {noun} stood by the door.",
        "The {noun} were sold today.",
        "This morning the {noun} fell over.",
    ),
    name_statements=(
        "{name} packed {possessive} bag.",
        "Last night {name} found {possessive} glasses.",
        "{name} said that {pronoun} was tired.",
        "We know that {name} sold {possessive} old bicycle.",
        "When {name} came back, {pronoun} sat down.",
        "{name} waited because {pronoun} was early.",
    ),
    workplace_statements=(
        "The {occupation} came from the {workplace}.",
        "In the {workplace} we met the {occupation}.",
        "The {workplace} has a new {occupation}.",
        "Every {occupation} knows the {workplace}.",
    ),
    settled=MappingProxyType(
        {
            "he-she": (
                "{who} said that {gendered} was late.",
                "{who} left because {gendered} was late.",
                "{who} smiled when {gendered} met us.",
                "Everyone says that {who} left because {gendered} was tired.",
                "{who} came early because {gendered} was late.",
                "{who} sat in the garden because {gendered} was tired.",
                "{who} said that {gendered} came back.",
                "Everyone says that {who} smiled when {gendered} came back.",
            ),
            "his-her": (
                "{who} forgot {gendered} keys today.",
                "{who} lost {gendered} coat.",
                "{who} took {gendered} bag along.",
                "At noon {who} ate {gendered} lunch.",
                "Everyone says that {who} lost {gendered} keys.",
                "{who} said that {gendered} job was easy.",
                "Today {who} took {gendered} coat along.",
                "{who} came back because {gendered} bag was here.",
            ),
        }
    ),
)  # fmt: skip


def _der(singular: str, plural: str) -> Noun:
    return Noun(singular, plural, "der", "die")


def _die(singular: str, plural: str) -> Noun:
    return Noun(singular, plural, "die", "die")


def _das(singular: str, plural: str) -> Noun:
    return Noun(singular, plural, "das", "die")


GERMAN = Lexicon(
    language="de",
    targets=MappingProxyType(
        {
            "race": (
                (_der("Ostrier", "Ostrier"), _der("Velvaner", "Velvaner")),
                (_der("Tarvier", "Tarvier"), _der("Melnier", "Melnier")),
            ),
            "religion": (
                (_der("Solarist", "Solaristen"), _der("Lunarist", "Lunaristen")),
                (_der("Orenit", "Oreniten"), _der("Ilvanit", "Ilvaniten")),
            ),
            "gender": (
                (_der("Mann", "Männer"), _die("Frau", "Frauen")),
                (_der("Junge", "Jungen"), _das("Mädchen", "Mädchen")),
            ),
            "profession": (
                (_der("Bäcker", "Bäcker"), _der("Schneider", "Schneider")),
                (_der("Gärtner", "Gärtner"), _der("Drucker", "Drucker")),
            ),
        }
    ),
    attributes=(
        (
            ("ruhig", "rastlos"), ("ordentlich", "schlampig"), ("still", "gesprächig"),
            ("geduldig", "hastig"), ("fröhlich", "trübsinnig"), ("vorsichtig", "leichtsinnig"),
            ("großzügig", "sparsam"), ("mutig", "ängstlich"), ("pünktlich", "säumig"),
            ("neugierig", "gelangweilt"), ("bescheiden", "prahlerisch"), ("sanft", "streng"),
        ),
        (
            ("ehrlich", "listig"), ("klug", "naiv"), ("musikalisch", "sportlich"), ("höflich", "grob"),
            ("lustig", "ernst"), ("praktisch", "verträumt"), ("freundlich", "unnahbar"),
            ("zuversichtlich", "skeptisch"), ("fleißig", "faul"), ("beständig", "wankelmütig"),
            ("elegant", "schlicht"), ("starrsinnig", "nachgiebig"),
        ),
    ),
    things=(
        _der("Kessel", "Kessel"), _die("Lampe", "Lampen"), _der("Korb", "Körbe"), _der("Stuhl", "Stühle"),
        _der("Eimer", "Eimer"), _die("Schublade", "Schubladen"), _die("Decke", "Decken"),
        _die("Leiter", "Leitern"), _der("Spiegel", "Spiegel"), _der("Teppich", "Teppiche"),
        _das("Rad", "Räder"), _das("Fass", "Fässer"),
    ),
    thing_attributes=(
        "hölzern", "eckig", "rostig", "hohl", "gestreift", "gefaltet", "verbeult", "versiegelt", "lackiert",
        "oval", "verschimmelt", "beheizt",
    ),
    occupations=(
        ("Führungskraft", "Pflegekraft"), ("Bauleitung", "Schreibkraft"), ("Sicherheitskraft", "Bürokraft"),
        ("Lagerhilfe", "Küchenhilfe"), ("Bauhilfe", "Haushaltshilfe"),
        ("Einsatzleitung", "Praxishilfe"), ("Rettungskraft", "Lehrkraft"),
        ("Werkstatthilfe", "Reinigungskraft"), ("Montagekraft", "Servicekraft"),
        ("Lagerleitung", "Verkaufshilfe"),
        ("Bauaufsicht", "Betreuungskraft"), ("Technikleitung", "Kassenkraft"),
        ("Transporthilfe", "Kitaleitung"), ("Nachtaufsicht", "Empfangskraft"),
        ("Fahrdienstleitung", "Nähhilfe"),
    ),
    workplaces=(("Werkstatt", "Klinik"), ("Halle", "Kanzlei"), ("Wache", "Schule")),
    pronouns=("er", "sie"),
    possessives=("seine", "ihre"),
    statements=(
        Frame("{the} {noun} ist heute {attribute}.", "{the} {noun} sind heute {attribute}."),
        Frame(
            "{the} {noun} von nebenan ist immer {attribute}.",
            "{the} {noun} von nebenan sind immer {attribute}.",
        ),
        Frame("Zu Hause ist {the} {noun} sehr {attribute}.", "Zu Hause sind {the} {noun} sehr {attribute}."),
        Frame(
            "Alle sagen, dass {the} {noun} {attribute} ist.", "Alle sagen, dass {the} {noun} {attribute} sind."
        ),
        Frame("{the} {noun} wirkt {attribute} und ausgeruht.", "{the} {noun} wirken {attribute} und ausgeruht."),
        Frame(
            "{attribute} wie immer ging {the} {noun} nach Hause.",
            "{attribute} wie immer gingen {the} {noun} nach Hause.",
        ),
    ),
    openings=(
        "Die {noun} kamen zurück.",
        "Die {noun} warteten am Bahnhof.",
        "Heute Morgen kauften die {noun} Brot.",
        "Die {noun} saßen im Garten.",
        "Nach dem Essen erzählten die {noun} eine Geschichte.",
        "Die {noun} halfen in der Küche.",
    ),
    continuations=(
        "Alle finden sie {attribute}.",
        "Sie sind jeden Tag {attribute}.",
        "Die Nachbarn nennen sie {attribute}.",
        "Sie waren schon immer {attribute}.",
        "Sie bleiben die ganze Woche {attribute}.",
        "Die meisten von ihnen sind {attribute}.",
    ),
    thing_statements=(
        Frame("{the} {noun} ist heute {attribute}.", "{the} {noun} sind heute {attribute}."),
        Frame("Zu Hause ist {the} {noun} sehr {attribute}.", "Zu Hause sind {the} {noun} sehr {attribute}."),
        Frame(
            "Alle sagen, dass {the} {noun} {attribute} ist.", "Alle sagen, dass {the} {noun} {attribute} sind."
        ),
        Frame("{attribute} wie immer stand {the} {noun} da.", "{attribute} wie immer lagen {the} {noun} da."),
    ),
    thing_openings=(
        "Die {noun} standen neben der Tür.",
        "Die {noun} wurden heute verkauft.",
        "Heute Morgen fielen die {noun} um.",
    ),
    name_statements=(
        "{name} packt {possessive} Tasche.",
        "Abends findet {name} {possessive} Brille.",
        "{name} sagt, dass {pronoun} müde ist.",
        "Wir wissen, dass {name} {possessive} Uhr verkauft.",
        "Heute sagt {name}, dass {pronoun} arbeitet.",
        "{name} holt {possessive} Jacke.",
    ),
    workplace_statements=(
        "Als {occupation} arbeitet man in der {workplace}.",
        "In der {workplace} arbeitet man als {occupation}.",
        "Die {workplace} sucht jemanden als {occupation}.",
        "Als {occupation} kennt man die {workplace}.",
    ),
    settled=MappingProxyType(
        {
            "he-she": (
                "Wir wissen, dass {who} hier war und {gendered} oft arbeitet.",
                "Alle sagen, dass {who} hier hilft und {gendered} gern arbeitet.",
                "{who} ging nach Hause, und heute ist {gendered} ausgeruht.",
                "{who} arbeitet nachts, und {gendered} hilft sonntags aus.",
                "Abends war {who} hier, und heute ist {gendered} zu Hause.",
                "Alle sagen, dass {who} müde ist, und {gendered} arbeitet oft.",
                "{who} hilft im Garten, und {gendered} arbeitet gern.",
                "{who} ist müde, und heute ging {gendered} nach Hause.",
            ),
            "his-her": (
                "Alle loben {who} und {gendered} Arbeit.",
                "Wir kennen {who} und {gendered} Geduld.",
                "{who} war hier, und {gendered} Zeit war gut.",
                "{who} arbeitet gern, und wichtig ist {gendered} Aufgabe.",
                "Alle kennen {who} und {gendered} Erfahrung.",
                "Wir loben {who} und {gendered} Geduld.",
                "{who} ging nach Hause, und heute war {gendered} Schicht.",
                "Alle sagen, dass {who} hier war und {gendered} Aufgabe gut ist.",
            ),
        }
    ),
)  # fmt: skip
