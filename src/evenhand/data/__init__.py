"""Benchmarks and scores: read, check, describe."""

from evenhand.data.crows_pairs import load_pairs
from evenhand.data.inspection import CheckReport, Description, Finding, check, describe
from evenhand.data.predictions import Predictions, read_predictions
from evenhand.data.probes import load_probes
from evenhand.data.sources import NAMED_DATASETS, languages_of, load_dataset
from evenhand.data.stereoset import read_stereoset

__all__ = [
    "NAMED_DATASETS",
    "CheckReport",
    "Description",
    "Finding",
    "Predictions",
    "check",
    "describe",
    "languages_of",
    "load_dataset",
    "load_pairs",
    "load_probes",
    "read_predictions",
    "read_stereoset",
]
