"""Items: what a benchmark asks a model, and which characters of a candidate sentence fill the blank of its context.

Counting words does not find them: contexts have two blanks, blanks with a suffix (``BLANKed``), blanks
glued to other text, and fills of several words; and candidate sentences differ from their context in
case. So the sentence is aligned with the context, piece by piece, and the blank is what is left over.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from evenhand.core.sampling import sample


class Label(StrEnum):
    """What a candidate stands for."""

    STEREOTYPE = "stereotype"
    ANTI_STEREOTYPE = "anti-stereotype"
    UNRELATED = "unrelated"


class Task(StrEnum):
    """Where the candidate stands: in a blank of the context, or as the sentence after it."""

    INTRASENTENCE = "intrasentence"
    INTERSENTENCE = "intersentence"


OVERALL = "overall"
"""Name of the pool of both tasks."""

BLANK = "BLANK"
"""The marker that stands for the gap of an intra-sentence context."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to complete a context.

    ``text`` is the whole sentence; ``word`` is what the file says fills the blank, which is not
    always what stands there (see ``evenhand.core.items``).
    """

    id: str
    text: str
    label: Label
    word: str | None = None


@dataclass(frozen=True, slots=True)
class Association:
    """A context with three labelled candidates.

    ``target`` is the term as it appears in this language; ``cluster`` is the term that all
    translations share. Items of one cluster are not independent, so intervals resample clusters.
    """

    id: str
    language: str
    bias_type: str
    target: str
    cluster: str
    task: Task
    context: str
    candidates: tuple[Candidate, Candidate, Candidate]
    beyond_repair: str = ""
    """Why people say that the item cannot be mended or makes no sense in this culture; empty if nobody does."""
    doubtful_target: str = ""
    """The translated target before a rule guessed another one from the context; empty where that is beyond doubt."""

    def candidate(self, label: Label) -> Candidate:
        """The candidate with this label."""
        return next(candidate for candidate in self.candidates if candidate.label is label)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A set of items in one language, and where it came from."""

    name: str
    language: str
    items: tuple[Association, ...]
    source: str
    sha256: str
    licence: str | None = None

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Association]:
        return iter(self.items)

    def of_task(self, task: Task) -> tuple[Association, ...]:
        """The items of one task, in file order."""
        return tuple(item for item in self.items if item.task is task)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks that have at least one item."""
        present = {item.task for item in self.items}
        return tuple(task for task in Task if task in present)

    def sampled(self, limit: int | None) -> Benchmark:
        """The same with a sample of each task over its clusters; all items if there is no limit."""
        if limit is None:
            return self
        samples = (
            sample(self.of_task(task), limit, cluster=lambda item: item.cluster, part=task) for task in Task
        )
        return replace(self, items=tuple(item for own in samples for item in own))


CULTURE_SPECIFIC = "culture-specific"
"""How the mark of an item begins that makes no sense in the culture of its language."""


def own_item_id(item: str, language: str) -> str:
    """The id of the item that takes the place of a culture-specific one; no other language has it."""
    return f"{item}-{language}"


def replaced_items(items: Iterable[Association]) -> frozenset[str]:
    """The ids of culture-specific items in whose place there is an item of this language's own."""
    listed = list(items)
    ids = {item.id for item in listed}
    return frozenset(
        item.id
        for item in listed
        if item.beyond_repair.startswith(CULTURE_SPECIFIC) and own_item_id(item.id, item.language) in ids
    )


def contains_term(text: str, term: str) -> bool:
    """Whether a term occurs in a text, in any case, and however its accents are encoded."""
    return _comparable(term) in _comparable(text)


