"""Find the sentences worth a twin: those with an occupation and a gendered word that an experiment asks for.

Sentences that a model is evaluated on are kept out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.items import BLANK
from evenhand.core.probes import Occupation, ProbeSet, TermPairs, open_term
from evenhand.mitigation.pairs.twin_pairs import TwinPair, experiments_in, pair_of
from evenhand.text.digests import digest_of
from evenhand.text.listed_pairs import ARTICLE, swapper_with
from evenhand.text.swappers import Rejected, Swapper
from evenhand.text.word_search import WordFinder, words_of

NO_OCCUPATION = "no occupation in it"
NO_TERM = "an occupation, but no gendered word of the experiments"
NO_TERM_OF_GROUPS = "an occupation, but no term of the experiments"
REPEATED = "repeated, itself or as the twin of another"
EVALUATION = "a sentence of the evaluation"
TWIN_IN_EVALUATION = "its twin is a sentence of the evaluation"


@dataclass(frozen=True, slots=True)
class EvaluationSentences:
    """The sentences that a model is evaluated on, and must not be trained on."""

    digests: npt.NDArray[np.uint64]
    """Sorted, each once."""

    def __len__(self) -> int:
        return len(self.digests)

    def __contains__(self, sentence: str) -> bool:
        return self.holds(digest_of(sentence))

    def holds(self, digest: int) -> bool:
        """Whether a sentence of this digest is among them."""
        needle = np.uint64(digest)
        place = int(np.searchsorted(self.digests, needle))
        return place < len(self.digests) and bool(self.digests[place] == needle)

    def overlap(self, sentences: Iterable[str]) -> int:
        """How many of the sentences are among them."""
        return sum(sentence in self for sentence in sentences)


def evaluation_sentences(probes: ProbeSet) -> EvaluationSentences:
    """Every structure of the probes with every form of every occupation and every term of its experiment."""
    digests: set[int] = set()
    for structure in probes.structures:
        terms = probes.terms[structure.experiment].all
        for occupation in probes.occupations:
            for form in occupation.forms:
                opened = open_term(structure, form, terms=terms)
                digests.update(digest_of(opened.text.replace(BLANK, fill)) for fill in opened.fills)
    return EvaluationSentences(np.fromiter(sorted(digests), dtype=np.uint64, count=len(digests)))


@dataclass(frozen=True, slots=True)
class PairSearch:
    """What a search looks for. It can be sent to other processes.

    Attributes:
        language: Of the corpus.
        experiments: Whose terms are looked for.
        occupations: That are looked for, in all their forms.
        evaluation: Sentences that are kept out.
        make_swapper: Makes what writes the twins, where they are written.
        groups: Of experiments that are not about men and women.
    """

    language: str
    experiments: tuple[Experiment, ...]
    occupations: tuple[Occupation, ...]
    evaluation: EvaluationSentences
    make_swapper: Callable[[], Swapper]
    groups: Mapping[Experiment, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        probes: ProbeSet,
        *,
        experiments: Iterable[Experiment] = TRAINED_EXPERIMENTS,
        make_swapper: Callable[[], Swapper] | None = None,
    ) -> PairSearch:
        """A search for what the probes ask, without the sentences of the probes themselves."""
        asked = tuple(experiments)
        terms = _terms_of(probes, asked)
        return cls(
            language=probes.language,
            experiments=asked,
            occupations=probes.occupations,
            evaluation=evaluation_sentences(probes),
            make_swapper=make_swapper or partial(swapper_with, probes.language, terms),
            groups={own: pairs.groups for own, pairs in terms.items() if not pairs.tell_gender},
        )


def _terms_of(probes: ProbeSet, experiments: Iterable[Experiment]) -> dict[Experiment, TermPairs]:
    return {experiment: probes.terms[experiment] for experiment in experiments if experiment in probes.terms}


@dataclass(slots=True)
class SentenceTally:
    """What became of the sentences that were read."""

    sentences: int = 0
    found: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """By reason. Together with ``found`` they are all ``sentences``."""


class Matcher:
    """Finds sentences and writes their twins.

    The occupation is looked for first, because that is quick and most sentences have none.
    """

    def __init__(self, search: PairSearch) -> None:
        self._search = search
        self._swapper = search.make_swapper()
        self._names: dict[str, tuple[str, ...]] = {}
        for occupation in search.occupations:
            for noun in forms_of(occupation):
                self._names[noun] = (*self._names.get(noun, ()), occupation.name)
        self._finder = WordFinder.of_nouns(self._names)

    def pairs(self, sentences: Iterable[str], tally: SentenceTally | None = None) -> Iterator[TwinPair]:
        """The pairs that sentences give, each sentence once."""
        tally = tally if tally is not None else SentenceTally()
        seen: set[int] = set()
        for sentence in sentences:
            tally.sentences += 1
            result = self._pair(sentence, seen)
            if isinstance(result, Rejected):
                tally.left_out[result.reason] += 1
            else:
                tally.found += 1
                yield result

    def _pair(self, sentence: str, seen: set[int]) -> TwinPair | Rejected:
        occupations = self.occupations_in(sentence)
        if not occupations:
            return Rejected(NO_OCCUPATION)
        digest = digest_of(sentence)
        if self._search.evaluation.holds(digest):
            return Rejected(EVALUATION)
        if digest in seen:
            return Rejected(REPEATED)
        seen.add(digest)
        return self._with_twin(sentence, occupations)

    def _with_twin(self, sentence: str, occupations: tuple[str, ...]) -> TwinPair | Rejected:
        search = self._search
        no_term = Rejected(NO_TERM_OF_GROUPS if search.groups else NO_TERM)
        twin = self._swapper.twin(sentence)
        if isinstance(twin, Rejected):
            # Where only other groups are asked for, what the grammar says about gendered words does not matter.
            lists_alone = all(experiment in search.groups for experiment in search.experiments)
            return no_term if lists_alone and twin.reason != ARTICLE else twin
        experiments = experiments_in(twin.swaps, search.experiments)
        if not experiments:
            return no_term
        if twin.text in search.evaluation:
            return Rejected(TWIN_IN_EVALUATION)
        return pair_of(
            sentence,
            twin,
            experiments=experiments,
            occupations=occupations,
            tells_gender=not any(experiment in search.groups for experiment in experiments),
        )

    def occupations_in(self, sentence: str) -> tuple[str, ...]:
        """The names of the occupations in a sentence, each once, from left to right."""
        if not self._finder.may_be_among(words_of(sentence)):
            return ()
        matches = self._finder.find(sentence)
        return tuple(dict.fromkeys(name for match in matches for name in self._names[match.word]))


def forms_of(occupation: Occupation) -> tuple[str, ...]:
    """Every word for an occupation, in all cases."""
    nouns = (noun.noun for form in occupation.forms for noun in form.declined)
    return tuple(dict.fromkeys([*(form.noun for form in occupation.forms), *nouns]))
