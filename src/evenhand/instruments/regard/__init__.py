"""Regard as an instrument: how texts speak of groups of people."""
