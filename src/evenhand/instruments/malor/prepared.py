"""MALoR again and again from a model in training: what is asked is planned once, and read after every epoch."""

from __future__ import annotations

import io
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.estimates import Estimate
from evenhand.core.experiments import Experiment
from evenhand.core.probes import ProbeSet
from evenhand.core.spool import Spool
from evenhand.instruments.malor.estimates import (
    LogRatios,
    base_rate,
    malor,
    malor_estimate,
    signed_estimate,
    spread,
    spread_estimate,
)
from evenhand.instruments.malor.instrument import chosen_experiments
from evenhand.instruments.malor.preparation import comparable_answers, refuse_unknown_terms
from evenhand.instruments.malor.questions import (
    AnswerTable,
    Floats,
    ProbeDirection,
    ProbeQuestion,
    gender_probabilities,
    probe_questions,
    question_chunks,
)
from evenhand.instruments.word_scoring import WordAnswer, WordScorer
from evenhand.models.engine.requests import TokenRequest
from evenhand.models.engine.rereading import Rereading
from evenhand.models.engine.runners import Values
from evenhand.models.language_model import LanguageModel
from evenhand.stats.resampling import Resampling


class PreparedProbe:
    """The log-ratios of ``probe`` from a model as it is now, whatever happened to its weights since the last time.

    The model is read in evaluation and left as it was, in training or not. Adapters may be put into the model's own
    modules at any time. Where the caller has set ``torch.autocast``, or a trainer has put mixed precision around the
    model, it is read in that precision: faster, and in 16 bits by some hundredths of a bit less exact. A value that is
    not finite, as after a training that diverged, makes NaN.
    """

    def __init__(
        self,
        model: LanguageModel,
        probes: ProbeSet,
        *,
        experiments: Sequence[Experiment],
        direction: ProbeDirection = ProbeDirection.GENDER,
        max_tokens: int | None = None,
    ) -> None:
        """Plan what will be read.

        Args:
            model: The model that is trained.
            probes: What is asked.
            experiments: Which of its experiments, at least one.
            direction: Which gap is open.
            max_tokens: Most tokens in a batch; the default suits the device.
        """
        if not experiments:
            raise EvenhandError("No experiment was named to probe with. Name at least one, such as he-she.")
        self._direction = direction
        scorer = WordScorer(model)
        self._by_sentence = scorer.by_sentence
        self._reading = Rereading(model, max_tokens=max_tokens)
        self._tables = {
            experiment: _Table(
                AnswerTable(probes, experiment),
                partial(comparable_answers, direction=direction, scorer=scorer),
            )
            for wanted in dict.fromkeys(experiments)
            for experiment in chosen_experiments(probes, wanted.value)
        }
        asked = [(experiment, direction) for experiment in self._tables]
        for chunk in question_chunks(probe_questions(probes, asked)):
            words = model.token_requests(
                [request for question in chunk for request in question.question.requests], known_words=True
            )
            askable = (word for word in words if not isinstance(word, str))
            places = self._reading.add([request for requests in askable for request in requests])
            following = iter(words)
            for question in chunk:
                of_question = list(islice(following, len(question.places)))
                self._tables[question.asked[0]].add(question, of_question, places)
            for table in self._tables.values():
                table.end_chunk()
        for experiment, table in self._tables.items():
            refuse_unknown_terms(model, probes, experiment, table.askable)

    def ratios(self) -> dict[Experiment, LogRatios]:
        """log2 P(male) / P(female) by occupation and structure, for each experiment."""
        logs = {experiment: table.empty_logs() for experiment, table in self._tables.items()}
        for chunk, values in enumerate(self._reading.values()):
            for experiment, table in self._tables.items():
                table.fill(logs[experiment], chunk, values)
        found = {}
        for experiment, table in self._tables.items():
            answers = table.answers(logs.pop(experiment))
            sides = gender_probabilities(answers, self._direction, by_sentence=self._by_sentence)
            found[experiment] = LogRatios(sides.log_ratios)
        return found

    def malor(self) -> dict[Experiment, float]:
        """MALoR for each experiment."""
        return {experiment: malor(ratios) for experiment, ratios in self.ratios().items()}


