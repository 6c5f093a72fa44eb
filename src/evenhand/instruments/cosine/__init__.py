"""The cosine test on contextual vectors of occupations."""
