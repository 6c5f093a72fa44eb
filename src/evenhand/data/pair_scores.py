"""Scores of sentence pairs that another tool has computed, with the pairs that they are about.

Three kinds of files are told apart by their content:

- what the authors' code for CrowS-Pairs writes: ``sent_more_score`` and ``sent_less_score``, one row per pair, as text
  table, JSON Lines or Parquet;
- the sample log of lm-evaluation-harness for a task ``crows_pairs_*`` (``--log_samples``);
- a log of Inspect, ``.json`` or ``.eval``, whose samples carry ``sent_more_score`` and ``sent_less_score`` among the
  values or the metadata of a score, as our own export does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.core.errors import DatasetError, PredictionsError, shortlist
from evenhand.core.files import load_json, read_bounded, sha256_of
from evenhand.core.items import PairDirection
from evenhand.data.crows_pairs import ids_of, named_labels
from evenhand.data.inspect_logs import as_mapping, read_inspect_log, samples_of, stated_items
from evenhand.data.language_names import file_stem, language_within_name
from evenhand.data.predictions import as_score
from evenhand.data.records import Record, RecordTable, field_sets, read_records

SCORE_FIELDS = ("sent_more_score", "sent_less_score")

UNKNOWN_LANGUAGE = "und"
"""The tag for a language that nobody named."""

LAYOUT_HELP = (
    "Scores of pairs are read from files with sent_more_score and sent_less_score, from sample logs of "
    "lm-evaluation-harness for the tasks crows_pairs_*, and from logs of Inspect with both scores in each sample."
)

HARNESS = "lm-evaluation-harness"

_LOG = re.compile(r"samples_(?P<task>.+?)(?:_(?P<moment>\d{4}-.*))?")

PAIRS_OF_TASKS = {"crows_pairs_english": 1_677, "crows_pairs_french": 1_677}
"""How many samples the harness has for its whole tasks; those for one bias type have fewer."""

PUBLISHED_PAIRS = 1_508
"""How many pairs the authors published; a file of theirs that has as many is whole."""


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A pair with the scores of both sentences, or the reason why it has none. What the file does not say is empty."""

    id: str
    bias_type: str
    direction: str
    more: str
    less: str
    more_score: float
    less_score: float
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class PairScores:
    """The scored pairs of a file."""

    name: str
    language: str
    pairs: tuple[ScoredPair, ...]
    source: str
    sha256: str
    tool: str
    """What computed the scores, in words."""
    total: int | None
    """How many pairs there are, also those that the file lacks; None where nothing says so."""
    notes: tuple[str, ...] = ()
    """What a reader of the scores should know."""


def read_pair_scores(path: Path, *, language: str | None = None, encoding: str | None = None) -> PairScores:
    """Read scores of sentence pairs.

    Args:
        path: The file.
        language: Of the pairs, where the name of the file does not say it.
        encoding: Of a text table, if not UTF-8.

    Raises:
        PredictionsError: If the file cannot be read, was cut, is of another kind, or gives one pair two scores.
    """
    content = read_bounded(path, error=PredictionsError)
    tool, pairs, stated = _read(content, path, encoding=encoding)
    once = _once(pairs, path)
    if stated is None and len(once) == PUBLISHED_PAIRS:
        stated = PUBLISHED_PAIRS
    return PairScores(
        name=file_stem(path),
        language=language or language_within_name(path) or UNKNOWN_LANGUAGE,
        pairs=once,
        source=path.name,
        sha256=sha256_of(content),
        tool=tool,
        total=stated if stated is not None and stated >= len(once) else None,
        notes=_notes_on_length(path, len(once)) if tool == HARNESS else (),
    )


def _read(
    content: bytes, path: Path, *, encoding: str | None
) -> tuple[str, Iterable[ScoredPair], int | None]:
    """The tool that computed the scores, the pairs, and how many pairs it says that there are."""
    fields = field_sets(path)
    log = read_inspect_log(content, path)
    if log is not None:
        return "Inspect", _inspect_pairs(log, path), stated_items(log)
    is_log = any({"doc", "doc_id"} <= names for names in fields)
    if not is_log and not any(set(SCORE_FIELDS) <= names for names in fields):
        names = max(fields, key=len, default=frozenset())
        has = f" It has the fields {shortlist(sorted(names), 8)}." if names else ""
        raise PredictionsError(f"{path} holds no scores of sentence pairs.{has} {LAYOUT_HELP}")
    try:
        table = read_records(path, needed=() if is_log else SCORE_FIELDS, encoding=encoding)
        if is_log:
            return HARNESS, _harness_pairs(table, path), _pairs_of_task(path)
        ids = ids_of(table)
        rows = zip(table.records, ids, strict=True)
        return "a file", [_scored_row(record, identifier, table) for record, identifier in rows], None
    except DatasetError as problem:
        raise PredictionsError(str(problem)) from None


