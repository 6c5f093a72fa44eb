"""The engine: requests become a plan of forward passes, the plan becomes log-probabilities."""
