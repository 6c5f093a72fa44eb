"""The ways to mitigate: each makes an objective of a model and a corpus."""
