"""Records of version 0.1.0, which had one layout for audits and another for probes."""

from __future__ import annotations

from typing import Any

FIRST_SCHEMA = 1


def upgraded(document: dict[str, Any]) -> dict[str, Any]:
    """A record of the first layout in the present one."""
    if document.get("kind") == "probe":
        return _upgraded_probe(document)
    model = document.get("model")
    return {
        **document,
        "schema_version": FIRST_SCHEMA + 1,
        "instrument": "association",
        "predictions": None if model else document["predictions"],
    }


def _upgraded_probe(document: dict[str, Any]) -> dict[str, Any]:
    (name, sha256), *others = document["data"].items()
    kept = {key: value for key, value in document.items() if key not in ("kind", "test", "language", "data")}
    return {
        **kept,
        "schema_version": FIRST_SCHEMA + 1,
        "instrument": document["test"],
        "dataset": {
            "name": name,
            "language": document["language"],
            "source": "not recorded",
            "sha256": sha256,
        },
        "data": dict(others),
    }
