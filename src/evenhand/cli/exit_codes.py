"""Exit codes, the same for every command."""

USER_ERROR = 2
"""Something that the user can mend: a missing file, a wrong option."""

CHECK_FAILED = 3
"""A measure or an embedded model is not what it should be."""

CONDITION_HOLDS = 4
"""A ``--fail-if`` condition is met."""

QUALITY_LOST = 5
"""A certificate says that a mitigation cost more quality than its margins allow."""

INTERRUPTED = 130
"""Stopped with Ctrl-C."""

READER_GONE = 141
"""Nobody reads on, as behind ``| head -1``: what a shell reports for any tool that this stops. It is not 0, so that a
gate whose result nobody saw does not pass."""
