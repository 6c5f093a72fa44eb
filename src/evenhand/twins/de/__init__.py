"""German twins."""
