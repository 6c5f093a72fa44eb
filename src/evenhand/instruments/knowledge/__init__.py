"""Knowledge: what a model must know whatever its stereotypes, because another word settles a gender."""
