"""Objectives: what models learn from sentences, what is hidden from them, and how gaps are shown to them."""
