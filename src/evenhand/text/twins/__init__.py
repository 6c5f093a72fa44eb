"""Twins: the same sentence about somebody of the other gender."""
