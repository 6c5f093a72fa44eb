"""Direct bias: how far professions lean towards a model's gender direction."""
