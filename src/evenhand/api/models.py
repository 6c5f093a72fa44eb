"""Models for workflows: loaded once, and said so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evenhand.core.experiments import Experiment
from evenhand.core.items import Task
from evenhand.core.progress import SILENT, Monitor, activity
from evenhand.data.probes import PROBE_LANGUAGES, load_probes
from evenhand.instruments.association.ways import MethodOptions, choose_method
from evenhand.models.references import ModelError, ModelRef, UnscorableError, load_model, refuse_missing_path
from evenhand.models.tokenised_text import filled_blanks

if TYPE_CHECKING:
    from evenhand.models.model import Model


def loaded_model(model: str | ModelRef | Any, *, monitor: Monitor = SILENT) -> Any:
    """A model by name, folder or reference; one that is loaded is returned as it is."""
    if not isinstance(model, str | ModelRef):
        return model
    name = model if isinstance(model, str) else model.id
    monitor.note(f"Loading {name}")
    with activity(f"loading {name}"):
        return load_model(model)


class LastModel:
    """The model that was loaded last, so that measurements of one model that follow each other load it once.

    A copy in another process starts empty.
    """

    def __init__(self) -> None:
        self._key: object = None
        self._model: Any = None

    def __reduce__(self) -> tuple[type[LastModel], tuple[()]]:
        return LastModel, ()

    def get(self, model: str | ModelRef | Any, *, monitor: Monitor = SILENT) -> Any:
        """A model, loaded unless it is the last one."""
        if self._model is None or self._key != model:
            self._model = None  # before another one takes its memory
            self._model, self._key = loaded_model(model, monitor=monitor), model
        return self._model


def reference_to(model: str | ModelRef) -> ModelRef:
    """The reference to a model by name or folder; one that is a reference is returned as it is."""
    if isinstance(model, ModelRef):
        return model
    name, revision = ModelRef.parse(model)
    refuse_missing_path(name)
    return ModelRef(id=name, revision=revision)


def describe_model(model: Model) -> dict[str, Any]:
    """Facts about a loaded model, and what it can be measured with."""
    from evenhand.models.description import model_facts

    facts = model_facts(model) | {task.value: _task_fact(model, task) for task in Task}
    if model.tokenizer is not None:
        facts["probe_terms_of_one_token"] = _single_tokens(model.tokenizer)
    return facts


def _task_fact(model: Model, task: Task) -> str:
    try:
        method = choose_method(model, task, MethodOptions())
    except ModelError as reason:
        return f"no: {reason}"
    return f"yes, by {method.name}: {method.description}"


def _is_single_token(tokenizer: Any, word: str) -> bool:
    try:
        (blank,) = filled_blanks(tokenizer, "x BLANK x", word)
    except UnscorableError:
        return False
    return len(blank.word) == 1 and blank.word[0] != tokenizer.unk_token_id


def _single_tokens(tokenizer: Any) -> dict[str, str]:
    """How many terms and occupations of the probes are one token inside a sentence, in each language."""

    def counted(words: Sequence[str]) -> str:
        single = sum(_is_single_token(tokenizer, word) for word in words)
        return f"{single} of {len(words)}"

    counts = {}
    for language in PROBE_LANGUAGES:
        probes = load_probes(language)
        pronouns = [
            word
            for experiment in (Experiment.HE_SHE, Experiment.HIS_HER)
            for word in probes.terms[experiment].all
        ]
        counts[f"{language} pronouns"] = counted(pronouns)
        counts[f"{language} names"] = counted(probes.terms[Experiment.NAMES].all)
        counts[f"{language} occupations"] = counted(
            [form.noun for occupation in probes.occupations for form in occupation.forms]
        )
    return counts