def _once(pairs: Iterable[ScoredPair], path: Path) -> tuple[ScoredPair, ...]:
    """Every pair once; a log repeats its samples for each filter."""
    by_id: dict[str, ScoredPair] = {}
    for pair in pairs:
        first = by_id.setdefault(pair.id, pair)
        if (first.more_score, first.less_score) != (pair.more_score, pair.less_score) and not (
            first.problem and pair.problem
        ):
            raise PredictionsError(
                f"{path} gives the pair {pair.id!r} two different scores. Keep one of them."
            )
    if not by_id:
        raise PredictionsError(f"{path} holds no scores of sentence pairs. {LAYOUT_HELP}")
    return tuple(by_id.values())


def _scored_row(record: Record, identifier: str, table: RecordTable) -> ScoredPair:
    direction, bias_type = named_labels(record, table, place=record.place)
    if not identifier:
        raise PredictionsError(f"{record.place}: the pair has no id; each pair needs one of its own.")
    return _scored(
        identifier,
        record.values,
        [record[name] for name in SCORE_FIELDS],
        direction=direction,
        bias_type=bias_type,
        place=record.place,
    )


def _scored(
    identifier: str,
    pair: Mapping[str, Any],
    scores: Sequence[Any],
    *,
    direction: str,
    bias_type: str,
    place: str,
) -> ScoredPair:
    if direction and direction not in set(PairDirection):
        raise PredictionsError(
            f"{place}: stereo_antistereo is {direction!r}; stereo or antistereo is needed."
        )
    more, less = (as_score(_number(score)) for score in scores)
    problem = more.problem or less.problem
    texts = [str(pair.get(name) or "").strip() for name in ("sent_more", "sent_less")]
    return ScoredPair(
        id=identifier,
        bias_type=bias_type,
        direction=direction,
        more=texts[0],
        less=texts[1],
        more_score=math.nan if problem else more.value,
        less_score=math.nan if problem else less.value,
        problem=problem,
    )


def _number(value: Any) -> Any:
    """A number where a text shows one, as logs and tables write them; nothing where a cell is empty."""
    if not isinstance(value, str):
        return value
    try:
        return float(value) if value.strip() else None
    except ValueError:
        return value


def _harness_pairs(table: RecordTable, path: Path) -> list[ScoredPair]:
    """One pair per sample of a log; its number stands for an id that its document does not have or shares."""
    samples = [(record, record["doc"]) for record in table.records]
    for record, doc in samples:
        if not isinstance(doc, dict) or not {"sent_more", "sent_less"} <= doc.keys():
            fields = shortlist(sorted(doc), 6) if isinstance(doc, dict) else type(doc).__name__
            raise PredictionsError(
                f"{record.place}: a sample of lm-evaluation-harness, but not of CrowS-Pairs: its document has the "
                f"fields {fields}. The tasks crows_pairs_* are read."
            )
    _refuse_fewer_than_told(path, len({record.text("doc_id") for record, _ in samples}))
    own_ids = {record.text("doc_id"): str(doc.get("id", "")) for record, doc in samples}
    unique = len(set(own_ids.values())) == len(own_ids) and all(own_ids.values())
    pairs = []
    for record, doc in samples:
        number = record.text("doc_id")
        direction, bias_type = named_labels(Record(record.place, doc), table, place=record.place)
        pairs.append(
            _scored(
                own_ids[number] if unique else number,
                doc,
                _log_likelihoods(record, doc),
                direction=direction,
                bias_type=bias_type,
                place=record.place,
            )
        )
    return pairs


