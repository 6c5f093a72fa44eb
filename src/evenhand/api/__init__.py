"""Workflows: whole jobs, with store, progress and resume."""
