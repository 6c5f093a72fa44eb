"""What the generated parts of the documentation are made with; see ``docs/generate.py``."""
