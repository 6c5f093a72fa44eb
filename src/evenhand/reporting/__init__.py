"""What people see: tables, plots, one-file pages, model cards. Reads runs, certificates and calibrations only."""

from evenhand.reporting.calibration.page import render_calibration_page, write_calibration_page
from evenhand.reporting.certificate.page import render_certificate_page, write_certificate_page
from evenhand.reporting.model_cards import model_card_snippet
from evenhand.reporting.page import page_files, render_page, write_page
from evenhand.reporting.probes.tables import format_probe_table, probe_json
from evenhand.reporting.tables import (
    TableFormat,
    comparison_frame,
    format_comparisons,
    format_table,
    results_frame,
)
from evenhand.reporting.views import VIEWS

__all__ = [
    "VIEWS",
    "TableFormat",
    "comparison_frame",
    "format_comparisons",
    "format_probe_table",
    "format_table",
    "model_card_snippet",
    "page_files",
    "probe_json",
    "render_calibration_page",
    "render_certificate_page",
    "render_page",
    "results_frame",
    "write_calibration_page",
    "write_certificate_page",
    "write_page",
]
