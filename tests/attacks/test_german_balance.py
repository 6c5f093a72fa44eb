"""German texts about a person that came out wrong: told of a woman and of a man, with the word that has to agree.

Expected texts are written by hand, in the braces: the woman's word, then the man's.
"""

from __future__ import annotations

import re

import pytest

from evenhand.text.person_texts import Gender, PersonVersions, person_texts_for
from evenhand.text.swappers import Rejected
from evenhand.twins.de.noun_genders import has_noun_list
from evenhand.twins.de.noun_pairs import looks_gendered, pair_of

_PAIR = re.compile(r"\{([^|{}]*)\|([^|{}]*)\}")
_TOLD = {"f": Gender.FEMALE, "m": Gender.MALE, "n": None}

needs_table = pytest.mark.skipif(not has_noun_list(), reason="needs the extra german")

SUBJECTS = [
    "m Der Mann hatte einen Job. = {Die Frau|Der Mann} hatte einen Job.",
    "f Die Frau hatte einen Job als Verkäuferin. = {Die Frau|Der Mann} hatte einen Job als {Verkäuferin|Verkäufer}.",
    "f Die Frau wurde beschrieben als Rednerin. = {Die Frau|Der Mann} wurde beschrieben als {Rednerin|Redner}.",
    "m Die Person galt als guter Kunde, da er zahlte. = "
    "{Die Frau|Der Mann} galt als {gute Kundin|guter Kunde}, da {sie|er} zahlte.",
    "m Der Lehrer lobte die Schülerin. = {Die Lehrerin|Der Lehrer} lobte die Schülerin.",
    "m Der Mann hatte einen Hund, eine Katze und ein Haus. = "
    "{Die Frau|Der Mann} hatte einen Hund, eine Katze und ein Haus.",
    "f Die Frau wurde wahrgenommen als freundliche Person. = "
    "{Die Frau|Der Mann} wurde wahrgenommen als freundliche Person.",
    "m Gestern schlief der Kranke. = Gestern schlief {die|der} Kranke.",
    "m XYZ arbeitete als Koch. = XYZ arbeitete als {Köchin|Koch}.",
    "m XYZ half seinem Enkel. = XYZ half {ihrem|seinem} Enkel.",
    "f XYZ trug einen Pullover und ihre Brille. = XYZ trug einen Pullover und {ihre|seine} Brille.",
    "f war bekannt dafür, dass sie die Rechte der Kunden achtet. = "
    "war bekannt dafür, dass {sie|er} die Rechte der Kunden achtet.",
    "f Die Türkin galt als freundliche Person. = {Die Türkin|Der Türke} galt als freundliche Person.",
]
NOUNS = [
    "m Die Person arbeitete als Straßenbauer. = {Die Frau|Der Mann} arbeitete als {Straßenbauerin|Straßenbauer}.",
    "m Die Person ist Biobauer. = {Die Frau|Der Mann} ist {Biobäuerin|Biobauer}.",
    "m Die Person ist ein Weißer. = {Die Frau|Der Mann} ist {eine Weiße|ein Weißer}.",
    "m Die Person galt als der Beste. = {Die Frau|Der Mann} galt als {die Beste|der Beste}.",
    "f Die Person war die Beste. = {Die Frau|Der Mann} war {die Beste|der Beste}.",
    "m Die Person wurde als Bester geehrt. = {Die Frau|Der Mann} wurde als {Beste|Bester} geehrt.",
    "m Der Mann war Vertriebsleiter. = {Die Frau|Der Mann} war {Vertriebsleiterin|Vertriebsleiter}.",
    "f Die Frau arbeitete als Steinmetzin. = {Die Frau|Der Mann} arbeitete als {Steinmetzin|Steinmetz}.",
    "m Die Person arbeitet als Kriminalbeamter. = "
    "{Die Frau|Der Mann} arbeitet als {Kriminalbeamtin|Kriminalbeamter}.",
    "m Die Person galt als Schläger. = {Die Frau|Der Mann} galt als {Schlägerin|Schläger}.",
    "f Die Person ist gelernte Köchin. = {Die Frau|Der Mann} ist {gelernte Köchin|gelernter Koch}.",
    "m Die Person war Arzt, Dichter und ein guter Freund. = "
    "{Die Frau|Der Mann} war {Ärztin|Arzt}, {Dichterin|Dichter} und {eine gute Freundin|ein guter Freund}.",
    "m Die Person macht eine Ausbildung zum Koch. = "
    "{Die Frau|Der Mann} macht eine Ausbildung {zur Köchin|zum Koch}.",
    "m Die Person war Koch, war aber auch ein Sänger. = "
    "{Die Frau|Der Mann} war {Köchin|Koch}, war aber auch {eine Sängerin|ein Sänger}.",
    "m Die Person arbeitete als gelernter Maler und Lackierer. = "
    "{Die Frau|Der Mann} arbeitete als {gelernte Malerin und Lackiererin|gelernter Maler und Lackierer}.",
    "f Die Person galt als kluge, mutige und erfolgreiche Ärztin. = {Die Frau|Der Mann} galt als "
    "{kluge, mutige und erfolgreiche Ärztin|kluger, mutiger und erfolgreicher Arzt}.",
    "m Der Mann arbeitete als Leiter einer Gruppe im Alten- und Pflegeheim. = "
    "{Die Frau|Der Mann} arbeitete als {Leiterin|Leiter} einer Gruppe im Alten- und Pflegeheim.",
    "n Die Person galt als Koryphäe. = {Die Frau|Der Mann} galt als Koryphäe.",
    "n Die Person war ein kluger Kopf. = {Die Frau|Der Mann} war ein kluger Kopf.",
    "m Die Person War Koch. = {Die Frau|Der Mann} War {Köchin|Koch}.",
]
RELATIVES = [
    "m Die Person war ein großer Mann, der gern lachte. = "
    "{Die Frau|Der Mann} war {eine große Frau, die|ein großer Mann, der} gern lachte.",
    "m Die Person war ein Mann, den alle mochten. = "
    "{Die Frau|Der Mann} war {eine Frau, die|ein Mann, den} alle mochten.",
    "f Die Person war eine Kollegin, die alle mochten. = "
    "{Die Frau|Der Mann} war {eine Kollegin, die|ein Kollege, den} alle mochten.",
    "f Die Person war eine Chefin, die das Leben liebt. = "
    "{Die Frau|Der Mann} war {eine Chefin, die|ein Chef, der} das Leben liebt.",
    "m Die Person galt als Egoist der nie teilt. = {Die Frau|Der Mann} galt als {Egoistin die|Egoist der} nie teilt.",
    "m Der Mann galt als ein Mann, der eine eigene Firma hat und ein echter Experte für Geld ist. = "
    "{Die Frau|Der Mann} galt als {eine Frau, die|ein Mann, der} eine eigene Firma hat und "
    "{eine echte Expertin|ein echter Experte} für Geld ist.",
    "f Die Frau galt als eine Frau, die eine gute Ärztin ist. = {Die Frau|Der Mann} galt als "
    "{eine Frau, die eine gute Ärztin|ein Mann, der ein guter Arzt} ist.",
    "f Die Person hatte einen Job als Köchin, der gut bezahlt war. = "
    "{Die Frau|Der Mann} hatte einen Job als {Köchin|Koch}, der gut bezahlt war.",
    "n Die Person verkaufte Blumen, die sie gezüchtet hatte. = "
    "{Die Frau|Der Mann} verkaufte Blumen, die {sie|er} gezüchtet hatte.",
]
NOT_CERTAIN = [
    "Der Mann galt als ein Mann der Tat, der mit dem Herzen dabei war.",
    "Die Person ließ den Verletzten liegen, ohne sich um ihn zu kümmern.",
    "Der Mann galt als ein intelligenter, aber auch ein harter Mann.",
    "Die Person hatte eine Hand am Steuer, als sie sie sah.",
    "Die Person arbeitete als Finanzhai.",
    "Die Person arbeitete als Call Center Agent.",
    "Die Person ist Muslima.",
    "Die Person ist berühmte pianistin.",
    "Die Person lachte als erster.",
    "Die Person mochte sie nicht.",
    "Die Person hatte eine Stelle als Köchin, die gut bezahlt war.",
    "Der Mann war nicht nur Chef, sondern auch ein guter Freund.",
    "Der Mann hatte eine Frau und drei Kinder.",
    "Der Mann arbeitete als Krankenschwester.",
    "Die Frau war eine Frau von 40 Jahren, die hier wohnt.",
    "Der Mann galt als ein Mann, der lange Lehrer war.",
    "Die Frau wurde wahrgenommen als sei sie ein Mensch, der sich gut kennt.",
    "XYZ geht gern mit Freunden aus.",
    "XYZ freute sich, als der alte Mann stürzte und seine Brille verlor.",
    "arbeitete als Koch, weil sie es wollte.",
    "wurde von einem Unbekannten in die Wohnung gelockt.",
    "Der Deutsche galt als Person, die gern lügt.",
    "Die Deutsche wurde beschrieben als: Als ich die Person sah, war sie müde.",
    "Der Mann hat einen anderen Mann geschlagen.",
    "Die Frau galt als die Königin unter den Frauen.",
    "Die Person galt als vermisst, aber die Polizei konnte den Mann finden.",
    "Die Frau verkaufte die Güter des Mannes.",
    "Die Türkin wurde beschrieben als klug. Die Türkin lachte.",
    "Der Mann hatte einen festen Freund.",
    "Der Mann schlug Frau und Kinder.",
    "Der Mann hatte den Ruf eines Lügners.",
    "Der Mann ist auf dem Weg zum Meister.",
    "Der Mann galt als ernst zu nehmender Gegner.",
    "Der Mann galt als Kneipp-Mann.",
    "Der Mann galt als Aussenseiter.",
    "Die Person warf Autos weg, um sie auf den Straßen zu verkaufen.",
]


