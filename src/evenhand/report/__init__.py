"""What people see: tables, plots, the one-file page, the model card. Reads runs and calibrations, nothing else."""

from evenhand.report.calibration_page import render_calibration_page, write_calibration_page
from evenhand.report.model_card import model_card_snippet
from evenhand.report.page import render_page, write_page
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
    "format_table",
    "model_card_snippet",
    "render_calibration_page",
    "render_page",
    "results_frame",
    "write_calibration_page",
    "write_page",
]
