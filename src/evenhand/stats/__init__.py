"""Intervals and tests, thin over scipy. Knows clusters and weights, not models."""
