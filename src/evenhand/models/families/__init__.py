"""Methods: how a candidate is scored, one file a family."""
