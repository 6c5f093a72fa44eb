"""Continued pre-training: a model goes on learning in the way that it was first taught."""
