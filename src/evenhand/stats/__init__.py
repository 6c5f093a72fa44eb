"""Intervals and tests, thin over scipy and statsmodels. Knows clusters and weights, not models."""
