"""A disk that is full: a real write that fails, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# A limit on the size of files makes the system refuse the write, as a full disk does.
LIMITED = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import builders
from evenhand.core.errors import OutputError
from evenhand.core.files import folder_written_whole, write_bytes
from evenhand.api.measure import evaluate
from evenhand.stats.resampling import Resampling
place = Path(sys.argv[1])
items = [builders.intra(number) for number in range(50)]
triples = {item.id: (3.0, 2.0, 1.0) for item in items}
run = evaluate(builders.scores(triples), builders.benchmark(*items), resampling=Resampling(resamples=100))
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
try:
    ACTION
except OutputError as problem:
    print(problem)
else:
    sys.exit("the write went through")
"""


@pytest.mark.parametrize(
    "action",
    ["write_bytes(place / 'file', b'x' * 100_000)", "run.save(place / 'runs' / 'one')"],
    ids=["a file", "a run folder"],
)
def test_a_write_that_the_system_refuses_is_an_output_error_and_leaves_nothing(
    tmp_path: Path, action: str
) -> None:
    place = tmp_path / "place"
    place.mkdir()

    finished = subprocess.run(
        [sys.executable, "-c", LIMITED.replace("ACTION", action), str(place)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    assert "cannot be written: File too large. Nothing was kept of it." in finished.stdout
    assert [path for path in place.rglob("*") if path.is_file()] == []
    assert [path.name for path in place.rglob("*")] in ([], ["runs"])