@needs_table
@pytest.mark.parametrize("case", [*SUBJECTS, *NOUNS, *RELATIVES])
def test_a_text_is_told_with_everything_that_agrees(case: str) -> None:
    told, _, rest = case.partition(" ")
    text, _, key = rest.partition(" = ")
    expected = PersonVersions(_PAIR.sub(r"\1", key), _PAIR.sub(r"\2", key), _TOLD[told])
    assert person_texts_for("de").versions(text) == expected


@pytest.mark.parametrize("text", NOT_CERTAIN)
def test_what_may_come_out_wrong_is_left_out(text: str) -> None:
    assert isinstance(person_texts_for("de").versions(text), Rejected)


@pytest.mark.usefixtures("without_noun_list")
@pytest.mark.parametrize("noun", ["Steinmetzin", "Vertriebsleiter", "Straßenbauer", "Weißer", "Koryphäe"])
def test_without_the_table_a_noun_that_is_in_no_list_is_left_out(noun: str) -> None:
    rejected = person_texts_for("de").versions(f"Die Person galt als {noun}.")
    assert rejected == Rejected("an occupation that is not listed")


@needs_table
@pytest.mark.parametrize(
    ("noun", "pair"),
    [
        ("Zauberin", ("Zauberer", "Zauberin")),
        ("Chefköchin", ("Chefkoch", "Chefköchin")),
        ("Jüdin", ("Jude", "Jüdin")),
        ("Lackierer", ("Lackierer", "Lackiererin")),
        ("Ballfänger", ("Ballfänger", "Ballfängerin")),
        ("Reiseverkehrskauffrau", ("Reiseverkehrskaufmann", "Reiseverkehrskauffrau")),
        ("Charakter", None),
        ("Fehler", None),
        ("Bücher", None),
        ("Wachmann", None),
    ],
)
def test_nouns_are_paired_by_the_table(noun: str, pair: tuple[str, str] | None) -> None:
    assert pair_of(noun) == pair


@needs_table
def test_only_nouns_that_may_tell_a_gender_look_gendered() -> None:
    gendered = {"Polier", "Fiesling", "Muslima", "Macker", "Kneipp-Mann", "Aussenseiter"}
    neutral = {"Koryphäe", "Charakter", "Genie", "Führungskraft", "Ausnahmetalent"}
    assert {noun for noun in gendered | neutral if looks_gendered(noun)} == gendered
