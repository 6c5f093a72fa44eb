"""MALoR: which gender a model expects with which occupation."""
