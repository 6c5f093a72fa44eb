"""Sentences: splitting, searching and rewriting them. No model is needed here."""
