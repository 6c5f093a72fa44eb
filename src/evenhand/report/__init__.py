"""What people see: tables, plots, one-file pages, the model card. Reads runs, probes and calibrations, nothing else."""

from evenhand.report.association.model_card import model_card_snippet
from evenhand.report.association.tables import (
    TableFormat,
    comparison_frame,
    format_comparisons,
    format_table,
    results_frame,
)
from evenhand.report.calibration.page import render_calibration_page, write_calibration_page
from evenhand.report.certificate.page import render_certificate_page, write_certificate_page
from evenhand.report.page import render_page, write_page
from evenhand.report.probes.tables import format_probe_table, probe_json

__all__ = [
    "TableFormat",
    "comparison_frame",
    "format_comparisons",
    "format_probe_table",
    "format_table",
    "model_card_snippet",
    "probe_json",
    "render_calibration_page",
    "render_certificate_page",
    "render_page",
    "results_frame",
    "write_calibration_page",
    "write_certificate_page",
    "write_page",
]
