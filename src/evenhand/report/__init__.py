"""What people see: tables, plots, one-file pages, the model card. Reads runs, probes and calibrations, nothing else."""

from evenhand.report.calibration_page import render_calibration_page, write_calibration_page
from evenhand.report.certificate_page import render_certificate_page, write_certificate_page
from evenhand.report.model_card import model_card_snippet
from evenhand.report.page import render_page, write_page
from evenhand.report.probe_page import render_probe_page, write_probe_page
from evenhand.report.probe_tables import format_probe_table, probe_json
from evenhand.report.tables import (
    TableFormat,
    comparison_frame,
    format_comparisons,
    format_table,
    results_frame,
)

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
    "render_probe_page",
    "results_frame",
    "write_calibration_page",
    "write_certificate_page",
    "write_page",
    "write_probe_page",
]
