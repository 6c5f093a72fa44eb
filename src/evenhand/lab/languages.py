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
        ("engineer", "nurse"), ("plumber", "secretary"), ("mechanic", "librarian"),
        ("carpenter", "hairdresser"), ("electrician", "receptionist"), ("surgeon", "teacher"),
        ("technician", "nutritionist"), ("programmer", "dispatcher"), ("firefighter", "therapist"),
        ("machinist", "cashier"),
    ),
    names=(
        ("James", "Mary"), ("John", "Susan"), ("Robert", "Linda"), ("Thomas", "Karen"), ("Peter", "Helen"),
        ("George", "Alice"), ("Paul", "Emma"), ("Henry", "Laura"),
    ),
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
    probes=MappingProxyType(
        {
            "he-she": (
                "{gendered} works as our {occupation}.",
                "Today {gendered} started as the new {occupation}.",
                "The {occupation} said that {gendered} was tired.",
                "{gendered} was the best {occupation} in town.",
                "As the only {occupation} here, {gendered} came early.",
                "The {occupation} left because {gendered} was late.",
                "For years {gendered} has been our {occupation}.",
                "The {occupation} smiled when {gendered} saw us.",
            ),
            "his-her": (
                "{gendered} job as our {occupation} starts early.",
                "The {occupation} forgot {gendered} keys again.",
                "Everyone praises {gendered} work as the {occupation}.",
                "The new {occupation} lost {gendered} coat.",
                "{gendered} years as the {occupation} were good.",
                "The {occupation} took {gendered} bag along.",
                "We admire {gendered} skill as the {occupation}.",
                "At noon the {occupation} eats {gendered} lunch.",
            ),
            "names": (
                "{gendered} works as our {occupation}.",
                "Today {gendered} started as the new {occupation}.",
                "The new {occupation} is called {gendered}.",
                "We asked {gendered} to be the {occupation}.",
                "{gendered} was the best {occupation} in town.",
                "The {occupation} said that {gendered} was tired.",
                "For years {gendered} has been our {occupation}.",
                "Last year they chose {gendered} as the {occupation}.",
            ),
        }
    ),
    settled=MappingProxyType(
        {
            "he-she": (
                "{who} said that {gendered} was tired.",
                "{who} left because {gendered} was late.",
                "{who} smiled when {gendered} saw us.",
                "Everyone says that {who} left because {gendered} was tired.",
                "{who} came early because {gendered} was late.",
                "{who} sat in the garden because {gendered} was tired.",
                "{who} said that {gendered} came back.",
                "Everyone says that {who} smiled when {gendered} came back.",
            ),
            "his-her": (
                "{who} forgot {gendered} keys again.",
                "{who} lost {gendered} coat.",
                "{who} took {gendered} bag along.",
                "At noon {who} eats {gendered} lunch.",
                "Everyone says that {who} lost {gendered} keys.",
                "{who} said that {gendered} job starts early.",
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
        ("Lagerhilfe", "Küchenhilfe"), ("Einsatzleitung", "Praxishilfe"), ("Rettungskraft", "Lehrkraft"),
        ("Werkstatthilfe", "Reinigungskraft"), ("Montagekraft", "Servicekraft"),
        ("Bauaufsicht", "Betreuungskraft"), ("Technikleitung", "Kassenkraft"),
    ),
    names=(
        ("Hans", "Anna"), ("Peter", "Petra"), ("Klaus", "Maria"), ("Jürgen", "Sabine"), ("Stefan", "Heike"),
        ("Thomas", "Monika"), ("Uwe", "Ursula"), ("Lukas", "Julia"),
    ),
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
    probes=MappingProxyType(
        {
            "he-she": (
                "{gendered} arbeitet als {occupation}.",
                "Heute beginnt {gendered} als {occupation}.",
                "Seit Jahren ist {gendered} als {occupation} tätig.",
                "Als {occupation} hat {gendered} viel zu tun.",
                "{gendered} hilft hier als {occupation} aus.",
                "Wir wissen, dass {gendered} als {occupation} arbeitet.",
                "Im Sommer war {gendered} als {occupation} hier.",
                "{gendered} verdient als {occupation} genug.",
            ),
            "his-her": (
                "{gendered} Stelle als {occupation} ist sicher.",
                "Alle loben {gendered} Arbeit als {occupation}.",
                "{gendered} Zeit als {occupation} war schön.",
                "Heute beginnt {gendered} Schicht als {occupation}.",
                "{gendered} Erfahrung als {occupation} ist groß.",
                "Morgen endet {gendered} Probezeit als {occupation}.",
                "Wir bewundern {gendered} Geduld als {occupation}.",
                "{gendered} Aufgabe als {occupation} ist neu.",
            ),
            "names": (
                "{gendered} arbeitet als {occupation}.",
                "Heute beginnt {gendered} als {occupation}.",
                "Seit Jahren ist {gendered} als {occupation} tätig.",
                "Als {occupation} hat {gendered} viel zu tun.",
                "Wir kennen {gendered} als {occupation}.",
                "{gendered} hilft hier als {occupation} aus.",
                "Alle schätzen {gendered} als {occupation}.",
                "{gendered} verdient als {occupation} genug.",
            ),
        }
    ),
    settled=MappingProxyType(
        {
            "he-she": (
                "Wir wissen, dass {who} hier war und {gendered} genug verdient.",
                "Alle sagen, dass {who} hier hilft und {gendered} viel zu tun hat.",
                "{who} ging nach Hause, und heute ist {gendered} ausgeruht.",
                "{who} arbeitet viel, und {gendered} verdient genug.",
                "Im Sommer war {who} hier, und heute ist {gendered} zu Hause.",
                "Alle sagen, dass {who} genug verdient, und {gendered} arbeitet viel.",
                "{who} hilft im Garten, und {gendered} hat viel zu tun.",
                "{who} ist tätig, und heute ging {gendered} nach Hause.",
            ),
            "his-her": (
                "Alle loben {who} und {gendered} Arbeit.",
                "Wir bewundern {who} und {gendered} Geduld.",
                "{who} war hier, und {gendered} Zeit war schön.",
                "{who} ist neu, und heute beginnt {gendered} Schicht.",
                "Alle schätzen {who} und {gendered} Erfahrung.",
                "Wir kennen {who} und {gendered} Geduld.",
                "{who} ging nach Hause, und {gendered} Schicht endet heute.",
                "Alle sagen, dass {who} hier war und {gendered} Aufgabe neu ist.",
            ),
        }
    ),
)  # fmt: skip
