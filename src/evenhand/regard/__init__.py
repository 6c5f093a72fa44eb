"""Regard classifiers: features of texts, heads over them, their training, and their own bias."""
