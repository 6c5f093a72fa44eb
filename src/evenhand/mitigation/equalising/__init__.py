"""Equalising: a model learns its own distribution, with the probability of each gendered pair shared equally."""
