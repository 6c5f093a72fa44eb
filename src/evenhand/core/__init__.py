"""The project's nouns. Depends on nothing else in Evenhand."""
