"""Counterfactual data: sentences and their twins, in which men and women have changed places."""
