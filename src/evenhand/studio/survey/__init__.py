"""Surveys that collect sentences: what is asked, who takes part, what they wrote, and files with all of it."""
