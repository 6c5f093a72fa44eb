"""How probes are shown."""
