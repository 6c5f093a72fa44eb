"""``python -m evenhand``: the command line."""

from __future__ import annotations

from evenhand.cli import main

main()
