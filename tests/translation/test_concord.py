"""Candidates that grammar alone tells apart are found; what cannot be decided is left alone.

The judgements were made by hand, for every word in every context: does it agree there? Exceptions are among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest
from builders import intra

from evenhand.translation.concord import CONCORDS, disagreeing_candidates

Judgement = tuple[str, str, bool]
"""Context, word, whether it agrees."""

SPANISH = {
    ("Es un BLANK.", "Compró el BLANK ayer.", "Vino con aquel BLANK."): {
        True: "médico jardinero libro coche día problema perro vecino caballo reloj país señor tren",
        False: "casa mesa enfermera mano canción ciudad flor vecina madre foto noche calle verdad",
    },
    ("Es una BLANK.", "Compró la BLANK ayer."): {
        True: "casa mesa enfermera mano canción ciudad flor vecina madre foto noche calle verdad lámpara",
        False: "médico jardinero libro coche día problema perro vecino caballo señor mapa zapato",
    },
    ("Los BLANK llegaron.", "Vio a muchos BLANK."): {
        True: "médicos perros vecinos libros niños señores",
        False: "casas vecinas niñas perro casa canciones ciudad",
    },
    ("La vecina era muy BLANK.", "Ella es BLANK."): {
        True: "cansada orgullosa atractiva inteligente alegre amable agresiva",
        False: "cansado orgulloso atractivo agresivo perezoso",
    },
}

FRENCH = {
    ("C'est un BLANK.", "Il achète le BLANK.", "Il parle du BLANK."): {
        True: "médecin jardin chien garçon gâteau livre village problème musicien directeur tableau chat pain",
        False: "maison voiture infirmière chanson ville fleur nation liberté directrice chaise femme",
    },
    ("C'est une BLANK.", "Il achète la BLANK."): {
        True: "maison voiture infirmière chanson ville fleur nation liberté directrice chaise femme danseuse",
        False: "médecin jardin chien garçon gâteau village musicien directeur tableau chat mariage",
    },
    ("Les BLANK arrivent.", "Ses BLANK arrivent."): {
        True: "chiens maisons musiciens touristes voisines animaux",
        False: "chien maison musicien touriste voisine animal",
    },
    ("La voisine est très BLANK.", "Elle est BLANK."): {
        True: "fatiguée heureuse active amusante calme drôle intelligente forte",
        False: "fatigué heureux actif amusant intelligent",
    },
    ("Le voisin était BLANK.", "Il est toujours BLANK."): {
        True: "fatigué heureux actif amusant calme intelligent fort",
        False: "fatiguée heureuse active amusante intelligente",
    },
}

GERMAN = {
    ("Der BLANK Mann kam.", "Die BLANK Lehrerin kam.", "Das BLANK Kind kam."): {
        True: "junge kleine freundliche fleißige ehrliche laute stolze",
        False: "jung klein freundlich fleißig ehrlich laut stolz arrogant",
    },
    ("Er ist ein BLANK Mensch.", "Sie kaufte ein BLANK Haus."): {
        True: "",
        False: "jung klein freundlich ehrlich freundliche stolze kleine freundlichen",
    },
    ("Er sprach mit dem BLANK Mann.", "Er kam zum BLANK Schluss."): {
        True: "freundlichen ehrlichen fleißigen politischen",
        False: "freundlich ehrlich fleißige klein freundliche freundliches",
    },
    ("Sie hat eine BLANK.", "Er wartet auf eine BLANK."): {
        True: "Zeitung Freiheit Mutter Lampe Universität Freundschaft Nation Blume",
        False: "Mann Hund Häuschen Kind Lehrling Buch Mädchen Tisch",
    },
    ("Sie hat einen BLANK.", "Er wartet auf einen BLANK."): {
        True: "Mann Hund Lehrling Tisch Bruder Optimismus",
        False: "Zeitung Freiheit Mutter Kind Mädchen Buch Nation Lampe",
    },
    ("Der Lehrer war sehr BLANK.", "Die Leute sind BLANK."): {
        True: "freundlich fleißig müde russisch sparsam mutig ehrlich",
        False: "freundliche fleißiger russische sparsames mutige ehrliche",
    },
}

TABLES: Mapping[str, Mapping[tuple[str, ...], Mapping[bool, str]]] = {
    "es": SPANISH,
    "fr": FRENCH,
    "de": GERMAN,
}


def judgements(language: str) -> Iterator[Judgement]:
    for contexts, words in TABLES[language].items():
        for context in contexts:
            for agrees, listed in words.items():
                yield from ((context, word, agrees) for word in listed.split())


@pytest.mark.parametrize("language", TABLES)
def test_nineteen_of_twenty_verdicts_are_right_and_half_of_the_disagreements_are_found(language: str) -> None:
    verdicts = [
        (CONCORDS[language](context, word), agrees, context, word)
        for context, word, agrees in judgements(language)
    ]
    decided = [row for row in verdicts if row[0] is not None]
    wrong = [row for row in decided if row[0] is not row[1]]
    found = sum(verdict is False for verdict, agrees, *_ in verdicts if not agrees)

    assert len(decided) >= 100
    assert len(wrong) <= 0.05 * len(decided), wrong
    assert found >= 0.5 * sum(not agrees for _, agrees, *_ in verdicts)


@pytest.mark.parametrize(
    ("language", "context", "words", "flagged"),
    [
        ("es", "La vecina es BLANK.", ("cansada", "orgulloso", "azul"), [1]),
        ("es", "El vecino vive lejos. BLANK", ("cansada", "orgulloso", "azul"), []),
        ("fr", "C'est une BLANK.", ("infirmière", "maison", "chien"), [2]),
        ("fr", "L'BLANK arrive.", ("infirmière", "arbre", "eau"), []),
        ("de", "Der Lehrer war BLANK.", ("russisch", "asiatische", "Baum"), [1]),
        ("de", "Der Lehrer war BLANK.", ("asiatische", "russische", "Baum"), []),
        ("tr", "O bir BLANK.", ("adam", "kadın", "taş"), []),
    ],
)
def test_a_disagreement_counts_only_beside_a_candidate_that_agrees(
    language: str, context: str, words: Sequence[str], flagged: Sequence[int]
) -> None:
    item = intra(1, language=language, context=context, fills=words, words=words)

    assert disagreeing_candidates(item) == [item.candidates[place].id for place in flagged]


def test_several_words_and_several_blanks_are_not_judged() -> None:
    words = ("casa grande", "perro", "mesa")
    twice = "El BLANK y la BLANK."

    assert CONCORDS["es"]("Es un BLANK.", "casa grande") is None
    assert disagreeing_candidates(intra(1, language="es", context=twice, fills=words)) == []
