"""Measurements in one call, for tests that are about what comes out of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evenhand.api.models import loaded_model
from evenhand.core.items import Benchmark, PairSet
from evenhand.core.probes import ProbeSet
from evenhand.core.progress import Progress
from evenhand.core.settled import SettledSet
from evenhand.data.winogender import PronounPairs
from evenhand.instruments.association.instrument import ASSOCIATION, AuditOptions
from evenhand.instruments.cosine import COSINE, CosineOptions
from evenhand.instruments.crows_pairs import CROWS_PAIRS, CrowsPairsOptions
from evenhand.instruments.direct_bias.instrument import DIRECT_BIAS, DirectBiasOptions
from evenhand.instruments.knowledge.instrument import KNOWLEDGE, KnowledgeOptions
from evenhand.instruments.malor.instrument import MALOR, MalorOptions
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts
from evenhand.store.run import Run


def audit(
    model: Any,
    data: str | Path | Benchmark | None = None,
    *,
    options: AuditOptions | None = None,
    name: str | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> Run:
    chosen = options or AuditOptions()
    own = AuditOptions(**{**vars(chosen), "data": chosen.data if data is None else data})
    preparation = ASSOCIATION.prepare(loaded_model(model), own, name=name)
    return preparation.measure(parts=parts, progress=progress)


def probe(
    model: Any,
    probes: ProbeSet | None = None,
    *,
    options: MalorOptions | None = None,
    name: str | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> Run:
    chosen = options or MalorOptions()
    own = MalorOptions(**{**vars(chosen), "data": probes})
    return MALOR.prepare(loaded_model(model), own, name=name).measure(parts=parts, progress=progress)


def probe_knowledge(
    model: Any, settled: SettledSet | None = None, *, resampling: Resampling | None = None
) -> Run:
    options = KnowledgeOptions(data=settled, resampling=resampling or Resampling())
    return KNOWLEDGE.prepare(loaded_model(model), options).measure()


def probe_pairs(
    model: Any,
    data: str | Path | PairSet,
    *,
    language: str | None = None,
    name: str | None = None,
    resampling: Resampling | None = None,
    limit: int | None = None,
    max_tokens: int | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> Run:
    options = CrowsPairsOptions(
        data=data,
        language=language,
        limit=limit,
        max_tokens=max_tokens,
        resampling=resampling or Resampling(),
    )
    return CROWS_PAIRS.prepare(loaded_model(model), options, name=name).measure(
        parts=parts, progress=progress
    )


def probe_cosine(
    model: Any,
    data: str | Path | PronounPairs,
    *,
    layer: int = -1,
    name: str | None = None,
    resampling: Resampling | None = None,
    progress: Progress | None = None,
) -> Run:
    options = CosineOptions(data=data, layer=layer, resampling=resampling or Resampling())
    return COSINE.prepare(loaded_model(model), options, name=name).measure(progress=progress)


def probe_direct_bias(
    model: Any,
    corpus: str | Path | Iterable[str | Path],
    *,
    language: str = "en",
    layer: int = -1,
    professions: str | Path | None = None,
    limit: int | None = None,
    name: str | None = None,
    resampling: Resampling | None = None,
    progress: Progress | None = None,
) -> Run:
    options = DirectBiasOptions(
        corpus=(corpus,) if isinstance(corpus, str | Path) else tuple(corpus),
        language=language,
        layer=layer,
        professions=professions,
        limit=limit,
        resampling=resampling or Resampling(),
    )
    return DIRECT_BIAS.prepare(loaded_model(model), options, name=name).measure(progress=progress)
