"""Runs: what was measured, on disk and in memory."""
