"""Datasets and scores: read, check, describe. Other packages add dataset layouts."""

from evenhand.data.crows_pairs import load_pairs
from evenhand.data.datasets import BundledDataset, PinnedDataset
from evenhand.data.inspection import CheckReport, Description, Finding, check, describe
from evenhand.data.layouts import DATASET_LAYOUTS, DatasetLayout, languages_of, load_dataset, named_datasets
from evenhand.data.predictions import Predictions, read_predictions
from evenhand.data.probes import load_probes
from evenhand.data.stereoset import read_stereoset

__all__ = [
    "DATASET_LAYOUTS",
    "BundledDataset",
    "CheckReport",
    "DatasetLayout",
    "Description",
    "Finding",
    "PinnedDataset",
    "Predictions",
    "check",
    "describe",
    "languages_of",
    "load_dataset",
    "load_pairs",
    "load_probes",
    "named_datasets",
    "read_predictions",
    "read_stereoset",
]
