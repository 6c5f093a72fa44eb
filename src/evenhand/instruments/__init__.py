"""Probes for gender and occupation: MALoR, and the tests beside it."""