def _comparable(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def repeated(values: Iterable[str]) -> list[str]:
    """The values that occur more than once, in order of first appearance."""
    return [value for value, count in Counter(values).items() if count > 1]


class PairDirection(StrEnum):
    """What the sentence about the disadvantaged group does with a stereotype."""

    STEREO = "stereo"
    """It shows the stereotype, and is the more stereotypical sentence."""
    ANTISTEREO = "antistereo"
    """It goes against the stereotype, and is the less stereotypical sentence."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences that differ in the group they are about; ``more`` is the more stereotypical of them.

    That holds for both directions, so a preference for ``more`` always means the same. A sentence that its file
    does not have is empty.
    """

    id: str
    language: str
    bias_type: str
    direction: PairDirection
    more: str
    less: str
    beyond_repair: str = ""
    """As of an association item."""

    @property
    def complete(self) -> bool:
        """Whether both sentences are there."""
        return bool(self.more and self.less)

    @property
    def neutral(self) -> bool:
        """Whether its file has one sentence for both groups, which is no pair."""
        return not self.more and not self.less


@dataclass(frozen=True, slots=True)
class PairSet:
    """Pairs of one language, and the file they come from."""

    name: str
    language: str
    pairs: tuple[SentencePair, ...]
    source: str
    sha256: str
    licence: str | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[SentencePair]:
        return iter(self.pairs)

    def sampled(self, limit: int | None) -> PairSet:
        """The same with a sample of the pairs over bias types; all of them if there is no limit."""
        return replace(self, pairs=sample(self.pairs, limit, cluster=lambda pair: pair.bias_type))


MOST_FREE_BLANKS = 2
"""Blanks that may be filled differently from each other; the time to try all ways grows with its power."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end`` (exclusive) of a sentence."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The characters themselves."""
        return text[self.start : self.end]


LONGEST_ITEM_TEXT = 20_000
"""Of a text in an item. A longer one is no sentence: it is not asked about, and to align it with another takes long."""


def overlong_reason(*texts: str) -> str | None:
    """Why an item with these texts is not asked about, if one of them is too long for a sentence."""
    is_overlong = any(len(text) > LONGEST_ITEM_TEXT for text in texts)
    return f"a text of it is longer than {LONGEST_ITEM_TEXT:,} characters" if is_overlong else None


@lru_cache(maxsize=2**15)
def filled_spans(context: str, sentence: str) -> tuple[Span, ...]:
    """The spans of ``sentence`` that fill the blanks of ``context``, one per blank.

    Empty when the context has no blank or the two cannot be aligned: a caller treats that as an item
    which cannot be scored.
    """
    pieces = context.split(BLANK)
    if len(pieces) < 2 or overlong_reason(context, sentence):
        return ()
    if len(pieces) == 2:
        span = _between(*pieces, sentence=sentence)
        if span is not None:
            return (span,)
    patterns = [_same_fill(pieces)]
    if len(pieces) - 1 <= MOST_FREE_BLANKS:
        patterns.append(_any_fill(pieces))
    for pattern in patterns:
        match = re.fullmatch(pattern, sentence, flags=re.DOTALL | re.IGNORECASE)
        if match is not None and all(fill.strip() for fill in match.groups()):
            return tuple(Span(*match.span(group)) for group in range(1, len(pieces)))
    return _by_difference(context, sentence)


def _between(before: str, after: str, *, sentence: str) -> Span | None:
    """What stands between the two ends of a context, where the sentence has both to the letter, as most do.

    It is what the patterns find there, without the time that making a pattern takes.
    """
    span = Span(len(before), len(sentence) - len(after))
    fits = sentence.startswith(before) and sentence.endswith(after) and span.start < span.end
    return span if fits and span.of(sentence).strip() else None


def _same_fill(pieces: list[str]) -> str:
    """The context as a pattern in which all blanks hold the same text, as they do in real files."""
    blanks = ["(.+?)", *[r"(\1)"] * (len(pieces) - 2)]
    rest = "".join(blank + re.escape(piece) for blank, piece in zip(blanks, pieces[1:], strict=True))
    return re.escape(pieces[0]) + rest


def _any_fill(pieces: list[str]) -> str:
    """The context as a pattern with any white space between words and any text in each blank."""
    flexible = (r"\s+".join(re.escape(part) for part in re.split(r"\s+", piece)) for piece in pieces)
    return r"\s*" + r"(\S.*?)".join(flexible) + r"\s*"


def _by_difference(context: str, sentence: str) -> tuple[Span, ...]:
    """Align word by word, where the text around the blank was itself changed."""
    words = list(re.finditer(r"\S+", sentence))
    wanted = context.split()
    blanks = [index for index, word in enumerate(wanted) if BLANK in word]
    if len(blanks) != context.count(BLANK):
        return ()
    matcher = difflib.SequenceMatcher(
        None, [word.casefold() for word in wanted], [word[0].casefold() for word in words], autojunk=False
    )
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if 2 * sum(block.size for block in blocks) < max(1, len(wanted) - len(blanks)):
        return ()
    spans = []
    for blank in blanks:
        # Between the nearest words that both have, changed words are taken to correspond one to one.
        before, start = max(
            ((block.a + block.size, block.b + block.size) for block in blocks if block.a < blank),
            default=(0, 0),
        )
        after, end = min(
            ((block.a, block.b) for block in blocks if block.a > blank), default=(len(wanted), len(words))
        )
        first, last = start + blank - before, end - (after - blank)
        if first > last:
            return ()
        spans.append(
            _without_attached(wanted[blank], sentence, Span(words[first].start(), words[last].end()))
        )
    return tuple(spans)


def _without_attached(blank: str, sentence: str, span: Span) -> Span:
    """The span without the prefix and suffix that the context attaches to the blank, where they are there."""
    prefix, _, suffix = blank.partition(BLANK)
    text = span.of(sentence).casefold()
    start = span.start + (len(prefix) if text.startswith(prefix.casefold()) else 0)
    end = span.end - (len(suffix) if text.endswith(suffix.casefold()) else 0)
    return Span(start, end) if start < end else span


_TOO_LONG = re.compile(r"the input has [\d,]+ tokens, the model takes (?P<longest>[\d,]+)")


def too_long_reason(needed: int, longest: int) -> str:
    """Why an input is not given to a model, with its length."""
    return f"the input has {needed:,} tokens, the model takes {longest:,}"


def common_reason(reason: str) -> str:
    """The reason without what is particular to one item, so that many items count under one."""
    found = _TOO_LONG.match(reason)
    return f"the input is longer than the {found['longest']} tokens that the model takes" if found else reason
