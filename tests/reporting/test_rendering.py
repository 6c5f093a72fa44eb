"""What all pages are made with."""

from __future__ import annotations

import subprocess
import sys


def test_the_libraries_of_plots_are_bundled_by_another_process() -> None:
    """In this one no other thread, such as the one that shows progress, could run for a second."""
    program = (
        "import sys; from evenhand.reporting import rendering; "
        "text = rendering._plotting_javascript(); "
        "print('vl_convert' in sys.modules, 'window.vegaEmbed' in text)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "False True\n"
