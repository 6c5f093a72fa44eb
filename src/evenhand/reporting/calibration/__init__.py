"""How calibrations are shown."""