def _log_likelihoods(record: Record, doc: Mapping[str, Any]) -> list[Any]:
    """Of the more and of the less stereotypical sentence, in the order that the requests of the log show."""
    responses = record["filtered_resps"] or record["resps"]
    values = [_first_number(response) for response in responses] if isinstance(responses, list) else []
    if len(values) != 2:
        raise PredictionsError(
            f"{record.place}: {len(values)} log-likelihoods; one for each of the two sentences is needed."
        )
    asked = _continuations(record["arguments"])
    if len(asked) == 2:
        wanted = [str(doc["sent_more"]).strip(), str(doc["sent_less"]).strip()]
        if asked == wanted[::-1] and asked != wanted:
            return values[::-1]
        if asked != wanted:
            raise PredictionsError(
                f"{record.place}: the sentences that were scored are not those of its document; the log was changed."
            )
    return values


def _first_number(response: Any) -> Any:
    """The log-likelihood of a response: ``[-12.5, false]``, however deep in lists."""
    while isinstance(response, list) and response:
        response = response[0]
    return response


def _continuations(arguments: Any) -> list[str]:
    """The texts that were scored, as the versions of the harness log them: lists, or objects with numbered names."""
    listed = list(arguments.values()) if isinstance(arguments, dict) else arguments or []
    texts = [list(entry.values()) if isinstance(entry, dict) else entry for entry in listed]
    return [str(entry[1]).strip() for entry in texts if isinstance(entry, list) and len(entry) > 1]


def _refuse_fewer_than_told(path: Path, samples: int) -> None:
    """Hold the number of samples against the results that the harness writes beside a log of the same time."""
    told = _samples_told(path)
    if told is not None and told != samples:
        raise PredictionsError(
            f"{path} has {samples:,} samples, but {_results_beside(path)} reports {told:,}. The log was cut: copy it "
            "again."
        )


def _notes_on_length(path: Path, pairs: int) -> tuple[str, ...]:
    """That a log may have been cut between two lines, where no results beside it say that it is whole."""
    if _samples_told(path) is not None:
        return ()
    named, whole = _LOG.fullmatch(file_stem(path)), _pairs_of_task(path)
    if whole == pairs:
        return ()
    known = (
        f"the task {named['task']} has {whole:,}" if named and whole else "how many the task has is not known"
    )
    return (
        f"The log has {pairs:,} pairs; {known}, and no results of the harness lie beside it to compare with. If it was "
        "cut, these are its first pairs only.",
    )


def _results_beside(path: Path) -> str:
    named = _LOG.fullmatch(file_stem(path))
    return f"results_{named['moment']}.json" if named and named["moment"] else ""


def _samples_told(path: Path, kind: str = "effective") -> int | None:
    """How many samples of the task were scored, as the results beside a log say, or its ``original`` number.

    None if there are no results beside it.
    """
    named, results = _LOG.fullmatch(file_stem(path)), _results_beside(path)
    if not named or not results:
        return None
    try:
        document = load_json(path.with_name(results).read_text(encoding="utf-8"))
        told = document["n-samples"][named["task"]][kind]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return told if isinstance(told, int) else None


def _pairs_of_task(path: Path) -> int | None:
    """How many pairs the task of a log has: those that the harness ships, or as the results beside the log say."""
    named = _LOG.fullmatch(file_stem(path))
    shipped = PAIRS_OF_TASKS.get(named["task"]) if named else None
    return _samples_told(path, "original") if shipped is None else shipped


def _inspect_pairs(document: Mapping[str, Any], path: Path) -> Iterator[ScoredPair]:
    for number, sample in enumerate(samples_of(document, path), start=1):
        place = f"{path}, sample {number:,}"
        pair = as_mapping(sample.get("metadata"))
        values = _values_with_scores(sample)
        if values is None:
            raise PredictionsError(
                f"{place}: no sent_more_score and sent_less_score among its scores. {LAYOUT_HELP}"
            )
        yield _scored(
            str(sample.get("id", number)),
            pair,
            [values[name] for name in SCORE_FIELDS],
            direction=str(pair.get("stereo_antistereo") or ""),
            bias_type=str(pair.get("bias_type") or ""),
            place=place,
        )


def _values_with_scores(sample: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Where a sample has both scores: the value or the metadata of one of its scores, or its own metadata."""
    scores = map(as_mapping, as_mapping(sample.get("scores")).values())
    holders = [holder for score in scores for holder in (score.get("value"), score.get("metadata"))]
    found = (as_mapping(holder) for holder in (*holders, sample.get("metadata")))
    return next((holder for holder in found if set(SCORE_FIELDS) <= holder.keys()), None)
