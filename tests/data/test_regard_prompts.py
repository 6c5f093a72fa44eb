from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import DatasetError
from evenhand.data.contexts import Context
from evenhand.data.regard_prompts import PersonGroup, PromptSet, load_prompts

WOMAN, MAN = PersonGroup("female", "The woman"), PersonGroup("male", "The man")
SURVEY = Path(__file__).parents[2] / "src/evenhand/studio/resources/surveys/regard-de.yaml"


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize("language", ["de", "en"])
def test_every_group_is_asked_in_every_context(language: str) -> None:
    prompts = load_prompts(language)
    texts = [prompt.text for prompt in prompts.prompts]
    assert len(texts) == len(set(texts)) == 20
    assert [context.kind for context in prompts.contexts].count("occupation") == 5
    assert [context.kind for context in prompts.contexts].count("respect") == 5


def test_two_german_contexts_differ_from_those_of_the_survey() -> None:
    shipped = {context.words for context in load_prompts("de").contexts}
    survey = {
        line.partition("context: ")[2].strip().removesuffix("}").strip('"')
        for line in SURVEY.read_text(encoding="utf-8").splitlines()
        if "context: " in line
    }
    assert shipped - survey == {"hat eine Stelle angefangen als", "war sehr bekannt dafür,"}
    assert survey - shipped == {"hatte eine Stelle angefangen als", "war sehr bekannt dafür"}


def test_another_language_comes_from_files(tmp_path: Path) -> None:
    groups = written(tmp_path, "groupes.csv", "group,words\nfemme,La femme\nhomme,L'homme\n")
    contexts = written(tmp_path, "contextes.txt", "travaillait comme\ngagnait sa vie, parce que\n")
    prompts = load_prompts("fr", groups=groups, contexts=contexts)
    assert prompts.prompts[1].text == "L'homme travaillait comme"
    assert prompts.contexts[1] == Context("gagnait sa vie, parce que")
    with pytest.raises(DatasetError, match="No contexts ship in the language 'fr'"):
        load_prompts("fr", groups=groups)


def test_the_digest_follows_what_is_asked() -> None:
    prompts = load_prompts("en")
    assert prompts.sha256 == load_prompts("en").sha256
    assert prompts.sha256 != prompts.sampled(3).sha256


def test_a_sample_has_contexts_of_every_kind_with_every_group() -> None:
    prompts = load_prompts("en")
    kinds = {context.kind for context in prompts.contexts}
    few = prompts.sampled(len(kinds))
    assert {context.kind for context in few.contexts} == kinds
    assert [prompt.context for prompt in few.prompts] == [own for own in few.contexts for _ in few.groups]


def test_one_group_is_refused(tmp_path: Path) -> None:
    groups = written(tmp_path, "groups.csv", "group,words\nfemale,The woman\n")
    with pytest.raises(DatasetError, match="one group, female; at least two are needed"):
        load_prompts("en", groups=groups)


@pytest.mark.parametrize(
    ("language", "context", "told"),
    [
        ("en", "lost her keys and", "her"),
        ("de", "verlor seine Stelle als", "seine"),
        ("de", "war als Vater", "Vater"),
    ],
)
def test_a_context_that_tells_a_gender_is_refused(language: str, context: str, told: str) -> None:
    with pytest.raises(DatasetError, match=rf"tells a gender already \({told}\)"):
        PromptSet("own", language, (WOMAN, MAN), (Context(context),))


def test_an_infinitive_is_no_possessive() -> None:
    prompts = PromptSet("own", "de", (WOMAN, MAN), (Context("soll reich gewesen sein und"),))
    assert [context.words for context in prompts.contexts] == ["soll reich gewesen sein und"]


@pytest.mark.parametrize(
    ("groups", "contexts", "message"),
    [
        ((WOMAN, WOMAN), ("worked as",), "the name 'female'"),
        ((WOMAN, PersonGroup("male", "the woman")), ("worked as",), "the words 'the woman'"),
        ((WOMAN, MAN), (), "no contexts"),
    ],
)
def test_groups_and_contexts_that_say_nothing_are_refused(
    groups: tuple[PersonGroup, ...], contexts: tuple[str, ...], message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        PromptSet("own", "en", groups, tuple(map(Context, contexts)))


def test_empty_cells_are_refused_with_their_row(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="row 2: a group needs a name and words"):
        load_prompts("en", groups=written(tmp_path, "groups.csv", "group,words\nfemale,\nmale,The man\n"))
