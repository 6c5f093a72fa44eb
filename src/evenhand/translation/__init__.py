"""Bring a benchmark into another language: translate, check, repair in stages, publish; every change is a row."""

from evenhand.core.errors import TranslationError
from evenhand.translation.changes import Change, Changes, read_changes, replay, write_changes
from evenhand.translation.documents import Document, ItemTexts, read_document
from evenhand.translation.folder import (
    TranslationFolder,
    TranslationRecord,
    adopt_file,
    open_table,
    open_translation,
)
from evenhand.translation.people_tables import PersonRow, read_people_tables
from evenhand.translation.repairs import RepairOptions, StageCount, repair
from evenhand.translation.table_documents import RowTexts, TableDocument
from evenhand.translation.table_repairs import TableStageCount, repair_table
from evenhand.translation.term_tables import RepairStage, TermRow, When, bundled_term_table, read_term_table

__all__ = [
    "Change",
    "Changes",
    "Document",
    "ItemTexts",
    "PersonRow",
    "RepairOptions",
    "RepairStage",
    "RowTexts",
    "StageCount",
    "TableDocument",
    "TableStageCount",
    "TermRow",
    "TranslationError",
    "TranslationFolder",
    "TranslationRecord",
    "When",
    "adopt_file",
    "bundled_term_table",
    "open_table",
    "open_translation",
    "read_changes",
    "read_document",
    "read_people_tables",
    "read_term_table",
    "repair",
    "repair_table",
    "replay",
    "write_changes",
]
