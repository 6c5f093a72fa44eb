"""Translate a benchmark or a table of texts into a folder: estimate, ask, keep, and go on after an interruption."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evenhand.core.counts import plural
from evenhand.core.errors import EvenhandError, TranslationError
from evenhand.core.files import sha256_of
from evenhand.core.items import Benchmark
from evenhand.core.progress import SILENT, Monitor
from evenhand.data.layouts import load_dataset
from evenhand.store.jobs import open_job
from evenhand.translation.answers import AnswerCache, unanswered
from evenhand.translation.folder import (
    UNTRANSLATED,
    SourceRecord,
    TranslationRecord,
    TranslatorRecord,
    fingerprint_of_translation,
    is_translation_folder,
    put_aside,
    read_record,
    read_source,
    write_translation,
    write_untranslated,
)
from evenhand.translation.table_files import TextTable
from evenhand.translation.translating import (
    PLACEHOLDERS,
    AssociationSource,
    keeps_tags,
    with_placeholder,
)
from evenhand.translation.translators import (
    LanguagePair,
    Translator,
    TranslatorCost,
    TranslatorOptions,
    open_translator,
    prepare,
)
from evenhand.translation.translators.tables import TranslationTable, read_translations


@dataclass(frozen=True, slots=True)
class TranslationEstimate:
    """What a translation takes, beside answers that are kept already.

    Attributes:
        texts: Texts that are asked for.
        characters: Their characters.
        price: In US dollars; 0 where nothing is paid, None where the price is not known.
        seconds: About how long it takes; None where that is not known.
        price_basis: What the price rests on, with its date.
        more_characters: At most so many more, if blanks and tags do not survive and texts are sent with placeholders.
        more_price: What those cost, in US dollars.
    """

    texts: int
    characters: int
    price: float | None
    seconds: float | None
    price_basis: str
    more_characters: int = 0
    more_price: float | None = 0.0

    @property
    def costs(self) -> bool:
        """Whether money is spent, or may be."""
        return bool(self.texts) and self.price != 0

    def __add__(self, other: TranslationEstimate) -> TranslationEstimate:
        """What two translations by the same translator take."""
        return TranslationEstimate(
            self.texts + other.texts,
            self.characters + other.characters,
            _sum(self.price, other.price),
            _sum(self.seconds, other.seconds),
            self.price_basis,
            self.more_characters + other.more_characters,
            _sum(self.more_price, other.more_price),
        )


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


@dataclass(frozen=True, slots=True)
class TranslationPlan:
    """What is translated, its translator, and the answers that are kept already; nothing has been asked for yet."""

    source: AssociationSource | TextTable
    languages: LanguagePair
    name: str
    translator: Translator
    cache: AnswerCache
    cost: TranslatorCost
    given: TranslationTable | None = None
    """Translations that people gave for texts that the translator refuses."""

    def estimate(self, texts: Iterable[str] | None = None) -> TranslationEstimate:
        """What is left to ask for, and what that costs.

        Args:
            texts: What is asked for; all texts of the source if None.
        """
        if texts is not None:
            return _estimate(self.cost, unanswered(texts, self.cache))
        estimate = _estimate(self.cost, unanswered(self.source.texts(), self.cache))
        more = sum(map(len, self._with_placeholders()))
        price = self.cost.usd_per_million_characters
        return replace(
            estimate,
            more_characters=more,
            more_price=None if price is None else price * more / 1_000_000,
        )

    def of(self, source: Benchmark | TextTable) -> TranslationPlan:
        """The same for something else in the same language."""
        return replace(self, source=_translatable(source))

    def _with_placeholders(self) -> list[str]:
        """What is asked for too if no tag survives in texts that have no answer yet, or one without its tags."""
        lacking = [
            text
            for text in self.source.tagged_texts()
            if text not in self.cache or not keeps_tags(self.cache[text], text, self.source.tags)
        ]
        sent = [
            with_placeholder(text, self.source.tags, placeholder).text
            for placeholder in PLACEHOLDERS
            for text in lacking
        ]
        return unanswered(sent, self.cache)

    def prepared(self, monitor: Monitor = SILENT) -> TranslationPlan:
        """The plan after the translator settled what is to be settled before texts are sent.

        Raises:
            TranslationError: If the translator cannot be asked.
        """
        before = dict(self.translator.settings)
        for warning in prepare(self.translator):
            monitor.warn(warning)
        if dict(self.translator.settings) == before:
            return self
        return replace(self, cache=_cache(self.name, self.translator, self.languages, self.given))


def _cache(
    name: str, translator: Translator, languages: LanguagePair, given: TranslationTable | None
) -> AnswerCache:
    cache = AnswerCache.of(name, translator.settings, languages)
    if given is not None:
        cache.prefer(given.translations)
    return cache


def plan_translation(
    source: Benchmark | TextTable,
    *,
    to: str,
    translator: str,
    price: float | None = None,
    fill: Path | None = None,
    options: TranslatorOptions | None = None,
) -> TranslationPlan:
    """Open a translator for a benchmark or a table of texts.

    Args:
        source: What is translated.
        to: The tag of the new language.
        translator: Its name, as ``apertium`` or ``marian:MODEL``.
        price: What a million characters cost in US dollars; by the table of prices if not given.
        fill: A table of translations that go before the translator's, such as of texts that it refused.
        options: How a translator is opened that has something to choose.

    Raises:
        UnknownNameError: If there is no such translator.
        TranslationError: If it cannot translate into the language, or the price is below 0.
        DatasetError: If the table cannot be read.
    """
    if price is not None and not 0 <= price < math.inf:
        raise TranslationError(
            f"The price is {price}; US dollars for a million characters are needed, 0 or more."
        )
    languages = LanguagePair(source.language, to)
    opened = open_translator(translator, languages, options or TranslatorOptions())
    given = read_translations(fill, languages) if fill else None
    cache = _cache(translator, opened, languages, given)
    cost = opened.cost if price is None else opened.cost.at(price)
    return TranslationPlan(_translatable(source), languages, translator, opened, cache, cost, given)


def _translatable(source: Benchmark | TextTable) -> AssociationSource | TextTable:
    return AssociationSource(source) if isinstance(source, Benchmark) else source


def translate(
    plan: TranslationPlan, place: Path, *, fresh: bool = False, monitor: Monitor = SILENT
) -> TranslationRecord:
    """Translate a benchmark or a table of texts into a folder; one that is there already is not translated again.

    Args:
        plan: What is translated, and by whom.
        place: The folder.
        fresh: Let another translation that is there give way. One that people worked on is put aside, not deleted.
        monitor: Told about the progress.

    Raises:
        TranslationError: If the translator fails. What it gave before is kept, and the same call goes on from there.
        RunError: If the folder holds another translation.
    """
    plan = plan.prepared(monitor)
    settings = dict(plan.translator.settings)
    if plan.given:
        settings["texts given by people, SHA-256"] = plan.given.sha256
    key = [plan.source.sha256, plan.languages.source, plan.languages.target, plan.name.partition(":")[0]]
    texts = sha256_of(json.dumps(plan.source.texts()).encode())
    fingerprint = sha256_of(json.dumps([*key, texts, sorted(settings.items())]).encode())
    with open_job(place, fingerprint, fingerprint_at=fingerprint_of_translation, replace=fresh) as job:
        if not job.is_done:
            made = plan.source.translate(
                plan.translator, plan.cache, language=plan.languages.target, monitor=monitor
            )
            content = made.content
            original = plan.source.original()
            record = TranslationRecord(
                language=plan.languages.target,
                suffix=plan.source.suffix,
                columns=plan.source.translated,
                untouched_sha256=sha256_of(content),
                source=SourceRecord(
                    name=plan.source.name,
                    language=plan.languages.source,
                    sha256=plan.source.sha256,
                    licence=plan.source.licence,
                    kept_sha256=sha256_of(original),
                ),
                translator=TranslatorRecord(name=plan.name, settings=settings),
                fingerprint=fingerprint,
            )
            moved = put_aside(place)
            if moved:
                monitor.warn(f"{place} had work of people in it. It was moved to {moved}.")
            with job.result_folder() as folder:
                write_translation(folder, content, record, source=original)
                if made.refused:
                    write_untranslated(folder, made.refused)
            if made.refused:
                monitor.warn(
                    f"{plural(len(made.refused), 'text was', 'texts were')} refused and left as in the source. To "
                    f"translate by hand: fill {place / UNTRANSLATED}, and repeat the command with --fill and --fresh."
                )
    return read_record(place)


def _estimate(cost: TranslatorCost, texts: Sequence[str]) -> TranslationEstimate:
    characters = sum(map(len, texts))
    price, speed = cost.usd_per_million_characters, cost.characters_per_second
    return TranslationEstimate(
        texts=len(texts),
        characters=characters,
        price=None if price is None else price * characters / 1_000_000,
        seconds=None if speed is None else characters / speed,
        price_basis=cost.basis,
    )


def source_of_folder(folder: Path, *, source: str | None = None) -> Benchmark:
    """The benchmark that a translation was made from.

    Args:
        folder: Of the translation.
        source: Its name or file; what the folder keeps if not given.

    Raises:
        TranslationError: If it is not known, or another file than the one that was translated.
    """
    record = read_record(folder)
    known = record.source
    if source is None:
        kept = read_source(folder, record)
        if kept is None:
            raise TranslationError(
                f"{folder} was translated from a file that is not known here. Name it with --source."
            )
        return kept
    benchmark: Benchmark = load_dataset(source, language=known.language if known else None)
    if known is not None and benchmark.sha256 != known.sha256:
        raise TranslationError(
            f"{source} is not the file that was translated: its SHA-256 is {benchmark.sha256[:16]}..., "
            f"{known.sha256[:16]}... is needed. Name the right one with --source."
        )
    return benchmark


def source_of_data(data: str | Path, *, source: str | None, monitor: Monitor = SILENT) -> Benchmark | None:
    """What data were translated from: the benchmark that is named, or the one that a translation's folder knows.

    Args:
        data: A dataset's name, a file or a folder.
        source: The benchmark that was translated, if somebody named it.
        monitor: Warned if the source of a translation is not known here.

    Returns:
        None if nobody knows of a source.
    """
    if source is not None:
        return load_dataset(source)
    path = Path(data)
    folder = path if path.is_dir() else path.parent
    record = read_record(folder) if is_translation_folder(folder) else None
    if record is None or record.source is None or record.is_table:
        return None
    try:
        return source_of_folder(folder)
    except EvenhandError as problem:
        monitor.warn(f"The checks against the source are left out. {problem}")
        return None


def is_table_folder(data: str | Path) -> bool:
    """Whether data are the folder of a translated table."""
    folder = Path(data)
    return is_translation_folder(folder) and read_record(folder).is_table
