"""English twins."""