class MalorReader:
    """MALoR of experiments, read off a model in training; keys are ``he-she.MALoR``."""

    def __init__(
        self,
        model: LanguageModel,
        probes: ProbeSet,
        *,
        experiments: Sequence[Experiment],
        resampling: Resampling | None = None,
    ) -> None:
        self._probe = PreparedProbe(model, probes, experiments=experiments)
        self._resampling = resampling or Resampling()
        self._last: dict[Experiment, LogRatios] = {}
        self.neutral = {_key(experiment): 0.0 for experiment in experiments}

    def values(self) -> dict[str, float]:
        """MALoR as it is now."""
        self._last = self._probe.ratios()
        return {_key(experiment): malor(ratios) for experiment, ratios in self._last.items()}

    def parts(self) -> dict[str, float]:
        """Base rate and spread of the answers that were read last."""
        figures = {"signed_mean": base_rate, "spread": spread}
        return {
            f"{experiment.value}.{name}": figure(ratios)
            for experiment, ratios in self._last.items()
            if np.isfinite(ratios.values).any()
            for name, figure in figures.items()
        }

    def estimates(self) -> dict[str, Estimate]:
        """MALoR as it is now and its two parts, base rate and spread, with intervals."""
        figures = {"MALoR": malor_estimate, "signed_mean": signed_estimate, "spread": spread_estimate}
        return {
            f"{experiment.value}.{name}": estimate(ratios, resampling=self._resampling)
            for experiment, ratios in self._probe.ratios().items()
            for name, estimate in figures.items()
        }


def _key(experiment: Experiment) -> str:
    return f"{experiment.value}.MALoR"


class _Table:
    """An experiment's answers, and where among the values that are read each of them has its tokens."""

    def __init__(self, table: AnswerTable, comparable: Callable[[AnswerTable], AnswerTable]) -> None:
        self._askable = table
        self._comparable = comparable
        # On disk: there are hundreds of thousands of these numbers.
        self._indexes = Spool()
        self._begin_chunk()

    def _begin_chunk(self) -> None:
        self._cells, self._tokens, self._firsts = array("q"), array("q"), array("q")

    def add(
        self,
        question: ProbeQuestion,
        words: Sequence[tuple[TokenRequest, ...] | str],
        places: Iterator[Sequence[int]],
    ) -> None:
        """A question's words: the requests of each, which have the next of the places, or why it has none."""
        answers = []
        for place, word in zip(question.places, words, strict=True):
            tokens = [token for _ in word for token in next(places)] if isinstance(word, tuple) else []
            problem = word if isinstance(word, str) else None
            answers.append(WordAnswer(0.0 if tokens else math.nan, problem, tokens=len(tokens)))
            if tokens:
                self._cells.extend((place.structure, place.occupation, place.form, place.term))
                self._firsts.append(len(self._tokens))
                self._tokens.extend(tokens)
        self._askable.add(question, answers)

    @cached_property
    def askable(self) -> AnswerTable:
        """The table with something in every cell that will have a value, without pairs that will have none."""
        return self._comparable(self._askable).without_pairs(self._lost_pairs)

    def end_chunk(self) -> None:
        """Put away where the values of the questions stand that were added since the last time."""
        places = np.array(self._cells).reshape(-1, 4)
        cells = np.ravel_multi_index(tuple(places.T), self._askable.logs.shape)
        index = io.BytesIO()
        for numbers in (cells, np.array(self._tokens), np.array(self._firsts)):
            np.save(index, numbers, allow_pickle=False)
        self._indexes.append(index.getvalue())
        self._begin_chunk()

    def empty_logs(self) -> Floats:
        """A place for every answer, without any."""
        return np.full(self._askable.logs.shape, np.nan)

    def fill(self, logs: Floats, chunk: int, values: Values) -> None:
        """Put in the answers of a chunk, from its values."""
        index = io.BytesIO(self._indexes[chunk])
        cells, tokens, firsts = (np.load(index, allow_pickle=False) for _ in range(3))
        if len(cells):
            words = np.add.reduceat(values[tokens], firsts)
            logs.flat[cells] = np.where(np.isfinite(words), words, np.nan)

    def answers(self, logs: Floats) -> AnswerTable:
        """The table of these answers."""
        return self._comparable(self._askable.with_logs(logs)).without_pairs(self._lost_pairs)

    @cached_property
    def _lost_pairs(self) -> list[int]:
        return self._comparable(self._askable).lost_pairs
