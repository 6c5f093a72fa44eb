"""The page of a regard classifier."""
