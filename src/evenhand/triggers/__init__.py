"""Triggers: words before every prompt that make a model speak of groups alike. Nothing is trained."""
