"""What is wrong with a file that cannot be read, in a few words."""

from __future__ import annotations

from pydantic import ValidationError


def fault(problem: Exception) -> str:
    """The fault of a file: of one that does not validate, the number of faults and the first."""
    if not isinstance(problem, ValidationError):
        return str(problem)
    first = problem.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    count = problem.error_count()
    told = f"{where}: {first['msg']}" if where else first["msg"]
    return told if count == 1 else f"{count:,} faults, the first is {told}"
