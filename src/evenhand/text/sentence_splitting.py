"""Split running text into sentences, in memory that does not grow with the text.

The rule:

1. A line break ends a sentence. In wrapped text, whose lines go on in the next, only an empty line does. Text counts
   as wrapped if, in its first 64 Ki characters, at least five lines have another right below them, more than half of
   those stop without a final mark, and one in ten has a sentence end inside: a list of bare titles stays a list.
2. Within a line, a sentence ends after ``.``, ``!``, ``?`` or ``…``, and the quotation marks and brackets that close
   after it, before a space and something that is not a small letter.
3. A full stop ends nothing after a known abbreviation (*Mr*, *Nr*), a single letter (*J.*), a word with a full stop
   inside (*z.B.*), or a number of one or two digits (*am 3. Mai*).
4. A sentence of more than ``LONGEST_SENTENCE`` characters is cut at its last space before that.

White space within a sentence becomes single spaces. What a sentence is depends on the text alone, not on the pieces
that it arrives in.

The rule suits languages that end sentences with these marks and put a space after them: ``SPLITTABLE_LANGUAGES``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise

_SPLITTABLE = """
af ar az be bg br bs ca cs cy da de el en eo es et eu fa fi fo fr fy ga gd gl he hr ht hu id is it
jv ka kk ko ky la lb lt lv mg mi mk mn ms mt nb nds nl nn no oc pl ps pt qu ro ru sc sh sk sl so sq
sr su sv sw tg tk tl tr tt ug uk uz vi vo wa xh yi yo zu
"""

SPLITTABLE_LANGUAGES = frozenset(_SPLITTABLE.split())
"""Codes of languages whose sentences the rule finds. Chinese, Hindi or Thai, for one, end sentences otherwise."""

LONGEST_SENTENCE = 10_000
"""In characters. No current model takes a sentence of that length, and no writer makes one."""

SAMPLE = 2**16
"""Characters that tell whether a text is wrapped."""

FEWEST_LINES = 5
"""Lines with another below them that tell whether a text is wrapped."""

_ABBREVIATION = re.compile(
    "abt|bzw|ca|capt|co|col|cpl|dipl|dr|ebd|evtl|fa|fig|fr|gen|geb|ggf|gov|hl|hon|hr|hrsg|inc|inkl|jr|lt|ltd|mio|mme|mr|mrd|mrs|ms|"
    "mt|nr|pres|prof|rep|rev|sen|sgt|sog|sr|st|str|tel|vgl|vol|vs",
    re.IGNORECASE,
)
_CLOSING = "\"'”’»«›‹)\\]"
_OPENING = "\"'“„”«»‘‚›‹(["
_DASHES = "-–"
_MARK = re.compile(rf"[.!?…][{_CLOSING}]* ")
_FINAL = re.compile(rf"[.!?…:;][{_CLOSING}]*$")
_WHITE_SPACE = re.compile(r"[^\S ]\s*|\s{2,}")

LINE_ENDS = 1
EMPTY_LINE = 2
"""Line breaks in a row that end a sentence."""


def sentences_of(
    chunks: Iterable[str],
    *,
    cut: Callable[[], None] = lambda: None,
    longest: int = LONGEST_SENTENCE,
    breaks: int | None = None,
) -> Iterator[str]:
    r"""Split a text that arrives in pieces.

    Args:
        chunks: The text, with ``\n`` at the end of lines.
        cut: Called for every cut through a sentence that is too long.
        longest: The most characters that a sentence may have.
        breaks: Line breaks in a row that end a sentence, ``LINE_ENDS`` or ``EMPTY_LINE``; told from the text if not
            given.
    """
    text: Iterable[str] = chunks
    if breaks is None:
        sample, text = _sampled(chunks)
        breaks = EMPTY_LINE if is_wrapped(sample) else LINE_ENDS
    rest = ""
    for chunk in _flattened(text, breaks=breaks):
        *whole, rest = (rest + chunk).split("\n")
        for line in whole:
            yield from _all_sentences(line, cut, longest)
        whole_sentences, rest = _whole_sentences(rest, cut, longest)
        yield from whole_sentences
    yield from _all_sentences(rest, cut, longest)


def is_wrapped(text: str) -> bool:
    """Whether sentences of a text continue on the next line."""
    lines = [" ".join(line.split()) for line in text.split("\n")]
    followed = [line for line, after in pairwise(lines) if line and after]
    unfinished = sum(not _FINAL.search(line) for line in followed)
    with_ends = sum(any(True for _ in _ends(line)) for line in followed)
    return (
        len(followed) >= FEWEST_LINES and 2 * unfinished > len(followed) and 10 * with_ends >= len(followed)
    )


def split_line(line: str) -> list[str]:
    """The sentences of a line whose white space is single spaces."""
    starts = [0, *_ends(line)]
    pieces = (line[start:end].strip() for start, end in zip(starts, [*starts[1:], len(line)], strict=True))
    return [piece for piece in pieces if piece]


def first_sentence(text: str, *, start: int = 0) -> str:
    """A text up to where the sentence ends that goes on at a place, such as behind a prompt.

    A line break ends it, but not one right at that place. White space becomes single spaces.
    """
    before, after = " ".join(text[:start].split()), text[start:]
    lines = after.strip().splitlines()
    line = " ".join(lines[0].split()) if lines else ""
    joint = " " if before and (text[:start][-1].isspace() or after[:1].isspace()) else ""
    whole = f"{before}{joint}{line}"
    end = next((end for end in _ends(whole) if end > len(before) + len(joint)), len(whole))
    return whole[:end].strip()


def _ends(line: str) -> Iterator[int]:
    """Where a sentence ends and another begins."""
    for mark in _MARK.finditer(line):
        after = line[mark.end() : mark.end() + 8].lstrip(_OPENING)
        if after and not after[0].islower() and not _is_abbreviated(line, mark):
            yield mark.end()


def _is_abbreviated(line: str, mark: re.Match[str]) -> bool:
    if line[mark.start()] != ".":
        return False
    start = line.rfind(" ", 0, mark.start()) + 1
    word = line[start : mark.start()].lstrip(_OPENING + _DASHES)
    if word.isdigit():
        return len(word) <= 2
    if len(word) == 1:
        return word.isalpha()
    return "." in word.strip(".") or bool(_ABBREVIATION.fullmatch(word))


def _all_sentences(line: str, cut: Callable[[], None], longest: int) -> Iterator[str]:
    sentences, rest = _whole_sentences(line, cut, longest)
    yield from sentences
    yield from split_line(rest)


def _whole_sentences(line: str, cut: Callable[[], None], longest: int) -> tuple[list[str], str]:
    """The sentences of a line that may continue, and the rest, which is short enough to wait for its end."""
    sentences: list[str] = []
    start = 0
    while len(line) - start > longest:
        window = line[start : start + longest]
        last = max(_ends(window), default=0)
        if not last:
            cut()
            last = window.rfind(" ") + 1 or longest
        sentences += split_line(window[:last])
        start += last
    return sentences, line[start:]


def _sampled(chunks: Iterable[str]) -> tuple[str, Iterator[str]]:
    """The first characters of a text, and the whole text."""
    waiting = iter(chunks)
    taken: list[str] = []
    size = 0
    for chunk in waiting:
        taken.append(chunk)
        size += len(chunk)
        if size >= SAMPLE:
            break
    return "".join(taken)[:SAMPLE], chain(taken, waiting)


def _flattened(chunks: Iterable[str], *, breaks: int) -> Iterator[str]:
    r"""The text with single spaces, and a single ``\n`` for at least so many line breaks in a row."""

    def tidy(white_space: str) -> str:
        return "\n" if white_space.count("\n") >= breaks else " "

    held = ""
    for chunk in chunks:
        text = held + chunk
        body = text.rstrip()
        held = text[len(body) :]
        # White space at the end may go on in the next chunk; of endless white space only the line breaks matter.
        if len(held) > SAMPLE:
            held = "\n" * min(breaks, held.count("\n")) or " "
        if body:
            yield _WHITE_SPACE.sub(lambda match: tidy(match[0]), body)
