"""A command ends soon after its last line."""

from __future__ import annotations

import subprocess
import sys


def test_objects_are_not_looked_through_as_a_command_ends() -> None:
    """What is registered first is called last."""
    program = (
        "import atexit, gc, sys; from evenhand.cli import main; "
        "atexit.register(lambda: print('frozen', gc.get_freeze_count() > 0)); "
        "sys.argv = ['evenhand', '--version']; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "frozen True"
