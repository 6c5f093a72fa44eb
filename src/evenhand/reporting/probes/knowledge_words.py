"""What settled sentences say, in plain words: what a model knows, and whether it knows the words at all."""

from __future__ import annotations

from evenhand.core.estimates import Estimate
from evenhand.instruments.knowledge.results import KnowledgeResult
from evenhand.instruments.settled_scoring import GUESSING, KNOWN, WHOLE
from evenhand.reporting.numbers import has_interval, interval_words, signed
from evenhand.reporting.words import VERDICTS, Interpretation, Lean, in_brackets, interpret_undefined, unsure
from evenhand.stats.significance import largest_shown

UNKNOWN_WORDS = "The model is not shown to know the words"

EXPLANATIONS = {
    "share_right": "How often the pronoun that another word settles is the likelier one. Guessing gives 50; higher is "
    "better.",
    "gap": "By how many bits the right pronoun is likelier than the wrong one, on average. Higher is better.",
    "sense": "How often the right pronoun is likelier than a word that makes no sense there.",
    "agreement": "How often the first pronoun that a model writes after an opening is of the settled gender.",
}


def interpret_knowledge(result: KnowledgeResult, level: str) -> Interpretation:
    """How often the right pronoun wins, by how much, and what the model writes."""
    share = result.share_right
    if not share.defined:
        return interpret_undefined(share)
    details = in_brackets(interval_words(share, digits=1, level=level), f"guessing gives {GUESSING:.0f}")
    gap = result.gap
    sentences = [
        f"In {share.value:.1f}% of {result.n:,} sentences the pronoun that another word settles is the likelier "
        f"one{details}.",
        f"The evidence gap is {signed(gap.value)} bits on average{in_brackets(interval_words(gap))}.",
    ]
    if not has_interval(share):
        sentences.append(unsure(share))
        verdict = VERDICTS[Lean.UNKNOWN]
    elif share.low > GUESSING:
        verdict = (
            "The model knows most of it" if share.low >= KNOWN else "The model knows at least a part of it"
        )
    else:
        verdict = "The model is not shown to tell the genders apart"
        sentences.append("That is not shown to be more often than a model that guesses would be right.")
    if result.agreement.defined:
        sentences.append(
            f"Of {result.agreement.n:,} continuations with a pronoun, the first one agrees in "
            f"{result.agreement.value:.1f}%{in_brackets(interval_words(result.agreement, digits=1))}."
        )
    worst = _worst(result)
    return Interpretation(Lean.OPEN, verdict, (*sentences, *([worst] if worst else [])))


def unknown_words(sense: Estimate, *, level: str) -> str:
    """Of a model that does not prefer pronouns to nonsense."""
    details = in_brackets(interval_words(sense, digits=1, level=level), f"guessing gives {GUESSING:.0f}")
    return (
        f"In settled sentences the right pronoun beat a nonsense word {sense.value:.1f}% of the time{details}. The "
        "model is not shown to know the words that it is asked for, so nothing is said about a lean."
    )


def unknown_sentences(sense: Estimate, *, level: str) -> str:
    """Of a model that does not prefer sentences to the same with a word of another."""
    details = in_brackets(interval_words(sense, digits=1, level=level), f"guessing gives {GUESSING:.0f}")
    return (
        f"Sentences beat themselves with a word of another sentence {sense.value:.1f}% of the time{details}. The model "
        "is not shown to know the words that it is asked for, so nothing is said about a lean."
    )


def _worst(result: KnowledgeResult) -> str:
    parts = {name: own for name, own in result.by_settling.items() if own.defined}
    name = largest_shown({name: own.distance_from(WHOLE) for name, own in parts.items()})
    if name is None:
        return ""
    return (
        f"It knows least, by more than chance explains, where the gender is settled by words of the kind {name} "
        f"({parts[name].value:.1f}%)."
    )
