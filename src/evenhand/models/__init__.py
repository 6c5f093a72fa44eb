"""Transformers behind capabilities: requests, a plan, an engine that carries it out."""
