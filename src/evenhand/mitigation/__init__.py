"""Mitigation: lower what the probes measure, keep what the model knows, and measure both."""
