"""Runs ``evenhand`` again and again in one process, so that the libraries are imported once.

Each line of standard input is a list of arguments in JSON, each line of standard output what came of them. Models of
the lab are asked few questions.
"""

from __future__ import annotations

import json
import os
import sys

from lab_recipes import few_questions
from running import run_here

if __name__ == "__main__":
    # What a library prints below Python must not come between the answers.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers, few_questions():
        os.dup2(2, 1)
        for line in sys.stdin:
            done = run_here(*json.loads(line))
            answers.write(json.dumps([done.returncode, done.stdout, done.stderr]) + "\n")
            answers.flush()
