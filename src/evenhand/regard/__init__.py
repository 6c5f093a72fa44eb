"""Regard: how a text makes others think of the person in it. From annotators' votes to a classifier's own bias."""
